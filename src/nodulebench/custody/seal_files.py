"""Files of a plain test set -> the same files in a stage: images copied, everything else sealed."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from nodulebench.core.errors import InputError
from nodulebench.core.progress import Progress
from nodulebench.custody import layout
from nodulebench.io.bag import PAYLOAD
from nodulebench.io.digest import bytes_digest, file_digest
from nodulebench.security.vault import SEGMENT_BYTES, Vault


@dataclass(slots=True)
class Placed:
    """The files that are in the stage so far."""

    digests: dict[str, str] = field(default_factory=dict)
    source_digests: dict[str, str] = field(default_factory=dict)
    payload_bytes: int = 0
    taken_over: int = 0

    def add(self, stage: Path, name: str, digest: str) -> None:
        """Take a file of the stage into account."""
        self.digests[name] = digest
        if name.startswith(f"{PAYLOAD}/"):
            self.payload_bytes += (stage / name).stat().st_size


def place_files(
    source: Path,
    places: list[layout.Place],
    stage: Path,
    vault: Vault,
    progress: Progress,
) -> Placed:
    """Copy images and seal everything else into a stage; what is already whole there stays."""
    placed = Placed()
    for number, place in enumerate(places, start=1):
        name = place.source
        target = stage / place.target
        digest = _finished(source / name, target, place, vault) if target.is_file() else ""
        if digest:
            placed.taken_over += 1
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            digest = _place(source / name, target, place, vault)
        placed.source_digests[name] = digest
        placed.add(stage, place.target, file_digest(target) if place.is_secret else digest)
        progress("sealing", number, len(places))
    return placed


def _place(source: Path, target: Path, place: layout.Place, vault: Vault) -> str:
    """Copy or seal a file; it appears whole. The digest of the source."""
    part = target.with_name(f".{token_hex(8)}.part")
    try:
        with part.open("wb") as file:
            if place.is_secret:
                digest = vault.seal_file(source, file, place.source)
            else:
                digest = _copy(source, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return digest


def _copy(source: Path, target: BinaryIO) -> str:
    whole = hashlib.sha256()
    with source.open("rb") as file:
        while part := file.read(SEGMENT_BYTES):
            whole.update(part)
            target.write(part)
    return "sha256:" + whole.hexdigest()


def _finished(source: Path, target: Path, place: layout.Place, vault: Vault) -> str:
    """The digest of a source that an earlier run had placed; empty: it is to be placed anew."""
    digest = file_digest(source)
    if not place.is_secret:
        return digest if file_digest(target) == digest else ""
    try:
        plain = vault.open(target.read_bytes(), place.source, str(target))
    except InputError:
        return ""
    return digest if bytes_digest(plain) == digest else ""
