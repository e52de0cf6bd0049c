"""evaluate --at-fp: counts, recall, misses and strata at a rate, curves as before."""

import json
from pathlib import Path

import numpy as np
import pytest

from builders.made_up import write_made_up_result
from builders.random_cohorts import random_cases
from builders.tables import case, false_mark, mark, nodule, protocol, reference, submission
from nodulebench.core.cohort import LABEL_NAMES, labelled_cohort
from nodulebench.core.errors import InputError
from nodulebench.core.plans import AcceptanceCriteria, Criterion
from nodulebench.core.protocol import SizeLimit, load_protocol
from nodulebench.core.results import Estimate, OperatingPoint
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.comparison.service import compare_folder
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.plans import freeze_plan, write_plan
from nodulebench.evaluation.recompute import load_evaluated, sweep_folder
from nodulebench.evaluation.result_folder import read_document
from nodulebench.evaluation.service import choose_protocol, with_options
from nodulebench.evaluation.verify import verify_folder
from nodulebench.matching import label_marks, targets
from nodulebench.metrics.froc import sensitivity_at_fp_rate
from nodulebench.metrics.score_order import at_operating_point, threshold_at
from nodulebench.report.developer_copy import developers_document

METRICS = ("recall", "precision", "f_beta", "fp_per_case", "cpm", "average_precision", "afroc_area")
AT_POINT = ("recall", "precision", "f1", "fp_per_case")
CASES = (
    case("a", nodule(8, type="solid"), mark(0.9), false_mark(0.8)),
    case("b", nodule(8, (50, 0, 0), type="pleural"), mark(0.6, (50, 0, 0)), false_mark(0.7)),
    case("c", nodule(8, type="solid"), false_mark(0.95)),
    case("d"),
)


def result_of(*cases, **fields):
    chosen = protocol(metrics=METRICS, **fields)
    return evaluate(reference(*cases), [submission(*cases)], chosen).algorithms[0].rules["luna16"]


def test_by_hand() -> None:
    """Two false positives on four cases (0.95, 0.8): the mark of 0.6 and the third are below."""
    result = result_of(*CASES, operating_point=0.5, strata=("type",))
    assert result.operating_point == OperatingPoint(0.5, 0.8)
    counts = {name: result.counts[name] for name in ("hit", "missed", "false_positive")}
    assert counts == {"hit": 1, "missed": 2, "false_positive": 2}
    assert result.counts["uncounted"] == 2
    estimate = {name: result.metrics[name].value for name in AT_POINT}
    assert estimate == {
        "recall": pytest.approx(1 / 3),
        "precision": pytest.approx(1 / 3),
        "f1": pytest.approx(1 / 3),
        "fp_per_case": 0.5,
    }
    assert {
        name: stratum.missed for name, stratum in result.strata["type"].items() if stratum.nodules
    } == {
        "solid": 1,
        "pleural": 1,
    }
    assert [row["case_id"] for row in result.extras["worst_cases"]["missed"]] == ["c", "b"]


def test_curves_do_not_change() -> None:
    at_point, every = result_of(*CASES, operating_point=0.5), result_of(*CASES)
    for name in ("cpm", "average_precision", "afroc_area", "sensitivity_at_fp_rate"):
        if name in every.metrics:
            assert at_point.metrics[name] == every.metrics[name]
    for curve, other in zip(at_point.curves, every.curves, strict=True):
        assert np.array_equal(curve.y, other.y)


def test_a_rate_that_no_score_keeps_to_leaves_nothing() -> None:
    result = result_of(*CASES, operating_point=0.1)
    assert result.operating_point == OperatingPoint(0.1, None)
    assert result.counts["hit"] == result.counts["false_positive"] == 0


def test_marks_without_scores_have_no_such_point() -> None:
    result = result_of(case("a", nodule(8), mark(None)), operating_point=1)
    assert result.undefined is not None
    assert result.undefined.code == "no_scores"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 1, 9])
def test_recall_is_the_step_of_the_froc_there(seed: int, rate: float) -> None:
    cases = random_cases(seed)
    chosen = protocol(metrics=("recall", "fp_per_case"), operating_point=rate)
    truth, marks = reference(*cases), submission(*cases)
    result = evaluate(truth, [marks], chosen).algorithms[0].rules["luna16"]
    recall, falses = result.metrics["recall"], result.metrics["fp_per_case"]
    assert isinstance(recall, Estimate)
    assert isinstance(falses, Estimate)
    labels = label_marks(truth, marks, chosen, chosen.rules[0])
    every = labelled_cohort(truth, marks, labels, targets(truth, marks, chosen))
    ones = np.ones((1, len(cases)))
    step = sensitivity_at_fp_rate(every, ones, operating_points=(rate,), interpolation="step")
    assert recall.value == step[0, 0]
    assert falses.value is not None
    assert falses.value <= rate
    at_point = at_operating_point(every, chosen)
    assert at_point.at_every_score is every
    counts = result.counts
    assert counts["false_positive"] == len(at_point.false_mark)
    score = marks.marks["score"].to_numpy()
    assert (score[at_point.false_mark] == at_point.false_score).all()
    over = labels.over(threshold_at(every, rate), score)
    assert len(np.unique(over.mark)) == marks.marks.height
    again = labelled_cohort(truth, marks, over, targets(truth, marks, chosen))
    assert again.is_hit.tolist() == at_point.is_hit.tolist()
    assert sorted(again.false_score) == sorted(at_point.false_score)
    assert sum(counts[name] for name in LABEL_NAMES) >= marks.marks.height


