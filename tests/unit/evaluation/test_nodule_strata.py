"""Strata of nodules have separate metrics, and missing columns have a notice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.tables import case, cohort, false_mark, mark, nodule
from builders.words import sentences
from nodulebench import evaluate
from nodulebench.core.config_model import parse_config
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.evaluation.strata import estimate_strata
from nodulebench.metrics.froc import sensitivity_at_fp_rate

TEXT = """
name = "own"
metrics = ["recall"]
strata = ["size"]
size_bins_mm = [6]
operating_points = [0.5, 1]
minimum_stratum = 1
stratum_metrics = ["sensitivity_at_fp_rate"]
[[rules]]
name = "luna16"
[interval]
bootstraps = 200
"""
PROTOCOL = parse_config(TestProtocol, TEXT, "own")
AWAY = (50.0, 0.0, 0.0)


def small():
    """Two scans: a large nodule found at .9 and a small one at .5; false positives at .8 and .6."""
    return cohort(
        case("a", nodule(8), nodule(4, AWAY), mark(0.9), mark(0.5, AWAY)),
        case("b", nodule(4), false_mark(0.8, 0), false_mark(0.6, 1)),
    )


def test_sensitivity_of_a_stratum_counts_its_nodules_and_all_false_positives() -> None:
    strata = estimate_strata(small(), PROTOCOL)["size"]
    values = {
        name: {key: metric.value for key, metric in part.metrics.items()}
        for name, part in strata.items()
    }
    # large: found above the first false positive; small: one of two, after both of them
    assert values == {
        "<6 mm": {"sensitivity_at_fp_rate@0.5": 0.0, "sensitivity_at_fp_rate@1": 0.5},
        "≥6 mm": {"sensitivity_at_fp_rate@0.5": 1.0, "sensitivity_at_fp_rate@1": 1.0},
    }
    shown = strata["<6 mm"].to_json()["metrics"]["sensitivity_at_fp_rate@1"]
    assert shown["low"] < 0.5 < shown["high"]


def test_without_such_metrics_a_stratum_is_written_without_them() -> None:
    plain = PROTOCOL.model_copy(update={"stratum_metrics": ()})
    assert "metrics" not in estimate_strata(small(), plain)["size"]["<6 mm"].to_json()
    assert plain.digest != PROTOCOL.digest


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_strata_weighted_by_their_nodules_give_the_whole(seed: int) -> None:
    random = np.random.default_rng(seed)
    cases = [
        case(
            f"c{number}",
            *(nodule(float(random.choice([4, 8])), (100.0 * at, 0, 0)) for at in range(3)),
            *(mark(float(random.random()), (50.0 * at, 0, 0)) for at in range(6)),
        )
        for number in range(4)
    ]
    whole = cohort(*cases)
    is_large = whole.truth("diameter_mm") > 6
    everyone = np.ones((1, whole.case_count), dtype=np.int32)
    parts = [whole.of_nodules(part) for part in (is_large, ~is_large) if part.any()]
    added = sum(sensitivity_at_fp_rate(part, everyone) * part.nodule_count for part in parts)
    assert added / whole.nodule_count == pytest.approx(sensitivity_at_fp_rate(whole, everyone))


def test_missing_columns_have_a_notice_and_misspelt_ones_are_errors() -> None:
    scene = small()
    asked = PROTOCOL.model_copy(update={"strata": ("size", "vendor", "is_near_vessel")})
    evaluation = evaluate(scene.reference, [scene.submission], asked).algorithms[0].rules["luna16"]
    assert sentences(evaluation.notices) == (
        "The test set does not state vendor, is near vessel, so there are no results for these "
        "subgroups.",
    )
    assert list(evaluation.strata) == ["size"]
    wrong = PROTOCOL.model_copy(update={"strata": ("vendr",)})
    with pytest.raises(InputError, match=r"not a column of .* Did you mean 'vendor'\?"):
        evaluate(scene.reference, [scene.submission], wrong)


def test_the_second_protocol_of_fg_ai4h_changes_nothing_of_the_first() -> None:
    first, second = load_protocol("fg-ai4h"), load_protocol("fg-ai4h-2")
    added = {"name", "title", "strata", "stratum_metrics"}
    assert first.model_dump(exclude=added) == second.model_dump(exclude=added)
    assert set(first.strata) < set(second.strata)
