"""A small sealed test set whose people have personal keys."""

from dataclasses import dataclass, replace
from pathlib import Path

from builders.sealed import POLICY, SealedLab, make_lab
from nodulebench.custody.evaluate import SealedEvaluateOptions
from nodulebench.custody.seal import SealOptions, SealReport, seal_bundle
from nodulebench.security.keys import (
    PrivateKey,
    new_person_key,
    read_private_key,
    read_public_key,
)
from nodulebench.security.vault import Secret, person_secret

ROLES = {
    "Ada": "curator",
    "Bo": "operator",
    "Cem": "auditor",
    "Ria": "reader",
    "Safe": "key_custodian",
}


@dataclass(frozen=True)
class KeyedLab(SealedLab):
    """The folder in which a test works; with all keys under the names of their owners."""

    def key_file(self, person: str) -> Path:
        return self.folder / f"{person.lower()}.key"

    def key(self, person: str) -> PrivateKey:
        return read_private_key(self.key_file(person))

    def line(self, person: str) -> str:
        return read_public_key(self.folder / f"{person.lower()}.key.pub").line

    def secret(self, person: str) -> Secret:
        return person_secret(self.key(person))

    def order(self) -> SealOptions:
        plain = super().order()
        return replace(plain, key=self.key_file("Ada"), secret=self.secret("Ada"), person="")

    def seal(self, **more: object) -> SealReport:
        return seal_bundle(replace(self.order(), **more))  # type: ignore[arg-type]

    def evaluate_options(
        self, name: str, *hits: str, person: str = "Bo", **more: object
    ) -> SealedEvaluateOptions:
        order = SealedEvaluateOptions(
            self.marks(name, *hits), self.sealed, self.secret(person), "", "Example", bootstraps=0
        )
        return replace(order, **more)  # type: ignore[arg-type]


def new_person(lab: KeyedLab, person: str) -> str:
    """Make a key for one more person; its public line."""
    new_person_key(lab.key_file(person), comment=person)
    return lab.line(person)


def make_keyed_lab(folder: Path, cases: int = 4) -> KeyedLab:
    """As ``make_lab``, with keys and a policy that names them."""
    lab = KeyedLab(make_lab(folder, cases=cases).folder)
    people = "".join(
        f'[[people]]\nname = "{name}"\nroles = ["{role}"]\nkey = "{new_person(lab, name)}"\n\n'
        for name, role in ROLES.items()
    )
    reuse = POLICY[POLICY.index("[reuse]") :]
    (folder / "policy.toml").write_text(f'key_custodian = "Test laboratory"\n\n{people}{reuse}')
    return lab
