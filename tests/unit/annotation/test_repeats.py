import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.annotation import drawn, reading, small_cases
from nodulebench.annotation.repeats import draw_repeats, in_turn, repeated_readings, with_repeats
from nodulebench.core.errors import InputError


def test_repeats_do_not_depend_on_the_order_of_cases() -> None:
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


def digest(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_between_a_case_and_its_repeat_lie_many_others(count: int, again: int, seed: int) -> None:
    names = [f"{seed}-{number}" for number in range(count)]
    repeats = {f"again-{name}": name for name in names[: min(again, count)]}
    every = [*names, *repeats]
    order = in_turn(every, repeats, digest)
    assert sorted(order) == sorted(every)
    assert order == in_turn(every[::-1], repeats, digest)
    least = len(repeats) - 1 + (count - len(repeats)) // 2 - 1
    for name, case_id in repeats.items():
        assert order.index(name) - order.index(case_id) - 1 >= max(0, least)


def test_repeats_are_spread_and_orders_differ() -> None:
    names = [f"s{number}" for number in range(100)]
    repeats = draw_repeats(names, 0.1, seed=1)
    first, second = (
        in_turn([*names, *repeats], repeats, lambda name, who=who: digest(f"{who} {name}"))
        for who in ("ann", "bo")
    )
    assert first != second
    places = [first.index(name) for name in repeats]
    assert min(places) < 70
    assert max(first.index(name) for name in names) > 100  # cases that come once, among the last


def test_a_repeat_without_its_case_is_a_case_like_others() -> None:
    assert sorted(in_turn(["b", "x"], {"x": "a"}, digest)) == ["b", "x"]
