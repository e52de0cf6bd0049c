"""A sandbox -> which of its walls and limits hold, tried from inside before the first case."""

import json
import os
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError, Problem
from nodulebench.core.json_types import JsonObject
from nodulebench.runner.isolation import probe_program
from nodulebench.runner.isolation.sandbox import MIB, Isolation, Job, Limits, Mount, environment_of
from nodulebench.runner.isolation.scratch import Scratch, make_scratch, remove_scratch
from nodulebench.runner.isolation.watch import Ended, ProgramOutput, watch

PROTECTIONS = (
    "network",
    "input",
    "files",
    "processes",
    "environment",
    "kernel",
    "output",
    "tmp",
    "memory",
    "pids",
    "time",
)
"""What has to hold."""
_LIMITS = Limits(cpus=1.0, memory_bytes=64 * MIB, pids=24, output_bytes=4 * MIB)
_EATEN_MB = 160
_INPUT, _OUTPUT, _PROGRAM = "/input", "/output", "/opt/probe.py"
_MAKERS_VARIABLES = ("PWD=/tmp", "HOSTNAME=case", "TERM=xterm", "container")
_NETWORK = ("tcp4", "tcp6", "route", "abstract", "socket_file")
_PATIENCE_S, _HANGS_S, _ENDS_S = 60.0, 0.3, 60.0
"""A machine may be busy; what hangs would do so for ten minutes."""


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What a sandbox held when it was tried."""

    isolation: str
    version: str
    holds: dict[str, bool]
    """Wall -> whether it holds."""
    problem: str = ""
    """Why nothing could be tried."""

    @property
    def is_passed(self) -> bool:
        """Whether all walls hold."""
        return not self.problem and all(self.holds.get(wall, False) for wall in PROTECTIONS)

    @property
    def broken(self) -> tuple[str, ...]:
        """The walls that do not."""
        return tuple(wall for wall in PROTECTIONS if not self.holds.get(wall, False))

    def refuse_broken(self) -> None:
        """Refuse to go on with a sandbox that does not hold.

        Raises:
            InputError: with the walls that do not hold.
        """
        if self.problem:
            raise InputError(Problem(f"isolation '{self.isolation}'", self.problem))
        if not self.is_passed:
            what = f"does not hold: {', '.join(self.broken)}."
            raise InputError.at(f"isolation '{self.isolation}'", what, "No case was given to it.")


def self_test(isolation: Isolation, folder: Path) -> SelfTest:
    """Try a sandbox from inside; in a folder that is not there yet, and is gone afterwards."""
    try:
        version = isolation.version()
        scratch = make_scratch(folder, _LIMITS.output_bytes, isolation)
        try:
            holds = _tried(isolation, scratch)
        finally:
            remove_scratch(scratch)
    except (InputError, OSError, ValueError) as error:
        return SelfTest(isolation.name, "", {}, problem=str(error))
    return SelfTest(isolation.name, version, holds)


def _tried(isolation: Isolation, scratch: Scratch) -> dict[str, bool]:
    scratch.input.chmod(0o777)
    with _listening(scratch.folder) as addresses:
        given = {
            **addresses,
            "input": _INPUT,
            "output": _OUTPUT,
            "output_bytes": _LIMITS.output_bytes if scratch.is_capped else None,
            "tmp_bytes": _LIMITS.tmp_bytes,
            "host_file": str(scratch.folder / "secret"),
            "host_folder": str(scratch.folder),
            "environment": _variables(),
        }
        (scratch.folder / "secret").write_text("secret")
        told, _ = _run(isolation, scratch, ("reach", json.dumps(given)), _PATIENCE_S)
    found: JsonObject = json.loads(told.text) if told.text.startswith("{") else {}
    if not found:
        raise ValueError(f"no program runs in it: {told.text.strip()[:300]}")
    is_watched = scratch.is_capped or _is_seen(isolation, scratch)
    _, ate = _run(isolation, scratch, ("eat", str(_EATEN_MB)), _PATIENCE_S)
    start = time.monotonic()
    _, hung = _run(isolation, scratch, ("hang",), _HANGS_S)
    took = time.monotonic() - start
    return {
        "network": not any(found[one] for one in _NETWORK),
        "input": not found["writes_input"],
        "files": not found["writes_system"] and not found["reads_host"],
        "processes": not found["sees_processes"],
        "environment": not found["sees_of_others"],
        "kernel": not found["makes_spaces"] and not found["rights"],
        "output": bool(found["writes_output"]) and not found["fills_output"] and is_watched,
        "tmp": not found["fills_tmp"],
        "memory": ate.usage.memory_kills > 0,
        "pids": found["forks"] <= _LIMITS.pids,
        "time": hung.is_late and took < _ENDS_S,
    }


def _variables() -> list[str]:
    """Variables that a process inside may have: those of its job and of who made the sandbox.

    Of the latter some are known by name only; no value of them is the operator's.
    """
    given = environment_of(Job((), (), _LIMITS))
    return [*(f"{name}={value}" for name, value in given.items()), *_MAKERS_VARIABLES]


def _is_seen(isolation: Isolation, scratch: Scratch) -> bool:
    """Whether a program that writes too much is ended, where no disk stops it."""
    given = ("fill", f"{_OUTPUT}/probe", str(_LIMITS.output_bytes))
    return _run(isolation, scratch, given, _PATIENCE_S)[1].is_over_output


def _run(
    isolation: Isolation, scratch: Scratch, arguments: tuple[str, ...], seconds: float
) -> tuple[ProgramOutput, Ended]:
    python = os.path.realpath(sys.executable)
    mounts = [
        Mount(scratch.input, _INPUT),
        Mount(scratch.output, _OUTPUT, is_writable=True),
        Mount(Path(probe_program.__file__), _PROGRAM),
    ]
    base = Path(sys.base_prefix).resolve()
    if not base.is_relative_to("/usr"):
        mounts.append(Mount(base, str(base)))
    command = (python, "-I", _PROGRAM, *arguments)
    job = Job(command, scratch.reachable(mounts), _LIMITS, space=scratch.space)
    said = ProgramOutput()
    scratch.renew()
    with isolation.start(job) as running:
        ended = watch(running, seconds, said, scratch.is_over)
    return said, ended


@contextmanager
def _listening(folder: Path) -> Iterator[JsonObject]:
    """Listeners that no program in a sandbox may reach."""
    name = f"nodulebench-{secrets.token_hex(8)}"
    file = str(folder / "socket")
    with ExitStack() as stack:

        def listen(family: int, address: Any) -> socket.socket:
            one = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            one.bind(address)
            one.listen()
            return one

        lo4 = listen(socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1]
        try:
            lo6 = listen(socket.AF_INET6, ("::1", 0)).getsockname()[1]
        except OSError:  # a machine without it
            lo6 = lo4
        listen(socket.AF_UNIX, f"\0{name}")
        listen(socket.AF_UNIX, file)
        yield {"lo4": lo4, "lo6": lo6, "abstract": name, "socket_file": file}
