"""The luna16 protocol against the plain implementation, on random submissions of every kind."""

import numpy as np
import polars as pl
import pytest

from builders import plain_luna16
from nodulebench.core.protocol import IntervalChoice, load_protocol
from nodulebench.core.results import Estimate
from nodulebench.core.tables import CASES, MARKS, NODULES, Reference, Submission
from nodulebench.evaluation.evaluate import evaluate

REPLICATES = 40
Rows = list[plain_luna16.Row]


def random_data(seed: int, digits: int | None, cap: int) -> tuple[list[str], Rows, Rows, Rows]:
    """Crowded scans with overlapping nodules; ``digits`` rounds scores so that many tie."""
    random = np.random.default_rng(seed)
    series = [f"scan{number}" for number in range(int(random.integers(3, 14)))]

    def rows(count: int, last: np.ndarray) -> Rows:
        place = np.round(random.uniform(0, 60, (count, 3)), 1)
        names = random.choice(series, count)
        return [
            (str(name), *map(float, xyz), float(value))
            for name, xyz, value in zip(names, place, last, strict=True)
        ]

    included = rows(12, random.uniform(4, 30, 12))
    excluded = rows(15, random.choice([-1.0, 0.0, 12.0], 15))
    count = int(random.integers(5, cap * len(series)))
    score = random.normal(size=count)
    marks = rows(count, score if digits is None else np.round(score, digits))
    near = [included[number] for number in random.integers(0, 12, 10)]
    marks += [
        (name, x + 1, y, z, float(np.round(random.normal() + 1, digits or 9)))
        for name, x, y, z, _ in near
    ]
    return series, included, excluded, marks


def as_tables(
    series: list[str], included: Rows, excluded: Rows, marks: Rows
) -> tuple[Reference, Submission]:
    findings = [(*row, False) for row in included] + [(*row, True) for row in excluded]
    place = ["case_id", "x_mm", "y_mm", "z_mm"]
    nodules = pl.DataFrame(findings, schema=[*place, "diameter_mm", "is_ignored"], orient="row")
    nodules = nodules.with_columns(pl.col("diameter_mm").replace(-1.0, None))  # not measured
    submitted = pl.DataFrame(marks, schema=[*place, "score"], orient="row")
    number = pl.int_range(pl.len()).cast(pl.String)
    return (
        Reference(
            "random",
            CASES.conform(pl.DataFrame({"case_id": series}), "cases"),
            NODULES.conform(nodules.with_columns(nodule_id=number), "nodules"),
        ),
        Submission("random", MARKS.conform(submitted.with_columns(mark_id=number), "marks")),
    )


@pytest.mark.parametrize("digits", [None, 2, 1, 0])
@pytest.mark.parametrize("seed", range(6))
def test_everything_equals_the_plain_implementation(seed: int, digits: int | None) -> None:
    cap = 20
    data = random_data(seed, digits, cap)
    plain = plain_luna16.label(*data, cap=cap)
    protocol = load_protocol("luna16").model_copy(
        update={
            "mark_cap": cap,
            "seed": seed,
            "interval": IntervalChoice(method="luna16", unit="case", bootstraps=REPLICATES),
        }
    )
    result = evaluate(*_as_arguments(data), protocol).algorithms[0].rules["luna16"]
    assert {name: result.counts[name] for name in plain.counts} == plain.counts

    pooled = [entry for entries in plain.entries.values() for entry in entries]
    rates = np.array(plain_luna16.RATES)
    wanted = plain_luna16.sensitivity_at(pooled, len(data[0]), rates)
    readings = result.metrics["sensitivity_at_fp_rate"]
    assert isinstance(readings, dict)
    assert [reading.value for reading in readings.values()] == wanted.tolist()

    curves = plain_luna16.bootstrap(plain, REPLICATES, seed)
    ordered = np.sort(curves, axis=0)
    low = np.interp(rates, plain_luna16.GRID, ordered[int(0.025 * REPLICATES)])
    high = np.interp(rates, plain_luna16.GRID, ordered[int(0.975 * REPLICATES)])
    assert [reading.low for reading in readings.values()] == low.tolist()
    assert [reading.high for reading in readings.values()] == high.tolist()
    replicate_cpm = np.sort([np.interp(rates, plain_luna16.GRID, row).mean() for row in curves])
    cpm = result.metrics["cpm"]
    assert isinstance(cpm, Estimate)
    assert (cpm.low, cpm.high) == (
        replicate_cpm[int(0.025 * REPLICATES)],
        replicate_cpm[int(0.975 * REPLICATES)],
    )


def _as_arguments(data: tuple[list[str], Rows, Rows, Rows]) -> tuple[Reference, list[Submission]]:
    reference, submission = as_tables(*data)
    return reference, [submission]
