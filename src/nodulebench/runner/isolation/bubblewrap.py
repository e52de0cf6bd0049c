"""Programs in namespaces created by bubblewrap, limited by their control group.

Inside, only ``/usr`` or an unpacked image and the mounts of the job are visible.
"""

import json
import os
import platform
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from nodulebench.core.errors import InputError
from nodulebench.runner.isolation.cgroups import Group, make_group
from nodulebench.runner.isolation.sandbox import (
    SERVICE_ID,
    Job,
    Usage,
    cards_of,
    close_streams,
    environment_of,
    machine_links,
    machine_parts,
)
from nodulebench.runner.isolation.system_calls import filter_of

INSIDE_ID = 65534
_ENTER = (
    'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 > "$1" || exit 125; shift; n=$((n-1)); done; '
    'exec "$@"'
)
"""Enters the control groups, then executes the program: nothing runs outside of them."""
_OWN_PROCESSES = 2
"""Processes of bwrap itself, outside and inside."""
_STARTS_S = 30.0
"""Time limit for creating a sandbox."""


@dataclass
class BubblewrapRunning:
    """A program below bwrap."""

    process: "subprocess.Popen[bytes]"
    group: Group
    child: int
    """The first process inside, by its number outside."""

    def usage(self) -> Usage:
        return self.group.usage()

    def kill(self) -> None:
        self.process.kill()
        self.group.kill()
        self.process.wait()

    def network_of(self) -> tuple[str, ...]:
        user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        return ("nsenter", f"--target={self.child}", "--net", *user, "--")


class Bubblewrap:
    """Sandboxes with bwrap and a control group."""

    name = "bubblewrap"
    sees_our_mounts = True

    def version(self) -> str:
        program = shutil.which("bwrap")
        if program is None:
            raise InputError.at(self.name, "is not installed.", "Install the package bubblewrap.")
        words = [program, "--version"]
        completed = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
        return completed.stdout.strip()

    def fault(self, exit_code: int | None, output: str) -> str:
        """Return bwrap's error message if it could not start the program."""
        is_own = exit_code == 1 and output.startswith("bwrap: ")
        return output.strip() if is_own and not output.startswith("bwrap: execvp") else ""

    @contextmanager
    def start(self, job: Job) -> Iterator[BubblewrapRunning]:
        group = make_group(replace(job.limits, pids=job.limits.pids + _OWN_PROCESSES))
        status, tell = os.pipe()
        calls, options = _filter(), os.memfd_create("options")
        try:
            entrances = group.entrances
            words = [_program("sh"), "-c", _ENTER, "sh", str(len(entrances)), *entrances]
            words += [_program("env"), "-i"]  # the shell has set PWD
            if os.geteuid() == 0:  # an unprivileged user outside, too
                words += [_program("setpriv"), f"--reuid={SERVICE_ID}", f"--regid={SERVICE_ID}"]
                words += ["--clear-groups", "--inh-caps=-all"]
            words += _from_file(_bwrap(job, tell, calls), len(job.command), options)
            process = subprocess.Popen(  # noqa: S603 - in the sandbox
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},  # bwrap is the first process inside, where its environment is readable
                pass_fds=(tell, calls, options),
                start_new_session=True,
                bufsize=0,
            )
            os.close(tell)
            tell = -1
            running = BubblewrapRunning(process, group, 0)
            try:
                running.child = _child_of(process, status)
                yield running
            finally:
                running.kill()
                close_streams(process)
        finally:
            os.close(status)
            os.close(calls)
            os.close(options)
            if tell >= 0:
                os.close(tell)
            group.remove()


def _child_of(process: "subprocess.Popen[bytes]", status: int) -> int:
    """Return the number of the first process inside, which bwrap reports when it is ready."""
    deadline = time.monotonic() + _STARTS_S
    content = b""
    while b"\n" not in content:
        left = max(0.0, deadline - time.monotonic())
        if not select.select([status], [], [], left)[0]:
            raise OSError("bubblewrap could not create a sandbox")
        part = os.read(status, 4096)
        if not part:  # bwrap has ended
            message = process.stderr.read(2000) if process.stderr is not None else b""
            raise OSError(f"bubblewrap: {(message or b'').decode(errors='replace').strip()}")
        content += part
    return int(json.loads(content.splitlines()[0])["child-pid"])


def _program(name: str) -> str:
    """Return the path of a program, since the sandbox is started without PATH."""
    path = shutil.which(name)
    if path is None:
        raise OSError(f"{name} is not installed")
    return path


def _from_file(words: list[str], command_length: int, options: int) -> list[str]:
    """Move the options of bwrap into an open file, since its arguments are readable inside."""
    end = len(words) - command_length - 1  # the options end with "--"
    if any("\0" in word for word in words):
        raise ValueError("an option of bubblewrap contains a null character")
    os.write(options, "\0".join(words[1:end]).encode("utf-8", "surrogateescape"))
    os.lseek(options, 0, os.SEEK_SET)
    return [_program(words[0]), "--args", str(options), *words[end:]]


def _filter() -> int:
    """Return an open file with the filter of system calls."""
    content = filter_of()
    if content is None:
        raise OSError(f"there is no filter of system calls for {platform.machine()}")
    read, write = os.pipe()
    os.write(write, content)  # fits into the buffer of a pipe
    os.close(write)
    return read


def _bwrap(job: Job, tell: int, calls: int) -> list[str]:
    size = str(job.limits.tmp_bytes)
    words = ["bwrap", "--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent"]
    words += ["--new-session", "--uid", str(INSIDE_ID), "--gid", str(INSIDE_ID)]
    words += ["--cap-drop", "ALL"]
    words += ["--hostname", "case", "--json-status-fd", str(tell), "--clearenv"]
    words += ["--seccomp", str(calls)]
    for name, value in environment_of(job).items():
        words += ["--setenv", name, value]
    if job.root is not None:
        words += ["--ro-bind", str(job.root), "/"]
    else:
        for path in machine_parts():
            words += ["--ro-bind", path, path]
        for name, target in machine_links().items():
            words += ["--symlink", target, f"/{name}"]
    words += ["--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/tmp"]  # noqa: S108
    words += ["--size", size, "--tmpfs", "/dev/shm"]  # noqa: S108
    for card in cards_of(job.limits.gpus):
        words += ["--dev-bind", card, card]
    for mount in job.mounts:
        kind = "--bind" if mount.is_writable else "--ro-bind"
        words += [kind, str(mount.source), mount.target]
    return [*words, "--remount-ro", "/", "--chdir", job.folder, "--", *job.command]
