"""The filter of system calls: for the kernel (seccomp), and as a profile for container engines."""

import errno
import platform
import struct
import tomllib
from collections.abc import Iterator
from importlib.resources import files

from nodulebench.core.json_types import JsonObject

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Machine -> its identifier in the kernel (AUDIT_ARCH)."""
DENIED: dict[str, tuple[int, int]] = tomllib.loads(
    files(__package__).joinpath("system_calls.toml").read_text("utf-8")
)["denied"]
"""System call -> its number on each of the machines."""
CLONE, CLONE3 = (56, 220), (435, 435)
NEW_SPACES = 0x7E020000
"""Flags of ``clone`` for namespaces; ``clone3`` hides its flags, and programs work without it."""
_LOAD, _IS, _AT_LEAST, _HAS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _MACHINE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_OTHER_CALLS = 0x40000000
"""System calls of the x32 variant of x86_64 begin here."""
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000


def filter_of(machine: str = "") -> bytes | None:
    """Return the filter for the kernel; None: the machine's call numbers are not known."""
    machine = machine or platform.machine()
    if machine not in MACHINES:
        return None
    column = list(MACHINES).index(machine)
    denied = sorted(numbers[column] for numbers in DENIED.values())
    return b"".join(_instructions(MACHINES[machine], denied, CLONE[column], CLONE3[column]))


def _instructions(machine: int, denied: list[int], clone: int, clone3: int) -> Iterator[bytes]:
    def instruction(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_so, if_not, value)

    count = len(denied)
    yield instruction(_LOAD, _MACHINE_AT)
    yield instruction(_IS, machine, 1)
    yield instruction(_RETURN, KILL)
    yield instruction(_LOAD, _NUMBER_AT)
    yield instruction(_AT_LEAST, _OTHER_CALLS, count + 5)  # refused
    yield instruction(_IS, clone3, count + 5)  # unknown
    for passed, number in enumerate(denied):
        yield instruction(_IS, number, count + 3 - passed)  # refused
    yield instruction(_IS, clone, 0, 2)  # allowed, unless it requests namespaces
    yield instruction(_LOAD, _FIRST_ARGUMENT_AT)
    yield instruction(_HAS, NEW_SPACES, 1)  # refused
    yield instruction(_RETURN, ALLOW)
    yield instruction(_RETURN, REFUSE | errno.EPERM)
    yield instruction(_RETURN, REFUSE | errno.ENOSYS)


def profile_of(usual: JsonObject) -> JsonObject:
    """Return the engine's default profile without the calls that are refused here."""
    taken, rules = {*DENIED, "clone", "clone3"}, []
    for rule in usual["syscalls"]:
        names = [name for name in rule["names"] if name not in taken]
        rules += [{**rule, "names": names}] if names else []
    refused = {"action": "SCMP_ACT_ERRNO"}
    has_none = {"index": 0, "value": NEW_SPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    own = [
        {"names": sorted(DENIED), "errnoRet": errno.EPERM, **refused},
        {"names": ["clone3"], "errnoRet": errno.ENOSYS, **refused},
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [has_none]},
    ]
    return {**usual, "syscalls": [*rules, *own]}
