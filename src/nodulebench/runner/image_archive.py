"""Unpack an image archive (docker save, OCI layout) into a root folder with a start command.

No engine is needed. All digests in the archive are checked before anything in it is run.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.runner.case_input import PROFILES

_COVERED = ("proc", "dev", "sys", "tmp")
"""Folders that every sandbox replaces with its own."""
MOUNT_POINTS = (*_COVERED, "opt/ml/model", "opt/algorithm")
_NAMES = ("etc/hosts", "etc/hostname", "etc/resolv.conf")
"""Files that engines replace with their own."""
LARGEST_IMAGE_BYTES = 64 << 30
_ERASED, _ALL_ERASED = ".wh.", ".wh..wh..opq"
_ZSTD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"
_MOST_LINKS = 40
_CHUNK = 1 << 20
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_UNUSABLE = (
    tarfile.TarError,
    EOFError,
    OSError,
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
    zlib.error,
)
"""Exceptions from the content of an archive that is not an image."""


@dataclass(frozen=True, slots=True)
class Image:
    """How to start an image."""

    digest: str
    """SHA-256 of its manifest; for archives without one, of its configuration."""
    command: tuple[str, ...]
    folder: str
    environment: dict[str, str]


def unpack_image(archive: Path, root: Path, digest: str = "", space: Path | None = None) -> Image:
    """Unpack an archive (``docker save``, ``podman save``, an OCI layout) into a new folder.

    It may be compressed with gzip or zstd. ``digest``: the required one of the manifest or the
    configuration; empty: any. ``space``: a folder for its parts; None: next to the root.
    """
    parts = (space or root.parent) / f"{root.name}-parts"
    parts.mkdir(parents=True)
    try:
        with _plain(archive) as stream:
            _take_apart(stream, parts, archive)
        config_name, layers, manifest_digest = _contents(parts, archive)
        config = _json(parts / config_name, archive)
        config_digest = _digest(parts / config_name)
        if digest and digest not in (manifest_digest, config_digest):
            what = f"is the image {manifest_digest or config_digest}, not {digest}."
            raise InputError.at(archive, what, "Is it the one that was declared?")
        root.mkdir(parents=True)
        wanted = config.get("rootfs", {}).get("diff_ids", [])
        if len(wanted) != len(layers):
            raise InputError.at(archive, f"has {len(layers)} layers, but names {len(wanted)}.")
        most_bytes = LARGEST_IMAGE_BYTES
        for layer, whole in zip(layers, wanted, strict=True):
            most_bytes -= _add_layer(parts / layer, root, whole, archive, most_bytes)
        _make_places(root)
        return _started(config.get("config") or {}, manifest_digest or config_digest, archive)
    except _UNUSABLE as error:
        what = f"cannot be unpacked as an image ({error})."
        raise InputError.at(archive, what, "Build the image again and save it.") from error
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def mount_target(root: Path, target: str) -> str:
    """Return the path inside an unpacked image of a mount target, with links resolved.

    The sandbox is mounted there without following a link of the image.
    """
    return f"/{_inside(root, target).relative_to(root)}"


def _make_places(root: Path) -> None:
    """Create the mount points in a root, which is read-only afterwards."""
    for name in _COVERED:
        if (root / name).is_symlink() or not (root / name).is_dir():
            _erase(root, root / name)
            (root / name).mkdir()
    layouts = (place for profile in PROFILES.values() for place in (profile.input, profile.output))
    for place in (*MOUNT_POINTS, *layouts):
        target = _inside(root, place)
        parts = target.relative_to(root).parts
        if not parts or (parts[0] in _COVERED and place not in _COVERED):
            leads_to = "/".join(("", *parts)) or "/"
            raise ValueError(f"'{place}' is a link to '{leads_to}', where nothing can be mounted")
        target.mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for name in _NAMES:
        file = _inside(root, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def _started(config: JsonObject, digest: str, archive: Path) -> Image:
    command = (*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ()))
    if not command:
        raise InputError.at(archive, "has no start command (neither Entrypoint nor Cmd).")
    variables = [entry.partition("=") for entry in config.get("Env") or ()]
    environment = {name: value for name, _, value in variables if name not in ("HOME", "TMPDIR")}
    folder = config.get("WorkingDir") or "/"
    words = (*command, folder, *environment, *environment.values())
    if "" in environment or any("\0" in word for word in words):  # would end a word early
        raise ValueError("a word of its settings is empty or contains a null character")
    return Image(digest, command, folder, environment)


@contextmanager
def _plain(path: Path) -> Iterator[IO[bytes]]:
    """Open a file and decompress it if needed; a link is not followed."""
    with open(os.open(path, _OPEN_FLAGS), "rb") as file:  # noqa: PTH123 - Path follows links
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is not a regular file")
        start = os.pread(file.fileno(), 4, 0)
        if start.startswith(_GZIP):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield io.BufferedReader(unpacked)
        elif start == _ZSTD:
            program = shutil.which("zstd")
            if program is None:
                raise InputError.at(path, "is compressed with zstd.", "Install the package zstd.")
            with subprocess.Popen([program, "-dcq"], stdin=file, stdout=subprocess.PIPE) as process:  # noqa: S603
                if process.stdout is None:
                    raise AssertionError("the process has a pipe")
                yield process.stdout
        else:
            yield file


def _take_apart(stream: IO[bytes], parts: Path, archive: Path) -> None:
    """Write the regular files of an archive into a folder, under their names in it."""
    left, links = LARGEST_IMAGE_BYTES, []
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise InputError.at(archive, "names files outside of itself.")
            left -= member.size
            if left < 0:
                raise InputError.at(archive, "is larger than any image may be.")
            target = parts / name
            if member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                source = tar.extractfile(member)
                if source is not None:
                    with target.open("wb") as copy:
                        shutil.copyfileobj(source, copy, _CHUNK)
            elif member.issym() or member.islnk():  # layers that are listed twice
                links.append((target, str(name.parent / member.linkname)))
    for target, named in links:
        there = _inside(parts, named)
        if there.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(there, target)


def _contents(parts: Path, archive: Path) -> tuple[str, list[str], str]:
    """Return the configuration, the layers in order, and the digest of the manifest, if any."""
    if (parts / "index.json").is_file():
        listed = _json(parts / "index.json", archive)["manifests"]
        if len(listed) != 1:
            raise InputError.at(archive, f"contains {len(listed)} images.", "Save only one.")
        manifest = listed[0]
        while True:
            content = _json(parts / _blob(parts, manifest["digest"], archive), archive)
            if "layers" in content:
                break
            manifest = content["manifests"][0]
        layers = [_blob(parts, layer["digest"], archive) for layer in content["layers"]]
        return _blob(parts, content["config"]["digest"], archive), layers, manifest["digest"]
    if not (parts / "manifest.json").is_file():
        what = "has neither an index.json nor a manifest.json."
        raise InputError.at(archive, what, "Make it with docker save or podman save.")
    (image,) = _json(parts / "manifest.json", archive)
    config = image["Config"]
    stem = PurePosixPath(config).name.removesuffix(".json")
    if len(stem) == 64 and _digest(parts / _below(config)) != f"sha256:{stem}":
        raise InputError.at(archive, f"{config} does not match its digest.")
    return _below(config), [_below(layer) for layer in image["Layers"]], ""


def _below(name: str) -> str:
    if name.startswith("/") or ".." in PurePosixPath(name).parts:
        raise ValueError(f"'{name}' is outside of the image")
    return name


def _blob(parts: Path, digest: str, archive: Path) -> str:
    """Return the file of a part after checking its digest."""
    kind, _, value = digest.partition(":")
    if kind != "sha256" or len(value) != 64 or not value.isalnum():
        raise InputError.at(archive, f"names a part by '{digest[:80]}', which is not a SHA-256.")
    name = f"blobs/sha256/{value}"
    if not (parts / name).is_file():
        raise InputError.at(archive, f"lacks the part {digest}.")
    if _digest(parts / name) != digest:
        raise InputError.at(archive, f"{digest} does not match its digest.")
    return name


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def _json(path: Path, archive: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError.at(archive, f"{path.name} cannot be read ({error}).") from error


class _Hashing(io.RawIOBase):
    """A stream that is hashed as it is read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        part = self.stream.read(size)
        self.hash.update(part)
        return part


