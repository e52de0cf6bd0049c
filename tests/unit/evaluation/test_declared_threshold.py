"""A threshold that an algorithm declares sets its operating point; curves use all marks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.tables import case, false_mark, mark, nodule, protocol, reference, submission
from builders.words import sentences
from nodulebench.cli import main
from nodulebench.core.results import Estimate, OperatingPoint
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.result_folder import read_document, write_evaluation
from nodulebench.evaluation.verify import verify_folder
from nodulebench.i18n.translator import LANGUAGES, translator
from nodulebench.report.html import render_html

METRICS = ("recall", "precision", "f_beta", "fp_per_case", "miss_rate", "cpm")
CASES = (
    case("a", nodule(8), mark(0.9), false_mark(0.5)),
    case("b", nodule(8), mark(0.2), false_mark(0.1)),
    case("c", false_mark(0.45)),
)
# at 0.4: one of two nodules, two false positives in three cases
AT_POINT = {
    "recall": 1 / 2,
    "precision": 1 / 3,
    "f1": 2 / 5,
    "fp_per_case": 2 / 3,
    "miss_rate": 1 / 2,
}
WHOLE = {"recall": 1, "precision": 2 / 5, "fp_per_case": 1}


def evaluated(threshold: float | None, **fields: Any):
    submitted = replace(submission(*CASES), threshold=threshold)
    if threshold is not None:
        submitted = replace(submitted, facts={"threshold": str(threshold)})
    return evaluate(reference(*CASES), [submitted], protocol(metrics=METRICS, **fields))


def metrics(evaluation) -> dict[str, float | None]:
    result = evaluation.algorithms[0].rules["luna16"]
    return {k: metric.value for k, metric in result.metrics.items() if isinstance(metric, Estimate)}


def test_metrics_of_one_point_are_read_there_and_curves_use_all_marks() -> None:
    evaluation, plain = evaluated(0.4), evaluated(None)
    assert {name: metrics(evaluation)[name] for name in AT_POINT} == pytest.approx(AT_POINT)
    assert {name: metrics(plain)[name] for name in WHOLE} == pytest.approx(WHOLE)
    assert metrics(evaluation)["cpm"] == metrics(plain)["cpm"]
    result = evaluation.algorithms[0].rules["luna16"]
    assert result.counts["hit"] == 1
    assert result.counts["missed"] == 1
    assert result.counts["false_positive"] == 2
    assert result.operating_point == OperatingPoint(None, 0.4)
    whole = plain.algorithms[0].rules["luna16"].curves
    assert [curve.y.tolist() for curve in result.curves] == [curve.y.tolist() for curve in whole]
    assert evaluation.algorithms[0].labels.equals(plain.algorithms[0].labels)


def test_a_mark_at_the_threshold_counts() -> None:
    assert metrics(evaluated(0.2))["recall"] == 1
    assert metrics(evaluated(0.2 + 1e-12))["recall"] == 0.5
    assert metrics(evaluated(2.0))["recall"] == 0


def test_a_declared_threshold_or_its_replacement_has_a_notice() -> None:
    def threshold_text(**fields: Any) -> str:
        return sentences(evaluated(0.4, **fields).algorithms[0].notices)[0]

    assert threshold_text().startswith(
        "Recall, precision, F, false positives per case and misses are measured at"
    )
    assert "at the threshold 0.4 that the algorithm declares" in threshold_text()
    assert threshold_text(score_threshold=0.15) == (
        "The protocol's threshold 0.15 replaces 0.4, which the algorithm declares."
    )
    assert threshold_text(operating_point=1.0) == (
        "The threshold 0.4 that the algorithm declares is not used, because the protocol measures "
        "at 1 false "
        "positives per case."
    )
    assert metrics(evaluated(0.4, score_threshold=0.15)) == metrics(
        evaluated(None, score_threshold=0.15)
    )
    assert metrics(evaluated(0.4, operating_point=1.0)) == metrics(
        evaluated(None, operating_point=1.0)
    )


def test_marks_without_scores_all_count() -> None:
    cases = (case("a", nodule(8), mark(None)),)
    submitted = replace(submission(*cases), threshold=0.4)
    evaluation = evaluate(reference(*cases), [submitted], protocol())
    assert metrics(evaluation)["recall"] == 1
    assert evaluation.algorithms[0].notices[0].code == "threshold_without_scores"


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_report_says_where_it_was_read(tmp_path: Path, name: Any) -> None:
    write_evaluation(evaluated(0.4), tmp_path / "out")
    curves = pl.read_parquet(tmp_path / "out" / "curves.parquet")
    page = render_html(read_document(tmp_path / "out"), curves, language=name)
    translate = translator(name)
    for key in ("narrative.at_declared", "answer.threshold_declared", "headline.at_declared"):
        assert translate(key) in page
    assert translate("key.remark") not in page


def test_verify_computes_the_same(tmp_path: Path) -> None:
    write_evaluation(evaluated(0.4), tmp_path / "new")
    assert verify_folder(tmp_path / "new").is_good


def test_algorithm_toml_sets_it(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    luna16, mine = tmp_path / "luna16", tmp_path / "mine"
    luna16.mkdir()
    mine.mkdir()
    columns = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (luna16 / "annotations.csv").write_text(columns + "a,0,0,0,8\nb,0,0,0,8\n")
    (luna16 / "annotations_excluded.csv").write_text(columns)
    (luna16 / "seriesuids.csv").write_text("a\nb\n")
    (mine / "marks.csv").write_text(
        "seriesuid,coordX,coordY,coordZ,probability\na,0,0,0,0.9\nb,0,0,0,0.2\n"
    )
    (mine / "algorithm.toml").write_text('name = "Mine"\nthreshold = 0.5\n')
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", "mine", "--reference", "luna16", "--bootstraps", "0", "--out", "out"])
    assert not stopped.value.code
    output = capsys.readouterr()
    assert "read at the declared threshold: marks with a score ≥ 0.5" in output.out
    assert "2 nodules: 1 hit, 1 missed" in output.out
    assert "the threshold 0.5 that the algorithm declares" in output.err
    with pytest.raises(SystemExit) as stopped:
        main(["verify", "out", "--reference", "luna16", "--marks", "mine"])
    assert not stopped.value.code, capsys.readouterr().err
