"""Manifests: the SHA-256 of every file in a folder, so that changed files are detected."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError, Problem
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import Reference
from nodulebench.io.atomic import complete_move, is_unfinished, leave_out, staged_folder
from nodulebench.io.json_files import read_json, with_schema

_ROWS_AT_A_TIME = 100_000


def file_digest(path: Path, known: Mapping[Path, str] | None = None) -> str:
    """The digest of a file's bytes, or of a folder's file names and bytes.

    Args:
        path: the file or folder.
        known: the digests of files in the folder that were already read.
    """
    if path.is_dir():
        whole = hashlib.sha256()
        for part in sorted(path for path in path.rglob("*") if path.is_file()):
            digest = (known or {}).get(part) or file_digest(part)
            line = f"{part.relative_to(path).as_posix()} {digest}\n"
            whole.update(line.encode("utf-8", "surrogatepass"))  # names may not be valid text
        return "sha256:" + whole.hexdigest()
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """The digest of a folder's file names and bytes, and of its links and their targets.

    Links are not followed. Without links the digest equals ``file_digest``.
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
    """Every path in a folder and its subfolders, at any depth; links are not followed."""
    paths, waiting = [], [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                paths.append(Path(entry.path))
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(paths[-1])
    return sorted(paths)


def bytes_digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def table_digest(*tables: pl.DataFrame | None) -> str:
    """The digest of the contents of tables, independent of their files.

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
                for first in range(0, len(column), _ROWS_AT_A_TIME):
                    part = column.slice(first, _ROWS_AT_A_TIME)
                    if part.dtype.is_float():
                        numbers = part.fill_null(0).cast(pl.Float64).to_numpy()
                        whole.update(numbers.astype("<f8").tobytes())
                    elif part.dtype.is_integer() or part.dtype == pl.Boolean:
                        numbers = part.cast(pl.Int64).fill_null(0).to_numpy()
                        whole.update(numbers.astype("<i8").tobytes())
                    else:
                        text = part.cast(pl.String).fill_null("")
                        whole.update(text.str.len_bytes().to_numpy().astype("<i8").tobytes())
                        whole.update(str(text.str.join("").item() if len(text) else "").encode())
    return "sha256:" + whole.hexdigest()


def reference_digest(reference: Reference) -> str:
    return table_digest(reference.nodules, reference.slices)


SCHEMA = "nodulebench/manifest@1"
MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
"""The signature of the manifest, which the manifest cannot list."""

_CHANGED = "was changed after the folder was written"


@dataclass(frozen=True, slots=True)
class Signed:
    """Who signed a manifest, as it states itself; part of the signed bytes."""

    at: str
    """Date and time, UTC."""
    by: str
    key: str
    """SHA-256 of the public key (of its DER form, as openssl makes it)."""
    public_key: str
    """The 32 bytes of the Ed25519 public key, hexadecimal."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of a folder with their digests, and who signed them."""

    files: dict[str, str]
    """Path below the folder, with slashes -> digest."""
    signed: Signed | None = None

    def to_bytes(self) -> bytes:
        """The content of the manifest file; equal manifests give equal bytes."""
        content: JsonObject = {"schema": SCHEMA, "files": dict(sorted(self.files.items()))}
        if self.signed is not None:
            fields = Signed.__dataclass_fields__
            content["signed"] = {name: getattr(self.signed, name) for name in fields}
        return (json.dumps(content, indent=1) + "\n").encode()


def write_manifest(folder: Path) -> Manifest:
    """List every file that is in a folder; an older manifest and its signature are replaced."""
    complete_move(folder)
    manifest = Manifest({name: file_digest(folder / name) for name in files_in(folder)})
    with staged_folder(folder) as stage:
        (stage / MANIFEST).write_bytes(manifest.to_bytes())
        leave_out(stage, [SIGNATURE])
    return manifest


def record_files(folder: Path, stage: Path) -> list[str]:
    """Add the files of a stage to the manifest of the folder that they will move to.

    A folder without a manifest stays without one. A signature is removed, because it no longer
    holds for the content. The manifest moves with the files.

    Returns:
        The files that are about to move, without the manifest.
    """
    added = files_in(stage)
    if (folder / MANIFEST).is_file():
        digests = {name: file_digest(stage / name) for name in added}
        listed = Manifest({**read_manifest(folder).files, **digests})
        (stage / MANIFEST).write_bytes(listed.to_bytes())
        leave_out(stage, [SIGNATURE])
    return added


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder.

    Raises:
        InputError: if it does not exist, or is not byte for byte what was written.
    """
    complete_move(folder)
    file = folder / MANIFEST
    if not file.is_file():
        raise InputError.at(file, "does not exist, so changed files cannot be detected.")
    content = with_schema(read_json(file), SCHEMA, file)
    manifest = _parse(content)
    if manifest is None or manifest.to_bytes() != file.read_bytes():
        raise InputError.at(file, f"{_CHANGED}: NoduleBench did not write it like this.")
    return manifest


def listed_files(folder: Path) -> set[str]:
    """The files below a folder that its manifest lists; empty without a manifest of ours."""
    complete_move(folder)
    if not (folder / MANIFEST).is_file():
        return set()
    try:
        return set(filter(_is_inside, read_manifest(folder).files))
    except InputError:
        return set()


def manifest_problems(
    folder: Path,
    is_apart: Callable[[str], bool] = lambda _: False,
    changed: Mapping[str, str | None] | None = None,
) -> list[Problem]:
    """The files of a folder that were changed, removed or added since its manifest was written.

    Args:
        folder: a folder with a manifest.
        is_apart: which files may have been added since, because something else vouches for them.
        changed: files that were replaced (digest) or removed (None) since, from a trusted record.
    """
    try:
        named = {**read_manifest(folder).files, **(changed or {})}
    except InputError as error:
        return list(error.problems)
    listed = {name: digest for name, digest in named.items() if digest is not None}
    return [*_listed_problems(folder, listed), *_unlisted_problems(folder, listed, is_apart)]


def _listed_problems(folder: Path, listed: dict[str, str]) -> Iterator[Problem]:
    for name, digest in listed.items():
        if not _is_inside(name):
            yield Problem(str(folder / MANIFEST), f"lists '{name}', which is outside the folder.")
        elif not (folder / name).is_file():
            yield Problem(str(folder / name), f"is listed in {MANIFEST}, but does not exist.")
        elif file_digest(folder / name) != digest:
            yield Problem(
                str(folder / name), f"{_CHANGED}: it is not the file that {MANIFEST} lists."
            )


def _unlisted_problems(
    folder: Path, listed: dict[str, str], is_apart: Callable[[str], bool]
) -> Iterator[Problem]:
    for name in files_in(folder):
        if name not in listed and not is_apart(name):
            yield Problem(
                str(folder / name),
                f"is not listed in {MANIFEST}: it was added after the folder was written.",
                "Keep other files elsewhere.",
            )


def files_in(folder: Path) -> list[str]:
    """The files below a folder that a manifest lists, in order."""
    below = (
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    )
    names = (
        path.as_posix()
        for path in below
        if not is_unfinished(path, *path.parents)  # of a killed process
    )
    return sorted(name for name in names if name not in (MANIFEST, SIGNATURE))


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _parse(content: JsonObject) -> Manifest | None:
    """The manifest that a JSON object describes; None if it has another shape."""
    files, signed = content.get("files"), content.get("signed")
    if not isinstance(files, dict):
        return None
    if signed is None:
        return Manifest(files)
    if not isinstance(signed, dict) or set(signed) != set(Signed.__dataclass_fields__):
        return None
    return Manifest(files, Signed(**signed))


DECLARATION, INFO = "bagit.txt", "bag-info.txt"
PAYLOAD_MANIFEST, TAG_MANIFEST = "manifest-sha256.txt", "tagmanifest-sha256.txt"
PAYLOAD = "data"


def is_bag(folder: Path) -> bool:
    return (folder / DECLARATION).is_file()


def tag_files(
    digests: Mapping[str, str],
    *,
    payload_bytes: int,
    description: str,
    organization: str = "",
    day: date,
    agent: str,
    others: Mapping[str, bytes],
) -> dict[str, bytes]:
    """The tag files of a bag by name; ``digests`` are those of every file below ``data/``."""
    info = {
        "Source-Organization": organization,
        "External-Description": description,
        "Bagging-Date": day.isoformat(),
        "Bag-Software-Agent": agent,
        "Payload-Oxum": f"{payload_bytes}.{len(digests)}",
    }
    files = {
        DECLARATION: b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        INFO: "".join(
            f"{name}: {_joined_line(text)}\n" for name, text in info.items() if text
        ).encode(),
        PAYLOAD_MANIFEST: tag_manifest(digests),
        **others,
    }
    listed = {name: "sha256:" + hashlib.sha256(text).hexdigest() for name, text in files.items()}
    return {**files, TAG_MANIFEST: tag_manifest(listed)}


def tag_manifest(digests: Mapping[str, str]) -> bytes:
    """The lines of a bag's manifest of payload or tag files."""
    lines = (
        f"{digest.removeprefix('sha256:')}  {_escaped(name)}\n"
        for name, digest in sorted(digests.items())
    )
    return "".join(lines).encode()


def _escaped(name: str) -> str:
    # RFC 8493 2.1.3: percent, line feed and carriage return of a path are percent-encoded
    return name.replace("%", "%25").replace("\n", "%0A").replace("\r", "%0D")


def _joined_line(text: str) -> str:
    return " ".join(text.split())
