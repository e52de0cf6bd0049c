import polars as pl
import pytest
from pydantic import ValidationError

from builders.annotation import drawn, reading, small_cases
from builders.tables import Slice, case, mark, submission
from nodulebench.annotation.readings import DrawnSlice, check_reading, readings_of
from nodulebench.core.errors import InputError

CASES = small_cases("a", "b")


def test_a_submission_becomes_a_reading_for_every_case() -> None:
    marks_file = submission(
        case("a", mark(None, (5, 5, 0), Slice(3, 5, 5, 4, 4, contour="3 3;7 3;7 7"), type="solid"))
    )
    first, second = readings_of(marks_file, CASES, "r1")
    assert (first.case_id, first.findings[0].type) == ("a", "solid")
    assert first.findings[0].slices[0].outline == ((3, 3), (7, 3), (7, 7))
    assert (second.case_id, second.findings) == ("b", ())


def test_marks_in_other_cases_and_without_slices_are_refused() -> None:
    marks_file = submission(case("z", mark(None)), case("a", mark(None)))
    with pytest.raises(InputError) as caught:
        readings_of(marks_file, CASES, "r1")
    assert str(caught.value).splitlines() == [
        "reader 'r1': marks case 'z', which is not among the 2 cases to be read. "
        "Remove the marks, or submit the reading to the batch it was made for.",
        "reader 'r1' case 'z' mark 'm0': has no slice.",
        "reader 'r1' case 'a' mark 'm0': has no slice.",
    ]


def test_a_reading_inside_the_image_passes() -> None:
    check_reading(reading("r1", "a", drawn("f", (0, 1.5, 1.5, 4), (19, 97.5, 97.5, 4))), CASES)


@pytest.mark.parametrize(
    ("finding", "what"),
    [
        (drawn("f", (20, 50, 50, 4)), "slice 20: is outside the image, which has 20 slices."),
        (
            drawn("f", (3, 98, 50, 4)),
            "slice 3: the outline is outside the image. Is it a reading of another series, or in "
            "pixels instead of millimetres?",
        ),
        (
            drawn("f", (3, 50, 50, 4), (3, 52, 50, 4)),
            "slice 3: occurs more than once. Draw one outline",
        ),
    ],
)
def test_an_outline_outside_the_image_or_given_twice_is_refused(finding, what) -> None:
    with pytest.raises(InputError) as caught:
        check_reading(reading("r1", "a", finding), CASES)
    assert str(caught.value).startswith(f"reader 'r1' case 'a' finding 'f' {what}")


def test_unknown_cases_and_repeated_findings_are_refused() -> None:
    with pytest.raises(InputError, match=r"case 'z': the case is not among those to be read"):
        check_reading(reading("r1", "z"), CASES)
    with pytest.raises(
        InputError, match=r"finding 'f': occurs more than once. Give each finding a different"
    ):
        check_reading(reading("r1", "a", drawn("f", (1, 9, 9, 2)), drawn("f", (2, 9, 9, 2))), CASES)


def test_without_geometry_only_what_is_known_is_checked() -> None:
    bare = CASES.with_columns(pl.lit(None, dtype=pl.Float64).alias("spacing_x_mm"))
    check_reading(reading("r1", "a", drawn("f", (3, 5000, 50, 4))), bare)


def test_a_typo_in_what_is_sent_is_an_error() -> None:
    with pytest.raises(ValidationError, match="lenght_mm"):
        DrawnSlice(slice_index=1, center_x_mm=0, center_y_mm=0, lenght_mm=1, width_mm=1)  # type: ignore[call-arg]
