"""The filter of calls, read by a machine of our own, and asked from inside a sandbox."""

import errno
import re
import struct
from pathlib import Path

import pytest

from builders.algorithms import algorithm_folder, needs_bubblewrap, small_volume
from nodulebench.runner.algorithms import read_algorithm
from nodulebench.runner.isolation.bubblewrap import Bubblewrap
from nodulebench.runner.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.runner.isolation.system_calls import (
    ALLOW,
    CLONE,
    CLONE3,
    DENIED,
    KILL,
    MACHINES,
    REFUSE,
    filter_of,
    profile_of,
)
from nodulebench.runner.slot import CaseRun, open_slot

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
EPERM, ENOSYS = REFUSE | errno.EPERM, REFUSE | errno.ENOSYS
THREAD = 0x3D0F00
NEW_USERS, NEW_NETWORK = 0x10000000, 0x40000000


def filtered(content: bytes, machine: int, number: int, argument: int = 0) -> int:
    """What the kernel would answer, as its documentation says that it reads a filter."""
    steps = [struct.unpack("=HBBI", content[at : at + 8]) for at in range(0, len(content), 8)]
    data = struct.pack("=IIQ6Q", number, machine, 0, argument, 0, 0, 0, 0, 0)
    at, held = 0, 0
    while True:
        code, if_so, if_not, value = steps[at]
        at += 1
        if code == 0x20:
            held = struct.unpack_from("=I", data, value)[0]
        elif code == 0x06:
            return int(value)
        else:
            met = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += if_so if met else if_not


@pytest.mark.parametrize(("place", "machine"), list(enumerate(MACHINES)))
def test_what_is_named_is_refused_and_all_else_is_let_through(place: int, machine: str) -> None:
    content = filter_of(machine) or b""
    named = MACHINES[machine]
    refused = {numbers[place] for numbers in DENIED.values()}
    answers = {number: filtered(content, named, number) for number in range(500)}
    assert {number for number, answer in answers.items() if answer == EPERM} == refused
    assert {number for number, answer in answers.items() if answer == ENOSYS} == {CLONE3[place]}
    assert set(answers.values()) == {ALLOW, EPERM, ENOSYS}


@pytest.mark.parametrize(("place", "machine"), list(enumerate(MACHINES)))
def test_a_thread_may_be_begun_but_no_name_space(place: int, machine: str) -> None:
    content, named = filter_of(machine) or b"", MACHINES[machine]
    assert filtered(content, named, CLONE[place], THREAD) == ALLOW
    for flag in (NEW_USERS, NEW_NETWORK, 0x20000):
        assert filtered(content, named, CLONE[place], flag | 17) == EPERM


def test_calls_in_another_form_are_refused_too() -> None:
    content = filter_of("x86_64") or b""
    assert filtered(content, MACHINES["x86_64"], 0x40000000 | 165) == EPERM
    assert filtered(content, 0x40000003, 21) == KILL  # those of 32 bits
    assert filter_of("vax") is None


@pytest.mark.parametrize(("place", "machine"), list(enumerate(HEADERS)))
def test_numbers_are_those_of_the_kernel_s_headers(place: int, machine: str) -> None:
    file = HEADERS[machine]
    if not file.is_file():
        pytest.skip("the headers of the kernel are not installed")
    actual = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", file.read_text())
    known = {name: int(number) for name, number in actual}
    ours = {**DENIED, "clone": CLONE, "clone3": CLONE3}
    assert len(known.keys() & ours.keys()) > 30
    assert all(known[name] == ours[name][place] for name in known.keys() & ours.keys())


def test_the_profile_of_an_engine_loses_what_is_refused() -> None:
    allowed = {"names": ["read", "mount", "clone"], "action": "SCMP_ACT_ALLOW"}
    lone = {"names": ["ptrace"], "action": "SCMP_ACT_ALLOW"}
    profile = profile_of({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [allowed, lone]})
    let = [rule for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW"]
    assert [rule["names"] for rule in let] == [["read"], ["clone"]]
    assert let[1]["args"][0]["op"] == "SCMP_CMP_MASKED_EQ"
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"


ASKS = """#!/usr/bin/python3 -I
import ctypes, errno, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
numbers = %s
for name, number in numbers.items():
    if libc.syscall(number, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != %d:
        sys.exit(name)
begun = threading.Thread(target=lambda: None)
begun.start()
begun.join()
if os.fork() == 0:
    os._exit(0)
os.wait()
open(sys.argv[2] + "/m.csv", "w").write("seriesuid,coordX,coordY,coordZ,probability\\n")
"""


@needs_bubblewrap
def test_inside_a_sandbox_every_one_of_them_is_refused_by_name(tmp_path: Path) -> None:
    import platform

    place = list(MACHINES).index(platform.machine())
    numbers = {name: both[place] for name, both in DENIED.items()}
    folder = algorithm_folder(tmp_path / "mine", ASKS % (numbers, errno.EPERM))

    def read() -> CaseRun:
        with (
            scratch_folder() as space,
            open_slot(read_algorithm(folder), Bubblewrap(), space / "slot") as slot,
        ):
            return slot.read(small_volume(), "case-1")

    run = in_own_thread(read)
    assert (run.state, run.output) == ("ok", "")
