"""Programs in namespaces made by bubblewrap, limited by a control group of their own.

Nothing of this machine is seen inside but ``/usr``, or an unpacked image, and what is mounted.
"""

import errno
import json
import os
import platform
import select
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
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

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Machine -> how the kernel calls it (AUDIT_ARCH)."""
DENIED = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "ptrace": (101, 117),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "syslog": (103, 116),
    "quotactl": (179, 60),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "pidfd_getfd": (438, 438),
    "mount_setattr": (442, 442),
    "quotactl_fd": (443, 443),
}
"""Call -> its number on each of the machines."""
CLONE, CLONE3 = (56, 220), (435, 435)
NEW_SPACES = 0x7E020000
"""What asks ``clone`` for name spaces; ``clone3`` hides it, and programs do without it."""
_LOAD, _IS, _AT_LEAST, _HAS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _MACHINE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_OTHER_CALLS = 0x40000000
"""The calls of x86_64 in another form (x32) begin here."""
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000


def filter_of(machine: str = "") -> bytes | None:
    """The filter as the kernel takes it; None: for a machine whose numbers are not known here."""
    machine = machine or platform.machine()
    if machine not in MACHINES:
        return None
    place = list(MACHINES).index(machine)
    denied = sorted(numbers[place] for numbers in DENIED.values())
    return b"".join(_instructions(MACHINES[machine], denied, CLONE[place], CLONE3[place]))


def _instructions(machine: int, denied: list[int], clone: int, clone3: int) -> Iterator[bytes]:
    def one(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_so, if_not, value)

    count = len(denied)
    yield one(_LOAD, _MACHINE_AT)
    yield one(_IS, machine, 1)
    yield one(_RETURN, KILL)
    yield one(_LOAD, _NUMBER_AT)
    yield one(_AT_LEAST, _OTHER_CALLS, count + 5)  # refused
    yield one(_IS, clone3, count + 5)  # unknown
    for passed, number in enumerate(denied):
        yield one(_IS, number, count + 3 - passed)  # refused
    yield one(_IS, clone, 0, 2)  # allowed, unless it asks for name spaces
    yield one(_LOAD, _FIRST_ARGUMENT_AT)
    yield one(_HAS, NEW_SPACES, 1)  # refused
    yield one(_RETURN, ALLOW)
    yield one(_RETURN, REFUSE | errno.EPERM)
    yield one(_RETURN, REFUSE | errno.ENOSYS)


def profile_of(usual: JsonObject) -> JsonObject:
    """A profile for an engine: the engine's usual one, without what is refused here."""
    taken, kept = {*DENIED, "clone", "clone3"}, []
    for rule in usual["syscalls"]:
        names = [name for name in rule["names"] if name not in taken]
        kept += [{**rule, "names": names}] if names else []
    refused = {"action": "SCMP_ACT_ERRNO"}
    has_none = {"index": 0, "value": NEW_SPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    own = [
        {"names": sorted(DENIED), "errnoRet": errno.EPERM, **refused},
        {"names": ["clone3"], "errnoRet": errno.ENOSYS, **refused},
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [has_none]},
    ]
    return {**usual, "syscalls": [*kept, *own]}


INSIDE_ID = 65534
_ENTER = (
    'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 > "$1" || exit 125; shift; n=$((n-1)); done; '
    'exec "$@"'
)
"""Enters control groups, then becomes the program: nothing runs outside of them."""
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
    sees_our_mounts = True

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
        calls, options = _filter(), os.memfd_create("options")
        try:
            entrances = group.entrances
            words = [_program("sh"), "-c", _ENTER, "sh", str(len(entrances)), *entrances]
            words += [_program("env"), "-i", *_as_nobody()]  # the shell has set PWD
            words += _from_file(_bwrap(job, tell, calls), len(job.command), options)
            process = subprocess.Popen(  # noqa: S603 - in the sandbox
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},  # bwrap is the first process inside, where its own can be read
                pass_fds=(tell, calls, options),
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
                close_streams(process)
        finally:
            os.close(told)
            os.close(calls)
            os.close(options)
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
    return [_program("setpriv"), *who]


def _program(name: str) -> str:
    """The path of a program, since what starts the sandbox has no PATH.

    Raises:
        OSError: if it is not installed.
    """
    path = shutil.which(name)
    if path is None:
        raise OSError(f"{name} is not installed")
    return path


def _from_file(words: list[str], command_length: int, options: int) -> list[str]:
    """The words for bwrap with its options in an open file: inside, its words can be read.

    Raises:
        ValueError: if an option holds the character that ends options there.
    """
    end = len(words) - command_length - 1  # the options end with "--"
    if any("\0" in word for word in words):
        raise ValueError("an option of bubblewrap holds a null character")
    os.write(options, "\0".join(words[1:end]).encode("utf-8", "surrogateescape"))
    os.lseek(options, 0, os.SEEK_SET)
    return [_program(words[0]), "--args", str(options), *words[end:]]


def _filter() -> int:
    """An open file to read the filter of calls from.

    Raises:
        OSError: if there is none for this machine.
    """
    content = filter_of()
    if content is None:
        raise OSError(f"no filter of calls is known for {platform.machine()}")
    read, write = os.pipe()
    os.write(write, content)  # less than a pipe holds
    os.close(write)
    return read


def _bwrap(job: Job, tell: int, calls: int) -> list[str]:
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
    words += ["--seccomp", str(calls)]
    for name, value in environment_of(job).items():
        words += ["--setenv", name, value]
    words += _machine() if job.root is None else ["--ro-bind", str(job.root), "/"]
    words += ["--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/tmp"]  # noqa: S108
    words += ["--size", size, "--tmpfs", "/dev/shm"]  # noqa: S108
    for card in cards_of(job.limits.gpus):
        words += ["--dev-bind", card, card]
    for mount in job.mounts:
        kind = "--bind" if mount.is_writable else "--ro-bind"
        words += [kind, str(mount.source), mount.target]
    return [*words, "--remount-ro", "/", "--chdir", job.folder, "--", *job.command]


def _machine() -> list[str]:
    words: list[str] = []
    for place in machine_parts():
        words += ["--ro-bind", place, place]
    for name, target in machine_links().items():
        words += ["--symlink", target, f"/{name}"]
    return words
