"""Files that appear whole or not at all: they are written beside their place, then moved there."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from nodulebench.errors import InputError


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
def staged_file(path: Path) -> Iterator[Path]:
    """A path to write one file to; it moves to ``path`` when all went well.

    Raises:
        InputError: if the place cannot be written to; nothing is left behind.
    """
    with _stage_beside(path) as stage:
        yield stage
        stage.replace(path)


@contextmanager
def _stage_beside(target: Path) -> Iterator[Path]:
    whole = target.resolve()
    # the suffix stays, because writers look at it
    stage = whole.with_name(f".{token_hex(8)}-{whole.name}")
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        yield stage
    except OSError as error:
        raise InputError.at(target, f"cannot be written: {error.strerror or error}.") from error
    finally:
        with suppress(OSError):
            shutil.rmtree(stage) if stage.is_dir() else stage.unlink()
