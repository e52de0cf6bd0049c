"""A function gets changed code in the fork of a process that has collected all tests.

So a change inside of a function costs a fork and the tests that are asked, nothing is imported or
collected again.
"""

import csv
import gc
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
QUIET = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov")

Change = dict[str, Any]
Place = tuple[str, int, int]
"""Of a function in its module: its qualified name, its line, and which of those on that line."""


def try_inside(
    changes: list[Change],
    asked: dict[int, list[str]],
    reach: dict[str, Any],
    out: Path,
    end: float,
) -> int:
    """Try changes inside of functions; a row (number, outcome) for each that is decided."""
    files = sorted({test.split("::")[0] for test in reach["seconds"]} - set(reach["busy"]))
    campaign = _Campaign(changes, asked, reach, out, end)
    options = ("-o", "tmp_path_retention_policy=none")
    return int(pytest.main([*QUIET, *options, *files], plugins=[campaign]))


def outcomes(file: Path) -> dict[int, str]:
    """What was decided so far, by a change's number."""
    if not file.exists():
        return {}
    with file.open(newline="", encoding="utf-8") as rows:
        return {int(number): outcome for number, outcome in csv.reader(rows)}


def changed_functions(change: Change) -> dict[Place, CodeType]:
    """The new code of every function that a change concerns; empty: it is outside of them."""
    file = ROOT / change["path"]
    try:
        before, after = (
            compile(code, str(file), "exec", dont_inherit=True)
            for code in (file.read_text(encoding="utf-8"), change["code"])
        )
    except SyntaxError:
        return {}
    old, new = dict(_codes(before)), dict(_codes(after))
    if list(old) != list(new):
        return {}
    differ = {place for place in old if _own(old[place]) != _own(new[place])}
    if any(not old[place].co_flags & CO_OPTIMIZED for place in differ):
        return {}  # of a module or of a class
    return {
        place: new[place]
        for place in old
        if old[place].co_flags & CO_OPTIMIZED and old[place] != new[place]
    }


def _codes(module: CodeType) -> Iterator[tuple[Place, CodeType]]:
    """Every code object in a module's, with its place."""
    seen: Counter[tuple[str, int]] = Counter()

    def walk(code: CodeType) -> Iterator[tuple[Place, CodeType]]:
        named = (code.co_qualname, code.co_firstlineno)
        yield (*named, seen[named]), code
        seen[named] += 1
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from walk(constant)

    return walk(module)


def _own(code: CodeType) -> tuple[Any, ...]:
    """What a code object does itself, those inside of it aside."""
    constants = tuple(
        None if isinstance(constant, CodeType) else (type(constant), repr(constant))
        for constant in code.co_consts
    )
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_exceptiontable)


class _Campaign:
    """A pytest plugin: once tests are collected, each change is tried in a fork."""

    def __init__(
        self,
        changes: list[Change],
        asked: dict[int, list[str]],
        reach: dict[str, Any],
        out: Path,
        end: float,
    ) -> None:
        self.changes, self.asked, self.reach = changes, asked, reach
        self.out, self.end = out, end

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of running the tests."""
        if any("polars-0" in name for name in thread_names()):
            raise SystemExit("Tests that work with tables while they are collected: none may.")
        items = {item.nodeid: item for item in session.items}
        functions = _functions({change["path"] for change in self.changes})
        gc.collect()
        gc.freeze()
        decided = outcomes(self.out)
        with self.out.open("a", newline="", encoding="utf-8") as file:
            for number, change in enumerate(self.changes):
                if number in decided or time.monotonic() > self.end:
                    continue
                here = [items[test] for test in self.asked[number] if test in items]
                codes = changed_functions(change)
                if here and codes:
                    places = functions.get(str(ROOT / change["path"]), {})
                    attempt = partial(_ask, session, here, places, codes)
                    limit_s = longest_s([item.nodeid for item in here], self.reach)
                    outcome = outcome_of(child(attempt, limit_s))
                    whole = len(here) == len(self.asked[number])
                    if outcome == "found" or (whole and outcome in ("survived", "too slow")):
                        csv.writer(file).writerow([number, outcome])
                        file.flush()
        return True


def _functions(paths: set[str]) -> dict[str, dict[Place, list[FunctionType]]]:
    """Every function of these files that is in memory, by file and place."""
    places: dict[CodeType, tuple[str, Place]] = {}
    for file in (ROOT / path for path in paths):
        module = compile(file.read_text(encoding="utf-8"), str(file), "exec", dont_inherit=True)
        places.update({code: (str(file), place) for place, code in _codes(module)})
    by_path: dict[str, dict[Place, list[FunctionType]]] = {}
    for object_ in gc.get_objects():
        if isinstance(object_, FunctionType) and object_.__code__ in places:
            name, place = places[object_.__code__]
            if name == object_.__code__.co_filename:
                by_path.setdefault(name, {}).setdefault(place, []).append(object_)
    return by_path


def _ask(
    session: pytest.Session,
    tests: list[pytest.Item],
    functions: dict[Place, list[FunctionType]],
    codes: dict[Place, CodeType],
) -> int:
    """1: a test fails with this code; 0: none does; 5: no function has it."""
    changed = [
        (function, code) for place, code in codes.items() for function in functions.get(place, ())
    ]
    if not changed:
        return 5
    for function, code in changed:
        function.__code__ = code
    for test, after in zip(tests, [*tests[1:], None], strict=True):
        test.config.hook.pytest_runtest_protocol(item=test, nextitem=after)
        if session.testsfailed:
            return 1
    return 0


def thread_names() -> list[str]:
    """Of the threads of this process."""
    return [
        (path / "comm").read_text(encoding="utf-8") for path in Path("/proc/self/task").iterdir()
    ]


def longest_s(tests: list[str], reach: dict[str, Any]) -> float:
    """How long tests may take before a change counts as one that makes them endless."""
    return float(60 + 20 * sum(reach["seconds"][test] for test in tests))


def outcome_of(code: int | None) -> str:
    """The outcome that a child's exit tells."""
    # 4: the tests cannot even be collected
    outcomes = {None: "too slow", 0: "survived", 1: "found", 2: "found", 4: "found"}
    return outcomes.get(code, f"exit {code}")


def child(work: Callable[[], int], timeout_s: float) -> int | None:
    """What a forked process answers; None: it did not in time."""
    sys.stdout.flush()
    forked = os.fork()
    if forked == 0:
        code = 3
        with suppress(BaseException):
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                os.dup2(nowhere, stream)
            code = work()
        os._exit(code)
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        done, status = os.waitpid(forked, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    with suppress(ProcessLookupError):
        os.killpg(forked, signal.SIGKILL)
    os.waitpid(forked, 0)
    return None