def _add_layer(layer: Path, root: Path, diff_id: str, archive: Path, most_bytes: int) -> int:
    """Add the files of a layer over those of the layers below; return the bytes of its files."""
    written = 0
    with _plain(layer) as stream:
        hashing = _Hashing(stream)
        with tarfile.open(fileobj=hashing, mode="r|") as tar:
            for member in tar:
                written += member.size  # of a sparse file, with its holes
                if written > most_bytes:
                    raise InputError.at(archive, "is larger than any image may be.")
                _add(tar, member, root)
        while hashing.read(_CHUNK):  # bytes after the last file are hashed, too
            pass
    if f"sha256:{hashing.hash.hexdigest()}" != diff_id:
        raise InputError.at(archive, f"the layer {diff_id} does not match its digest.")
    return written


def _add(tar: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    """Add an entry of a layer, or remove what it deletes, always below the root."""
    path = PurePosixPath(member.name)
    folder, name = _inside(root, str(path.parent)), path.name
    if name == _ALL_ERASED:
        for child in list(folder.iterdir()) if folder.is_dir() else ():
            _erase(root, child)
        return
    if name.startswith(_ERASED):
        _erase(root, folder / _file_name(name.removeprefix(_ERASED), member))
        return
    if member.isdir():
        target = folder / _file_name(name, member) if name else root
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            _erase(root, target)
        target.mkdir(parents=True, exist_ok=True)
        target.chmod(0o755)
        return
    target = folder / _file_name(name, member)
    folder.mkdir(parents=True, exist_ok=True)
    _erase(root, target)
    if member.issym():
        target.symlink_to(member.linkname)
    elif member.islnk():
        linked = PurePosixPath(member.linkname)
        source = _inside(root, str(linked.parent)) / _file_name(linked.name, member)
        os.link(source, target, follow_symlinks=False)
    elif member.isfile():
        content = tar.extractfile(member)
        if content is not None:
            with target.open("wb") as copy:
                shutil.copyfileobj(content, copy, _CHUNK)
        target.chmod(0o755 if member.mode & 0o111 else 0o644)  # readable by any user
    # devices and pipes are skipped: the sandbox has its own


def _file_name(name: str, member: tarfile.TarInfo) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"the entry {member.name[:200]!r} of a layer does not name a file in it")
    return name


def _erase(root: Path, path: Path) -> None:
    folder = path.parent.resolve()
    is_below = folder == root.resolve() or root.resolve() in folder.parents
    if not is_below or path.name in ("", ".", ".."):
        raise ValueError(f"'{path}' is outside of the image and is not removed")
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _inside(root: Path, name: str) -> Path:
    """Resolve a name within a root, following links as they would be followed inside."""
    waiting = [part for part in PurePosixPath(name).parts if part != "/"][::-1]
    place, links = root, 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            place = place.parent if place != root else root
            continue
        following = place / part
        if following.is_symlink():
            links += 1
            if links > _MOST_LINKS:
                raise ValueError("links lead in a circle")
            target = PurePosixPath(os.readlink(following))  # noqa: PTH115 - as it stands
            place = root if target.is_absolute() else place
            waiting += [name for name in target.parts if name != "/"][::-1]
        else:
            place = following
    return place
