import numpy as np
import pytest

from builders.tables import (
    case,
    cohort,
    false_mark,
    ignored,
    mark,
    nodule,
    protocol,
    reference,
    submission,
)
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import IntervalChoice
from nodulebench.core.results import Estimate
from nodulebench.evaluation.check import keep_listed
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.strata import divide, estimate_strata
from nodulebench.i18n.translator import in_english

CASES = (
    case("a", nodule(5, type="solid"), mark(0.9), false_mark(0.8), vendor="X"),
    case(
        "b", nodule(12, type="pleural"), ignored(8, (50, 0, 0)), mark(0.4, (50, 0, 0)), vendor="Y"
    ),
    case("c", vendor="X"),
)
METRICS = ("recall", "precision", "f_beta", "fp_per_case", "miss_rate", "cpm")


def result_of(*cases, **fields):
    chosen = protocol(metrics=METRICS, **fields)
    evaluation = evaluate(reference(*cases), [submission(*cases)], chosen)
    return evaluation.algorithms[0].rules["luna16"]


def value(result, name: str) -> float | None:
    estimate = result.metrics[name]
    assert isinstance(estimate, Estimate)
    return estimate.value


def test_counts_and_metrics_by_hand() -> None:
    result = result_of(*CASES)
    assert {
        name: result.counts[name] for name in ("hit", "missed", "false_positive", "ignored")
    } == {
        "hit": 1,
        "missed": 1,
        "false_positive": 1,
        "ignored": 1,
    }
    assert value(result, "recall") == 0.5
    assert value(result, "precision") == 0.5
    assert value(result, "f1") == 0.5
    assert value(result, "fp_per_case") == pytest.approx(1 / 3)


def test_the_f_metric_is_named_after_its_beta() -> None:
    assert value(result_of(*CASES, beta=2.0), "f2") == pytest.approx(0.5)


def test_no_marks_means_everything_missed_and_no_precision() -> None:
    result = result_of(case("a", nodule(8)), case("b"))
    assert result.counts["missed"] == 1
    assert value(result, "recall") == 0
    precision = result.metrics["precision"]
    assert isinstance(precision, Estimate)
    assert precision.value is None
    assert in_english(precision.reason) == "no mark counts as hit or false positive"


def test_no_nodules_leaves_recall_undefined_with_its_reason() -> None:
    recall = result_of(case("a", false_mark(0.5))).metrics["recall"]
    assert recall == Estimate(None, reason=Notice("no_nodules"))


def test_marks_of_unknown_cases_are_an_error_that_names_mark_and_case() -> None:
    marks = submission(case("zzz", mark(0.5)), name="alg")
    with pytest.raises(InputError) as caught:
        keep_listed(reference(case("a")), marks, protocol())
    assert str(caught.value) == (
        "submission 'alg' mark 'm0': case 'zzz' is not in the test set 'test' (1 cases). "
        "Remove the mark, or evaluate against the set it was made for."
    )


def test_where_the_protocol_allows_it_they_are_dropped_and_counted() -> None:
    marks = submission(
        case("zzz", mark(0.5), mark(0.4)), case("seriesuid", mark(0.1)), case("a", mark(1))
    )
    listed, notices = keep_listed(reference(case("a")), marks, protocol(unlisted_cases="drop"))
    assert listed.marks.height == 1
    assert sentences(notices) == (
        "2 marks of 1 case not in the list were dropped: 'zzz'.",
        "1 repeated header row was dropped.",
    )


def test_two_submissions_of_one_name_are_refused() -> None:
    truth = reference(case("a"))
    with pytest.raises(InputError, match="has the same name as another submission"):
        evaluate(truth, [submission(case("a")), submission(case("a"))], protocol())


def test_a_rule_without_its_inputs_says_so_and_the_others_go_on() -> None:
    chosen = protocol("center_hit")
    chosen = chosen.model_copy(update={"rules": (*chosen.rules, *protocol("luna16").rules)})
    results = evaluate(reference(*CASES), [submission(*CASES)], chosen).algorithms[0].rules
    assert "center_hit needs boxes per slice" in in_english(results["center_hit"].undefined)
    assert results["luna16"].counts["hit"] == 1


def test_out_of_scope_nodules_become_ignore_regions() -> None:
    result = result_of(*CASES, scope={"types": ("solid",)})
    assert (result.counts["nodules"], result.counts["hit"], result.counts["missed"]) == (1, 1, 0)


def test_a_score_threshold_leaves_marks_uncounted() -> None:
    result = result_of(*CASES, score_threshold=0.85)
    assert (result.counts["hit"], result.counts["uncounted"]) == (1, 2)
    assert result.counts["false_positive"] == 0


