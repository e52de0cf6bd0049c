"""A small sealed test set on the disk, and everything that is needed to work with it."""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from builders.people import person_entry, person_key, write_key
from nodulebench.core.tables import CASES, NODULES, Reference
from nodulebench.custody.evaluate import SealedEvaluateOptions
from nodulebench.custody.seal import SealOptions, SealReport, seal_bundle
from nodulebench.io.bundle import write_reference
from nodulebench.security.keys import PrivateKey

ROLES = {
    "Ada": "curator",
    "Bo": "operator",
    "Cem": "auditor",
    "Ria": "reader",
    "Safe": "key_custodian",
}
PEOPLE = 'key_custodian = "Test laboratory"\n\n' + "".join(
    person_entry(name, role) for name, role in ROLES.items()
)
POLICY = f"""{PEOPLE}
[reuse]
evaluations_per_developer = 2
feedback = "rounded"
metrics = ["luna16.recall"]
"""
HEADER = "seriesuid,coordX,coordY,coordZ,probability\n"


@dataclass(frozen=True)
class SealedLab:
    """The folder in which a test works; with all keys under the names of their owners."""

    folder: Path

    @property
    def bundle(self) -> Path:
        return self.folder / "bundle"

    @property
    def sealed(self) -> Path:
        return self.folder / "sealed"

    @property
    def public_key(self) -> Path:
        """The key of the person who seals."""
        return self.folder / "ada.key.pub"

    def key_file(self, person: str) -> Path:
        return self.folder / f"{person.lower()}.key"

    def key(self, person: str) -> PrivateKey:
        return person_key(person)

    def line(self, person: str) -> str:
        return person_key(person).public.line

    def order(self) -> SealOptions:
        return SealOptions(
            bundle=self.bundle,
            out=self.sealed,
            own_key=self.key("Ada"),
            policy=self.folder / "policy.toml",
        )

    def seal(self, **more: object) -> SealReport:
        return seal_bundle(replace(self.order(), **more))  # type: ignore[arg-type]

    def evaluate_options(
        self, name: str, *hits: str, person: str = "Bo", **more: object
    ) -> SealedEvaluateOptions:
        order = SealedEvaluateOptions(
            self.marks(name, *hits), self.sealed, self.key(person), "Example", bootstraps=0
        )
        return replace(order, **more)  # type: ignore[arg-type]

    def marks(self, name: str, *hits: str) -> Path:
        """A submission that finds the nodules of these cases."""
        path = self.folder / name
        path.write_text(HEADER + "".join(f"{case},1,2,3,0.9\n" for case in hits))
        return path


def new_person(lab: SealedLab, person: str) -> str:
    """Make a key for one more person; its public line."""
    write_key(person, lab.folder)
    return lab.line(person)


def make_lab(folder: Path, policy: str = POLICY, cases: int = 4) -> SealedLab:
    """A bundle of a few cases with a nodule each, two image files, keys and a policy."""
    lab = SealedLab(folder)
    names = [f"scan{number}" for number in range(cases)]
    table = pl.DataFrame({"case_id": names, "has_nodules": [True] * cases})
    nodules = pl.DataFrame(
        {
            "case_id": names,
            "nodule_id": ["hidden-nodule"] * cases,
            "x_mm": [1.0] * cases,
            "y_mm": [2.0] * cases,
            "z_mm": [3.0] * cases,
            "diameter_mm": [8.0] * cases,
            "is_ignored": [False] * cases,
            "type": ["solid"] * cases,
        }
    )
    reference = Reference("small", CASES.conform(table, "c"), NODULES.conform(nodules, "n"))
    write_reference(reference, lab.bundle)
    for name in names[:2]:
        image = lab.bundle / "images" / name / "0001.dcm"
        image.parent.mkdir(parents=True)
        image.write_bytes(name.encode() * 50)
    for name in (*ROLES, "Dee"):  # Dee: where a policy names a reporter
        write_key(name, folder)
    (folder / "policy.toml").write_text(policy)
    return lab
