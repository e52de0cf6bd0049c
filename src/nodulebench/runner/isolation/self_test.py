"""Self-test of a sandbox from inside, before the first case: which protections work."""

import json
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nodulebench.core.errors import InputError, Problem
from nodulebench.core.json_types import JsonObject
from nodulebench.runner.isolation import probe_program
from nodulebench.runner.isolation.bubblewrap import Bubblewrap
from nodulebench.runner.isolation.containers import Docker, Podman
from nodulebench.runner.isolation.sandbox import (
    MIB,
    Bare,
    Isolation,
    Job,
    Limits,
    Mount,
    environment_of,
)
from nodulebench.runner.isolation.scratch import (
    Scratch,
    in_own_thread,
    make_scratch,
    remove_scratch,
)
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
_LIMITS = Limits(cpus=1.0, memory_bytes=64 * MIB, pids=24, output_bytes=4 * MIB)
_EMPTY = Job((), (), _LIMITS)
_EATEN_MB = 160
_INPUT, _OUTPUT, _PROGRAM = "/input", "/output", "/opt/probe.py"
_MAKERS_VARIABLES = ("PWD=/tmp", "HOSTNAME=case", "TERM=xterm", "container")
_NETWORK = ("tcp4", "tcp6", "route", "abstract", "socket_file")
_PATIENCE_S, _HANGS_S, _ENDS_S = 60.0, 0.3, 60.0
"""A machine may be busy; a hanging program would hang for ten minutes."""


@dataclass(frozen=True, slots=True)
class SelfTest:
    """Result of the self-test of a sandbox."""

    isolation: str
    version: str
    holds: dict[str, bool]
    """Protection -> whether it works."""
    problem: str = ""

    @property
    def is_passed(self) -> bool:
        return not self.problem and all(self.holds.get(name, False) for name in PROTECTIONS)

    @property
    def broken(self) -> tuple[str, ...]:
        return tuple(name for name in PROTECTIONS if not self.holds.get(name, False))

    def require_passed(self) -> None:
        if self.problem:
            raise InputError(Problem(f"isolation '{self.isolation}'", self.problem))
        if not self.is_passed:
            what = f"fails to protect: {', '.join(self.broken)}."
            raise InputError.at(f"isolation '{self.isolation}'", what, "No case was run in it.")


def self_test(isolation: Isolation, folder: Path) -> SelfTest:
    """Test a sandbox from inside, in a new folder that is removed afterwards."""
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
            # of the isolation's own variables some are known only by name
            "environment": [
                *(f"{name}={value}" for name, value in environment_of(_EMPTY).items()),
                *_MAKERS_VARIABLES,
            ],
        }
        (scratch.folder / "secret").write_text("secret")
        output, _ = _run(isolation, scratch, ("reach", json.dumps(given)), _PATIENCE_S)
    reached: JsonObject = json.loads(output.text) if output.text.startswith("{") else {}
    if not reached:
        raise ValueError(f"no program runs in it: {output.text.strip()[:300]}")
    is_watched = scratch.is_capped
    if not is_watched:  # then a program that writes too much must be ended
        filling = ("fill", f"{_OUTPUT}/probe", str(_LIMITS.output_bytes))
        is_watched = _run(isolation, scratch, filling, _PATIENCE_S)[1].is_over_output
    _, ate = _run(isolation, scratch, ("eat", str(_EATEN_MB)), _PATIENCE_S)
    start = time.monotonic()
    _, hung = _run(isolation, scratch, ("hang",), _HANGS_S)
    took = time.monotonic() - start
    return {
        "network": not any(reached[way] for way in _NETWORK),
        "input": not reached["writes_input"],
        "files": not reached["writes_system"] and not reached["reads_host"],
        "processes": not reached["sees_processes"],
        "environment": not reached["sees_of_others"],
        "kernel": not reached["makes_spaces"] and not reached["rights"],
        "output": bool(reached["writes_output"]) and not reached["fills_output"] and is_watched,
        "tmp": not reached["fills_tmp"],
        "memory": ate.usage.memory_kills > 0,
        "pids": reached["forks"] <= _LIMITS.pids,
        "time": hung.is_late and took < _ENDS_S,
    }


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
    output = ProgramOutput()
    scratch.renew()
    with isolation.start(job) as running:
        ended = watch(running, seconds, output, scratch.is_over)
    return output, ended


@contextmanager
def _listening(folder: Path) -> Iterator[JsonObject]:
    """Open listeners that no program in a sandbox may reach."""
    name = f"nodulebench-{secrets.token_hex(8)}"
    file = str(folder / "socket")
    with ExitStack() as stack:

        def listen(family: int, address: tuple[str, int] | str) -> socket.socket:
            listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            listener.bind(address)
            listener.listen()
            return listener

        lo4 = listen(socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1]
        try:
            lo6 = listen(socket.AF_INET6, ("::1", 0)).getsockname()[1]
        except OSError:  # a machine without it
            lo6 = lo4
        listen(socket.AF_UNIX, f"\0{name}")
        listen(socket.AF_UNIX, file)
        yield {"lo4": lo4, "lo6": lo6, "abstract": name, "socket_file": file}


ISOLATIONS: dict[str, Callable[[], Isolation]] = {
    "bubblewrap": Bubblewrap,
    "podman": Podman,
    "docker": Docker,
}
"""Isolations that ``auto`` tries, in this order."""
NONE = "none"


def choose_isolation(name: str, folder: Path) -> tuple[Isolation, SelfTest | None]:
    """Return an isolation that passed its self-test, and the result of the test.

    ``auto``: the first of ``ISOLATIONS`` that passes, never ``none``, which has nothing to test.
    """
    if name == NONE:
        return Bare(), None
    if name != "auto":
        isolation = ISOLATIONS[name]()
        tested = in_own_thread(partial(self_test, isolation, folder / f"test-{name}"))
        tested.require_passed()
        return isolation, tested
    problems = []
    for candidate, make in ISOLATIONS.items():
        isolation = make()
        tested = in_own_thread(partial(self_test, isolation, folder / f"test-{candidate}"))
        if tested.is_passed:
            return isolation, tested
        what = tested.problem or f"fails to protect: {', '.join(tested.broken)}."
        problems.append(Problem(f"isolation '{candidate}'", what))
    remedy = "For your own program use --isolation none."
    raise InputError([*problems, Problem("isolation", "none of these can be used.", remedy)])
