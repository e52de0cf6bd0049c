"""A small sealed test set on the disk, and everything that is needed to work with it."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nodulebench.core.tables import CASES, NODULES, Reference
from nodulebench.custody.seal import SealOptions, SealReport, seal_bundle
from nodulebench.io.bundle import write_reference
from nodulebench.security.signatures import new_key
from nodulebench.security.vault import Secret

PEOPLE = """
key_custodian = "Test laboratory"

[[people]]
name = "Ada"
roles = ["curator"]

[[people]]
name = "Bo"
roles = ["operator"]

[[people]]
name = "Cem"
roles = ["auditor"]
"""
POLICY = f"""{PEOPLE}
[reuse]
evaluations_per_developer = 2
feedback = "rounded"
metrics = ["luna16.recall"]
"""
SECRET = Secret("key file", bytes(range(32)))
HEADER = "seriesuid,coordX,coordY,coordZ,probability\n"


@dataclass(frozen=True)
class SealedLab:
    """The folder in which a test works."""

    folder: Path

    @property
    def bundle(self) -> Path:
        return self.folder / "bundle"

    @property
    def sealed(self) -> Path:
        return self.folder / "sealed"

    @property
    def public_key(self) -> Path:
        return self.folder / "key.pub.pem"

    def order(self) -> SealOptions:
        folder = self.folder
        return SealOptions(
            bundle=self.bundle,
            out=self.sealed,
            key=folder / "key.pem",
            secret=SECRET,
            policy=folder / "policy.toml",
            person="Ada",
        )

    def seal(self) -> SealReport:
        return seal_bundle(self.order())

    def marks(self, name: str, *hits: str) -> Path:
        """A submission that finds the nodules of these cases."""
        path = self.folder / name
        path.write_text(HEADER + "".join(f"{case},1,2,3,0.9\n" for case in hits))
        return path


def make_lab(folder: Path, policy: str = POLICY, cases: int = 4) -> SealedLab:
    """A bundle of a few cases with a nodule each, two image files, a key and a policy."""
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
    new_key(folder / "key.pem")
    (folder / "policy.toml").write_text(policy)
    return lab
