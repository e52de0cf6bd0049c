"""SHA-256 of files and tables, as they stand in results."""

import hashlib
from pathlib import Path

import polars as pl


def file_digest(path: Path) -> str:
    """The digest of a file's bytes, or of a folder's file names and bytes."""
    if path.is_dir():
        whole = hashlib.sha256()
        for part in sorted(p for p in path.rglob("*") if p.is_file()):
            whole.update(f"{part.relative_to(path).as_posix()} {file_digest(part)}\n".encode())
        return "sha256:" + whole.hexdigest()
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def table_digest(*tables: pl.DataFrame | None) -> str:
    """The digest of tables' contents, whatever file they came from."""
    whole = hashlib.sha256()
    for table in tables:
        whole.update(b"\x00" if table is None else table.write_csv().encode())
    return "sha256:" + whole.hexdigest()
