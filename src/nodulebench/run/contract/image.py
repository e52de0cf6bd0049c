"""An image archive (docker save, OCI layout) -> an unpacked root and what is started in it.

No engine is needed. Every digest that the archive names is checked before anything of it is run.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from nodulebench.errors import InputError
from nodulebench.run.contract.case_folder import PROFILES

MOUNT_POINTS = ("proc", "dev", "sys", "tmp", "opt/ml/model", "opt/algorithm")
_NAMES = ("etc/hosts", "etc/hostname", "etc/resolv.conf")
"""Files that engines lay their own over."""
LARGEST_IMAGE_BYTES = 64 << 30
_ERASED, _ALL_ERASED = ".wh.", ".wh..wh..opq"
_ZSTD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"
_MOST_LINKS = 40
_CHUNK = 1 << 20


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
        for layer, whole in zip(layers, wanted, strict=True):
            _add_layer(parts / layer, root, whole, archive)
    except (tarfile.TarError, EOFError, OSError, KeyError, TypeError, ValueError) as error:
        raise InputError.at(archive, f"is no image that can be unpacked ({error}).") from error
    finally:
        shutil.rmtree(parts, ignore_errors=True)
    _make_places(root)
    return _started(config.get("config") or {}, found or config_digest, archive)


def _make_places(root: Path) -> None:
    """Make what is mounted over in a root that nobody can write to afterwards."""
    layouts = (place for one in PROFILES.values() for place in (one.input, one.output))
    for place in (*MOUNT_POINTS, *layouts):
        _inside(root, place).mkdir(parents=True, exist_ok=True)
    _inside(root, "tmp").chmod(0o1777)
    for name in _NAMES:
        file = _inside(root, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def _started(config: dict[str, Any], digest: str, archive: Path) -> Image:
    command = (*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ()))
    if not command:
        raise InputError.at(archive, "does not say what is started (no Entrypoint, no Cmd).")
    pairs = (one.partition("=") for one in config.get("Env") or ())
    environment = {name: value for name, _, value in pairs if name not in ("HOME", "TMPDIR")}
    return Image(digest, tuple(map(str, command)), config.get("WorkingDir") or "/", environment)


@contextmanager
def _plain(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if it is packed."""
    with path.open("rb") as file:
        start = file.read(4)
    if start.startswith(_GZIP):
        with gzip.open(path, "rb") as unpacked:
            yield io.BufferedReader(unpacked)
    elif start == _ZSTD:
        program = shutil.which("zstd")
        if program is None:
            raise InputError.at(path, "is packed by zstd.", "Install the package zstd.")
        with subprocess.Popen([program, "-dcq", str(path)], stdout=subprocess.PIPE) as process:  # noqa: S603
            if process.stdout is None:
                raise AssertionError("it was given a pipe")
            yield process.stdout
    else:
        with path.open("rb") as file:
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
        layers = [_blob(parts, one["digest"], archive) for one in content["layers"]]
        return _blob(parts, content["config"]["digest"], archive), layers, manifest["digest"]
    if not (parts / "manifest.json").is_file():
        what = "has neither an index.json nor a manifest.json."
        raise InputError.at(archive, what, "Make it with docker save or podman save.")
    (image,) = _json(parts / "manifest.json", archive)
    config = image["Config"]
    stem = PurePosixPath(config).name.removesuffix(".json")
    if len(stem) == 64 and _digest(parts / _below(config)) != f"sha256:{stem}":
        raise InputError.at(archive, f"{config} is not as its digest says.")
    return _below(config), [_below(one) for one in image["Layers"]], ""


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


def _add_layer(layer: Path, root: Path, diff_id: str, archive: Path) -> None:
    """Lay the files of a layer over those below it."""
    with _plain(layer) as stream:
        hashing = _Hashing(stream)
        with tarfile.open(fileobj=hashing, mode="r|") as tar:
            for member in tar:
                _add(tar, member, root)
        while hashing.read(_CHUNK):  # what stands after the last file counts too
            pass
    if f"sha256:{hashing.hash.hexdigest()}" != diff_id:
        raise InputError.at(archive, f"the layer {diff_id} is not as its digest says.")


def _add(tar: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    name = PurePosixPath(member.name)
    if name.name == _ALL_ERASED:
        place = _inside(root, str(name.parent))
        for one in list(place.iterdir()) if place.is_dir() else ():
            _erase(one)
        return
    above = _inside(root, str(name.parent))
    if name.name.startswith(_ERASED):
        _erase(above / name.name.removeprefix(_ERASED))
        return
    target = above / name.name if name.name not in ("", ".", "..") else above
    above.mkdir(parents=True, exist_ok=True)
    if member.isdir():
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            _erase(target)
        target.mkdir(exist_ok=True)
        target.chmod(0o755)
        return
    if target != root:
        _erase(target)
    if member.issym():
        target.symlink_to(member.linkname)
    elif member.islnk():
        linked = PurePosixPath(member.linkname)
        os.link(_inside(root, str(linked.parent)) / linked.name, target, follow_symlinks=False)
    elif member.isfile():
        source = tar.extractfile(member)
        if source is not None:
            with target.open("wb") as copy:
                shutil.copyfileobj(source, copy, _CHUNK)
        target.chmod(0o755 if member.mode & 0o111 else 0o644)  # for whoever runs it
    # devices and pipes are left out: the sandbox has its own


def _erase(path: Path) -> None:
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
