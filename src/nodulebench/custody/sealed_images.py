"""Decrypt the images of a sealed set case by case in a private folder, and remove them again."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.custody import layout
from nodulebench.custody.bundle import named_owner
from nodulebench.custody.sealed_set import SealedSet, open_sealed
from nodulebench.io.bundle import is_sealed
from nodulebench.io.cases import IMAGE_SUFFIXES, case_of_image
from nodulebench.io.folders import process_folder
from nodulebench.io.manifests import read_manifest
from nodulebench.security.keys import PrivateKey

_START = f"{layout.IMAGES}/"


@dataclass(frozen=True)
class SealedImages:
    """The images of an open set; only requested cases exist in plain form, until given back."""

    opened: SealedSet
    folder: Path
    files: dict[str, list[str]] = field(repr=False)
    """Case -> its files, by their names in the plain set."""

    @property
    def case_ids(self) -> list[str]:
        return list(self.files)

    def take(self, case_id: str) -> Path:
        """Decrypt the images of a case; return their folder, or the image file."""
        top = self._folder(case_id)
        for name in self.files[case_id]:
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.opened.plain(name))
        images = [
            path
            for path in sorted((top / layout.IMAGES).iterdir())
            if path.is_dir()
            or (path.name.lower().endswith(IMAGE_SUFFIXES) and case_of_image(path.name) == case_id)
        ]
        if not images:
            raise InputError.at(case_id, "has files, but none of them is an image.")
        return images[0]

    def give_back(self, case_id: str) -> None:
        shutil.rmtree(self._folder(case_id), ignore_errors=True)

    def _folder(self, case_id: str) -> Path:
        return self.folder / str(self.case_ids.index(case_id))


def has_encrypted_images(folder: Path) -> bool:
    if not is_sealed(folder):
        return False
    start = layout.sealed_file(_START).removesuffix(layout.SUFFIX)
    return any(name.startswith(start) for name in read_manifest(folder).files)


@contextmanager
def sealed_images(folder: Path, own_key: PrivateKey) -> Iterator[SealedImages]:
    """Open the encrypted images of a set for scoring; the log records it.

    Decrypted files are in a folder that only its owner can enter, below the system's temporary
    folder (``TMPDIR``). It is removed at the end; after a killed process, by the next one.
    """
    opened = open_sealed(folder, own_key, "evaluate")
    files = encrypted_images(opened)
    opened.record("viewed", {"cases": len(files)})
    with process_folder() as plain:
        yield SealedImages(opened, plain, files)


def encrypted_images(opened: SealedSet) -> dict[str, list[str]]:
    known = set(run_case_ids(opened.folder))
    files: dict[str, list[str]] = {}
    for name in opened.secret_names:
        if name.startswith(_START):
            owner = named_owner(PurePosixPath(name.removeprefix(_START)), known)
            if owner is not None:
                files.setdefault(owner[0], []).append(name)
    return files


def run_case_ids(folder: Path) -> list[str]:
    table = folder / layout.RUN_CASES
    cases = pl.read_csv(table, columns=["case_id"], infer_schema=False, glob=False)
    return list(cases["case_id"])
