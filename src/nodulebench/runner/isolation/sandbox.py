"""Interface of sandboxes: jobs, limits, usage, and the protocol of an isolation."""

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
"""User of the program on this machine if root starts it: an id that no account has."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of this machine, and its path in the sandbox."""

    source: Path
    target: str
    is_writable: bool = False
    below: Path | None = None
    """A folder above the source; below it, no part of the path may be a link."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that all processes of a program may use together."""

    cpus: float
    memory_bytes: int
    pids: int
    output_bytes: int
    gpus: tuple[int, ...] = ()
    """Numbers of the graphics cards that it may use."""

    @property
    def tmp_bytes(self) -> int:
        """Size of ``/tmp``, which is in memory."""
        return max(self.memory_bytes // 2, MIB)


def limits_of(resources: RunResources, gpus: tuple[int, ...] = ()) -> Limits:
    return Limits(
        cpus=resources.cpus,
        memory_bytes=int(resources.memory_gb * (1 << 30)),
        pids=resources.pids,
        output_bytes=resources.output_mb * MIB,
        gpus=gpus,
    )


@dataclass(frozen=True, slots=True)
class Job:
    """A command to start in a sandbox."""

    command: tuple[str, ...]
    mounts: tuple[Mount, ...]
    limits: Limits
    folder: str = "/tmp"  # noqa: S108 - the sandbox's own
    """Working folder, inside."""
    environment: Mapping[str, str] = field(default_factory=dict)
    root: Path | None = None
    """An unpacked image; None: the programs of this machine (``/usr``)."""
    space: Path | None = None
    """A folder for the files of the isolation; it is removed with the slot."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources that a program and its children have used so far; None: not measured."""

    cpu_seconds: float | None = None
    peak_bytes: int | None = None
    """Including files in the page cache."""
    anonymous_bytes: int | None = None
    """At present, without files."""
    memory_kills: int = 0
    """Processes that were killed for lack of memory."""
    refused_forks: int = 0
    seconds: float | None = None
    """Run time, if the isolation reports it."""


class Running(Protocol):
    """A program in its sandbox."""

    process: "subprocess.Popen[bytes]"

    def usage(self) -> Usage: ...

    def kill(self) -> None:
        """Kill it with its children, and wait until all have ended."""
        ...

    def network_of(self) -> tuple[str, ...]:
        """Return the command prefix that enters the network of the sandbox."""
        ...


class Isolation(Protocol):
    """A way to isolate a program."""

    name: str
    sees_our_mounts: bool
    """Whether the isolation sees file systems that this thread mounts for itself."""

    def version(self) -> str:
        """Return the name and version of the program that creates sandboxes.

        Raises:
            InputError: if it is not installed.
        """
        ...

    def fault(self, exit_code: int | None, output: str) -> str:
        """Return why the sandbox itself failed; empty: the program ended by itself."""
        ...

    def start(self, job: Job) -> AbstractContextManager[Running]:
        """Start a program; when the context is left, none of its processes is left.

        Raises:
            OSError: if the sandbox cannot be created; the program is not to blame.
        """
        ...


def close_streams(process: "subprocess.Popen[bytes]") -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")


def environment_of(job: Job) -> dict[str, str]:
    """Return the environment of a program, without any of our variables."""
    plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    folders = {"HOME": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108
    cards = {"CUDA_VISIBLE_DEVICES": ",".join(str(gpu) for gpu in job.limits.gpus)}
    return plain | folders | cards | dict(job.environment)


def machine_links() -> dict[str, str]:
    """Return the links in this machine's root folder to its programs and libraries."""
    paths = (Path("/") / name for name in _SYSTEM)
    return {path.name: str(path.readlink()) for path in paths if path.is_symlink()}


def machine_parts() -> list[str]:
    """Return the folders of this machine's programs and libraries, without users' files."""
    paths = (Path("/") / name for name in _SYSTEM)
    folders = [str(path) for path in paths if path.is_dir() and not path.is_symlink()]
    settings = (Path("/etc") / name for name in _SETTINGS)
    return ["/usr", *folders, *(str(setting) for setting in settings if setting.exists())]


def cards_of(gpus: tuple[int, ...]) -> list[str]:
    if not gpus:
        return []
    shared = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
    devices = [*(f"/dev/nvidia{gpu}" for gpu in gpus), *shared]
    return [device for device in devices if Path(device).exists()]


@dataclass
class BareRunning:
    """A program without a sandbox."""

    process: "subprocess.Popen[bytes]"

    def usage(self) -> Usage:
        return Usage()

    def kill(self) -> None:
        """Kill it and its group; processes that left the group continue."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def network_of(self) -> tuple[str, ...]:
        return ()


class Bare:
    """No isolation."""

    name = "none"
    sees_our_mounts = True

    def version(self) -> str:
        return ""

    def fault(self, exit_code: int | None, output: str) -> str:  # noqa: ARG002
        """Return nothing: there is no sandbox that could fail."""
        return ""

    @contextmanager
    def start(self, job: Job) -> Iterator[BareRunning]:
        """Start a program directly; arguments that name a mount get its folder instead.

        A working folder in ``/tmp`` is the slot's private folder instead: Python and other programs
        load files from there, and everybody can write to ``/tmp``.
        """
        if job.root is not None:
            raise InputError.at("isolation 'none'", "cannot run an image.", "Use bubblewrap.")
        sources = {mount.target: str(mount.source) for mount in job.mounts}
        process = subprocess.Popen(  # noqa: S603 - asked for by name
            [sources.get(word, word) for word in job.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=sources.get(job.folder) or job.space or job.folder,
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
