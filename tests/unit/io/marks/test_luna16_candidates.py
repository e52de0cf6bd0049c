from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.tables import case, mark, submission
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES
from nodulebench.io.marks.luna16_candidates import check_candidate_track, read_candidates

LIST = (
    "seriesuid,coordX,coordY,coordZ,class\n"
    "a,10.5,-20.25,30,0\na,10.5,-20.25,31,1\nb,10.5,-20.25,30,0\nb,1,1,1,0\nb,1,1,1,0\n"
)


def candidates(folder: Path, text: str = LIST) -> pl.DataFrame:
    (folder / "candidates_V2.csv").write_text(text)
    return read_candidates(folder / "candidates_V2.csv")


def full() -> tuple:
    """One mark on every candidate, in another order, one of them a little rounded."""
    return (
        case("b", mark(0.1, (1, 1, 1)), mark(0.2, (10.5, -20.25, 30)), mark(0.3, (1, 1, 1))),
        case("a", mark(0.9, (10.5, -20.2499, 31)), mark(0.8, (10.5, -20.25, 30))),
    )


def test_the_list_tells_nodules_from_others(tmp_path: Path) -> None:
    listed = candidates(tmp_path)
    assert listed.select("case_id", "z_mm", "is_nodule", "line").rows()[:2] == [
        ("a", 30.0, False, 2),
        ("a", 31.0, True, 3),
    ]


def test_only_the_cases_of_the_test_set_count(tmp_path: Path) -> None:
    candidates(tmp_path)
    listed = CASES.conform(pl.DataFrame({"case_id": ["a"]}), "cases")
    assert read_candidates(tmp_path / "candidates_V2.csv", listed)["case_id"].to_list() == [
        "a",
        "a",
    ]


def test_a_submission_that_scores_every_candidate_once_is_right(tmp_path: Path) -> None:
    check = check_candidate_track(submission(*full()), candidates(tmp_path))
    assert (check.candidates, check.missing, check.unlisted, check.repeated) == (5, 0, 0, 0)
    assert check.problems == ()


def test_missing_unlisted_and_repeated_candidates_are_counted(tmp_path: Path) -> None:
    given = submission(
        case(
            "a", mark(1, (10.5, -20.25, 30)), mark(1, (10.5, -20.25, 30.0005)), mark(1, (0, 0, 0))
        ),
        case("b", mark(1, (1, 1, 1)), mark(1, (10.5, -20.25, 30))),
        case("c", mark(1, (1, 1, 1))),
    )
    check = check_candidate_track(given, candidates(tmp_path))
    # missing: (.., 31) of a and the second (1, 1, 1) of b
    assert (check.missing, check.unlisted, check.repeated) == (2, 2, 1)
    assert [str(problem) for problem in check.problems] == [
        "submission 'algorithm' mark 'm2' of case 'a': is not a candidate. In this track "
        "only the given candidates are scored; keep their coordinates.",
        "submission 'algorithm' mark 'm0' of case 'c': is not a candidate. In this track "
        "only the given candidates are scored; keep their coordinates.",
        "submission 'algorithm': candidate (10.5, -20.25, 30) of case 'a' has more than one mark. "
        "Give every candidate one score.",
        "submission 'algorithm': candidate (10.5, -20.25, 31) of case 'a' has no mark. Give every "
        "candidate one score.",
        "submission 'algorithm': candidate (1, 1, 1) of case 'b' has no mark. Give every candidate "
        "one score.",
    ]


def test_the_tolerance_is_a_micrometre_in_each_coordinate(tmp_path: Path) -> None:
    listed = candidates(tmp_path, "seriesuid,coordX,coordY,coordZ,class\na,5,5,5,0\n")
    for off, unlisted in ((0.00099, 0), (0.00101, 1)):
        for place in ((5 + off, 5, 5), (5, 5 - off, 5), (5, 5, 5 + off)):
            check = check_candidate_track(submission(case("a", mark(1, place))), listed)
            assert check.unlisted == unlisted


def test_a_submission_without_marks_misses_all(tmp_path: Path) -> None:
    check = check_candidate_track(submission(case("a")), candidates(tmp_path))
    assert (check.missing, check.unlisted, check.repeated) == (5, 0, 0)


def test_a_list_without_candidates_has_none_to_miss(tmp_path: Path) -> None:
    listed = candidates(tmp_path, "seriesuid,coordX,coordY,coordZ,class\n")
    check = check_candidate_track(submission(case("a", mark(1))), listed)
    assert (check.candidates, check.missing, check.unlisted) == (0, 0, 1)


def test_the_real_annotations_are_candidates_of_themselves(luna16_data: Path) -> None:
    listed = read_candidates(luna16_data / "annotations_excluded.csv.gz")
    marks = listed.select("case_id", "x_mm", "y_mm", "z_mm", mark_id=pl.col("line").cast(pl.String))
    check = check_candidate_track(replace(submission(case("x")), marks=marks), listed)
    assert (check.candidates, check.missing, check.unlisted, check.repeated) == (35192, 0, 0, 0)


def test_a_wrong_list_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"column 'coordZ' is missing; found: seriesuid"):
        candidates(tmp_path, "seriesuid,coordX,coordY\n")


def test_many_problems_are_counted(tmp_path: Path) -> None:
    text = "seriesuid,coordX,coordY,coordZ,class\n" + "".join(f"a,{n},0,0,0\n" for n in range(8))
    given = submission(case("a", *(mark(1, (n, 50, 0)) for n in range(7))))
    check = check_candidate_track(given, candidates(tmp_path, text))
    assert (check.missing, check.unlisted) == (8, 7)
    assert [str(problem) for problem in check.problems][-2:] == [
        "submission 'algorithm': 3 more candidates like this.",
        "submission 'algorithm': 2 more marks that are not candidates.",
    ]
