"""Tables made in memory are held to what files are held to."""

from dataclasses import replace

import polars as pl
import pytest

from builders.tables import case, mark, nodule, protocol, reference, submission
from nodulebench import evaluate
from nodulebench.core.errors import InputError
from nodulebench.evaluation.check import checked_reference, checked_submission

CASES = (case("a", nodule(8), mark(0.5), mark(0.4, (9, 9, 9))), case("b"))
TRUTH, MADE_MARKS = reference(*CASES), submission(*CASES, name="alg")


def refused(truth=TRUTH, stated=MADE_MARKS) -> str:
    with pytest.raises(InputError) as caught:
        evaluate(truth, [stated], protocol())
    return str(caught.value)


@pytest.mark.parametrize("digest", ["", "sha256:0"])
def test_a_score_that_is_not_a_number_is_refused_as_in_a_file(digest: str) -> None:
    marks = MADE_MARKS.marks.with_columns(score=pl.Series([0.5, float("nan")]))
    assert refused(stated=replace(MADE_MARKS, marks=marks, digest=digest)) == (
        "submission 'alg' marks row 2: score 'nan' is not a finite number."
    )


def test_places_names_and_columns_are_looked_at() -> None:
    marks = MADE_MARKS.marks
    infinite = marks.with_columns(x_mm=pl.Series([float("inf"), 0.0]))
    assert "x_mm 'inf' is not a finite number" in refused(
        stated=replace(MADE_MARKS, marks=infinite)
    )
    twice = marks.with_columns(mark_id=pl.lit("m"))
    assert "case_id 'a', mark_id 'm' was given before" in refused(
        stated=replace(MADE_MARKS, marks=twice)
    )
    lacking = replace(MADE_MARKS, marks=marks.drop("y_mm"))
    assert "column 'y_mm' is missing" in refused(stated=lacking)


def test_the_test_set_is_looked_at_too() -> None:
    nodules = TRUTH.nodules.with_columns(z_mm=pl.lit(float("nan")))
    assert refused(replace(TRUTH, nodules=nodules)) == (
        "reference 'test' nodules row 1: z_mm 'nan' is not a finite number."
    )
    twice = pl.concat([TRUTH.cases, TRUTH.cases])
    assert "case_id 'a' was given before" in refused(replace(TRUTH, cases=twice))


def test_what_is_right_stays_the_same_object() -> None:
    assert checked_reference(TRUTH) is TRUTH
    read = replace(MADE_MARKS, digest="sha256:0")
    assert checked_submission(read) is read


def test_other_types_are_made_ours() -> None:
    marks = MADE_MARKS.marks.with_columns(
        pl.col("x_mm").cast(pl.Float32), pl.col("score").cast(pl.String)
    )
    checked = checked_submission(replace(MADE_MARKS, marks=marks))
    assert checked.marks.equals(MADE_MARKS.marks)
