from pathlib import Path

import polars as pl
import pytest

from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES, MARKS, Reference, Submission
from nodulebench.io.marks.nifdc import (
    read_marks,
    read_reference,
    write_marks,
    write_reference,
)

HEADER = (
    "case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,"
    "long_mm,short_mm,type,density,malignancy,score,contour\n"
)


def written(folder: Path, text: str, name: str = "x.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def messages_of(read: object, path: Path, *more: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(path, *more)
    return [str(problem) for problem in caught.value.problems]


def cases(**columns: object) -> pl.DataFrame:
    """Cases a and b: slices every 2 mm from -100 upwards."""
    rows = pl.DataFrame({"case_id": ["a", "b"]}).with_columns(
        **{f"size_{axis}": 100 for axis in "xyz"},
        spacing_x_mm=0.5,
        spacing_y_mm=0.5,
        spacing_z_mm=2.0,
        origin_x_mm=0.0,
        origin_y_mm=0.0,
        origin_z_mm=-100.0,
        **{name: pl.lit(value) for name, value in columns.items()},
    )
    return CASES.conform(rows, "cases")


def test_slices_of_one_nodule_id_are_one_mark(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        HEADER
        + "a,n1,10,-80,50,50,6,6,6,6,solid,solid,0.2,0.7,\n"
        + "a,n1,11,-78,51,50,10,10,10,8,part_solid,,0.4,0.9,\n"
        + "a,n2,11,-78,20,20,4,2,,,,,,0.1,\n"
        + "a,n1,12,-76,50,52,6,6,6,6,solid,,,0.8,\n",
    )
    marks = read_marks(path)
    assert marks.name == "x"
    first, second = marks.marks.iter_rows(named=True)
    # the box around all boxes: x from 46 to 56, y from 45 to 55, z from -80 to -76
    assert (first["x_mm"], first["y_mm"], first["z_mm"]) == (51.0, 50.0, -78.0)
    assert first["diameter_mm"] == 9.0  # (10 + 8) / 2 on slice 11
    assert (first["long_mm"], first["short_mm"]) == (10.0, 8.0)
    assert first["score"] == 0.9
    # said on the slice with the highest score; its density is only said on slice 10
    assert (first["type"], first["density"], first["malignancy"]) == ("part_solid", "solid", 0.4)
    assert second["diameter_mm"] == 3.0  # (4 + 2) / 2 of the box, long and short are not given
    assert second["mark_id"] == "n2"
    assert marks.slices is not None
    assert marks.slices.select("mark_id", "slice_index", "center_x_mm").rows() == [
        ("n1", 10, 50.0),
        ("n1", 11, 51.0),
        ("n2", 11, 20.0),
        ("n1", 12, 50.0),
    ]
    assert marks.notices == ()


def test_the_largest_slice_gives_the_axes_and_a_tie_goes_to_the_lower(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        HEADER
        + "a,n,12,-76,0,0,8,8,7.5,7,,,,,\n"
        + "a,n,10,-80,0,0,8,8,7,7.5,,,,,\n"
        + "a,n,11,-78,0,0,4,15.9,15,3,,,,,\n",
    )
    mark = read_marks(path).marks.row(0, named=True)
    assert (mark["long_mm"], mark["short_mm"]) == (7.0, 7.5)
    assert mark["diameter_mm"] == 9.0


def test_boxes_without_nodule_id_are_linked_and_it_is_said(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "case_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,score\n"
        "a,10,-80,50,50,6,6,0.7\na,11,-78,51,50,8,8,0.9\na,11,-78,20,20,4,4,0.1\nb,12,-76,1,1,4,4,0.2\n",
    )
    marks = read_marks(path)
    assert marks.marks.select("case_id", "mark_id", "score").rows() == [
        ("a", "linked-1", 0.9),
        ("a", "linked-2", 0.1),
        ("b", "linked-1", 0.2),
    ]
    assert sentences(marks.notices) == (
        "x.csv has no nodule_id, so 4 boxes were linked into 3 marks (on adjacent slices, the "
        "centre "
        "of one box inside the other, nearest first).",
    )


def test_some_boxes_with_and_some_without_nodule_id_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "a,n,1,1,1,1,1,1,,,,,,,\na,,2,2,1,1,1,1,,,,,,,\n")
    assert messages_of(read_marks, path) == [
        "x.csv line 3: nodule_id is empty here and given elsewhere. Give every row a nodule_id, "
        "or no row, so that boxes are linked across slices."
    ]


def test_a_header_only_is_a_submission_without_marks(tmp_path: Path) -> None:
    marks = read_marks(written(tmp_path, HEADER))
    assert marks.marks.height == 0
    assert marks.marks.schema == MARKS.empty().schema


def test_a_row_with_a_case_only_has_no_mark(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "a,,,,,,,,,,,,,,\n\nb,n,1,1,1,1,1,1,,,,,,,\n")
    assert read_marks(path).marks["case_id"].to_list() == ["b"]


