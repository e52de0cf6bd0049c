"""Image archives of a small program on busybox, as docker save and OCI layouts have them."""

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

BUSYBOX = Path("/bin/busybox")
needs_busybox = pytest.mark.skipif(not BUSYBOX.is_file(), reason="busybox-static is not installed")
DETECT = """#!/bin/sh
test "$(cat /opt/app/weights)" = "weights 2" || exit 9
test "$(pwd)$MODE" = /opt/appfast || exit 8
grep -q '"slug": "chest-ct"' /input/inputs.json || exit 7
ls /input/images/chest-ct/*.mha > /dev/null || exit 6
test -e /opt/app/old && exit 5
echo '{"type": "Multiple points", "points": [{"point": [1, 2, 3], "probability": 0.5}]}' \
> /output/nodule-locations.json
"""
MANIFEST = """name = "image"
[run]
image = "image.tar"
digest = "{digest}"
profile = "grand-challenge"
[run.resources]
memory_gb = 0.125
timeout_s = 20
[[run.inputs]]
slug = "chest-ct"
path = "images/chest-ct"
[[run.outputs]]
path = "nodule-locations.json"
adapter = "gc-points"
"""


def layer(files: dict[str, bytes | str]) -> bytes:
    """A layer; a text is the target of a link."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, value in files.items():
            member = tarfile.TarInfo(name)
            member.mode = 0o700
            if isinstance(value, str):
                member.type, member.linkname = tarfile.SYMTYPE, value
                tar.addfile(member)
            else:
                member.size = len(value)
                tar.addfile(member, io.BytesIO(value))
    return content.getvalue()


def layer_of(*entries: tuple[str, bytes, str | bytes]) -> bytes:
    """A layer of entries (name, tar type, content or link target) in this order, not checked."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, kind, value in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.pax_headers = kind, 0o755, {"path": name}
            if isinstance(value, str):
                entry.linkname = value
                tar.addfile(entry)
            else:
                entry.size = len(value)
                tar.addfile(entry, io.BytesIO(value))
    return content.getvalue()


def layers() -> list[bytes]:
    """A system, a program on it, and a change that removes and replaces files."""
    system = {"bin/busybox": BUSYBOX.read_bytes(), "usr/x": b""}
    links = dict.fromkeys(("bin/sh", "bin/cat", "bin/grep", "bin/ls", "bin/pwd"), "busybox")
    program = {"opt/app/detect.sh": DETECT.encode(), "opt/app/old": b"", "opt/app/weights": b"1"}
    change = {"opt/app/.wh.old": b"", "opt/app/weights": b"weights 2", "app": "opt/app"}
    through = {"app/through": b"written through a link"}
    return [layer({**system, **links}), layer(program), layer({**change, **through})]


def config_of(parts: list[bytes]) -> bytes:
    ids = [_digest(part) for part in parts]
    settings = {
        "Entrypoint": ["/opt/app/detect.sh"],
        "WorkingDir": "/opt/app",
        "Env": ["PATH=/bin", "MODE=fast", "HOME=/root"],
        "User": "user",
    }
    return json.dumps({"config": settings, "rootfs": {"diff_ids": ids}}).encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def oci(parts: list[bytes], pack: str = "gzip") -> tuple[dict[str, bytes], str]:
    """The files of an OCI layout, and the digest of its manifest."""
    packed = [_packed(part, pack) for part in parts]
    config = config_of(parts)
    described = [{"digest": _digest(layer), "size": len(layer)} for layer in packed]
    manifest = json.dumps({"config": {"digest": _digest(config)}, "layers": described}).encode()
    index = json.dumps({"manifests": [{"digest": _digest(manifest)}]}).encode()
    blobs = {f"blobs/sha256/{_digest(blob)[7:]}": blob for blob in (*packed, config, manifest)}
    return {"oci-layout": b"{}", "index.json": index, **blobs}, _digest(manifest)


def docker(parts: list[bytes]) -> tuple[dict[str, bytes], str]:
    """The files of ``docker save`` of old, and the image's id."""
    config = config_of(parts)
    name = f"{_digest(config)[7:]}.json"
    named = {f"{_digest(part)[7:]}/layer.tar": part for part in parts}
    listed: list[Any] = [{"Config": name, "RepoTags": ["x:1"], "Layers": list(named)}]
    return {"manifest.json": json.dumps(listed).encode(), name: config, **named}, _digest(config)


def _packed(content: bytes, pack: str) -> bytes:
    if pack == "gzip":
        return gzip.compress(content, 1)
    if pack == "zstd":
        program = shutil.which("zstd") or pytest.skip("zstd is not installed")
        return subprocess.run([program, "-qc"], input=content, capture_output=True).stdout
    return content


def archive(files: dict[str, bytes], path: Path, pack: str = "") -> Path:
    """Write the files of an image as one archive."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, value in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(value)
            tar.addfile(member, io.BytesIO(value))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_packed(content.getvalue(), pack))
    return path
