"""Compare the cost and the accuracy of several algorithms on one test set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.results import AlgorithmResult
from nodulebench.core.tables import RUNS
from nodulebench.core.text import in_a_line
from nodulebench.evaluation.service import EvaluateOptions, evaluate_files
from nodulebench.i18n.translator import in_english, translator
from nodulebench.io.atomic import replace_whole
from nodulebench.io.bundle import is_sealed
from nodulebench.io.csv_files import write_csv
from nodulebench.io.table_files import read_table
from nodulebench.report.line_charts import COSTS, LESS_IS_BETTER, WORTH, TradeOff, trade_off_chart
from nodulebench.runner.algorithms import Algorithm
from nodulebench.runner.run import RunChoice, run_algorithm

TABLE, RESULT = "bench.csv", "result"


@dataclass(frozen=True, slots=True)
class BenchRow:
    """What one algorithm costs and finds under one rule."""

    algorithm: str
    rule: str
    cases: int
    ok: int
    median_seconds: float | None
    """Of the cases with state ok; None: no such case."""
    p95_seconds: float | None
    peak_memory_mb: float | None
    """Maximum over all cases."""
    sensitivity: float | None
    fp_per_case: float | None
    """None: the rule cannot classify its marks."""
    is_on_front: bool = False
    """Whether no other algorithm is at least as good in all measures and better in one."""
    undefined: str = ""
    """Why the rule cannot classify its marks."""


def bench(
    algorithms: Sequence[Algorithm],
    test_set: Path,
    out: Path,
    choice: RunChoice,
    *,
    protocol: str | None = None,
    bootstraps: int | None = None,
    progress: Progress = no_progress,
) -> tuple[list[BenchRow], list[Path]]:
    """Run algorithms one after another, score them together, and write table and charts.

    Each gets a folder with its name in ``out``. A sealed set is refused: evaluations are charged.
    """
    if is_sealed(test_set):
        what = "is sealed: each algorithm is run and evaluated on it separately."
        raise InputError.at(test_set, what, "Use: nodulebench run, then evaluate --submissions")
    names = [in_a_line(algorithm.name).replace("/", "-") for algorithm in algorithms]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError.at(f"algorithm '{twice[0]}'", "is given twice.", "Give unique names.")
    folders = [out / name for name in names]
    for algorithm, folder in zip(algorithms, folders, strict=True):
        run_algorithm(algorithm, test_set, folder, choice, progress=_named(algorithm, progress))
    evaluation, _ = evaluate_files(
        EvaluateOptions(
            marks=tuple(folders),
            reference=test_set,
            protocol=protocol,
            bootstraps=bootstraps,
            out=out / RESULT,
            force=True,
        )
    )
    cases = int(evaluation.reference["cases"])
    rows = [
        row
        for folder, result in zip(folders, evaluation.algorithms, strict=True)
        for row in _rows(result, read_table(folder / "runs.csv", RUNS), cases)
    ]
    rows = on_front(rows)
    return rows, [*_written(rows, out), out / RESULT]


def _named(algorithm: Algorithm, progress: Progress) -> Callable[[str, int, int], object]:
    return lambda what, done, of: progress(f"{algorithm.name} {what}", done, of)


def _rows(result: AlgorithmResult, runs: pl.DataFrame, cases: int) -> list[BenchRow]:
    well = runs.filter(pl.col("state") == "ok")
    seconds = well["seconds"].drop_nulls().to_numpy()
    memory = runs["peak_memory_mb"].max()
    rows = []
    for rule, outcome in result.rules.items():
        hit, missed = outcome.counts.get("hit", 0), outcome.counts.get("missed", 0)
        is_defined = outcome.undefined is None  # otherwise the rule lacks data, such as boxes
        rows.append(
            BenchRow(
                result.name,
                rule,
                cases,
                well.height,
                float(np.median(seconds)) if len(seconds) else None,
                float(np.quantile(seconds, 0.95)) if len(seconds) else None,
                None if memory is None else float(str(memory)),
                hit / (hit + missed) if hit + missed else None,
                outcome.counts["false_positive"] / cases if is_defined else None,
                undefined="" if outcome.undefined is None else in_english(outcome.undefined),
            )
        )
    return rows


def on_front(rows: Sequence[BenchRow]) -> list[BenchRow]:
    """Mark the rows that no other row of the same rule dominates."""

    def position(row: BenchRow) -> tuple[float, ...] | None:
        values = [getattr(row, name) for name in (*COSTS, *WORTH)]
        if any(value is None for value in values):
            return None
        signs = [1.0 if name in LESS_IS_BETTER else -1.0 for name in (*COSTS, *WORTH)]
        return tuple(sign * value for sign, value in zip(signs, values, strict=True))

    def dominates(first: tuple[float, ...], other: tuple[float, ...]) -> bool:
        return first != other and all(a <= b for a, b in zip(first, other, strict=True))

    marked = []
    for row in rows:
        own = position(row)
        others = [position(other) for other in rows if other.rule == row.rule]
        is_on_front = own is not None and not any(
            other is not None and dominates(other, own) for other in others
        )
        marked.append(replace(row, is_on_front=is_on_front))
    return marked


def _written(rows: Sequence[BenchRow], out: Path) -> list[Path]:
    translate = translator()
    table = pl.DataFrame([{name: getattr(row, name) for name in row.__slots__} for row in rows])
    write_csv(table, out / TABLE)
    written = [out / TABLE]
    for rule in dict.fromkeys(row.rule for row in rows):
        for cost in COSTS:
            for worth in WORTH:
                points = [
                    TradeOff(row.algorithm, getattr(row, cost), getattr(row, worth))
                    for row in rows
                    if row.rule == rule
                    and getattr(row, cost) is not None
                    and getattr(row, worth) is not None
                ]
                if not points:
                    continue
                drawn = trade_off_chart(points, cost, worth, translate)
                path = out / f"{rule}-{cost}-{worth}.svg"
                replace_whole(path, drawn.encode())
                written.append(path)
    return written
