"""One small change in match, metrics, statistics or custody at a time: does a test fail?

``python -m benchmarks mutations`` makes the changes with cosmic-ray (``pip install cosmic-ray``)
and tries a seeded sample of them. ``python -m benchmarks.mutations list FILE [SHARE]`` and ``run
FILE RESULT.csv [SECONDS]`` do the two halves apart.

The tests are run once, and which of them reaches which line is recorded. Then one process that
has collected all tests forks for each change inside of a function: the child gives the function
its changed code, and runs the tests that reach the changed line, quick ones first, until one
fails. A change outside of functions (a constant, a decorator, a default) is tried in the fork of
a process that has nothing of the package in memory: the child finds the changed module instead of
the file. So are survivors which tests reach that work with tables while they are collected: polars'
threads would not be there after a fork.
"""

import ast
import csv
import gc
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from benchmarks.mutated_functions import (
    QUIET,
    child,
    longest_s,
    outcome_of,
    outcomes,
    thread_names,
    try_inside,
)

ROOT = Path(__file__).parents[1]
STAGES = ("match", "metrics", "statistics", "custody")
OPERATORS = (
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul")),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("FloorDiv_Mul", "Mod_Mul", "Pow_Mul")),
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("BitAnd_BitOr", "BitOr_BitAnd")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Eq_NotEq", "NotEq_Eq", "Is_IsNot")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("IsNot_Is", "Lt_LtE", "LtE_Lt")),
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Gt_GtE", "GtE_Gt", "Lt_Gt", "GtE_Lt")),
    *(f"ReplaceUnaryOperator_{pair}" for pair in ("Delete_USub", "Delete_Invert", "Delete_Not")),
    *("AddNot", "NumberReplacer", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ZeroIterationForLoop"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceBreakWithContinue"),
)
"""Changes that a person could make by mistake; others only break a module at once."""
TESTS = (
    *(f"tests/unit/{stage}" for stage in STAGES),
    *("tests/unit/workflows/compare/test_pairs.py", "tests/unit/workflows/evaluate/test_guard.py"),
    "tests/unit/workflows/custody/test_evaluate_sealed.py",
    *("tests/contracts/test_every_rule.py", "tests/contracts/test_every_metric.py"),
    *("tests/agreement/test_luna16_any_submission.py", "tests/agreement/test_oracle_a.py"),
    "tests/agreement/test_statsmodels_and_sklearn.py",
    *("tests/properties/test_size_limit_follows_the_table.py",),
    "tests/properties/test_assignment_is_the_best.py",
)
"""The stages' own tests, those of the code that joins them, contracts, and second programs."""
SHARE = 0.15
SECONDS = 3600
SLOWEST_S, TOGETHER_S = 2.0, 10.0
"""CPU time: tests that take longer are not asked, nor more than take so long together."""
LIBRARIES = ("numpy", "polars", "scipy.stats", "scipy.optimize", "scipy.sparse", "pydantic")


def main() -> None:
    """Try a sample, and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        changes = Path(folder) / "changes.json"
        list_changes(changes, SHARE)
        run_changes(changes, Path(folder) / "result.csv")


def list_changes(file: Path, share: float, seed: int = 0) -> None:
    """Write a seeded share of all changes."""
    changes = [change for stage in STAGES for change in _changes_of(stage)]
    drawn = random.Random(seed).sample(changes, round(share * len(changes)))
    file.write_text(json.dumps(drawn), encoding="utf-8")
    print(f"{len(drawn)} of {len(changes)} changes")


def _changes_of(stage: str) -> Iterator[dict[str, Any]]:
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    for path in sorted((ROOT / "src" / "nodulebench" / stage).rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        for name in OPERATORS:
            number = 0
            while (
                changed := mutate_code(code, get_operator(f"core/{name}")(), number)
            ) is not None:
                number += 1
                if _behaviour(changed) != _behaviour(code):
                    lines = zip(code.splitlines(), changed.splitlines(), strict=False)
                    line = next(at for at, (old, new) in enumerate(lines, start=1) if old != new)
                    yield {
                        "path": str(path.relative_to(ROOT)),
                        "operator": name,
                        "line": line,
                        "before": code.splitlines()[line - 1].strip(),
                        "after": changed.splitlines()[line - 1].strip(),
                        "code": changed,
                    }


class _WithoutTypes(ast.NodeTransformer):
    """Code without annotations: a change of these only does not count."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _behaviour(code: str) -> str:
    try:
        return ast.dump(_WithoutTypes().visit(ast.parse(code)))
    except SyntaxError:
        return ""


class Reach:
    """A pytest plugin: which test runs which line of the package, and how long each takes."""

    def __init__(self) -> None:
        from coverage import Coverage

        self.coverage = Coverage(data_file=None, source=[str(ROOT / "src" / "nodulebench")])
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self.coverage.switch_context(nodeid)
        self.seconds[nodeid] = -time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """A test is over."""
        self.seconds[nodeid] += time.process_time()

    def written(self) -> dict[str, Any]:
        """Both tables."""
        data = self.coverage.get_data()
        lines = {
            str(Path(file).relative_to(ROOT)): data.contexts_by_lineno(file)
            for file in data.measured_files()
            if Path(file).relative_to(ROOT).parts[2] in STAGES
        }
        return {"seconds": self.seconds, "lines": lines}


