"""Several algorithms and one test set -> what each costs and finds, side by side."""

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
from nodulebench.report.charts.lines import (
    COSTS,
    LESS_IS_BETTER,
    WORTH,
    TradeOff,
    trade_off_chart,
)
from nodulebench.runner.contract.algorithm import Algorithm
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
    """Of the cases that ended well; None: there are none."""
    p95_seconds: float | None
    peak_memory_mb: float | None
    """The most of any case."""
    sensitivity: float | None
    fp_per_case: float | None
    """None: the rule cannot judge its marks."""
    is_on_front: bool = False
    """Whether no other algorithm is at least as good in everything and better in something."""
    undefined: str = ""
    """Why the rule cannot judge its marks."""


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
    """Run algorithms one after another, score them together, and write table and pictures.

    Args:
        algorithms: what is run; each gets a folder of its name.
        test_set: with images and a reference; not sealed, where looks are counted.
        out: folder for submissions, result, table and pictures.
        choice: how they are run; the same for all.
        protocol: how they are scored.
        bootstraps: of the intervals.
        progress: told each case.

    Raises:
        InputError: if names are the same, the set is sealed, or anything cannot be used.
    """
    if is_sealed(test_set):
        what = "is sealed: every algorithm is run on it and scored by a look of its own."
        raise InputError.at(test_set, what, "Use: nodulebench run, then evaluate --roster")
    names = [in_a_line(one.name).replace("/", "-") for one in algorithms]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError.at(f"algorithm '{twice[0]}'", "is there twice.", "Name them apart.")
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
    found = []
    for rule, told in result.rules.items():
        hit, missed = told.counts.get("hit", 0), told.counts.get("missed", 0)
        is_judged = told.undefined is None  # else the rule lacks what it needs, such as boxes
        found.append(
            BenchRow(
                result.name,
                rule,
                cases,
                well.height,
                float(np.median(seconds)) if len(seconds) else None,
                float(np.quantile(seconds, 0.95)) if len(seconds) else None,
                None if memory is None else float(str(memory)),
                hit / (hit + missed) if hit + missed else None,
                told.counts["false_positive"] / cases if is_judged else None,
                undefined="" if told.undefined is None else in_english(told.undefined),
            )
        )
    return found


def on_front(rows: Sequence[BenchRow]) -> list[BenchRow]:
    """The rows, each with whether no other of its rule is beyond it."""

    def place(row: BenchRow) -> tuple[float, ...] | None:
        values = [getattr(row, name) for name in (*COSTS, *WORTH)]
        if any(value is None for value in values):
            return None
        signs = [1.0 if name in LESS_IS_BETTER else -1.0 for name in (*COSTS, *WORTH)]
        return tuple(sign * value for sign, value in zip(signs, values, strict=True))

    def is_beyond(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    marked = []
    for row in rows:
        own = place(row)
        others = [place(other) for other in rows if other.rule == row.rule]
        is_free = own is not None and not any(
            other is not None and is_beyond(other, own) for other in others
        )
        marked.append(replace(row, is_on_front=is_free))
    return marked


def _written(rows: Sequence[BenchRow], out: Path) -> list[Path]:
    """The table, and for each rule the pictures of cost against worth."""
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
