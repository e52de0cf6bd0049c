"""Open a test set, plain or sealed, for a run: its cases, and their images one at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.custody.sealed_images import SealedImages, encrypted_images, has_encrypted_images
from nodulebench.custody.sealed_set import SealedSet, open_sealed
from nodulebench.imaging.volume import Volume
from nodulebench.io.bundle import is_sealed
from nodulebench.io.folders import process_folder
from nodulebench.io.images.case_images import images_folder, images_of_set, read_case
from nodulebench.io.manifests import bytes_digest
from nodulebench.security.events import Fact
from nodulebench.security.keys import PrivateKey

MOST_NAMED_CASES = 2_000
"""With more cases, an event has only the digest of their names."""


@dataclass(frozen=True)
class RunSet:
    """The cases of a run."""

    name: str
    case_ids: Sequence[str]
    take: Callable[[str], Path]
    """Returns the path of a case's image, available from then on."""
    give_back: Callable[[str], object]
    """Called when the image is no longer needed; removes decrypted files."""
    opened: SealedSet | None = None
    """The sealed set, if it is one."""

    @property
    def is_sealed(self) -> bool:
        """Whether only marks may be disclosed about a case."""
        return self.opened is not None

    @property
    def digest(self) -> str:
        """Digest of the names of its cases; for a sealed set, of its manifest."""
        if self.opened is not None:
            return self.opened.bundle
        return cases_digest(self.case_ids)

    @contextmanager
    def image(self, case_id: str) -> Iterator[Volume]:
        """Read the image of a case; decrypted files are removed afterwards."""
        try:
            volume = read_case(self.take(case_id))
        finally:
            self.give_back(case_id)
        yield volume

    def record(self, facts: Mapping[str, Fact], released: Sequence[str]) -> None:
        """Record in the log of a sealed set which cases an algorithm will receive."""
        if self.opened is None:
            return
        cases: dict[str, Fact] = {"cases": len(released), "cases_digest": cases_digest(released)}
        if len(released) <= MOST_NAMED_CASES:
            cases["case_ids"] = " ".join(sorted(released))
        self.opened.record("ran", {**facts, **cases})


def cases_digest(case_ids: Sequence[str]) -> str:
    return bytes_digest("\n".join(sorted(case_ids)).encode())


@contextmanager
def open_run_set(folder: Path, own_key: PrivateKey | None) -> Iterator[RunSet]:
    """Open a folder with images, a bundle, a bag or a sealed set for a run."""
    if not is_sealed(folder):
        with _plain(folder, None) as plain:
            yield plain
        return
    if own_key is None:
        raise InputError.at(folder, "is sealed.", "Give your key with --key.")
    opened = open_sealed(folder, own_key, "run")
    if not has_encrypted_images(folder):
        with _plain(folder, opened) as plain:
            yield plain
        return
    with process_folder() as private:
        sealed = SealedImages(opened, private, encrypted_images(opened))
        yield RunSet(opened.name, sealed.case_ids, sealed.take, sealed.give_back, opened)


@contextmanager
def _plain(folder: Path, opened: SealedSet | None) -> Iterator[RunSet]:
    if images_folder(folder) is None:
        what = "has no folder images/ with one image per case."
        raise InputError.at(folder, what, "Bundle it with them: nodulebench bundle --images")
    paths = dict(images_of_set(folder))
    name = folder.resolve().name if opened is None else opened.name
    yield RunSet(name, list(paths), paths.__getitem__, lambda _: None, opened)
