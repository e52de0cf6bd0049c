"""Repeated rows, cases without a mark and failed runs have notices with their numbers."""

from builders.tables import case, false_mark, mark, nodule, reference, run, submission
from builders.words import sentences
from nodulebench.evaluation.check import cases_without_marks, failed_runs, repeated_marks


def test_a_row_given_twice_is_counted_once_for_each_further_time() -> None:
    cases = (
        case("a", mark(0.5, (1, 2, 3)), mark(0.5, (1, 2, 3)), mark(0.5, (1, 2, 3))),
        case("b", mark(0.5, (1, 2, 3)), mark(0.4, (1, 2, 3)), mark(0.5, (1, 2, 4))),
        case("c", false_mark(0.1), false_mark(0.1)),
    )
    assert sentences(repeated_marks(submission(*cases))) == (
        "3 marks in 2 cases repeat other marks: same position, same score: 'a', 'c'. Rules that "
        "count further marks on a nodule count them as false positives.",
    )


def test_marks_of_different_cases_are_not_repetitions() -> None:
    assert repeated_marks(submission(case("a", mark(0.5)), case("b", mark(0.5)))) == ()
    assert repeated_marks(submission(case("a"))) == ()


def test_cases_without_a_mark_are_counted_and_the_first_are_named() -> None:
    cases = [case("a", mark(0.5)), *(case(name, nodule(8)) for name in "bcdef")]
    assert sentences(cases_without_marks(reference(*cases), submission(*cases))) == (
        "5 of 6 cases have no mark: 'b', 'c', 'd', .... They count in every denominator. If the "
        "algorithm was not run on them, for example because this is one fold, evaluate only the "
        "cases of the fold.",
    )


def test_a_case_on_which_the_algorithm_ran_may_have_no_mark() -> None:
    cases = (case("a", run(3)), case("b", run(3, "failed")), case("c", mark(1), run(2)))
    (notice,) = cases_without_marks(reference(*cases), submission(*cases))
    assert notice.values == {"count": 1, "cases": 3, "names": ["b"]}
    assert cases_without_marks(reference(cases[0], cases[2]), submission(*cases)) == ()


def test_marks_of_other_cases_make_no_case_marked() -> None:
    (notice,) = cases_without_marks(reference(case("a")), submission(case("z", mark(1))))
    assert notice.values["count"] == 1


def test_failed_runs_are_shown() -> None:
    submitted = submission(
        case("a", run(1)), case("b", run(9, "timed_out")), case("c", run(None, "failed"))
    )
    assert sentences(failed_runs(submitted)) == (
        "Of 3 runs, 1 failed and 1 ran out of time: 'b', 'c'. Their cases count in every "
        "denominator.",
    )
    assert failed_runs(submission(case("a", run(1)))) == ()


def test_runs_with_implausible_lungs_are_counted_separately() -> None:
    doubtful = run(2, "lungs_implausible")
    submitted = submission(case("a", run(1)), case("b", doubtful), case("c", run(1, "failed")))
    assert sentences(failed_runs(submitted)) == (
        "Of 3 runs, 1 failed and 0 ran out of time: 'c'. Their cases count in every denominator.",
        "In 1 of 3 runs the algorithm found no plausible lungs: 'b'. The case counts in every "
        "denominator, and its marks count.",
    )


def test_without_runs_none_failed() -> None:
    assert failed_runs(submission(case("a"))) == ()
