"""One small change in match, metrics, statistics or custody at a time: does a test fail?

``python -m benchmarks mutations`` makes the changes with cosmic-ray (``pip install cosmic-ray``)
and tries a seeded sample of them. ``python -m benchmarks.mutations list FILE [SHARE]`` and ``run
FILE RESULT.csv [WORKERS] [SECONDS]`` do the two halves apart.
"""

import ast
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ROOT = Path(__file__).parents[1]
STAGES = ("match", "metrics", "statistics", "custody")
OPERATORS = (
    *(f"ReplaceBinaryOperator_{one}" for one in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul")),
    *(f"ReplaceBinaryOperator_{one}" for one in ("FloorDiv_Mul", "Mod_Mul", "Pow_Mul")),
    *(f"ReplaceBinaryOperator_{one}" for one in ("BitAnd_BitOr", "BitOr_BitAnd")),
    *(f"ReplaceComparisonOperator_{one}" for one in ("Eq_NotEq", "NotEq_Eq", "Is_IsNot")),
    *(f"ReplaceComparisonOperator_{one}" for one in ("IsNot_Is", "Lt_LtE", "LtE_Lt")),
    *(f"ReplaceComparisonOperator_{one}" for one in ("Gt_GtE", "GtE_Gt", "Lt_Gt", "GtE_Lt")),
    *(f"ReplaceUnaryOperator_{one}" for one in ("Delete_USub", "Delete_Invert", "Delete_Not")),
    *("AddNot", "NumberReplacer", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ZeroIterationForLoop"),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceBreakWithContinue"),
)
"""Changes that a person could make by mistake; others only break a module at once."""
PLAIN = "tests/agreement/test_luna16_any_submission.py"
"""LUNA16's whole way against a second, plain program."""
SHARE = 0.02
SECONDS = 300


def main() -> None:
    """Try a small sample, and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        changes = Path(folder) / "changes.json"
        list_changes(changes, SHARE)
        run_changes(changes, Path(folder) / "result.csv", workers=os.cpu_count() or 1)


def list_changes(file: Path, share: float, seed: int = 0) -> None:
    """Write a seeded share of all changes."""
    found = [one for stage in STAGES for one in _changes_of(stage)]
    drawn = random.Random(seed).sample(found, round(share * len(found)))
    file.write_text(json.dumps(drawn), encoding="utf-8")
    print(f"{len(drawn)} of {len(found)} changes")


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
    """Code without annotations: a change of these alone is none."""

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


def tests_of(path: str) -> list[str]:
    """The tests that have to notice a change of a module: its stage's own, and the contracts."""
    stage = Path(path).parts[2]
    named = f"tests/unit/{Path(*Path(path).parts[2:-1])}/test_{Path(path).stem}.py"
    shared = {
        "match": ["tests/contracts/test_every_rule.py", PLAIN, "tests/agreement/test_oracle_a.py"],
        "metrics": ["tests/contracts/test_every_figure.py", PLAIN],
        "custody": ["tests/unit/workflows/custody/test_evaluate_sealed.py"],
    }
    first = [named] if (ROOT / named).exists() else []
    return [*first, f"tests/unit/{stage}", *shared.get(stage, [])]


def run_changes(file: Path, out: Path, workers: int, seconds: float = SECONDS) -> None:
    """Try the listed changes until the time is over; write one row each, print a table."""
    changes = json.loads(file.read_text(encoding="utf-8"))
    end = time.monotonic() + seconds
    copies: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(workers):
            copy = Path(folder) / str(number) / "tree"
            for part in ("src", "tests", "docs", "benchmarks"):
                shutil.copytree(ROOT / part, copy / part)
            for part in ("pyproject.toml", "README.md", "Makefile"):
                shutil.copy(ROOT / part, copy / part)
            copies.put(copy)

        def attempt(change: dict[str, Any]) -> dict[str, Any]:
            kept = {key: one for key, one in change.items() if key != "code"}
            if time.monotonic() > end:
                return {**kept, "outcome": "not tried"}
            copy = copies.get()
            try:
                return {**kept, "outcome": _try(copy, change)}
            finally:
                copies.put(copy)

        rows = []
        with (
            ThreadPoolExecutor(workers) as pool,
            out.open("w", newline="", encoding="utf-8") as told,
        ):
            table = csv.DictWriter(told, ["path", "line", "operator", "before", "after", "outcome"])
            table.writeheader()
            for row in pool.map(attempt, changes):
                rows.append(row)
                table.writerow(row)
                told.flush()
    _print(rows)


def _try(copy: Path, change: dict[str, Any]) -> str:
    target = copy / change["path"]
    original = target.read_text(encoding="utf-8")
    target.write_text(change["code"], encoding="utf-8")
    data = os.environ.get("NODULEBENCH_TEST_DATA", str(ROOT.parent / "shared"))
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    path = os.pathsep.join([str(copy / "src"), os.environ.get("PYTHONPATH", "")])
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests_of(change["path"])],
            cwd=copy,
            env={
                **os.environ,
                **threads,
                "NODULEBENCH_TEST_DATA": data,
                "PYTHONPATH": path,
                "CI": "1",
            },
            capture_output=True,
            timeout=180,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "too slow"
    finally:
        target.write_text(original, encoding="utf-8")
    return {0: "survived", 1: "found", 2: "found"}.get(done.returncode, f"exit {done.returncode}")


def _print(rows: list[dict[str, Any]]) -> None:
    counts = Counter((Path(row["path"]).parts[2], row["outcome"]) for row in rows)
    outcomes = sorted({row["outcome"] for row in rows})
    print(f"| stage | {' | '.join(outcomes)} |\n|---|{'---|' * len(outcomes)}")
    for stage in STAGES:
        print(f"| {stage} | {' | '.join(str(counts[stage, one]) for one in outcomes)} |")
    for row in rows:
        if row["outcome"] == "survived":
            print(
                f"{row['path']}:{row['line']} {row['operator']}: {row['before']} -> {row['after']}"
            )


if __name__ == "__main__":
    half, place, *more = sys.argv[1:]
    if half == "list":
        list_changes(Path(place), float(more[0]) if more else SHARE)
    else:
        numbers = [float(one) for one in more[1:]]
        run_changes(Path(place), Path(more[0]), int(numbers[0]), *numbers[1:])
