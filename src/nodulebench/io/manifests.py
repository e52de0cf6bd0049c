"""Folder <-> its manifest: the SHA-256 of every file, so that a changed file is found and named."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from nodulebench.core.errors import InputError, Problem
from nodulebench.io.atomic import (
    complete_move,
    is_unfinished,
    leave_out,
    staged_folder,
)
from nodulebench.io.digest import file_digest
from nodulebench.io.json_files import read_json

SCHEMA = "nodulebench/manifest@1"
MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
"""The signature of the manifest; the manifest cannot list it."""

_CHANGED = "was changed after the folder was written"


@dataclass(frozen=True, slots=True)
class Signed:
    """Who signed a manifest, as the manifest itself says; part of what is signed."""

    at: str
    """Date and time, UTC."""
    by: str
    """Name of the signer, as given."""
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
        """The manifest as it stands on the disk; equal manifests give equal bytes."""
        content: dict[str, Any] = {"schema": SCHEMA, "files": dict(sorted(self.files.items()))}
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
    """Take what is about to move into a folder into its manifest; others stay as listed.

    A folder without a manifest stays without one. A signature is removed, because it no longer
    stands for what the folder holds. The manifest moves with the files.

    Args:
        folder: where the files will be.
        stage: where they are (``staged_folder``).

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
        InputError: if there is none, or it is not byte for byte what was written.
    """
    complete_move(folder)
    file = folder / MANIFEST
    if not file.is_file():
        raise InputError.at(file, "is not there, so changed files cannot be told from others.")
    content = read_json(file)
    found = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(content, dict) or found != SCHEMA:
        raise InputError.at(file, f"has the schema '{found}', not '{SCHEMA}'.")
    manifest = _parse(content)
    if manifest is None or manifest.to_bytes() != file.read_bytes():
        raise InputError.at(file, f"{_CHANGED}: it is not as NoduleBench writes it.")
    return manifest


def listed_files(folder: Path) -> set[str]:
    """The files below a folder that its manifest lists; none if it has no manifest of ours."""
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
        is_apart: which files may have been added since; something else answers for them.
        changed: files that were replaced since (digest) or removed (None), as something says that
            can be believed.
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
            yield Problem(str(folder / name), f"is listed in {MANIFEST}, but is not there.")
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
        if not any(map(is_unfinished, (path, *path.parents)))  # of a killed process
    )
    return sorted(name for name in names if name not in (MANIFEST, SIGNATURE))


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _parse(content: dict[str, Any]) -> Manifest | None:
    """The manifest that a JSON object describes; None if it has another shape."""
    files, signed = content.get("files"), content.get("signed")
    if not isinstance(files, dict):
        return None
    if signed is None:
        return Manifest(files)
    if not isinstance(signed, dict) or set(signed) != set(Signed.__dataclass_fields__):
        return None
    return Manifest(files, Signed(**signed))