def test_the_reference_lists_cases_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        HEADER.replace("contour", "contour,is_ignored")
        + "b,1,10,-80,5,5,6,6,6,4,solid,solid,1,,0 0;2 0;2 2,false\n"
        + "c,,,,,,,,,,,,,,,\n"
        + "a,1,10,-80,5,5,6,6,,,calcified,,,,,true\n"
        + "a,2,10,-80,9,9,3,3,,,,,,,,\n",
    )
    reference = read_reference(path)
    assert reference.cases["case_id"].to_list() == ["b", "c", "a"]
    columns = ("case_id", "nodule_id", "diameter_mm", "type", "malignancy", "is_ignored")
    assert reference.nodules.select(columns).rows() == [
        ("b", "1", 5.0, "solid", 1.0, False),
        ("a", "1", 6.0, "calcified", None, True),
        ("a", "2", 3.0, None, None, False),
    ]
    assert reference.slices is not None
    assert reference.slices["contour"].to_list() == ["0 0;2 0;2 2", None, None]


def test_given_cases_make_the_test_set(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "b,1,10,-80,5,5,6,6,,,,,,,\n")
    reference = read_reference(path, cases(patient_id="p"))
    assert reference.cases["case_id"].to_list() == ["a", "b"]
    assert reference.cases["patient_id"].to_list() == ["p", "p"]


def test_a_nodule_in_no_given_case_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "z,1,10,-80,5,5,6,6,,,,,,,\n")
    assert messages_of(read_reference, path, cases()) == [
        "x.csv: case 'z' is not among the 2 given cases. Add it to the list of cases, or "
        "remove it here."
    ]


def test_a_folder_brings_its_cases_along(tmp_path: Path) -> None:
    written(tmp_path, HEADER + "a,1,10,-80,5,5,6,6,,,,,,,\n", "nodules.csv")
    written(tmp_path, "case_id,patient_id,thickness_mm\na,p1,1.25\nb,p2,2\n", "cases.csv")
    reference = read_reference(tmp_path)
    assert reference.cases.select("case_id", "patient_id", "thickness_mm").rows() == [
        ("a", "p1", 1.25),
        ("b", "p2", 2.0),
    ]


def test_a_nodule_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        HEADER + "a,1,10,-80,5,5,6,6,,,solid,,,,\na,1,11,-78,5,5,6,6,,,calcified,,,,\n",
    )
    assert messages_of(read_reference, path) == [
        "x.csv case 'a' nodule '1': type differs between its slices: solid, calcified. Use the "
        "same value on every slice."
    ]


def test_every_problem_is_reported_with_its_line(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        HEADER
        + "a,n,10,-80,5,5,6,6,,,round,,,,\n"
        + "a,n,10,-80,5,5,6,-1,,,,,2,,\n"
        + "\n"
        + "a,n,11.5,-77,5,5,6,,,,,,,,\n",
    )
    assert messages_of(read_marks, path) == [
        "x.csv line 5: slice_index '11.5' is not a whole number.",
        "x.csv line 5: width_mm is empty; every row needs a value.",
        "x.csv line 3: width_mm '-1.0' is below 0.",
        "x.csv line 2: type 'round' is not one of: solid, part_solid, pure_ground_glass, "
        "calcified, pleural, pleural_calcified.",
        "x.csv line 3: malignancy '2.0' is above 1.",
    ]


def test_a_slice_given_twice_is_refused(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        HEADER + "a,n,10,-80,5,5,6,6,,,,,,,\n\na,n,10,-80,5,5,7,7,,,,,,,\n",
    )
    for read in (read_marks, read_reference):
        assert messages_of(read, path) == [
            "x.csv line 4: case_id 'a', nodule_id 'n', slice_index '10' was given before. case_id "
            "and nodule_id and slice_index must be unique; remove or renumber the row."
        ]


def test_a_box_a_kilometre_away_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "a,n,10,1e300,-2e6,5,6,6,,,,,,,\n")
    assert messages_of(read_marks, path, cases()) == [
        "x.csv line 2: z_mm '1e+300' is above 1e+06.",
        "x.csv line 2: center_x_mm '-2000000.0' is below -1e+06.",
    ]


def test_text_in_a_number_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "a,n,10,-80,five,5,6,6,,,,,,,\n")
    assert messages_of(read_marks, path) == [
        "x.csv line 2: center_x_mm 'five' is not a finite number. Correct the value or remove the "
        "row."
    ]


@pytest.mark.parametrize("contour", ["1 2;3 4", "1,2;3,4;5,6", "a b;c d;e f", "1 2;3 4;5"])
def test_a_contour_that_is_not_an_outline_is_refused(tmp_path: Path, contour: str) -> None:
    path = written(tmp_path, HEADER + f'a,n,10,-80,5,5,6,6,,,,,,,"{contour}"\n')
    assert messages_of(read_marks, path) == [
        f"x.csv line 2: contour '{contour}' is not a list of at least three points. Write it as "
        "'x y;x y;x y' in mm."
    ]


