"""SHA-256 of files and tables, as they stand in results."""

import hashlib
import os
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.tables import Reference

_ROWS_AT_A_TIME = 100_000


def file_digest(path: Path) -> str:
    """The digest of a file's bytes, or of a folder's file names and bytes."""
    if path.is_dir():
        whole = hashlib.sha256()
        for part in sorted(p for p in path.rglob("*") if p.is_file()):
            line = f"{part.relative_to(path).as_posix()} {file_digest(part)}\n"
            whole.update(line.encode("utf-8", "surrogatepass"))  # names may be no text
        return "sha256:" + whole.hexdigest()
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """The digest of a folder's file names and bytes, and of its links and their targets.

    No link is followed. Without links it is the same as ``file_digest``.
    """
    whole = hashlib.sha256()
    for path in paths_in(folder):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            line = f"{name} link {bytes_digest(os.fsencode(path.readlink()))}\n"
        elif path.is_file():
            line = f"{name} {file_digest(path)}\n"
        else:
            continue
        whole.update(line.encode("utf-8", "surrogatepass"))
    return "sha256:" + whole.hexdigest()


def paths_in(folder: Path) -> list[Path]:
    """Everything in a folder and the folders below it, however deep; no link is followed.

    Raises:
        OSError: if a folder cannot be read.
    """
    paths, waiting = [], [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                paths.append(Path(entry.path))
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(paths[-1])
    return sorted(paths)


def bytes_digest(content: bytes) -> str:
    """The digest of some bytes."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def table_digest(*tables: pl.DataFrame | None) -> str:
    """The digest of tables' contents, whatever file they came from.

    Column by column: name, type, which rows are empty, and the values as little-endian numbers or
    as UTF-8 text with its length in bytes.
    """
    whole = hashlib.sha256()
    for table in tables:
        whole.update(b"no table" if table is None else str(table.shape).encode())
        for column in () if table is None else table.get_columns():
            whole.update(f"|{column.name}:{column.dtype}|".encode())
            whole.update(np.packbits(column.is_null().to_numpy()).tobytes())
            if column.null_count() < len(column):
                for part in range(0, len(column), _ROWS_AT_A_TIME):
                    whole.update(_column_bytes(column.slice(part, _ROWS_AT_A_TIME)))
    return "sha256:" + whole.hexdigest()


def reference_digest(reference: Reference) -> str:
    """The digest of what a reference says is in its cases."""
    return table_digest(reference.nodules, reference.slices)


def _column_bytes(column: pl.Series) -> bytes:
    if column.dtype.is_float():
        return column.fill_null(0).cast(pl.Float64).to_numpy().astype("<f8").tobytes()
    if column.dtype.is_integer() or column.dtype == pl.Boolean:
        return column.cast(pl.Int64).fill_null(0).to_numpy().astype("<i8").tobytes()
    text = column.cast(pl.String).fill_null("")
    lengths = text.str.len_bytes().to_numpy().astype("<i8").tobytes()
    return lengths + str(text.str.join("").item() if len(text) else "").encode()
