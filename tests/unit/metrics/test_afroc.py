import numpy as np
import pytest

from builders.random_cohorts import random_cases
from builders.tables import case, cohort, false_mark, mark, nodule
from builders.words import undefined
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError
from nodulebench.core.results import Curve
from nodulebench.metrics.afroc import (
    afroc1_area,
    afroc_area,
    afroc_curve,
    case_roc_area,
    case_roc_curve,
    efroc_area,
    wafroc1_area,
    wafroc_area,
    wafroc_curve,
)
from nodulebench.metrics.froc import froc_curve


def everyone(of: LabelledCohort) -> np.ndarray:
    return np.ones((1, of.case_count), dtype=np.int32)


def under(curve: Curve) -> float:
    return float(np.trapezoid(curve.y, curve.x))


def two_of_each() -> LabelledCohort:
    """Normal cases rated .5 and -inf; three nodules rated .8, .5 and -inf in two cases."""
    return cohort(
        case("n1", false_mark(0.5), false_mark(0.1, 1)),
        case("n2"),
        case("a1", nodule(), mark(0.8)),
        case("a2", nodule(), mark(0.5), nodule(10, (100, 0, 0)), false_mark(0.9)),
    )


def test_afroc_pairs_nodules_with_normal_cases() -> None:
    # .8 beats both; .5 ties with .5 and beats -inf; the missed one only ties with -inf
    np.testing.assert_allclose(
        afroc_area(two_of_each(), everyone(two_of_each())), [(2 + 1.5 + 0.5) / 6]
    )


def test_wafroc_gives_every_abnormal_case_the_same_say() -> None:
    expected = (2 + (1.5 + 0.5) / 2) / 4
    np.testing.assert_allclose(wafroc_area(two_of_each(), everyone(two_of_each())), [expected])


def test_afroc1_takes_false_positives_of_all_cases() -> None:
    # against ratings .5, -inf, -inf (first abnormal case), .9
    expected = (3 + (0.5 + 2) + (0.5 + 0.5)) / 12
    np.testing.assert_allclose(afroc1_area(two_of_each(), everyone(two_of_each())), [expected])
    weighted = (3 + (2.5 + 1) / 2) / 8
    np.testing.assert_allclose(wafroc1_area(two_of_each(), everyone(two_of_each())), [weighted])


def test_the_case_roc_takes_hits_and_false_positives() -> None:
    # normal .5, -inf; abnormal .8 and .9
    np.testing.assert_allclose(case_roc_area(two_of_each(), everyone(two_of_each())), [1.0])


def test_afroc1_needs_no_normal_cases() -> None:
    only = cohort(case("a", nodule(), mark(0.4), false_mark(0.6)), case("b", nodule(), mark(0.9)))
    np.testing.assert_allclose(afroc1_area(only, everyone(only)), [(1 + 2) / 4])
    for area, instead in ((afroc_area, "AFROC1"), (wafroc_area, "wAFROC1")):
        with undefined(match=f"{instead} needs none"):
            area(only, everyone(only))


def test_a_column_of_weights_shares_out_a_case() -> None:
    weighted = cohort(
        case("n", false_mark(0.5)),
        case("a", nodule(weight=3.0), mark(0.9), nodule(10, (100, 0, 0), weight=1.0)),
    )
    np.testing.assert_allclose(wafroc_area(weighted, everyone(weighted)), [0.75])


@pytest.mark.parametrize("bad", [(-1.0, 2.0), (0.0, 0.0), (None, 1.0)])
def test_weights_that_share_out_nothing_are_refused(bad: tuple[float, float]) -> None:
    wrong = cohort(
        case("n", false_mark(0.5)),
        case("a", nodule(weight=bad[0]), nodule(10, (100, 0, 0), weight=bad[1])),
    )
    with pytest.raises(InputError, match=r"NODULES case 'a' nodule 'n0': weight .* cannot share"):
        wafroc_area(wrong, everyone(wrong))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_areas_lie_under_their_curves(seed: int) -> None:
    many = cohort(*random_cases(seed, abnormal=12, normal=9))
    weight = everyone(many)
    assert afroc_area(many, weight)[0] == pytest.approx(under(afroc_curve(many)), rel=1e-12)
    assert wafroc_area(many, weight)[0] == pytest.approx(under(wafroc_curve(many)), rel=1e-12)
    assert case_roc_area(many, weight)[0] == pytest.approx(under(case_roc_curve(many)), rel=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_efroc_area_is_under_the_transformed_froc(seed: int) -> None:
    many = cohort(*random_cases(seed, abnormal=12, normal=9))
    curve = froc_curve(many)
    x = np.append(1 - np.exp(-curve.x), 1.0)
    expected = np.trapezoid(np.append(curve.y, curve.y[-1]), x)
    assert efroc_area(many, everyone(many))[0] == pytest.approx(expected, rel=1e-12)


def test_curves_end_at_one() -> None:
    for curve in (afroc_curve(two_of_each()), wafroc_curve(two_of_each())):
        assert (curve.x[0], curve.y[0]) == (0, 0)
        assert (curve.x[-1], curve.y[-1]) == (1, 1)
        assert curve.threshold[-1] == -np.inf
