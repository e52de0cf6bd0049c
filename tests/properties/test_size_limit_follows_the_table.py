"""The size limit against a cell-by-cell look-up of the published tables."""

from hypothesis import given, settings
from hypothesis import strategies as st

from builders.tables import case, mark, nodule, protocol, reference, submission
from nodulebench.matching.sweep import sweep_size_tolerance

_SIZE = st.integers(1, 80).map(lambda tenths: tenths / 10)
_PAIRS = st.lists(
    st.tuples(st.none() | _SIZE, st.none() | _SIZE).filter(lambda pair: pair != (None, None)),
    min_size=1,
    max_size=25,
)
_TOLERANCES = (0.0, 0.2, 0.5, 1.0, 2.9, float("inf"))
TENTH = 10  # sizes are compared as whole tenths of a millimetre, which is exact


def cell(x, c, minimum, tolerance, reading):
    """What the table says of one pair: (tp, fn, fn_ue, fp, fp_oe)."""
    if c is None:
        return (0, int(x >= minimum), 0, 0, 0)
    if x is None:
        return (0, 0, 0, int(c >= minimum), 0)
    if x >= minimum:
        return (1, 0, 0, 0, 0) if c >= minimum - tolerance else (0, 1, 1, 0, 0)
    is_false = c >= minimum + tolerance
    if reading == "strict_truth" and x < minimum - tolerance and c >= minimum:
        is_false = True
    return (0, 0, 0, int(is_false), int(is_false))


def _tenths(value):
    return value if value is None or value == float("inf") else round(value * TENTH)


def sweep(pairs, tolerances, **limit):
    """Nodules of size x and marks of size c at the same place, every pair 50 mm from the next."""
    content = []
    for number, (x, c) in enumerate(pairs):
        place = (50.0 * number, 0.0, 0.0)
        content += [nodule(x, place)] if x is not None else []
        content += [mark(0.5, place, diameter_mm=c)] if c is not None else []
    one = case("a", *content)
    chosen = protocol("luna16_clean", size_limit=limit)
    return sweep_size_tolerance(
        reference(one), submission(one), chosen, chosen.rules[0], tolerances
    )


@settings(max_examples=40, deadline=None)
@given(
    pairs=_PAIRS,
    minimum=st.sampled_from((3.0, 4.1)),
    reading=st.sampled_from(("table", "strict_truth")),
)
def test_counts_are_the_sums_of_the_cells(pairs, minimum, reading):
    curve = sweep(pairs, _TOLERANCES, minimum_mm=minimum, reading=reading)
    for row in curve.table.rows():
        cells = [
            cell(_tenths(x), _tenths(c), _tenths(minimum), _tenths(row[0]), reading)
            for x, c in pairs
        ]
        assert row[1:] == tuple(map(sum, zip(*cells, strict=True)))


@settings(max_examples=40, deadline=None)
@given(pairs=_PAIRS, reading=st.sampled_from(("table", "strict_truth")))
def test_counts_change_up_to_where_they_settle_and_not_beyond(pairs, reading):
    limit = {"minimum_mm": 4.0, "reading": reading}
    curve = sweep(pairs, (), **limit)
    settled = {"hit": curve.hits_settle_mm, "false_positive": curve.false_positives_settle_mm}
    for name, at in settled.items():
        around = (at - 0.05, at, at + 0.05, at + 0.15, at + 1.0, float("inf"))
        counts = sweep(pairs, [abs(one) for one in around], **limit).table[name].to_list()
        assert len(set(counts[2:])) == 1
        if at > 0:
            assert counts[:2] != counts[2:4]
