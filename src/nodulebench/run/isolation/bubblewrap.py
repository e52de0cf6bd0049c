"""Programs in namespaces made by bubblewrap, limited by a control group of their own.

Nothing of this machine is seen inside but ``/usr``, or an unpacked image, and what is mounted.
"""

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from nodulebench.errors import InputError
from nodulebench.run.isolation.cgroups import Group, make_group
from nodulebench.run.isolation.sandbox import Job, Usage

INSIDE_ID = 65534
SERVICE_ID = 1_987_654_321
"""Who the program is for the machine where root starts it: nobody that exists."""
_ENTER = (
    'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 > "$1" || exit 125; shift; n=$((n-1)); done; '
    'exec "$@"'
)
"""Enters control groups, then becomes the program: nothing runs outside of them."""
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")
_OWN_PROCESSES = 2
"""Those of bwrap itself, outside and inside."""
_STARTS_S = 30.0
"""How long a sandbox may take to be made."""


@dataclass
class BubblewrapRunning:
    """A program below bwrap."""

    process: "subprocess.Popen[bytes]"
    group: Group
    child: int
    """The first process inside, by its number outside."""

    def usage(self) -> Usage:
        """What the group has used."""
        return self.group.usage()

    def kill(self) -> None:
        """End bwrap, and with it all that is inside."""
        self.process.kill()
        self.group.kill()
        self.process.wait()

    def network_of(self) -> tuple[str, ...]:
        """Words that run a command in the network of the sandbox."""
        user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        return ("nsenter", f"--target={self.child}", "--net", *user, "--")


class Bubblewrap:
    """Sandboxes by bwrap and a control group."""

    name = "bubblewrap"

    def version(self) -> str:
        """Of bwrap."""
        program = shutil.which("bwrap")
        if program is None:
            raise InputError.at(self.name, "is not installed.", "Install the package bubblewrap.")
        told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
        return told.stdout.strip()

    def fault(self, exit_code: int | None, said: str) -> str:
        """What bwrap complains of where it could not start the program."""
        is_own = exit_code == 1 and said.startswith("bwrap: ")
        return said.strip() if is_own and not said.startswith("bwrap: execvp") else ""

    @contextmanager
    def start(self, job: Job) -> Iterator[BubblewrapRunning]:
        """Start a program within namespaces of its own."""
        group = make_group(replace(job.limits, pids=job.limits.pids + _OWN_PROCESSES))
        told, tell = os.pipe()
        try:
            entrances = group.entrances
            words = ["sh", "-c", _ENTER, "sh", str(len(entrances)), *entrances]
            words += [*_as_nobody(), *_bwrap(job, tell)]
            process = subprocess.Popen(  # noqa: S603 - in the sandbox
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(tell,),
                start_new_session=True,
                bufsize=0,
            )
            os.close(tell)
            tell = -1
            running = BubblewrapRunning(process, group, 0)
            try:
                running.child = _child_of(process, told)
                yield running
            finally:
                running.kill()
                for stream in (process.stdin, process.stdout, process.stderr):
                    if stream is not None:
                        with suppress(OSError):
                            stream.close()
        finally:
            os.close(told)
            if tell >= 0:
                os.close(tell)
            group.remove()


def _child_of(process: "subprocess.Popen[bytes]", told: int) -> int:
    """The number of the first process inside, which bwrap tells when the sandbox stands."""
    deadline = time.monotonic() + _STARTS_S
    content = b""
    while b"\n" not in content:
        left = max(0.0, deadline - time.monotonic())
        if not select.select([told], [], [], left)[0]:
            raise OSError("bubblewrap makes no sandbox")
        part = os.read(told, 4096)
        if not part:  # bwrap has ended
            said = process.stderr.read(2000) if process.stderr is not None else b""
            raise OSError(f"bubblewrap: {(said or b'').decode(errors='replace').strip()}")
        content += part
    return int(json.loads(content.splitlines()[0])["child-pid"])


def _as_nobody() -> list[str]:
    """Root is nobody outside too; whoever else starts it stays who they are."""
    if os.geteuid() != 0:
        return []
    who = (f"--reuid={SERVICE_ID}", f"--regid={SERVICE_ID}", "--clear-groups", "--inh-caps=-all")
    return ["setpriv", *who]


def _bwrap(job: Job, tell: int) -> list[str]:
    size = str(job.limits.tmp_bytes)
    words = ["bwrap", "--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent"]
    words += [
        "--new-session",
        "--uid",
        str(INSIDE_ID),
        "--gid",
        str(INSIDE_ID),
        "--cap-drop",
        "ALL",
    ]
    words += ["--hostname", "case", "--json-status-fd", str(tell), "--clearenv"]
    for name, value in environment_of(job).items():
        words += ["--setenv", name, value]
    words += _machine() if job.root is None else ["--ro-bind", str(job.root), "/"]
    words += ["--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/tmp"]  # noqa: S108
    words += ["--size", size, "--tmpfs", "/dev/shm"]  # noqa: S108
    for card in _cards(job.limits.gpus):
        words += ["--dev-bind", card, card]
    for mount in job.mounts:
        kind = "--bind" if mount.is_writable else "--ro-bind"
        words += [kind, str(mount.source), mount.target]
    return [*words, "--remount-ro", "/", "--chdir", job.folder, "--", *job.command]


def environment_of(job: Job) -> dict[str, str]:
    """What a program finds in its environment: nothing of ours."""
    plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    folders = {"HOME": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108
    cards = {"CUDA_VISIBLE_DEVICES": ",".join(str(one) for one in job.limits.gpus)}
    return plain | folders | cards | dict(job.environment)


def _machine() -> list[str]:
    """The programs and libraries of this machine, without its settings and its people's files."""
    words = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        place = Path("/") / name
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), f"/{name}"]
        elif place.is_dir():
            words += ["--ro-bind", f"/{name}", f"/{name}"]
    for name in _SETTINGS:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return words


def _cards(gpus: tuple[int, ...]) -> list[str]:
    """The device files of graphics cards."""
    if not gpus:
        return []
    shared = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
    found = [*(f"/dev/nvidia{one}" for one in gpus), *shared]
    return [one for one in found if Path(one).exists()]
