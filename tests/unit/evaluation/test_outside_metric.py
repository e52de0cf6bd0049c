"""A metric of another package that is read at several points, from evaluate to verify."""

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.evaluated_folder import SKILLS
from builders.made_up import made_up_reference, made_up_submission
from builders.outside import bring
from nodulebench.core.arrays import FloatArray, WeightArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import IntervalChoice, RuleChoice, TestProtocol
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.comparison.service import compare_folder
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.report import write_report
from nodulebench.evaluation.result_folder import read_document, write_evaluation
from nodulebench.evaluation.verify import verify_folder
from nodulebench.metrics import METRICS, MetricInfo


def share_within(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """Share of cases with at most so many marks."""
    case = cohort.reference.cases["case_id"].to_list()
    counted = [cohort.submission.marks["case_id"].to_list().count(part) for part in case]
    few = np.less_equal.outer(counted, (1, 3, 5)).astype(np.float64)
    whole: FloatArray = case_weight.sum(axis=1, dtype=np.float64)[:, np.newaxis]
    return np.asarray((case_weight @ few) / whole)


share_within.facts = MetricInfo(  # type: ignore[attr-defined]
    True, columns=("1", "3", "5"), table="mark_table"
)


def without_points(cohort: LabelledCohort, case_weight: WeightArray) -> FloatArray:
    """The same, but it does not say at which points."""
    return share_within(cohort, case_weight)


def mark_table(cohort: LabelledCohort) -> pl.DataFrame:
    """The table that belongs to it."""
    return cohort.submission.marks.group_by("case_id", maintain_order=True).len("marks")


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """The metrics, as if another package had registered them."""
    points = {
        name: EntryPoint(name, f"{__name__}:{name}", METRICS.group)
        for name in ("share_within", "without_points")
    }
    bring(monkeypatch, METRICS, points)
    monkeypatch.setattr(METRICS, "_loaded", dict(METRICS._loaded))


def protocol(*metrics: str) -> TestProtocol:
    return TestProtocol(
        name="own",
        rules=(RuleChoice(name="center_hit"), RuleChoice(name="area_overlap")),
        metrics=metrics,
        interval=IntervalChoice(bootstraps=20),
    )


def result(out: Path, *metrics: str) -> Path:
    truth = made_up_reference(40, 60, 3)  # 20 patients are needed for an interval
    submissions = [made_up_submission(truth, skill, 3) for skill in SKILLS]
    write_evaluation(evaluate(truth, submissions, protocol(*metrics)), out)
    return out


@pytest.mark.slow
@pytest.mark.usefixtures("added")
def test_it_goes_the_whole_way(tmp_path: Path) -> None:
    folder = result(tmp_path / "out", "recall", "share_within")
    result_read = read_document(folder).algorithms[0].rules["center_hit"]
    readings = result_read.readings("share_within")
    assert list(readings) == ["1", "3", "5"]
    assert all(reading.value is not None for reading in readings.values())
    text = [
        reading.low is not None or reading.reason.code == "no_variation"
        for reading in readings.values()
    ]
    assert all(text)
    assert readings["3"].low is not None
    extras: dict[str, Any] = dict(result_read.extras)
    assert extras["mark_table"][0].keys() == {"case_id", "marks"}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Share within" in page
    comparison, _ = compare_folder(folder, ComparisonChoice(baseline="one", permutations=20))
    assert {str(difference.reading) for difference in comparison.differences} >= {
        "share_within at 1",
        "share_within at 5",
    }
    write_report(folder)
    assert [str(problem) for problem in (*verify_folder(folder).problems,)] == []
    assert verify_folder(folder).is_good


@pytest.mark.usefixtures("added")
def test_a_metric_without_points_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"metric 'without_points': returns 3 values but names 0 points"
    ):
        result(tmp_path / "out", "without_points")
