"""What is known of nodules beside the reference enters by id or by place, and nothing is lost."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.words import sentences
from nodulebench import read_reference
from nodulebench.core.errors import InputError
from nodulebench.core.tables import Reference
from nodulebench.io.bundle import write_reference
from nodulebench.io.marks import luna16 as luna16_csv
from nodulebench.io.marks import nifdc as nifdc_csv

TRUTH = """case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm
a,n1,3,1.5,10,20,4,4
a,n2,9,30,10,20,8,8
b,n1,2,5,0,0,6,6
c,,,,,,,
"""


def joined(folder: Path, table: str) -> Reference:
    (folder / "truth.csv").write_text(TRUTH)
    (folder / "facts.csv").write_text(table)
    return read_reference(folder / "truth.csv", nodules=folder / "facts.csv")


def refusals(folder: Path, table: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        joined(folder, table)
    return [f"{problem.where}: {problem.what}" for problem in caught.value.problems]


def test_rows_are_joined_by_id_and_by_place_and_others_stay_unknown(tmp_path: Path) -> None:
    found = joined(
        tmp_path,
        "case_id,nodule_id,x_mm,y_mm,z_mm,truth,truth_date,is_near_vessel,grade\n"
        "a,n2,,,,pathology,2025-03-01,yes,2\n"
        "b,,1,1,5,follow_up,,no,\n"
        "z,n1,,,,none,,,1\n",
    )
    assert found.nodules.select("truth", "truth_date", "is_near_vessel", "grade").rows() == [
        (None, None, None, None),
        ("pathology", date(2025, 3, 1), True, 2.0),
        ("follow_up", None, False, None),
    ]
    assert sentences(found.notices) == (
        "1 of the 3 rows in the table of nodules is about a case outside the test set and was "
        "skipped.",
    )
    write_reference(found, tmp_path / "kept")
    assert read_reference(tmp_path / "kept").nodules.equals(found.nodules)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("case_id,nodule_id\na,n7", "facts.csv row 1: case 'a' has no nodule 'n7'."),
        ("case_id,truth\na,none", "names its nodule neither by nodule_id nor by x_mm, y_mm"),
        ("case_id,x_mm,y_mm,z_mm\na,10,20,16", "case 'a' has no nodule at this position."),
        ("case_id,nodule_id,x_mm,y_mm,z_mm\na,n1,10,20,30", "is 28.5 mm from its nodule 'n1'."),
        ("case_id,nodule_id\na,n1\na,n1", "row 2: names the same nodule as row 1."),
        ("case_id,nodule_id,truth\na,n1,autopsy", "truth 'autopsy' is not one of: pathology"),
        ("case_id,nodule_id,truth_date\na,n1,1/2/25", "is not a day as YYYY-MM-DD."),
        ("case_id,nodule_id,is_near_vessel\na,n1,maybe", "is_near_vessel 'maybe' is not"),
        (
            "case_id,nodule_id,diameter_mm\na,n1,9",
            "diameter_mm is '9.0', but '4.0' in the test set",
        ),
    ],
)
def test_what_cannot_be_joined_is_refused(tmp_path: Path, table: str, message: str) -> None:
    assert message in refusals(tmp_path, table + "\n")[0]


def test_a_place_in_two_nodules_is_refused(tmp_path: Path) -> None:
    near = TRUTH + "a,n3,9,31,11,20,8,8\n"
    (tmp_path / "truth.csv").write_text(near)
    (tmp_path / "facts.csv").write_text("case_id,x_mm,y_mm,z_mm\na,10,20,30\n")
    with pytest.raises(InputError, match="is inside several nodules: n2, n3"):
        read_reference(tmp_path / "truth.csv", nodules=tmp_path / "facts.csv")


@pytest.mark.slow
@given(st.floats(0, 1), st.floats(-1, 1), st.floats(0, 6.283))
def test_every_place_within_a_nodule_finds_it(share: float, height: float, angle: float) -> None:
    import math
    from tempfile import TemporaryDirectory

    flat = 0.999 * 4 * share * math.sqrt(1 - height**2)  # n2 has a radius of 4 mm
    place = (
        10 + flat * math.cos(angle),
        20 + flat * math.sin(angle),
        30 + 0.999 * 4 * share * height,
    )
    with TemporaryDirectory() as folder:
        text = ",".join(map(repr, place))
        found = joined(Path(folder), f"case_id,x_mm,y_mm,z_mm,truth\na,{text},none\n")
    assert found.nodules["truth"].to_list() == [None, "none", None]


def test_columns_in_the_reference_are_read_and_others_told(tmp_path: Path) -> None:
    lines = TRUTH.splitlines()
    ends = [",truth,Is Near Cavity,colour", ",pathology,1,red", ",,,", ",follow_up,0,", ",,,"]
    file = tmp_path / "truth.csv"
    file.write_text("\n".join(map("".join, zip(lines, ends, strict=True))) + "\n")
    reference = read_reference(file)
    assert reference.nodules["truth"].to_list() == ["pathology", None, "follow_up"]
    assert reference.nodules["is_near_cavity"].to_list() == [True, None, False]
    message = "truth.csv: unknown columns were not read: colour. A separate table"
    assert any(sentence.startswith(message) for sentence in sentences(reference.notices))
    nifdc_csv.write_reference(reference, tmp_path / "again.csv")
    assert read_reference(tmp_path / "again.csv").nodules.equals(reference.nodules)


def test_annotations_of_luna16_may_say_more(tmp_path: Path) -> None:
    (tmp_path / "seriesuids.csv").write_text("a\nb\n")
    head = "seriesuid,coordX,coordY,coordZ,diameter_mm"
    (tmp_path / "annotations.csv").write_text(
        f"{head},malignancy,malignancy_source,colour\na,1,2,3,8,1,pathology,red\nz,1,2,3,8,7,?,\n"
    )
    (tmp_path / "annotations_excluded.csv").write_text(f"{head}\nb,1,2,3,-1\n")
    reference = luna16_csv.read_reference(tmp_path)
    assert reference.nodules.select("malignancy", "malignancy_source").rows() == [
        (1.0, "pathology"),
        (None, None),
    ]
    assert [notice.code for notice in reference.notices] == ["nodule_columns_unread"]
    (tmp_path / "annotations.csv").write_text(f"{head},malignancy\na,1,2,3,8,7\n")
    with pytest.raises(InputError, match=r"annotations\.csv line 2: malignancy '7' is above 1"):
        luna16_csv.read_reference(tmp_path)


def test_a_reference_without_further_columns_has_none(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text(TRUTH)
    assert "truth" not in read_reference(tmp_path / "truth.csv").nodules.columns