@pytest.mark.parametrize("method", ["guarded", "percentile", "bca", "jackknife"])
def test_every_defined_metric_has_an_interval_around_it(method: str) -> None:
    cases = [
        case(f"c{n}", nodule(8), *([mark(n / 20)] if n % 3 else []), false_mark(n / 25))
        for n in range(20)
    ]
    result = result_of(*cases, interval=IntervalChoice(method=method, bootstraps=200))
    for name in ("recall", "precision", "f1", "miss_rate", "cpm"):
        estimate = result.metrics[name]
        assert isinstance(estimate, Estimate)
        assert estimate.low <= estimate.value <= estimate.high, name
        assert method in in_english(estimate.method).lower()


def test_cases_of_one_patient_widen_the_interval() -> None:
    def half_width(patients: int) -> float:
        cases = [
            case(
                f"c{n}",
                nodule(8),
                *([mark(0.5)] if (n // 4) % 2 else []),
                patient_id=f"p{n % 40 // patients}",
            )
            for n in range(40)
        ]
        interval = IntervalChoice(method="percentile", bootstraps=400)
        estimate = result_of(*cases, interval=interval).metrics["recall"]
        assert isinstance(estimate, Estimate)
        return estimate.high - estimate.low

    assert half_width(4) > 1.5 * half_width(1)


def test_strata_of_nodules_by_hand() -> None:
    strata = estimate_strata(cohort(*CASES), protocol(strata=("type", "size"), minimum_stratum=2))
    assert strata["type"]["solid"].missed == 0
    assert strata["type"]["pleural"].miss_rate.value == 1.0
    assert strata["type"]["pleural"].is_too_few
    assert (
        in_english(strata["type"]["calcified"].miss_rate.reason)
        == "nothing to count in this subgroup"
    )
    assert [stratum.nodules for stratum in strata["size"].values()] == [0, 1, 0, 1]


def test_with_nothing_missed_the_interval_is_exact_over_patients() -> None:
    # 5 nodules in 4 scans of 3 patients, all found: 0.025 ** (1 / 3) = 0.2924
    cases = [
        case("a", nodule(5), nodule(5, at=(50, 0, 0)), mark(0.9), mark(0.8, (50, 0, 0))),
        case("b", nodule(6), mark(0.9), patient_id="p"),
        case("c", nodule(7), mark(0.9), patient_id="p"),
        case("d", nodule(8), mark(0.9)),
        case("e"),
    ]
    interval = IntervalChoice(method="percentile", bootstraps=40, unit="patient")
    result = result_of(*cases, interval=interval)
    recall, missed = result.metrics["recall"], result.metrics["miss_rate"]
    assert isinstance(recall, Estimate)
    assert isinstance(missed, Estimate)
    assert (recall.low, recall.high) == (pytest.approx(0.292402, abs=1e-6), 1.0)
    assert (missed.low, missed.high) == (0.0, pytest.approx(0.707598, abs=1e-6))
    assert in_english(recall.method) == "Clopper-Pearson over patients"
    assert in_english(recall.reason) == "all replicates are equal: exact interval over 3 patients"


def test_size_bins_are_half_open() -> None:
    edges = cohort(*(case(str(size), nodule(size)) for size in (3.999, 4, 6, 9.999, 10)))
    division = divide(edges, "size", protocol())
    assert division is not None
    assert division.names == ["<4 mm", "[4, 6) mm", "[6, 10) mm", "≥10 mm"]
    assert division.of_nodule.tolist() == [0, 1, 2, 2, 3]


def test_strata_of_cases_have_their_own_metrics() -> None:
    strata = estimate_strata(
        cohort(*CASES),
        protocol(strata=("vendor",), metrics=METRICS, interval=IntervalChoice(bootstraps=50)),
    )["vendor"]
    assert (strata["X"].cases, strata["Y"].cases) == (2, 1)
    assert strata["X"].metrics["fp_per_case"].value == 0.5
    assert strata["Y"].metrics["fp_per_case"].value == 0
    assert strata["X"].metrics["recall"].value == 1
    assert strata["X"].metrics["cpm"].value == 1


def test_an_unknown_stratum_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="asks for the stratum 'colour', which is not a column"):
        divide(cohort(*CASES), "colour", protocol())


def test_a_column_of_many_numbers_is_cut_at_its_quartiles() -> None:
    cases = [case(f"c{n}", nodule(8), dose=float(n)) for n in range(20)]
    division = divide(cohort(*cases), "dose", protocol())
    assert division is not None
    assert np.bincount(division.of_case).tolist() == [5, 5, 5, 5]


def test_a_stratum_that_no_row_states_is_left_out() -> None:
    assert divide(cohort(case("a", nodule(8))), "type", protocol()) is None
