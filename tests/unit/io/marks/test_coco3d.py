import json
from pathlib import Path

import polars as pl
import pytest

from builders.tables import case, ignored, mark, nodule, reference, submission
from nodulebench.io.marks.coco3d import (
    read_marks,
    read_reference,
    write_marks,
    write_reference,
)


def document(coordinates: str | None = "lps_mm", **more: object) -> dict:
    """Case a with one solid nodule at (10, 20, -80) of 4 x 6 x 8 mm."""
    return {
        "info": {"coordinates": coordinates},
        "images": [{"id": 7, "file_name": "data/a.mhd"}, {"id": 8, "case_id": "b"}],
        "categories": [{"id": 1, "name": "solid"}, {"id": 2, "name": "other"}],
        "annotations": [
            {
                "id": 3,
                "image_id": 7,
                "category_id": 1,
                "bbox": [8, 17, -84, 4, 6, 8],
                "score": 0.5,
            }
        ],
        **more,
    }


def annotation(**changes: object) -> dict:
    return document(annotations=[document()["annotations"][0] | changes])


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_a_box_is_its_low_corner_and_its_size(tmp_path: Path, cases: pl.DataFrame) -> None:
    marks = read_marks(written(tmp_path / "x.json", document()), cases)
    columns = ("case_id", "mark_id", "x_mm", "y_mm", "z_mm", "score", "diameter_mm", "type")
    assert marks.marks.select(columns).rows() == [("a", "3", 10.0, 20.0, -80.0, 0.5, 5.0, "solid")]
    assert marks.slices is not None
    assert marks.slices["slice_index"].to_list() == [8, 9, 10, 11, 12]


def test_voxels_are_counted_from_the_corner_of_the_first(
    tmp_path: Path, cases: pl.DataFrame
) -> None:
    # voxels 58..61, 67..72 and 8..12 of case a: centres from 8 to 11, 17 to 22, -84 to -76 mm
    content = document("voxel")
    content["annotations"][0]["bbox"] = [58, 67, 8, 4, 6, 5]
    marks = read_marks(written(tmp_path / "x.json", content), cases)
    assert marks.marks.select("x_mm", "y_mm", "z_mm").row(0) == (9.5, 19.5, -80.0)
    assert marks.slices is not None
    assert marks.slices["slice_index"].to_list() == [8, 9, 10, 11, 12]
    assert marks.slices.select("length_mm", "width_mm").row(0) == (4.0, 6.0)


def test_voxels_need_the_geometry_of_the_case(tmp_path: Path, messages_of) -> None:
    assert messages_of(read_marks, written(tmp_path / "x.json", document("voxel"))) == [
        "x.json: is in voxels, and the geometry of case 'a' is not known. Give the cases with "
        "spacing and origin."
    ]


def test_a_file_has_to_say_what_it_is_measured_in(tmp_path: Path, messages_of) -> None:
    for content in (document(None), document() | {"info": "mm"}):
        assert messages_of(read_marks, written(tmp_path / "x.json", content)) == [
            "x.json info.coordinates: does not say whether boxes are in millimetres or voxels. "
            "Known: lps_mm, voxel."
        ]


def test_a_reference_lists_all_images_and_ignores_crowds(tmp_path: Path) -> None:
    content = annotation(iscrowd=1, category_id=2)
    reference = read_reference(written(tmp_path / "x.json", content))
    assert reference.cases["case_id"].to_list() == ["a", "b"]
    assert reference.nodules.select("case_id", "diameter_mm", "is_ignored", "type").rows() == [
        ("a", 5.0, True, None)
    ]


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        ([], ["x.json: is not an object with images and annotations."]),
        (
            document(images=None),
            [
                "x.json images: is null, not a list.",
                "x.json annotations[0].image_id: '7' is not the id of an image.",
            ],
        ),
        (
            document(images=[{"id": 7}]),
            [
                "x.json images[0]: has no id, or neither case_id nor file_name.",
                "x.json annotations[0].image_id: '7' is not the id of an image.",
            ],
        ),
        (
            document(images=[{"id": 7, "case_id": "a"}] * 2),
            ["x.json images[1]: image '7' of case 'a' occurs twice."],
        ),
        (document(annotations={}), ["x.json annotations: is an object, not a list."]),
        (
            annotation(image_id=[1]),
            ["x.json annotations[0].image_id: '[1]' is not the id of an image."],
        ),
        (
            annotation(bbox=[1, 2, 3, 4]),
            ["x.json annotations[0].bbox: has 4 values; expected a list of 6 numbers."],
        ),
        (
            annotation(score="high"),
            ["x.json annotations[0].score: is the text 'high', not a number."],
        ),
        (annotation(bbox=[1, 2, 3, 4, -5, 6]), ["x.json row 1: extent_y_mm '-5.0' is below 0."]),
        (
            document(annotations=document()["annotations"] * 2),
            [
                "x.json row 2: case_id 'a', box_id '3' was given before. case_id and box_id must "
                "be unique; remove or renumber the row."
            ],
        ),
    ],
)
def test_wrong_documents_are_reported(
    tmp_path: Path, messages_of, content: object, messages: list[str]
) -> None:
    assert messages_of(read_marks, written(tmp_path / "x.json", content)) == messages


def test_marks_are_written_in_millimetres(tmp_path: Path) -> None:
    given = submission(case("a", mark(0.5, (10, 20, -80), diameter_mm=4.0, type="calcified")))
    write_marks(given, tmp_path / "x.json")
    content = json.loads((tmp_path / "x.json").read_text())
    assert content["info"] == {"coordinates": "lps_mm"}
    assert content["images"] == [{"id": 1, "case_id": "a"}]
    assert content["annotations"] == [
        {
            "id": "m0",
            "image_id": 1,
            "category_id": 4,
            "bbox": [8.0, 18.0, -82.0, 4.0, 4.0, 4.0],
            "score": 0.5,
        }
    ]
    assert content["categories"][4] == {"id": 4, "name": "calcified"}


def test_a_reference_is_written_with_ignored_findings(tmp_path: Path) -> None:
    truth = reference(case("a", nodule(5), ignored(6)), case("b"))
    write_reference(truth, tmp_path / "x.json")
    again = read_reference(tmp_path / "x.json")
    assert again.cases["case_id"].to_list() == ["a", "b"]
    assert again.nodules["is_ignored"].to_list() == [False, True]
