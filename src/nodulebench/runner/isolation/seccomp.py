"""Calls of the kernel that no algorithm needs and that walls were climbed by -> a filter of them.

As instructions for the kernel (BPF, what bubblewrap takes) and as a profile for podman. What is not
named here is let through: walls do not rest on it.
"""

import errno
import platform
import struct
from collections.abc import Iterator
from typing import Any

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


def profile_of(usual: dict[str, Any]) -> dict[str, Any]:
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