def test_wrong_columns_are_reported(tmp_path: Path) -> None:
    path = written(tmp_path, "case_id,center_x_mm,center_y_mm,length_mm,width_mm\n")
    assert [line.split(";")[0] for line in messages_of(read_marks, path)] == [
        f"{path}: column 'slice_index' is missing",
        f"{path}: column 'z_mm' is missing",
    ]


def test_the_slice_is_found_from_the_height_and_the_other_way_round(tmp_path: Path) -> None:
    header = "case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm\n"
    path = written(tmp_path, header + "a,n,,-80.4,5,5,6,6\na,n,11,,5,5,6,6\n")
    marks = read_marks(path, cases())
    assert marks.slices is not None
    assert marks.slices.select("slice_index", "z_mm").rows() == [(10, -80.4), (11, -78.0)]


def test_a_place_that_is_unknown_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "a,n,10,,5,5,6,6,,,,,,,\n")
    assert messages_of(read_marks, path) == [
        "x.csv line 2: slice_index and z_mm are not both known. Give both, or one of them and the "
        "geometry of the case (spacing, origin, size)."
    ]


def test_a_slice_of_a_case_from_elsewhere_cannot_be_placed(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "z,n,10,,5,5,6,6,,,,,,,\n")
    with pytest.raises(InputError) as refused:
        read_marks(path, cases())
    assert str(refused.value) == (
        "x.csv line 2: its case is not among the 2 whose geometry is given, so its slice cannot be "
        "located. Is it from another set? If not, give its geometry, or both slice_index and z_mm."
    )


def test_slices_counted_from_one_or_from_the_head_are_noticed(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + "a,n,11,-80,5,5,6,6,,,,,,,\n")
    assert messages_of(read_marks, path, cases()) == [
        "x.csv line 2: slice_index and z_mm do not agree with the geometry of the case. Count "
        "slices from 0 at the feet, and give z_mm in LPS."
    ]
    upside_down = cases(direction="1 0 0 0 1 0 0 0 -1").with_columns(origin_z_mm=pl.lit(98.0))
    assert read_marks(written(tmp_path, HEADER + "a,n,10,-80,5,5,6,6,,,,,,,\n"), upside_down)


def test_points_become_boxes_as_large_as_their_diameter(tmp_path: Path) -> None:
    marks = MARKS.conform(
        pl.DataFrame(
            {
                "case_id": ["a"],
                "mark_id": ["1"],
                "x_mm": [5.0],
                "y_mm": [6.0],
                "z_mm": [-80.0],
                "score": [0.5],
                "diameter_mm": [5.0],
            }
        ),
        "marks",
    )
    write_marks(Submission("s", marks), tmp_path / "x.csv", cases())
    assert (tmp_path / "x.csv").read_text() == (
        HEADER
        + "a,1,9,-82.0,5.0,6.0,5.0,5.0,,,,,,0.5,\n"
        + "a,1,10,-80.0,5.0,6.0,5.0,5.0,,,,,,0.5,\n"
        + "a,1,11,-78.0,5.0,6.0,5.0,5.0,,,,,,0.5,\n"
    )
    assert messages_of(
        lambda path: write_marks(Submission("s", marks), path), tmp_path / "y.csv"
    ) == [
        "s: case 'a' has marks without slices, and the geometry of the case is not known. Give the "
        "cases with spacing, origin and size."
    ]


def test_a_written_reference_names_ignored_findings_and_empty_cases(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        HEADER.replace("contour", "contour,is_ignored")
        + "b,1,10,-80.0,5.0,5.0,6.0,6.0,6.0,4.0,solid,solid,1.0,,0 0;2 0;2 2,false\n"
        + "c,,,,,,,,,,,,,,,\n"
        + "a,2,10,-80.0,9.0,9.0,3.0,3.0,,,,,,,,true\n",
    )
    before = read_reference(path)
    write_reference(before, tmp_path / "y.csv")
    assert (tmp_path / "y.csv").read_text() == path.read_text()


def test_an_empty_reference_can_be_written(tmp_path: Path) -> None:
    before = read_reference(written(tmp_path, HEADER + "a,,,,,,,,,,,,,,\n"))
    assert isinstance(before, Reference)
    write_reference(before, tmp_path / "y.csv")
    after = read_reference(tmp_path / "y.csv")
    assert after.cases["case_id"].to_list() == ["a"]
    assert after.nodules.height == 0


def test_many_boxes_without_a_place_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"a,n{n},10,,5,5,6,6,,,,,,,\n" for n in range(8))
    messages = messages_of(read_marks, written(tmp_path, HEADER + rows))
    assert (len(messages), messages[-1]) == (6, "x.csv: 3 more boxes like this.")
