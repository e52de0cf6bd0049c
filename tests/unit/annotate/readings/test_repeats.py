import pytest

from builders.annotation import drawn, reading, small_cases
from nodulebench.annotate.readings.repeats import draw_repeats, repeated_readings, with_repeats
from nodulebench.errors import InputError


def test_repeats_are_drawn_from_the_cases_whatever_their_order() -> None:
    names = [f"s{number}" for number in range(20)]
    drawn_cases = draw_repeats(names, 0.25, seed=4)
    assert len(drawn_cases) == 5
    assert set(drawn_cases.values()) < set(names)
    assert drawn_cases == draw_repeats(names[::-1], 0.25, seed=4)
    assert drawn_cases != draw_repeats(names, 0.25, seed=5)
    assert not set(drawn_cases) & set(names)
    assert len(draw_repeats(names, 0.01)) == 1


@pytest.mark.parametrize("share", [0, -0.1, 1.1])
def test_an_impossible_share_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="cannot be drawn"):
        draw_repeats(["a"], share)


def test_a_repeated_case_has_the_geometry_of_its_case() -> None:
    cases = with_repeats(small_cases("a", "b"), {"case-x": "b"})
    assert cases["case_id"].to_list() == ["a", "b", "case-x"]
    assert cases.row(2)[1:] == cases.row(1)[1:]


def test_pairs_are_the_cases_that_a_reader_has_read_twice() -> None:
    finding = drawn("f", (1, 9, 9, 4))
    readings = [
        reading("r1", "a", finding),
        reading("r1", "case-x"),
        reading("r2", "a"),
        reading("r3", "case-x"),
    ]
    pairs = repeated_readings(readings, {"case-x": "a"})
    assert pairs == {"r1": [(readings[0], reading("r1", "a"))]}
