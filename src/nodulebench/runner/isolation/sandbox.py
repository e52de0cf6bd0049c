"""What a sandbox is given and what it gives back, whichever program makes it."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from nodulebench.core.algorithm import RunResources
from nodulebench.core.errors import InputError

MIB = 1 << 20
SERVICE_ID = 1_987_654_321
"""Who the program is for the machine where root starts it: nobody that exists."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of this machine, and where the program finds it."""

    source: Path
    target: str
    is_writable: bool = False
    below: Path | None = None
    """A folder above the source; from there on no part of its path may be a link."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that all processes of a program may use together."""

    cpus: float
    memory_bytes: int
    pids: int
    output_bytes: int
    gpus: tuple[int, ...] = ()
    """The graphics cards that it may use, by their numbers."""

    @property
    def tmp_bytes(self) -> int:
        """What ``/tmp`` holds: it is memory."""
        return max(self.memory_bytes // 2, MIB)


def limits_of(resources: RunResources, gpus: tuple[int, ...] = ()) -> Limits:
    """The limits that a manifest asks for."""
    return Limits(
        cpus=resources.cpus,
        memory_bytes=int(resources.memory_gb * (1 << 30)),
        pids=resources.pids,
        output_bytes=resources.output_mb * MIB,
        gpus=gpus,
    )


@dataclass(frozen=True, slots=True)
class Job:
    """What is started in a sandbox."""

    command: tuple[str, ...]
    mounts: tuple[Mount, ...]
    limits: Limits
    folder: str = "/tmp"  # noqa: S108 - the sandbox's own
    """Where it is started, inside."""
    environment: Mapping[str, str] = field(default_factory=dict)
    root: Path | None = None
    """An unpacked image; None: the programs of this machine (``/usr``)."""
    space: Path | None = None
    """A folder where whoever makes the sandbox may keep what it needs; it goes with the slot."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a program and all that it started have used so far; None: it was not measured."""

    cpu_seconds: float | None = None
    peak_bytes: int | None = None
    """With the files that it read, as the system keeps them in memory."""
    anonymous_bytes: int | None = None
    """Now, without files."""
    memory_kills: int = 0
    """Processes that were ended for want of memory, whatever the program said of it."""
    refused_forks: int = 0
    seconds: float | None = None
    """How long it ran, where whoever made the sandbox says so."""


class Running(Protocol):
    """A program in its sandbox."""

    process: "subprocess.Popen[bytes]"

    def usage(self) -> Usage:
        """What it has used so far."""
        ...

    def kill(self) -> None:
        """End it with all that it started, and wait until nothing of it is left."""
        ...

    def network_of(self) -> tuple[str, ...]:
        """The words before a command that is to run in the network of the sandbox."""
        ...


class Isolation(Protocol):
    """One way to keep a program apart."""

    name: str
    sees_our_mounts: bool
    """Whether file systems that this thread mounts for itself are seen by what makes sandboxes."""

    def version(self) -> str:
        """What makes the sandbox, as it calls itself.

        Raises:
            InputError: if it is not there.
        """
        ...

    def fault(self, exit_code: int | None, said: str) -> str:
        """Why the sandbox itself failed, by how it ended; nothing: it was the program's own end."""
        ...

    def start(self, job: Job) -> AbstractContextManager[Running]:
        """Start a program; when the context is left, nothing of it runs any more.

        Raises:
            OSError: if the sandbox cannot be made; the program is not to blame.
        """
        ...


def close_streams(process: "subprocess.Popen[bytes]") -> None:
    """Give back what a program was spoken to by, broken or not."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")


def environment_of(job: Job) -> dict[str, str]:
    """What a program finds in its environment: nothing of ours."""
    plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    folders = {"HOME": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108
    cards = {"CUDA_VISIBLE_DEVICES": ",".join(str(one) for one in job.limits.gpus)}
    return plain | folders | cards | dict(job.environment)


def machine_links() -> dict[str, str]:
    """The links of this machine's root that lead to its programs and libraries."""
    places = (Path("/") / name for name in _SYSTEM)
    return {place.name: str(place.readlink()) for place in places if place.is_symlink()}


def machine_parts() -> list[str]:
    """The programs and libraries of this machine, without its settings and its people's files."""
    places = (Path("/") / name for name in _SYSTEM)
    folders = [str(place) for place in places if place.is_dir() and not place.is_symlink()]
    settings = (Path("/etc") / name for name in _SETTINGS)
    return ["/usr", *folders, *(str(setting) for setting in settings if setting.exists())]


def cards_of(gpus: tuple[int, ...]) -> list[str]:
    """The device files of graphics cards."""
    if not gpus:
        return []
    shared = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
    found = [*(f"/dev/nvidia{one}" for one in gpus), *shared]
    return [one for one in found if Path(one).exists()]


@dataclass
class BareRunning:
    """A program without a sandbox."""

    process: "subprocess.Popen[bytes]"

    def usage(self) -> Usage:
        """Nobody measures."""
        return Usage()

    def kill(self) -> None:
        """End it and its group; what left the group goes on."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def network_of(self) -> tuple[str, ...]:
        """It has that of this machine."""
        return ()


class Bare:
    """No isolation at all."""

    name = "none"
    sees_our_mounts = True

    def version(self) -> str:
        """There is nothing that has one."""
        return ""

    def fault(self, exit_code: int | None, said: str) -> str:  # noqa: ARG002
        """There is no sandbox that could fail."""
        return ""

    @contextmanager
    def start(self, job: Job) -> Iterator[BareRunning]:
        """Start a program where it lies; arguments that name a mount name its folder instead."""
        if job.root is not None:
            raise InputError.at("isolation 'none'", "cannot run an image.", "Use bubblewrap.")
        places = {mount.target: str(mount.source) for mount in job.mounts}
        process = subprocess.Popen(  # noqa: S603 - asked for by name
            [places.get(word, word) for word in job.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=places.get(job.folder, job.folder),
            env={**environment_of(job), "PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,
            bufsize=0,
        )
        running = BareRunning(process)
        try:
            yield running
        finally:
            running.kill()
            close_streams(process)
