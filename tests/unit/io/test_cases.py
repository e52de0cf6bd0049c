"""A table of cases given beside a test set adds to what it knows, and never changes it."""

from pathlib import Path

import polars as pl
import pytest

from builders.tables import case, nodule, reference
from builders.words import sentences
from nodulebench import read_reference
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES
from nodulebench.io.bundle import write_reference
from nodulebench.io.cases import described_by, joined_cases

OWN = CASES.conform(
    pl.DataFrame({"case_id": ["b", "a"], "patient_id": ["q", None], "spacing_x_mm": [0.5, 0.7]}),
    "own",
)


def test_what_was_not_known_is_taken_over_and_others_are_passed_over() -> None:
    given = CASES.conform(
        pl.DataFrame(
            {"case_id": ["a", "b", "z"], "patient_id": ["p", "q", "r"], "vendor": [1, 2, 3]}
        ),
        "given",
    )
    cases, notices = joined_cases(OWN, given, "set")
    assert cases.select("case_id", "patient_id", "spacing_x_mm", "vendor").rows() == [
        ("b", "q", 0.5, 2),
        ("a", "p", 0.7, 1),
    ]
    assert sentences(notices) == (
        "1 of the 3 cases in the table of cases is not in the test set and was skipped.",
    )


def test_what_contradicts_the_test_set_is_an_error_that_says_so() -> None:
    given = OWN.with_columns(patient_id=pl.lit("x"), spacing_x_mm=pl.Series([0.5 + 1e-9, 0.8]))
    with pytest.raises(InputError) as caught:
        joined_cases(OWN, given, "set")
    assert str(caught.value).splitlines() == [
        "cases 'b': patient_id is 'x', but 'q' in the test set 'set'. Correct the table of cases, "
        "or leave the column out.",
        "cases 'a': spacing_x_mm is '0.8', but '0.7' in the test set 'set'. Correct the table of "
        "cases, or leave the column out.",
    ]


def test_scans_are_described_as_their_images_say_and_it_is_reported() -> None:
    own = OWN.with_columns(
        vendor=pl.lit("toshiba"), kernel=pl.Series([None, "FC51"]), exposure_mas=pl.lit(40.0)
    )
    given = pl.DataFrame(
        {
            "case_id": ["z", "a", "b"],
            "patient_id": ["x", "x", "x"],
            "vendor": ["GE", None, "Canon"],
            "kernel": ["BONE", "FC51", "FC13"],
            "exposure_mas": [1, 40, 40],
            "model": ["m", "n", None],
        }
    )
    cases, notices = described_by(own, given)
    columns = ["case_id", "patient_id", "vendor", "kernel", "exposure_mas", "model"]
    assert cases.select(columns).rows() == [
        ("b", "q", "Canon", "FC13", 40, None),
        ("a", None, "toshiba", "FC51", 40, "n"),
    ]
    assert sentences(notices) == (
        "vendor: in some cases the reference and the image headers disagree. The test set uses "
        "the values of the headers.",
    )
    assert described_by(cases, given)[1] == ()


def test_many_contradictions_are_counted() -> None:
    own = CASES.conform(pl.DataFrame({"case_id": list("abcdefgh"), "size_x": [1] * 8}), "own")
    with pytest.raises(InputError) as caught:
        joined_cases(own, own.with_columns(size_x=pl.lit(2)), "set")
    lines = str(caught.value).splitlines()
    assert len(lines) == 6
    assert lines[-1] == "cases: 3 more values like this."


def test_a_direction_may_be_written_in_another_way() -> None:
    own = OWN.with_columns(direction=pl.lit("1 0 0 0 1 0 0 0 1"))
    given = OWN.with_columns(direction=pl.lit("1.0 0 0 0 1 0 0 0 1"))
    assert joined_cases(own, given, "set")[0].equals(own)
    with pytest.raises(InputError, match="direction is"):
        joined_cases(own, given.with_columns(direction=pl.lit("1 0 0 0 1 0 0 0 -1")), "set")


def test_the_denominator_of_a_bundle_is_its_own(tmp_path: Path) -> None:
    write_reference(reference(case("a", nodule(8)), case("b"), case("c")), tmp_path / "set")
    listed = tmp_path / "cases.csv"
    listed.write_text("case_id,patient_id\nd,p4\na,p1\nb,p2\n")
    again = read_reference(tmp_path / "set", listed)
    assert again.cases.select("case_id", "patient_id").rows() == [
        ("a", "p1"),
        ("b", "p2"),
        ("c", None),
    ]
    assert len(again.notices) == 1


def test_the_denominator_of_a_folder_of_tables_is_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "cases.csv").write_text("case_id\na\nb\n")
    (folder / "nodules.csv").write_text(
        "case_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,nodule_id\n"
        "a,1,1,1,1,1,1,n\n"
    )
    listed = tmp_path / "cases.csv"
    listed.write_text("case_id,patient_id\nb,p2\nz,p9\n")
    reference = read_reference(folder, listed)
    assert reference.cases.select("case_id", "patient_id").rows() == [("a", None), ("b", "p2")]
    assert len(reference.notices) == 1
