"""An image archive (docker save, OCI layout) -> an unpacked root and what is started in it.

No engine is needed. Every digest that the archive names is checked before anything of it is run.
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
from nodulebench.runner.contract.input import PROFILES

_COVERED = ("proc", "dev", "sys", "tmp")
"""Folders that every sandbox replaces with its own."""
MOUNT_POINTS = (*_COVERED, "opt/ml/model", "opt/algorithm")
_NAMES = ("etc/hosts", "etc/hostname", "etc/resolv.conf")
"""Files that engines lay their own over."""
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
"""What the content of an archive can raise that is not an image."""


@dataclass(frozen=True, slots=True)
class Image:
    """What an image says of how it is started."""

    digest: str
    """SHA-256 of its manifest; of archives that have none, of its configuration."""
    command: tuple[str, ...]
    folder: str
    environment: dict[str, str]


def unpack_image(archive: Path, root: Path, digest: str = "", space: Path | None = None) -> Image:
    """Unpack an archive into an empty folder.

    Args:
        archive: by ``docker save`` or ``podman save``, or an OCI layout in a tar; it may be packed
            by gzip or zstd.
        root: becomes the root of the file system.
        digest: of its manifest or its configuration, where it has to be that very image.
        space: a folder for its parts until they are unpacked; None: beside the root.

    Raises:
        InputError: if it is no image, is another one, or a part is not as its digest says.
    """
    parts = (space or root.parent) / f"{root.name}-parts"
    parts.mkdir(parents=True)
    try:
        with _plain(archive) as stream:
            _take_apart(stream, parts, archive)
        config_name, layers, found = _contents(parts, archive)
        config = _json(parts / config_name, archive)
        config_digest = _digest(parts / config_name)
        if digest and digest not in (found, config_digest):
            what = f"is the image {found or config_digest}, not {digest}."
            raise InputError.at(archive, what, "Is it the one that was declared?")
        root.mkdir(parents=True)
        wanted = config.get("rootfs", {}).get("diff_ids", [])
        if len(wanted) != len(layers):
            raise InputError.at(archive, f"has {len(layers)} layers, but names {len(wanted)}.")
        most_bytes = LARGEST_IMAGE_BYTES
        for layer, whole in zip(layers, wanted, strict=True):
            most_bytes -= _add_layer(parts / layer, root, whole, archive, most_bytes)
        _make_places(root)
        return _started(config.get("config") or {}, found or config_digest, archive)
    except _UNUSABLE as error:
        what = f"cannot be unpacked as an image ({error})."
        raise InputError.at(archive, what, "Build the image again and save it.") from error
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def mount_target(root: Path, target: str) -> str:
    """The path inside an unpacked image that a mount target leads to, free of links.

    What makes the sandbox mounts there, and need not follow a link of the image itself.
    """
    return f"/{_inside(root, target).relative_to(root)}"


def _make_places(root: Path) -> None:
    """Make the mount points in a root that nobody can write to afterwards.

    Raises:
        ValueError: if links of the image lead a mount point to where nothing can be mounted.
    """
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
        raise InputError.at(archive, "does not say what is started (no Entrypoint, no Cmd).")
    variables = [entry.partition("=") for entry in config.get("Env") or ()]
    environment = {name: value for name, _, value in variables if name not in ("HOME", "TMPDIR")}
    folder = config.get("WorkingDir") or "/"
    words = (*command, folder, *environment, *environment.values())
    if "" in environment or any("\0" in word for word in words):  # would end a word early
        raise ValueError("a word of its settings is empty or holds a null character")
    return Image(digest, command, folder, environment)


@contextmanager
def _plain(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed if it is compressed; a link is not followed.

    Raises:
        OSError: if it is a link.
        ValueError: if it is not a plain file.
    """
    with open(os.open(path, _OPEN_FLAGS), "rb") as file:  # noqa: PTH123 - Path follows links
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is not a plain file")
        start = os.pread(file.fileno(), 4, 0)
        if start.startswith(_GZIP):
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield io.BufferedReader(unpacked)
        elif start == _ZSTD:
            program = shutil.which("zstd")
            if program is None:
                raise InputError.at(path, "is packed by zstd.", "Install the package zstd.")
            with subprocess.Popen([program, "-dcq"], stdin=file, stdout=subprocess.PIPE) as process:  # noqa: S603
                if process.stdout is None:
                    raise AssertionError("it was given a pipe")
                yield process.stdout
        else:
            yield file


