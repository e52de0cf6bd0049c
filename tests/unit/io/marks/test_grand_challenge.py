import json
from pathlib import Path

import polars as pl
import pytest

from builders.tables import case, mark, submission
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.io.marks.grand_challenge import read_marks, write_marks

VERSION = {"major": 1, "minor": 0}


def points(*items: dict, **more: object) -> dict:
    return {"type": "Multiple points", "points": list(items), "version": VERSION, **more}


def boxes(*items: dict, **more: object) -> dict:
    return {"type": "Multiple 2D bounding boxes", "boxes": list(items), "version": VERSION, **more}


def box(x: float, y: float, z: float, side: float, **more: object) -> dict:
    """A square box whose corners run from the far one, as the platform's viewer writes them."""
    low, high = (x - side / 2, y - side / 2), (x + side / 2, y + side / 2)
    corners = [
        [high[0], high[1], z],
        [low[0], high[1], z],
        [low[0], low[1], z],
        [high[0], low[1], z],
    ]
    return {"corners": corners, **more}


def written(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_a_point_is_a_mark(tmp_path: Path) -> None:
    document = points({"name": "n1", "point": [1, 2.5, -3], "probability": 0.25})
    marks = read_marks(written(tmp_path / "1.2.3.json", document))
    assert marks.marks.select("case_id", "mark_id", "x_mm", "y_mm", "z_mm", "score").rows() == [
        ("1.2.3", "n1", 1.0, 2.5, -3.0, 0.25)
    ]
    assert marks.slices is None


def test_a_folder_has_a_file_per_case_or_a_folder_per_case(tmp_path: Path) -> None:
    written(tmp_path / "out" / "a.json", points({"point": [1, 1, 1]}))
    written(tmp_path / "out" / "b" / "nodules.json", points({"point": [2, 2, 2]}))
    written(tmp_path / "out" / "c.json", points())
    marks = read_marks(tmp_path / "out")
    assert marks.name == "out"
    assert marks.marks.select("case_id", "x_mm", "score").rows() == [
        ("a", 1.0, None),
        ("b", 2.0, None),
    ]


def test_a_list_names_its_cases(tmp_path: Path) -> None:
    documents = [points({"point": [1, 1, 1]}, case_id="a"), points(case_id="b")]
    assert read_marks(written(tmp_path / "x.json", documents)).marks["case_id"].to_list() == ["a"]


def test_names_that_stand_twice_are_replaced_by_numbers(tmp_path: Path) -> None:
    two = points({"name": "nodule", "point": [1, 1, 1]}, {"name": "nodule", "point": [2, 2, 2]})
    assert read_marks(written(tmp_path / "a.json", two)).marks["mark_id"].to_list() == ["1", "2"]


def test_boxes_are_linked_across_slices(tmp_path: Path, cases: pl.DataFrame) -> None:
    stack = boxes(
        box(10, 5, -80, 6, probability=0.5),
        box(11, 5, -78, 8, probability=0.9),
        box(-20, 0, -78, 4, probability=0.1),
    )
    marks = read_marks(written(tmp_path / "a.json", stack), cases)
    assert marks.marks.select("mark_id", "x_mm", "y_mm", "z_mm", "score").rows() == [
        ("linked-1", 11.0, 5.0, -79.0, 0.9),
        ("linked-2", -20.0, 0.0, -78.0, 0.1),
    ]
    assert marks.slices is not None
    assert marks.slices.select("slice_index", "length_mm", "width_mm").rows() == [
        (10, 6.0, 6.0),
        (11, 8.0, 8.0),
        (11, 4.0, 4.0),
    ]
    assert sentences(marks.notices)[0].startswith("a.json: 3 boxes were linked into 2 marks")


def test_boxes_named_after_marks_belong_to_them(tmp_path: Path, cases: pl.DataFrame) -> None:
    apart = boxes(box(0, 0, -80, 4, name="mark m"), box(30, 0, -60, 4, name="mark m"))
    marks = read_marks(written(tmp_path / "a.json", apart), cases)
    assert marks.marks["mark_id"].to_list() == ["m"]
    assert marks.notices == ()


def test_boxes_need_the_geometry_of_the_case(tmp_path: Path, messages_of) -> None:
    path = written(tmp_path / "a.json", boxes(box(0, 0, -80, 4)))
    assert messages_of(read_marks, path) == [
        "a.json boxes[0]: slice_index and z_mm are not both known. Give both, or one of "
        "them and the geometry of the case (spacing, origin, size)."
    ]


@pytest.mark.parametrize(
    ("document", "messages"),
    [
        (
            {"type": "Polygon"},
            ["a.json: has the type 'Polygon'. Known: Multiple points, Multiple 2D bounding boxes."],
        ),
        (
            {"points": []},
            ["a.json: has no type. Known: Multiple points, Multiple 2D bounding boxes."],
        ),
        ({"type": "Multiple points"}, ["a.json points: is null, not a list."]),
        (
            points(
                {"point": [1, 2]},
                {"point": [1, 2, "3"]},
                5,
                {"point": [1, 2, 3], "probability": "high"},
            ),
            [
                "a.json points[0].point: has 2 values; expected a list of 3 numbers.",
                "a.json points[1].point[2]: is the text '3', not a number.",
                "a.json points[3].probability: is the text 'high', not a number.",
                "a.json points[2]: is a number, not an object.",
            ],
        ),
        (
            points({"name": 5, "point": [1, 2, 3]}),
            ["a.json points[0].name: is a number, not text."],
        ),
        (
            boxes({"corners": [[0, 0, 0]]}),
            ["a.json boxes[0].corners: is not a list of four points."],
        ),
        (
            boxes({"corners": [[0, 0, 0], [1, 0, 0], [1, 1, 2], [0, 1, 2]]}),
            ["a.json boxes[0].corners: are not on one axial slice: their z differs."],
        ),
        ([points()], ["a.json[0]: has no case_id. Name its case."]),
        ("text", ["a.json[0]: is the text 'text', not an object."]),
    ],
)
def test_wrong_documents_are_reported(
    tmp_path: Path, messages_of, document: object, messages: list[str]
) -> None:
    assert sorted(messages_of(read_marks, written(tmp_path / "a.json", document))) == sorted(
        messages
    )


def test_two_documents_for_a_case_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "out" / "b" / "one.json", points())
    written(tmp_path / "out" / "b" / "two.json", points())
    with pytest.raises(
        InputError, match=r"b: holds more than one JSON file\. Leave one per case\."
    ):
        read_marks(tmp_path / "out")


def test_points_are_written_one_file_per_case(tmp_path: Path, cases: pl.DataFrame) -> None:
    given = submission(case("b", mark(0.5, (1, 2, 3))))
    write_marks(given, tmp_path / "out", cases)
    texts = {file.name: json.loads(file.read_text()) for file in (tmp_path / "out").iterdir()}
    assert texts == {
        "a.json": points(),
        "b.json": points({"name": "m0", "point": [1.0, 2.0, 3.0], "probability": 0.5}),
    }


def test_scores_that_are_not_probabilities_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"has 1 scores that are not between 0 and 1, the first 7\.0"
    ):
        write_marks(submission(case("b", mark(7), mark(1))), tmp_path / "out")


def test_a_case_whose_name_is_not_a_file_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"case '\.\./b': cannot be the name of a file\."):
        write_marks(submission(case("../b", mark(1))), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
