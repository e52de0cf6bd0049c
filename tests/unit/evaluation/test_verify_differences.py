import math

import polars as pl
import pytest

from nodulebench.evaluation.verify import (
    count_values,
    document_differences,
    table_differences,
)


def differences_of(written, recomputed) -> list[str]:
    return [str(difference) for difference in document_differences(written, recomputed, "x.json")]


def in_tables(written: dict, recomputed: dict) -> list[str]:
    differences = table_differences(pl.DataFrame(written), pl.DataFrame(recomputed), "x.parquet")
    return [str(entry) for entry in differences]


def test_the_order_of_keys_does_not_matter() -> None:
    assert differences_of({"a": [1, None, "t"], "b": 0.5}, {"b": 0.5, "a": [1, None, "t"]}) == []


def test_a_place_is_named_as_it_is_reached() -> None:
    written = {"algorithms": [{"rules": {"luna16": {"strata": {"size": {"[4, 6) mm": 1}}}}}]}
    again = {"algorithms": [{"rules": {"luna16": {"strata": {"size": {"[4, 6) mm": 2}}}}}]}
    assert differences_of(written, again) == [
        'x.json algorithms[0].rules.luna16.strata.size["[4, 6) mm"]: written 1, recomputed 2'
    ]


def test_every_difference_has_its_line() -> None:
    assert differences_of(
        {"a": 1, "b": {"c": "x"}, "d": None}, {"a": 2, "b": {"c": "y"}, "d": 0}
    ) == [
        "x.json a: written 1, recomputed 2",
        'x.json b.c: written "x", recomputed "y"',
        "x.json d: written null, recomputed 0",
    ]


def test_values_on_only_one_side_are_differences() -> None:
    assert differences_of({"a": [1, 2]}, {"a": [1], "b": 3}) == [
        "x.json a[1]: written 2, recomputed nothing",
        "x.json b: written nothing, recomputed 3",
    ]
    assert differences_of({"a": {"b": 1}}, {"a": 1}) == ['x.json a: written {"b": 1}, recomputed 1']


@pytest.mark.parametrize(
    ("written", "recomputed", "is_same"),
    [
        (0.5, 0.5 * (1 + 1e-12), True),
        (0.5, 0.5 * (1 + 1e-8), False),
        (0.0, 1e-13, True),
        (0.0, 1e-11, False),
        (1, 1.0, True),
        (10**12, 10**12 + 1, False),
        (True, 1, False),
        (False, 0, False),
        (None, 0, False),
        ("1", 1, False),
        ("inf", "inf", True),
        ([], {}, False),
    ],
)
def test_which_values_are_the_same(written, recomputed, is_same: bool) -> None:
    assert (differences_of(written, recomputed) == []) is is_same
    assert (differences_of(recomputed, written) == []) is is_same


def test_long_values_are_cut() -> None:
    (line,) = differences_of("x" * 500, "y")
    assert len(line) < 180


def test_values_are_counted() -> None:
    assert count_values({"a": [1, None, {"b": "t"}], "c": [], "d": {}}) == 3


def test_equal_tables_do_not_differ() -> None:
    table = {"name": ["a", None], "x": [math.nan, 1.0], "y": [math.inf, None]}
    assert in_tables(table, table) == []
    assert in_tables(table, table | {"x": [math.nan, 1 + 1e-13]}) == []


def test_a_row_that_differs_is_named_with_its_column() -> None:
    table = {"name": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]}
    assert in_tables(table, table | {"x": [1.0, 2.5, 3.0]}) == [
        "x.parquet row 1 x: written 2.0, recomputed 2.5"
    ]
    assert in_tables(table, table | {"name": ["a", "b", None]}) == [
        'x.parquet row 2 name: written "c", recomputed null'
    ]


@pytest.mark.parametrize(
    ("written", "recomputed"),
    [(math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0), (1.0, None), (math.inf, -math.inf)],
)
def test_no_number_is_near_what_is_none(written, recomputed) -> None:
    schema = {"x": pl.Float64}
    differences = table_differences(
        pl.DataFrame({"x": [written]}, schema), pl.DataFrame({"x": [recomputed]}, schema), "t"
    )
    assert len(list(differences)) == 1


def test_many_rows_are_counted() -> None:
    lines = in_tables({"x": [1] * 9}, {"x": [2] * 9})
    assert len(lines) == 6
    assert lines[-1] == "x.parquet 4 more rows differ"


def test_tables_of_another_shape_are_one_difference() -> None:
    assert in_tables({"x": [1]}, {"y": [1]}) == [
        'x.parquet columns: written ["x"], recomputed ["y"]'
    ]
    assert in_tables({"x": [1]}, {"x": [1, 2]}) == [
        "x.parquet number of rows: written 1, recomputed 2"
    ]


def test_notices_that_both_have_may_have_any_order() -> None:
    first, two, three = ({"code": code, "values": {"n": 1}} for code in ("a", "b", "c"))
    assert differences_of([first, two], [two, first]) == []
    assert differences_of([first, two], [two]) == [
        'x.json [0]: written "a (n 1)", recomputed nothing'
    ]
    assert differences_of([two], [first, two]) == [
        'x.json [1]: written nothing, recomputed "a (n 1)"'
    ]
    assert differences_of([first, two], [two, three]) == [
        'x.json [0].code: written "a", recomputed "c"'
    ]
