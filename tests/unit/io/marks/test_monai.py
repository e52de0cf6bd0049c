import json
from pathlib import Path

import polars as pl
import pytest

from builders.tables import case, ignored, mark, nodule, reference, submission
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.io.marks.monai import (
    read_marks,
    read_reference,
    write_marks,
    write_reference,
)

ONE = {"image": "data/a.nii.gz", "box": [[10, -20, -80, 4, 6, 8]], "label": [0], "score": [0.5]}


def written(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_a_result_list_of_the_tutorial_is_read(tmp_path: Path) -> None:
    marks = read_marks(written(tmp_path / "result.json", {"validation": [ONE]}))
    columns = ("case_id", "mark_id", "x_mm", "y_mm", "z_mm", "score", "diameter_mm")
    assert marks.marks.select(columns).rows() == [("a", "1", 10.0, -20.0, -80.0, 0.5, 5.0)]


def test_a_result_list_of_the_bundle_is_read(tmp_path: Path) -> None:
    item = {key: value for key, value in ONE.items() if key != "score"} | {"label_scores": [0.7]}
    marks = read_marks(written(tmp_path / "result.json", [item]))
    assert marks.marks["score"].to_list() == [0.7]


def test_the_conventions_are_stated_when_the_file_does_not(tmp_path: Path) -> None:
    assert sentences(read_marks(written(tmp_path / "r.json", [ONE])).notices)[:2] == (
        "r.json does not state its coordinates; LPS was assumed, as in MONAI's LUNA16 examples. If "
        "that is wrong, state "
        '"coordinates" at the top of the file.',
        "r.json does not state its box_mode; cccwhd was assumed, as in MONAI's LUNA16 examples. If "
        "that is wrong, state "
        '"box_mode" at the top of the file.',
    )
    stated = {"coordinates": "LPS", "box_mode": "cccwhd", "validation": []}
    assert read_marks(written(tmp_path / "r.json", stated)).notices == ()


def test_luna16s_own_datalist_is_in_lps(luna16_data: Path) -> None:
    """Origin: MONAI model zoo, lung_nodule_ct_detection, dataset_fold0_debug.json, validation[0].

    The box that MONAI lists for this series is the official annotation as it stands, so its
    LUNA16 boxes are LPS, not MONAI's RAS.
    """
    series = "1.3.6.1.4.1.14519.5.2.1.6279.6001.281489753704424911132261151767"
    official = pl.read_csv(luna16_data / "annotations.csv").filter(pl.col("seriesuid") == series)
    assert official.rows() == [(series, 110.1355596, -32.0169515, -241.1046505, 6.005399015)]


def test_ras_is_mirrored(tmp_path: Path) -> None:
    stated = {"coordinates": "RAS", "box_mode": "cccwhd", "validation": [ONE]}
    marks = read_marks(written(tmp_path / "r.json", stated))
    assert marks.marks.select("x_mm", "y_mm", "z_mm").row(0) == (-10.0, 20.0, -80.0)


@pytest.mark.parametrize(
    ("mode", "box"),
    [
        ("cccwhd", [10, -20, -80, 4, 6, 8]),
        ("xyzxyz", [8, -23, -84, 12, -17, -76]),
        ("xxyyzz", [8, 12, -23, -17, -84, -76]),
        ("xyzwhd", [8, -23, -84, 4, 6, 8]),
    ],
)
def test_every_box_mode_gives_the_same_box(
    tmp_path: Path, cases: pl.DataFrame, mode: str, box: list[float]
) -> None:
    document = {"coordinates": "LPS", "box_mode": mode, "test": [ONE | {"box": [box]}]}
    marks = read_marks(written(tmp_path / "r.json", document), cases)
    assert marks.marks.select("x_mm", "y_mm", "z_mm", "diameter_mm").row(0) == (
        10.0,
        -20.0,
        -80.0,
        5.0,
    )
    assert marks.slices is not None
    # from -84 to -76 the planes at -84, -82, -80, -78, -76
    assert marks.slices["slice_index"].to_list() == [8, 9, 10, 11, 12]
    assert marks.slices.select("length_mm", "width_mm").unique().rows() == [(4.0, 6.0)]


def test_ras_boxes_by_corners_are_mirrored_too(tmp_path: Path) -> None:
    item = ONE | {"box": [[-12, 17, -84, -8, 23, -76]]}
    document = {"coordinates": "RAS", "box_mode": "xyzxyz", "test": [item]}
    marks = read_marks(written(tmp_path / "r.json", document))
    assert marks.marks.select("x_mm", "y_mm", "z_mm", "diameter_mm").row(0) == (
        10.0,
        -20.0,
        -80.0,
        5.0,
    )


def test_a_box_without_size_has_no_diameter(tmp_path: Path) -> None:
    marks = read_marks(written(tmp_path / "r.json", [ONE | {"box": [[1, 2, 3, 0, 0, 0]]}]))
    assert marks.marks["diameter_mm"].to_list() == [None]


def test_a_datalist_is_a_reference_with_its_empty_cases(tmp_path: Path) -> None:
    items = [ONE, {"image": "b.mhd", "box": [], "label": []}]
    reference = read_reference(written(tmp_path / "list.json", {"training": items}))
    assert reference.cases["case_id"].to_list() == ["a", "b"]
    assert reference.nodules.select("case_id", "nodule_id", "diameter_mm", "is_ignored").rows() == [
        ("a", "1", 5.0, False)
    ]


@pytest.mark.parametrize(
    ("document", "messages"),
    [
        (
            {"other": 1},
            [
                "x.json: has no list of cases. Put the cases in a list, or in a list under one of "
                "validation, testing, test, training, results."
            ],
        ),
        ([{"box": []}], ["x.json[0]: has no image. Name the image file of the case."]),
        ([{"image": "a.nii"}], ["x.json[0].box: is not a list of boxes."]),
        ([ONE | {"score": [0.5, 0.6]}], ["x.json[0]: has 1 boxes and 2 scores."]),
        ([ONE | {"score": 0.5}], ["x.json[0].score: is a number; expected a list of 1 numbers."]),
        (
            [ONE | {"box": [[1, 2, 3]]}],
            [
                "x.json[0].box[0]: has 3 values; expected a list of 6 numbers.",
                "x.json[0]: has 0 boxes and 1 scores.",
            ],
        ),
        ([ONE, ONE], ["x.json: case 'a' occurs 2 times. List every case once."]),
        ({"coordinates": "RAI", "test": []}, ["x.json coordinates: is not one of: LPS, RAS."]),
        (
            {"box_mode": ["a"], "test": []},
            ["x.json box_mode: is not one of: cccwhd, xyzxyz, xxyyzz, xyzwhd."],
        ),
        ([ONE | {"box": [[1, 2, 3, -1, 2, 2]]}], ["x.json row 1: extent_x_mm '-1.0' is below 0."]),
    ],
)
def test_wrong_documents_are_reported(
    tmp_path: Path, messages_of, document: object, messages: list[str]
) -> None:
    assert messages_of(read_marks, written(tmp_path / "x.json", document)) == messages


def test_marks_are_written_with_their_conventions(tmp_path: Path) -> None:
    given = submission(case("a", mark(0.5, (1, 2, 3), diameter_mm=4.0)), case("b", mark(0.25)))
    write_marks(given, tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == {
        "coordinates": "LPS",
        "box_mode": "cccwhd",
        "validation": [
            {
                "image": "a.nii.gz",
                "box": [[1.0, 2.0, 3.0, 4.0, 4.0, 4.0]],
                "label": [0],
                "score": [0.5],
            },
            {
                "image": "b.nii.gz",
                "box": [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
                "label": [0],
                "score": [0.25],
            },
        ],
    }


def test_ignored_findings_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has 1 ignored findings\. A MONAI datalist cannot hold"):
        write_reference(reference(case("a", nodule(5), ignored(5))), tmp_path / "x.json")


def test_a_single_case_needs_no_list(tmp_path: Path) -> None:
    marks = read_marks(written(tmp_path / "x.json", ONE | {"image": "C:\\scans\\b"}))
    assert marks.marks["case_id"].to_list() == ["b"]
