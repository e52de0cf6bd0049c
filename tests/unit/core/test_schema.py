import polars as pl
import pytest

from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES, MARKS, NODULES


def mark_rows(**changes: list[object]) -> pl.DataFrame:
    columns: dict[str, list[object]] = {
        "case_id": ["a", "b"],
        "mark_id": ["1", "1"],
        "x_mm": [0.0, 1.0],
        "y_mm": [0.0, 1.0],
        "z_mm": [0.0, 1.0],
    }
    return pl.DataFrame(columns | changes, strict=False)


def problems_of(table: pl.DataFrame) -> list[str]:
    with pytest.raises(InputError) as caught:
        MARKS.conform(table, "marks.csv")
    return [str(problem) for problem in caught.value.problems]


def test_missing_optional_columns_are_filled_with_null() -> None:
    table = MARKS.conform(mark_rows(), "marks.csv")
    assert table.columns == [column.name for column in MARKS.columns]
    assert table["score"].null_count() == 2


def test_every_missing_column_is_named() -> None:
    problems = problems_of(mark_rows().drop("x_mm", "mark_id"))
    assert problems[0].startswith("marks.csv: column 'mark_id' is missing.")
    assert problems[1].startswith("marks.csv: column 'x_mm' is missing.")
    assert "The MARKS table needs: case_id, mark_id, x_mm, y_mm, z_mm." in problems[0]


def test_text_in_a_number_is_named_with_its_row() -> None:
    assert problems_of(mark_rows(x_mm=["0", "left"])) == [
        "marks.csv row 2: x_mm 'left' is not a number."
    ]


def test_an_empty_required_value_is_a_problem() -> None:
    assert problems_of(mark_rows(z_mm=[None, 1.0])) == [
        "marks.csv row 1: z_mm is empty; every row needs a value."
    ]


def test_a_score_that_is_not_finite_is_a_problem() -> None:
    assert problems_of(mark_rows(score=[float("nan"), 1.0])) == [
        "marks.csv row 1: score 'nan' is not a finite number."
    ]


def test_an_unknown_type_is_a_problem_that_lists_the_known_ones() -> None:
    (message,) = problems_of(mark_rows(type=["solid", "fluffy"]))
    assert message.startswith("marks.csv row 2: type 'fluffy' is not one of: solid, part_solid")


def test_a_probability_above_one_is_a_problem() -> None:
    assert problems_of(mark_rows(malignancy=[0.2, 1.5])) == [
        "marks.csv row 2: malignancy '1.5' is above 1."
    ]


def test_a_repeated_key_is_a_problem() -> None:
    (message,) = problems_of(mark_rows(case_id=["a", "a"]))
    assert message == (
        "marks.csv row 2: case_id 'a', mark_id '1' was given before. "
        "case_id and mark_id must be unique; remove or renumber the row."
    )


def test_all_problems_are_reported_at_once() -> None:
    problems = problems_of(mark_rows(x_mm=["?", "1"], score=[1.0, float("inf")]))
    assert len(problems) == 2


def test_many_bad_rows_are_counted_not_listed() -> None:
    table = pl.DataFrame(
        {"case_id": ["a"] * 9, "mark_id": list("123456789"), "x_mm": ["x"] * 9}
    ).with_columns(y_mm=pl.lit(0.0), z_mm=pl.lit(0.0))
    problems = problems_of(table)
    assert problems[-1] == "marks.csv: 4 more rows whose x_mm is not a number."


def test_open_tables_keep_further_columns() -> None:
    table = CASES.conform(pl.DataFrame({"case_id": ["a"], "vendor": ["GE"]}), "cases.csv")
    assert table["vendor"].to_list() == ["GE"]


def test_an_empty_table_has_every_column() -> None:
    assert NODULES.empty().height == 0
    assert NODULES.conform(NODULES.empty(), "nodules").columns == NODULES.empty().columns


def test_lines_of_the_file_are_named_where_they_are_known() -> None:
    with pytest.raises(InputError, match=r"marks\.csv line 9: x_mm 'left' is not a number\."):
        MARKS.conform(mark_rows(x_mm=["0", "left"]), "marks.csv", pl.Series([7, 9]))


def test_a_fraction_is_not_a_whole_number() -> None:
    for values in (["5", "2.5"], [5.0, 2.5]):
        table = pl.DataFrame({"case_id": ["a", "b"], "size_x": values})
        with pytest.raises(InputError, match=r"row 2: size_x '2\.5' is not a whole number\."):
            CASES.conform(table, "cases.csv")


def test_true_and_false_are_read_from_text() -> None:
    table = pl.DataFrame(
        {
            "case_id": ["a"] * 4,
            "nodule_id": ["1", "2", "3", "4"],
            **{name: [1.0] * 4 for name in ("x_mm", "y_mm", "z_mm", "diameter_mm")},
            "is_ignored": ["true", "0", "FALSE", "Yes"],
        }
    )
    assert NODULES.conform(table, "n.csv")["is_ignored"].to_list() == [True, False, False, True]
    with pytest.raises(
        InputError, match=r"n\.csv rows 1, 2, 3, 4: is_ignored 'maybe' is not readable\."
    ):
        NODULES.conform(table.with_columns(is_ignored=pl.lit("maybe")), "n.csv")


def test_a_list_where_a_number_belongs_is_reported() -> None:
    with pytest.raises(InputError, match=r"row 1: y_mm '.*' is not a number\."):
        MARKS.conform(mark_rows(y_mm=[[1.0], [2.0]]), "marks.parquet")
