"""Marks of other cases: one line however many, and what their names nearly are."""

import pytest

from builders.tables import case, mark, protocol, reference, submission
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.evaluation.check import keep_listed, near_names

TRUTH = reference(case("scan-1"), case("scan-2"), case("Ward_3.b"))


def refusal(*names: str, policy: str = "error") -> str:
    submitted = submission(*(case(name, mark(0.5), mark(0.4)) for name in names), name="alg")
    with pytest.raises(InputError) as caught:
        keep_listed(TRUTH, submitted, protocol(unlisted_cases=policy))
    return str(caught.value)


def test_many_marks_of_other_cases_are_one_problem() -> None:
    assert refusal("scan-1", *(f"x{number}" for number in range(1000))) == (
        "submission 'alg': 2,000 marks are in 1,000 cases that are not in the test set 'test' "
        "(3 cases): 'x0', 'x1', 'x2', .... Evaluate against the set they were made for, or skip "
        'them with unlisted_cases = "drop" in the protocol.'
    )


@pytest.mark.parametrize("policy", ["error", "drop"])
def test_a_submission_without_any_mark_of_the_set_is_refused(policy: str) -> None:
    assert refusal("x", "y", policy=policy) == (
        "submission 'alg': none of its 4 marks is in a case of the test set 'test' (3 cases), "
        "but in 'x', 'y'. Evaluate against the set they were made for."
    )


def test_only_repeated_headers_have_no_marks() -> None:
    submitted = submission(case("seriesuid", mark(0.5)))
    listed, notices = keep_listed(TRUTH, submitted, protocol(unlisted_cases="drop"))
    assert listed.marks.height == 0
    assert sentences(notices) == ("1 repeated header row was dropped.",)


def test_names_that_nearly_match_are_in_the_error() -> None:
    assert (
        "Without dashes, underscores, dots and the like 2 of the names would match cases "
        "('SCAN_1' is 'scan-1'?): correct them."
    ) in refusal("SCAN_1", "ward3-b")


def test_and_with_the_marks_that_were_dropped() -> None:
    submitted = submission(case("scan-2", mark(1)), case("ct/scan-1.mhd", mark(0.5), mark(0.4)))
    _, notices = keep_listed(TRUTH, submitted, protocol(unlisted_cases="drop"))
    assert sentences(notices)[1] == (
        "2 of these marks would match 1 case of the test set without folders and file endings: is "
        "'ct/scan-1.mhd' the case 'scan-1'?"
    )


@pytest.mark.parametrize(
    ("given", "way"),
    [
        ("scan1.mhd", "file"),
        ("C:\\ct\\scan1.nii.gz", "file"),
        (" scan1 ", "file"),
        ("SCAN1", "letters"),
        ("Scan1.MHA", "letters"),
        ("scan-1", "signs"),
        ("scan_1.dcm", "signs"),
    ],
)
def test_as_little_as_possible_is_left_aside(given: str, way: str) -> None:
    near = near_names([given, "other"], ["scan1", "scan2"])
    assert near is not None
    assert (near.way, near.known) == (way, {given: "scan1"})


def test_a_name_that_could_be_two_cases_is_none() -> None:
    assert near_names(["SCAN1"], ["scan1", "Scan1"]) is None
    assert near_names(["something"], ["scan1"]) is None
    assert near_names([], ["scan1"]) is None