def test_sizes_are_those_of_the_marks_that_count() -> None:
    """FN(UE): the nodule's large mark is below the threshold, its small one above."""
    small, large = {"diameter_mm": 3.0}, {"diameter_mm": 9.0}
    cases = (
        case("a", nodule(9), mark(0.9, **small), mark(0.2, (0.5, 0, 0), **large)),
        case("b", nodule(2, (0, 0, 0)), mark(0.8, **large)),
        case("c", mark(0.5, (99, 0, 0), **large)),
    )
    limit = SizeLimit(minimum_mm=6)
    chosen = protocol(metrics=("recall",), size_limit=limit, rule="luna16_clean")
    counts = [
        evaluate(reference(*cases), [submission(*cases)], entry)
        .algorithms[0]
        .rules["luna16_clean"]
        .counts
        for entry in (chosen, with_options(chosen, at_fp=0.4))
    ]
    assert [(count["hit"], count["fn_ue"], count["fp_oe"]) for count in counts] == [
        (1, 0, 1),
        (0, 1, 1),
    ]


def test_the_digest_of_a_protocol_holds_its_operating_point() -> None:
    luna16 = load_protocol("luna16")
    assert luna16.operating_point is None
    endless = protocol(size_limit=SizeLimit(minimum_mm=6, sweep_mm=(1, float("inf"))))
    assert endless.model_dump(mode="json")["size_limit"]["sweep_mm"] == [1.0, float("inf")]
    assert with_options(luna16, at_fp=1.0).digest != luna16.digest
    assert type(luna16).model_validate(with_options(luna16, at_fp=2).model_dump()).digest == (
        with_options(luna16, at_fp=2.0).digest
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("at-point") / "out"
    write_made_up_result(out, cases=12, nodules=60, operating_point=1.0)
    return out


@pytest.mark.slow
def test_result_verifies_and_says_where_it_was_read(folder: Path) -> None:
    compare_folder(folder, ComparisonChoice("careful", bootstraps=50, permutations=20))
    assert verify_folder(folder).is_good
    written = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    assert written["protocol"]["operating_point"] == 1.0
    result = written["algorithms"][0]["rules"]["center_hit"]
    assert result["operating_point"]["fp_per_case"] == 1.0
    assert result["metrics"]["fp_per_case"]["value"] <= 1.0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "are measured at 1 FP per case" in page


def test_comparison_is_read_there_too(folder: Path) -> None:
    evaluated = load_evaluated(folder)
    for name, cohort in evaluated.cohorts["center_hit"].items():
        (summary,) = (
            algorithm for algorithm in evaluated.document.algorithms if algorithm.name == name
        )
        assert summary.rules["center_hit"].counts["missed"] == cohort.missed_count
        assert cohort.whole is not None


def test_a_developer_sees_the_rate_and_not_the_score(folder: Path) -> None:
    document = read_document(folder)
    for _, _, result in developers_document(document).results:
        assert result.operating_point == OperatingPoint(1.0, None)


def test_plan_keeps_its_own_reading(tmp_path: Path) -> None:
    recall = Criterion(metric="recall", rule="luna16", bound="value", comparison=">=", limit=0.8)
    stated = AcceptanceCriteria(name="acceptance", criteria=(recall,))
    write_plan(freeze_plan(stated, reference(*CASES), protocol()), tmp_path / "plan.json")
    with pytest.raises(InputError, match="a reading at all marks, not at 1"):
        choose_protocol(None, tmp_path / "plan.json", at_fp=1.0)


def test_size_sweep_counts_at_the_point_and_draws_every_mark() -> None:
    sized = {"diameter_mm": 9.0}
    cases = (
        case("a", nodule(9), mark(0.9, **sized), mark(0.8, (99, 0, 0), **sized)),
        case("b", nodule(9), mark(0.3, **sized)),
    )
    limit = SizeLimit(minimum_mm=6, sweep_mm=(0.0, 2.0))
    chosen = protocol(metrics=("recall",), size_limit=limit, rule="luna16_clean")
    for at_fp, hits in ((None, 2), (0.4, 1)):
        result = (
            evaluate(reference(*cases), [submission(*cases)], with_options(chosen, at_fp=at_fp))
            .algorithms[0]
            .rules["luna16_clean"]
        )
        sweep = result.extras["size_tolerance"]["sweep"]
        assert [row["hit"] for row in sweep] == [hits, hits]
        assert result.counts["hit"] == hits
        assert [float(curve.y[-1]) for curve in result.curves] == [1.0, 1.0]


def test_parameter_sweep_counts_at_the_point(folder: Path) -> None:
    names = [algorithm.name for algorithm in read_document(folder).algorithms]
    table = sweep_folder(folder, "center_distance.radius_factor=1", names)
    counts = {
        algorithm.name: algorithm.rules["center_distance"].counts
        for algorithm in read_document(folder).algorithms
    }
    for row in table.iter_rows(named=True):
        own = counts[row["algorithm"]]
        assert (row["hit"], row["false_positive"]) == (own["hit"], own["false_positive"])