def record_reach(out: Path) -> None:
    """Run all tests once in a separate process, and write which reaches what."""
    if child(lambda: _record(out), timeout_s=3600) != 0:
        raise SystemExit("The tests fail without any change.")
    reach = json.loads(out.read_text(encoding="utf-8"))
    files = sorted({test.split("::")[0] for test in reach["seconds"]})
    reach["busy"] = [file for file in files if child(partial(_is_busy, file), 600) == 1]
    out.write_text(json.dumps(reach), encoding="utf-8")


def _record(out: Path) -> int:
    reach = Reach()
    reach.coverage.start()
    code = pytest.main([*QUIET, *TESTS], plugins=[reach])
    reach.coverage.stop()
    out.write_text(json.dumps(reach.written()), encoding="utf-8")
    return int(code)


def _is_busy(file: str) -> int:
    """1: polars works while these tests are collected, so that forks would miss its threads."""
    pytest.main(["--collect-only", *QUIET, file])
    return int(any("polars-0" in name for name in thread_names()))


def tests_of(change: dict[str, Any], reach: dict[str, Any]) -> list[str]:
    """The tests that reach a change, quick ones first; code outside of functions: its module."""
    lines = {int(line): tests for line, tests in reach["lines"].get(change["path"], {}).items()}
    code = (ROOT / change["path"]).read_text(encoding="utf-8")
    wanted = _statement(ast.parse(code), change["line"]) or set(lines)
    tests = {test for line in wanted for test in lines.get(line, ()) if test}
    chosen, together_s = [], 0.0
    for test in sorted(tests, key=lambda test_id: (reach["seconds"][test_id], test_id)):
        together_s += reach["seconds"][test]
        if reach["seconds"][test] <= SLOWEST_S and together_s <= TOGETHER_S:
            chosen.append(test)
    return chosen


def _statement(tree: ast.Module, line: int) -> set[int]:
    """The lines of the innermost statement of a function that holds a line; empty: none does."""
    numbers: set[int] = set()
    bodies = [
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for statement in function.body
        for node in ast.walk(statement)
    ]
    for node in bodies:
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body and body[0].lineno > line else node.end_lineno
            own = set(range(node.lineno, (end or node.lineno) + 1))
            numbers = own if not numbers or len(own) <= len(numbers) else numbers
    return numbers


def run_changes(file: Path, out: Path, seconds: float = SECONDS) -> None:
    """Try the listed changes until the time is over; write one row each, print a table."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS", "CI"):
        os.environ[name] = "1"
    os.environ.setdefault("NODULEBENCH_TEST_DATA", str(ROOT.parent / "shared"))
    os.chdir(ROOT)
    changes = json.loads(file.read_text(encoding="utf-8"))
    known = out.with_suffix(".reach.json")
    if not known.exists():
        record_reach(known)
    reach = json.loads(known.read_text(encoding="utf-8"))
    for name in LIBRARIES:
        __import__(name)
    gc.freeze()
    end = time.monotonic() + seconds
    asked = {number: tests_of(change, reach) for number, change in enumerate(changes)}
    known = out.with_suffix(".inside.csv")
    child(partial(try_inside, changes, asked, reach, known, end), timeout_s=seconds + 3600)
    inside = outcomes(known)
    rows = []
    with out.open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, ["path", "line", "operator", "before", "after", "outcome"])
        table.writeheader()
        for number, change in enumerate(changes):
            outcome = inside.get(number, "")
            if not outcome and asked[number]:
                late = time.monotonic() > end
                outcome = "not tried" if late else _try(change, asked[number], reach)
            row = {key: text for key, text in change.items() if key != "code"}
            rows.append({**row, "outcome": outcome or "not reached"})
            table.writerow(rows[-1])
            stream.flush()
    _print(rows)


class _Changed(MetaPathFinder):
    """Finds one module with other code than its file's."""

    def __init__(self, change: dict[str, Any]) -> None:
        self.file = ROOT / change["path"]
        parts = Path(change["path"]).with_suffix("").parts[1:]
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.code = change["code"]

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """The changed module, if it is this one."""
        if fullname != self.name:
            return None
        code = self.code

        class Loader(SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return compile(code, self.get_filename(fullname), "exec")

        return spec_from_file_location(fullname, self.file, loader=Loader(fullname, str(self.file)))


def _try(change: dict[str, Any], tests: list[str], reach: dict[str, Any]) -> str:
    def attempt() -> int:
        sys.meta_path.insert(0, _Changed(change))
        return int(pytest.main(["-x", *QUIET, *tests]))

    return outcome_of(child(attempt, longest_s(tests, reach)))


def _print(rows: list[dict[str, Any]]) -> None:
    counts = Counter((Path(row["path"]).parts[2], row["outcome"]) for row in rows)
    outcomes = sorted({row["outcome"] for row in rows})
    print(f"| stage | {' | '.join(outcomes)} |\n|---|{'---|' * len(outcomes)}")
    for stage in STAGES:
        print(f"| {stage} | {' | '.join(str(counts[stage, outcome]) for outcome in outcomes)} |")
    for row in rows:
        if row["outcome"] not in ("found", "too slow", "not tried"):
            line = f"{row['path']}:{row['line']} {row['operator']} ({row['outcome']})"
            print(f"{line}: {row['before']} -> {row['after']}")


if __name__ == "__main__":
    half, place, *more = sys.argv[1:]
    if half == "list":
        list_changes(Path(place), float(more[0]) if more else SHARE)
    else:
        run_changes(Path(place), Path(more[0]), *(float(number) for number in more[1:]))
