"""Numbers of the official LUNA16 program, to the last bit.

Expected values come from running the program as distributed with the challenge (a syntax-only
Python 3 port) on two public submissions; see the data folder's SOURCES.md.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.core.results import Estimate, RuleResult
from nodulebench.core.tables import Reference
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.service import with_options
from nodulebench.io.marks import luna16 as luna16_csv

RATES = ("0.125", "0.25", "0.5", "1", "2", "4", "8")
SUBMISSIONS = {
    "deeplung_dpn26_888": ("deeplung_dpn26_888.csv.gz", "seriesuids.csv"),
    "res18_focal_fold9": ("res18_focal_fold9.csv", "fold9_seriesuids.csv"),
}
COUNTS = {
    "hit": "True positives",
    "false_positive": "False positives",
    "missed": "False negatives",
    "nodules": "Total number of nodules",
    "ignored": "Ignored candidates on excluded nodules",
    "duplicate": "Ignored candidates which were double detections on a nodule",
}


@cache
def whole_reference(folder: Path) -> Reference:
    return luna16_csv.read_reference(folder)


def official_result(
    folder: Path, marks: str, series: pl.Series, protocol: TestProtocol
) -> RuleResult:
    reference = whole_reference(folder).restricted(series, "series")
    submission = luna16_csv.read_marks(folder / "submissions" / marks, reference.cases)
    return evaluate(reference, [submission], protocol).algorithms[0].rules["luna16"]


def expected(folder: Path, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "expected" / name).read_text())
    return content


def sensitivities(result: RuleResult) -> list[float | None]:
    readings = result.metrics["sensitivity_at_fp_rate"]
    assert isinstance(readings, dict)
    assert tuple(readings) == RATES
    return [readings[rate].value for rate in RATES]


def counts_of(result: RuleResult) -> dict[str, int]:
    return {theirs: result.counts[ours] for ours, theirs in COUNTS.items()}


def value_of(result: RuleResult, metric: str) -> float | None:
    value = result.metrics[metric]
    assert isinstance(value, Estimate)
    return value.value


@pytest.mark.parametrize("name", SUBMISSIONS)
@pytest.mark.parametrize("seed", [0, 1])
def test_counts_sensitivities_and_bootstrap_bounds_equal_the_official_ones(
    luna16_data: Path, name: str, seed: int
) -> None:
    wanted = expected(luna16_data, f"{name}.json")
    bootstrap = wanted["bootstrap"] if seed == 0 else wanted.get(f"bootstrap_seed_{seed}")
    if bootstrap is None:
        pytest.skip(f"no official bootstrap of {name} with seed {seed}")
    marks, series_file = SUBMISSIONS[name]
    protocol = with_options(load_protocol("luna16"), seed=seed)
    result = official_result(
        luna16_data, marks, luna16_csv.read_series(luna16_data / series_file), protocol
    )

    assert counts_of(result) == {theirs: wanted["counts"][theirs] for theirs in COUNTS.values()}
    assert sensitivities(result) == wanted["sensitivity"]
    assert value_of(result, "cpm") == wanted["cpm"]
    assert value_of(result, "cpm_exact") == wanted["exact_count_cpm"]
    readings = result.metrics["sensitivity_at_fp_rate"]
    assert isinstance(readings, dict)
    assert [readings[rate].low for rate in RATES] == bootstrap["lower"]
    assert [readings[rate].high for rate in RATES] == bootstrap["upper"]
    means = np.array([readings[rate].mean for rate in RATES])
    np.testing.assert_allclose(means, bootstrap["mean"], rtol=0, atol=2e-6)
    cpm = result.metrics["cpm"]
    assert isinstance(cpm, Estimate)
    assert (cpm.low, cpm.high) == (
        bootstrap["cpm_replicates"]["lower"],
        bootstrap["cpm_replicates"]["upper"],
    )


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_the_curve_has_the_official_points(luna16_data: Path, name: str) -> None:
    wanted = pl.read_csv(
        luna16_data / "expected" / f"{name}_froc.csv", schema_overrides={"threshold": pl.Float64}
    )
    marks, series_file = SUBMISSIONS[name]
    series = luna16_csv.read_series(luna16_data / series_file)
    protocol = with_options(load_protocol("luna16"), bootstraps=0)
    curve = official_result(luna16_data, marks, series, protocol).curves[0]
    np.testing.assert_array_equal(curve.x, wanted["fp_per_scan"].to_numpy())
    np.testing.assert_array_equal(curve.y, wanted["sensitivity"].to_numpy())
    np.testing.assert_array_equal(curve.threshold, wanted["threshold"].to_numpy())


@pytest.mark.parametrize("fold", range(10))
def test_every_fold_gives_the_official_numbers(luna16_data: Path, fold: int) -> None:
    wanted = expected(luna16_data, "deeplung_dpn26_per_fold.json")["folds"][fold]
    folds = pl.read_csv(luna16_data / "folds.csv")
    series = folds.filter(pl.col("fold") == fold)["seriesuid"]
    protocol = with_options(load_protocol("luna16"), bootstraps=0)
    result = official_result(luna16_data, SUBMISSIONS["deeplung_dpn26_888"][0], series, protocol)
    assert counts_of(result) == {theirs: wanted["counts"][theirs] for theirs in COUNTS.values()}
    assert sensitivities(result) == wanted["sensitivity"]
    assert value_of(result, "cpm") == wanted["cpm"]


def test_without_a_limit_on_marks_the_numbers_are_the_official_ones(luna16_data: Path) -> None:
    wanted = expected(luna16_data, "deeplung_dpn26_variants.json")["variants"]
    protocol = with_options(load_protocol("luna16"), bootstraps=0).model_copy(
        update={"mark_cap": None}
    )
    result = official_result(
        luna16_data,
        SUBMISSIONS["deeplung_dpn26_888"][0],
        luna16_csv.read_series(luna16_data / "seriesuids.csv"),
        protocol,
    )
    variant = wanted["no limit on marks per scan"]
    assert counts_of(result) == {theirs: variant["counts"][theirs] for theirs in COUNTS.values()}
    assert sensitivities(result) == variant["sensitivity"]
    assert len(result.curves[0].x) == variant["curve_points"]


def test_without_the_excluded_findings_the_numbers_are_the_official_ones(
    luna16_data: Path,
) -> None:
    variant = expected(luna16_data, "deeplung_dpn26_variants.json")["variants"][
        "excluded list empty (header only)"
    ]
    whole = whole_reference(luna16_data)
    reference = Reference(whole.name, whole.cases, whole.nodules.filter(~pl.col("is_ignored")))
    marks = luna16_data / "submissions" / SUBMISSIONS["deeplung_dpn26_888"][0]
    submission = luna16_csv.read_marks(marks, reference.cases)
    protocol = with_options(load_protocol("luna16"), bootstraps=0)
    result = evaluate(reference, [submission], protocol).algorithms[0].rules["luna16"]
    assert counts_of(result) == {theirs: variant["counts"][theirs] for theirs in COUNTS.values()}
    assert sensitivities(result) == variant["sensitivity"]
    assert value_of(result, "cpm") == variant["cpm"]