def _take_apart(stream: IO[bytes], parts: Path, archive: Path) -> None:
    """Write the plain files of an archive into a folder, under their names in it."""
    room, links = LARGEST_IMAGE_BYTES, []
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts:
                raise InputError.at(archive, "names files outside of itself.")
            room -= member.size
            if room < 0:
                raise InputError.at(archive, "is larger than any image may be.")
            target = parts / name
            if member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                source = tar.extractfile(member)
                if source is not None:
                    with target.open("wb") as copy:
                        shutil.copyfileobj(source, copy, _CHUNK)
            elif member.issym() or member.islnk():  # layers that are there twice
                links.append((target, str(name.parent / member.linkname)))
    for target, named in links:
        there = _inside(parts, named)
        if there.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(there, target)


def _contents(parts: Path, archive: Path) -> tuple[str, list[str], str]:
    """The configuration, the layers in order, and the digest of the manifest, if it has one."""
    if (parts / "index.json").is_file():
        listed = _json(parts / "index.json", archive)["manifests"]
        if len(listed) != 1:
            raise InputError.at(archive, f"holds {len(listed)} images.", "Save one alone.")
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
        raise InputError.at(archive, f"{config} is not as its digest says.")
    return _below(config), [_below(layer) for layer in image["Layers"]], ""


def _below(name: str) -> str:
    if name.startswith("/") or ".." in PurePosixPath(name).parts:
        raise ValueError(f"'{name}' lies outside")
    return name


def _blob(parts: Path, digest: str, archive: Path) -> str:
    """The file of a part, once its digest is checked."""
    kind, _, value = digest.partition(":")
    if kind != "sha256" or len(value) != 64 or not value.isalnum():
        raise InputError.at(archive, f"names a part by '{digest[:80]}', which is no SHA-256.")
    name = f"blobs/sha256/{value}"
    if not (parts / name).is_file():
        raise InputError.at(archive, f"lacks the part {digest}.")
    if _digest(parts / name) != digest:
        raise InputError.at(archive, f"{digest} is not as its digest says.")
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
    """Put the files of a layer over those of the layers below; the bytes of its files.

    Raises:
        InputError: if the layer is not as its digest says, or its files have more bytes than that.
        ValueError: if an entry would change something outside of the root.
    """
    written = 0
    with _plain(layer) as stream:
        hashing = _Hashing(stream)
        with tarfile.open(fileobj=hashing, mode="r|") as tar:
            for member in tar:
                written += member.size  # of a sparse file, with its holes
                if written > most_bytes:
                    raise InputError.at(archive, "is larger than any image may be.")
                _add(tar, member, root)
        while hashing.read(_CHUNK):  # what stands after the last file counts too
            pass
    if f"sha256:{hashing.hash.hexdigest()}" != diff_id:
        raise InputError.at(archive, f"the layer {diff_id} is not as its digest says.")
    return written


def _add(tar: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    """Add an entry of a layer, or remove what it removes, always below the root.

    Raises:
        ValueError: if the entry names nothing below the root.
    """
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
        target.chmod(0o755 if member.mode & 0o111 else 0o644)  # for whoever runs it
    # devices and pipes are left out: the sandbox has its own


def _file_name(name: str, member: tarfile.TarInfo) -> str:
    """A name that an entry of a layer gives to a file.

    Raises:
        ValueError: if it names a folder itself or the one above, or is not a name.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"the entry {member.name[:200]!r} of a layer does not name a file in it")
    return name


def _erase(root: Path, path: Path) -> None:
    """Remove a file, a link or a folder that lies below a root.

    Raises:
        ValueError: if it does not, or the way to it leads through a link out of the root.
    """
    folder = path.parent.resolve()
    is_below = folder == root.resolve() or root.resolve() in folder.parents
    if not is_below or path.name in ("", ".", ".."):
        raise ValueError(f"'{path}' lies outside of the image and is not removed")
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _inside(root: Path, name: str) -> Path:
    """Where a name leads within a root, its links followed as they would be inside.

    Raises:
        ValueError: if links lead in a circle.
    """
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
            waiting += [one for one in target.parts if one != "/"][::-1]
        else:
            place = following
    return place
