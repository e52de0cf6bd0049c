"""Files that appear whole or not at all: they are written beside their place, then moved there."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from nodulebench.errors import InputError
from nodulebench.storage.lock import locked

UNFINISHED = re.compile(r"\.[0-9a-f]{16}[-.].+")
"""Names of what is being written; what a killed run left was never part of anything."""
_RUN = "-run"


@contextmanager
def staged_folder(folder: Path, *, last: str = "", is_new: bool = False) -> Iterator[Path]:
    """An empty folder to write into; its files move to ``folder`` when all went well.

    A folder that was not there appears at once. In one that was, files of the same names are
    replaced one by one and others stay.

    Args:
        folder: where the files shall be in the end.
        last: the file that is moved after all others, so that whoever sees it can trust them.
        is_new: whether a folder that already holds something is refused.

    Raises:
        InputError: if the place cannot be written to; nothing is left behind.
    """
    if is_new and folder.is_dir() and any(folder.iterdir()):
        raise InputError.at(
            folder,
            "is not empty; its files would be taken for part of what is written.",
            "Choose a new folder.",
        )
    with _stage_beside(folder) as stage:
        stage.mkdir()
        yield stage
        if folder.is_dir():
            files = [path.relative_to(stage) for path in stage.rglob("*") if path.is_file()]
            for file in sorted(files, key=lambda file: (file == Path(last), file)):
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (stage / file).replace(folder / file)
        else:
            stage.replace(folder)


@contextmanager
def staged_file(path: Path, *, within: Path | None = None) -> Iterator[Path]:
    """A path to write one file to; it moves to ``path`` when all went well.

    Args:
        path: where the file shall be in the end.
        within: a folder on the same disk to write it in; None: beside its place.

    Raises:
        InputError: if the place cannot be written to; nothing is left behind.
    """
    with _stage_beside(path, within) as stage:
        yield stage
        stage.replace(path)


@contextmanager
def run_folder(folder: Path) -> Iterator[Path]:
    """A folder in ``folder`` for what one run is about to write; those of killed runs go.

    Nobody reads what has such a name (``UNFINISHED``). Runs at the same time have one each.

    Raises:
        InputError: if the place cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in {path.name.removesuffix(".lock") for path in folder.glob(f".*{_RUN}*")}:
            with suppress(InputError), _own_run(folder / name):
                pass  # nobody had the claim: it was killed
        with _own_run(folder / f".{token_hex(8)}{_RUN}") as own:
            own.mkdir()
            yield own
    except OSError as error:
        raise InputError.at(folder, f"cannot be written: {error.strerror or error}.") from error


@contextmanager
def _own_run(folder: Path) -> Iterator[Path]:
    with locked(folder.with_name(f"{folder.name}.lock"), folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _stage_beside(target: Path, within: Path | None = None) -> Iterator[Path]:
    whole = target.resolve()
    # the suffix stays, because writers look at it
    stage = (within or whole.parent) / f".{token_hex(8)}-{whole.name}"
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        yield stage
    except OSError as error:
        raise InputError.at(target, f"cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            shutil.rmtree(stage) if stage.is_dir() else stage.unlink()
