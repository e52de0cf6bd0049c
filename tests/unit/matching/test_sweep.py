import pytest

from builders.tables import Slice, case, mark, nodule, protocol, reference, submission
from nodulebench.core.cohort import OrderSensitivity
from nodulebench.core.errors import InputError
from nodulebench.matching import label_marks
from nodulebench.matching.sweep import sweep_parameter, sweep_size_tolerance


def boxed(make, x, *more):
    return make(*more, (float(x), 0.0, 0.0), Slice(0, x, 0, 6, 6))


def test_counts_for_each_value_of_a_parameter():
    # boxes of 6 mm shifted by 1, 2 and 4 mm cover 5/6, 4/6 and 2/6 of the nodule
    here = [
        case(name, boxed(nodule, 0, 6), boxed(mark, shift, 0.5))
        for name, shift in (("a", 1), ("b", 2), ("c", 4))
    ]
    chosen = protocol("area_overlap")
    table = sweep_parameter(
        reference(*here), submission(*here), chosen, chosen.rules[0], "threshold", (0.3, 0.5, 0.8)
    )
    assert table.columns == [
        "threshold", "hit", "missed", "false_positive", "duplicate", "ignored",
    ]  # fmt: skip
    assert table.rows() == [(0.3, 3, 0, 0, 0, 0), (0.5, 2, 1, 1, 0, 0), (0.8, 1, 2, 2, 0, 0)]


def test_rules_other_parameters_stay_as_chosen():
    here = case("a", boxed(nodule, 0, 6), boxed(mark, 0, 0.5), boxed(mark, 1, 0.5))
    chosen = protocol("center_distance", parameters={"duplicates": "ignore"})
    table = sweep_parameter(
        reference(here), submission(here), chosen, chosen.rules[0], "radius_factor", (0.1, 1)
    )
    assert table.rows() == [(0.1, 1, 0, 1, 0, 0), (1.0, 1, 0, 0, 1, 0)]


def test_parameter_that_the_rule_lacks_is_an_error():
    here = case("a", boxed(nodule, 0, 6), boxed(mark, 0, 0.5))
    chosen = protocol("center_hit")
    with pytest.raises(InputError, match="has no parameter 'threshold'"):
        sweep_parameter(
            reference(here), submission(here), chosen, chosen.rules[0], "threshold", (1,)
        )


def test_order_of_the_reference_can_cost_a_nodule():
    # n0 prefers m0, which is the only mark for n1: in order 1 hit, reversed 2, optimal 2
    here = case(
        "a", boxed(nodule, 0, 6), boxed(nodule, 3, 6), boxed(mark, 0.5, 0.5), boxed(mark, -1, 0.5)
    )
    chosen = protocol("center_distance")
    labels = label_marks(reference(here), submission(here), chosen, chosen.rules[0]).order
    assert labels == OrderSensitivity(in_order=1, reversed_order=2, optimal=2)


def test_rule_that_does_not_assign_has_no_order_sensitivity():
    here = case("a", nodule(6), mark(0.5))
    chosen = protocol("luna16")
    assert label_marks(reference(here), submission(here), chosen, chosen.rules[0]).order is None


def settled(count):
    """The last tenth of a millimetre at which a count changes, looked for among all of them."""
    final = count(float("inf"))
    for tenths in range(120, 0, -1):
        if count(tenths / 10 - 0.05) != final or count(tenths / 10) != final:
            return tenths / 10
    return 0.0


@pytest.mark.parametrize("reading", ["table", "strict_truth"])
@pytest.mark.parametrize(
    "pairs",
    [
        ((4.2, 3.8),),
        ((3.8, 4.3),),
        ((3.8, 4.2), (4.2, 3.8), (1.0, 4.2), (4.2, 1.0), (5.0, 6.0)),
        ((3.0, 4.9), (3.5, 5.5), (8.0, 0.5), (8.0, 1.0), (8.0, 4.5)),
        ((1.0, 4.0), (2.5, 4.0), (4.0, 4.0)),
        ((4.0, 4.4), (5.0, 4.7), (6.0, 9.0)),
        ((2.0, 9.0), (3.0, 9.5)),
        ((4.0, 4.0), (3.0, 4.5)),
        ((3.0, 3.9), (3.0, 3.6), (5.0, 4.1), (5.0, 4.4)),
    ],
)
def test_counts_settle_where_no_larger_tolerance_changes_them(pairs, reading):
    content = []
    for number, (x, c) in enumerate(pairs):
        place = (50.0 * number, 0.0, 0.0)
        content += [nodule(x, place), mark(0.5, place, diameter_mm=c)]
    scan = case("a", *content)
    chosen = protocol("luna16_clean", size_limit={"minimum_mm": 4.0, "reading": reading})

    def swept(*tolerances):
        return sweep_size_tolerance(
            reference(scan), submission(scan), chosen, chosen.rules[0], tolerances
        )

    tenths = [number / 20 for number in range(241)]
    result = swept(*tenths, float("inf"))
    for name, place in (
        ("hit", result.hits_settle_mm),
        ("false_positive", result.false_positives_settle_mm),
    ):
        counts = dict(zip([*tenths, float("inf")], result.table[name].to_list(), strict=True))
        expected = settled(lambda tolerance, counts=counts: counts[round(tolerance, 2)])
        assert place == pytest.approx(expected)
