"""Files below data/ with their digests -> the tag files of a BagIt bag (RFC 8493)."""

import hashlib
from collections.abc import Mapping
from datetime import date
from pathlib import Path

DECLARATION, INFO = "bagit.txt", "bag-info.txt"
PAYLOAD_MANIFEST, TAG_MANIFEST = "manifest-sha256.txt", "tagmanifest-sha256.txt"
PAYLOAD = "data"


def is_bag(folder: Path) -> bool:
    """Whether a folder says that it is a bag."""
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
    """The tag files of a bag, by name.

    Args:
        digests: path from the bag's root -> digest, for every file below ``data/``.
        payload_bytes: how large those files are together.
        description: what the bag holds, in a line.
        organization: whose it is.
        day: when it was made.
        agent: what program made it.
        others: further tag files, which the tag manifest lists too.
    """
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
            f"{name}: {_one_line(text)}\n" for name, text in info.items() if text
        ).encode(),
        PAYLOAD_MANIFEST: tag_manifest(digests),
        **others,
    }
    listed = {name: "sha256:" + hashlib.sha256(text).hexdigest() for name, text in files.items()}
    return {**files, TAG_MANIFEST: tag_manifest(listed)}


def tag_manifest(digests: Mapping[str, str]) -> bytes:
    """The lines of a bag's list of files, payload or tags, from their digests."""
    lines = (
        f"{digest.removeprefix('sha256:')}  {_escaped(name)}\n"
        for name, digest in sorted(digests.items())
    )
    return "".join(lines).encode()


def _escaped(name: str) -> str:
    # RFC 8493 2.1.3: percent, line feed and carriage return of a path are percent-encoded
    return name.replace("%", "%25").replace("\n", "%0A").replace("\r", "%0D")


def _one_line(text: str) -> str:
    return " ".join(text.split())
