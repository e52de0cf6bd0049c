"""Unpack an uploaded archive safely into a folder of regular files."""

import shutil
import stat
import zipfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from secrets import token_hex

from nodulebench.core.errors import InputError
from nodulebench.core.text import shown

MAX_FILES, MAX_BYTES, CHUNK = 20_000, 4 * 1024**3, 1024 * 1024
_SEND = "Pack the folder again as an ordinary zip file, without links."


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive, by its content; workbooks and npz files are not unpacked."""
    if path.suffix.lower() in (".xlsx", ".npz"):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


class ArchiveError(InputError):
    """An archive that is refused."""


def unpack(
    path: Path, folder: Path, most_bytes: int = MAX_BYTES, most_files: int = MAX_FILES
) -> Path:
    """Write an archive's regular files into a new folder; return it, or the only folder in it."""
    part = folder.with_name(f".{folder.name}.{token_hex(4)}")
    try:
        _unpack(path, part, most_bytes, most_files)
        with suppress(OSError):  # another process unpacked the same archive first
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return inside_of(folder)


def inside_of(folder: Path) -> Path:
    """The submitted folder within an unpacked archive: the folder, or the only one in it."""
    inside = list(folder.iterdir()) if folder.is_dir() else []
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _unpack(path: Path, folder: Path, most_bytes: int, most_files: int) -> None:
    folder.mkdir(parents=True)
    try:
        with zipfile.ZipFile(path) as archive:
            parts = [member for member in archive.infolist() if not member.is_dir()]
            if len(parts) > most_files or sum(member.file_size for member in parts) > most_bytes:
                raise ArchiveError.at(path.name, "holds more than is taken.", "Send less.")
            targets = [_target(folder, member, path.name) for member in parts]
            left = most_bytes
            for part, target in zip(parts, targets, strict=True):
                target.parent.mkdir(parents=True, exist_ok=True)
                left -= _write(archive, part, target, left)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ArchiveError.at(path.name, "is damaged, or encrypted.", _SEND) from error


def _target(folder: Path, part: zipfile.ZipInfo, name: str) -> Path:
    """The target of a member: inside the folder, under its own name."""
    inner = PurePosixPath(part.filename.replace("\\", "/"))
    kind = stat.S_IFMT(part.external_attr >> 16)
    is_plain = kind in (0, stat.S_IFREG)
    bad = inner.is_absolute() or ".." in inner.parts or ":" in part.filename
    if bad or not is_plain or not inner.name.isprintable():
        raise ArchiveError.at(name, f"holds '{shown(part.filename)}', which is not taken.", _SEND)
    return folder.joinpath(*inner.parts)


def _write(archive: zipfile.ZipFile, part: zipfile.ZipInfo, target: Path, most: int) -> int:
    written = 0
    with archive.open(part) as source, target.open("xb") as file:
        while chunk := source.read(CHUNK):
            written += len(chunk)
            if written > min(part.file_size, most):
                raise ArchiveError.at(archive.filename or "", "is larger than it says.", _SEND)
            file.write(chunk)
    if part.external_attr >> 16 & stat.S_IXUSR:  # the program of an algorithm
        target.chmod(target.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return written
