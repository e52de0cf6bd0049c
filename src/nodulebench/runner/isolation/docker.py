"""Containers by docker: an image without files, and the parts of the root mounted into it.

The service has mounts of its own, so that what a slot needs lies in plain folders.
"""

import hashlib
import io
import subprocess
import tarfile
import threading
from pathlib import Path

from nodulebench.io.process_folder import is_alive
from nodulebench.runner.isolation.containers import (
    LABEL,
    Engine,
    Prepared,
    client_environment,
    mounted,
)
from nodulebench.runner.isolation.inside import machine_links, machine_parts
from nodulebench.runner.isolation.sandbox import Job

_IMAGE = "nodulebench-links"
_COVERED = ("proc", "dev", "sys", "tmp")
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")


class Docker(Engine):
    """Sandboxes by docker."""

    name = "docker"
    package = "the package docker.io, and start its service"
    asks_version = ("version", "--format={{.Server.Version}}")
    sees_our_mounts = False

    def __init__(self) -> None:
        self._images: dict[bytes, str] = {}
        self._lock = threading.Lock()

    def prepared(self, job: Job) -> Prepared:
        """An image that has the links of the root, and its folders as mounts."""
        if job.root is None:
            links, parts = machine_links(), {place: place for place in machine_parts()}
        else:
            links, parts = _parts(job.root, {mount.target for mount in job.mounts})
        own: list[str] = []
        for target, source in parts.items():
            own += mounted(source, target)
        for name in _PROXIES:  # else its client adds those of the operator's settings
            own += ["--env", f"{name}=", "--env", f"{name.upper()}="]
        return Prepared([self.name], client_environment(), [*own, self._image(links)])

    def _image(self, links: dict[str, str]) -> str:
        """The image with these links; where it is new, what killed runs left is removed first.

        Raises:
            OSError: if the service does not take it.
        """
        content = _archive(links)
        with self._lock:
            if not self._images:
                self._sweep()
            if content not in self._images:
                name = f"{_IMAGE}:{hashlib.sha256(content).hexdigest()[:16]}"
                self._ask("import", "-", name, given=content)
                self._images[content] = name
            return self._images[content]

    def _sweep(self) -> None:
        """Remove the containers of runs that were killed."""
        told = self._ask("ps", "--all", f"--filter=label={LABEL}", "--format={{.Names}}")
        for name in told.split():
            known = name.removeprefix(f"{LABEL}-").rpartition("-")[0]
            if not is_alive(known):
                self._ask("rm", "--force", name)

    def _ask(self, *words: str, given: bytes = b"") -> str:
        told = subprocess.run(  # noqa: S603
            [self.name, *words],
            input=given,
            capture_output=True,
            check=False,
            env=client_environment(),
        )
        if told.returncode:
            raise OSError(f"docker {words[0]}: {told.stderr.decode(errors='replace').strip()}")
        return told.stdout.decode(errors="replace")


def _parts(root: Path, targets: set[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Links at the top of an unpacked image, and what else lies there as mounts."""
    links, parts = {}, {}
    for one in sorted(root.iterdir()):
        target = f"/{one.name}"
        if one.is_symlink():
            links[one.name] = str(one.readlink())
        elif one.name not in _COVERED and target not in targets:
            parts[target] = str(one)
    return links, parts


def _archive(links: dict[str, str]) -> bytes:
    """A root file system with links and a place for what is written, as a tar file."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        place = tarfile.TarInfo("tmp")
        place.type, place.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(place)
        for name, target in sorted(links.items()):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
    return content.getvalue()
