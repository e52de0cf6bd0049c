import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.tables import case, mark, submission
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES
from nodulebench.io.marks.nndetection import read_marks, write_marks

# voxels x 60..63, y 70..75, z 8..12 of an array [z, y, x], each a voxel wider on every side
BOX = [8 - 1, 70 - 1, 12 + 1, 75 + 1, 60 - 1, 63 + 1]


def content(**changes: object) -> dict:
    return {
        "pred_boxes": np.array([BOX], dtype=np.float32),
        "pred_scores": np.array([0.5], dtype=np.float32),
        "pred_labels": np.array([0.0]),
        "restore": True,
        **changes,
    }


def predictions(folder: Path, value: object, name: str = "a_boxes.pkl") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(pickle.dumps(value))
    return folder


def test_boxes_are_z_y_x_and_a_voxel_wider_than_the_nodule(
    tmp_path: Path, cases: pl.DataFrame
) -> None:
    marks = read_marks(predictions(tmp_path / "model", content()), cases)
    assert marks.name == "model"
    # case a starts at (-50, -50, -100) with voxels of 1 x 1 x 2 mm
    columns = ("case_id", "x_mm", "y_mm", "z_mm", "score", "diameter_mm")
    assert marks.marks.select(columns).rows() == [("a", 11.5, 22.5, -80.0, 0.5, 5.0)]
    assert marks.slices is not None
    assert marks.slices["slice_index"].to_list() == [8, 9, 10, 11, 12]
    assert marks.slices.select("length_mm", "width_mm").row(0) == (4.0, 6.0)


def test_the_centre_is_the_one_that_nndetections_own_luna16_script_writes(
    tmp_path: Path, cases: pl.DataFrame
) -> None:
    """Its script takes ((b0 + b2)/2, (b1 + b3)/2, (b4 + b5)/2) as z, y, x of a voxel centre."""
    z, y, x = (BOX[0] + BOX[2]) / 2, (BOX[1] + BOX[3]) / 2, (BOX[4] + BOX[5]) / 2
    marks = read_marks(predictions(tmp_path / "model", content()), cases).marks
    assert marks.select("x_mm", "y_mm", "z_mm").row(0) == (-50 + x, -50 + y, -100 + 2 * z)


def test_a_file_may_bring_its_own_geometry(tmp_path: Path) -> None:
    own = content(
        itk_origin=(-50.0, -50.0, -100.0),
        itk_spacing=(1.0, 1.0, 2.0),
        itk_direction=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
    )
    marks = read_marks(predictions(tmp_path / "model", own))
    assert marks.marks.select("x_mm", "y_mm", "z_mm").row(0) == (11.5, 22.5, -80.0)


def test_series_whose_points_became_underscores_are_found(
    tmp_path: Path, cases: pl.DataFrame
) -> None:
    renamed = cases.with_columns(case_id=pl.Series(["1.2.3", "b"]))
    marks = read_marks(predictions(tmp_path / "m", content(), "1_2_3_boxes.pkl"), renamed)
    assert marks.marks["case_id"].to_list() == ["1.2.3"]


def test_a_case_without_boxes_is_read(tmp_path: Path, cases: pl.DataFrame) -> None:
    empty = content(pred_boxes=np.empty((0, 6)), pred_scores=np.empty(0))
    assert read_marks(predictions(tmp_path / "m", empty), cases).marks.height == 0
    flat = content(pred_boxes=np.empty(0), pred_scores=np.empty(0))
    assert read_marks(predictions(tmp_path / "m", flat), cases).marks.height == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], "a_boxes.pkl: has no 'pred_boxes' and 'pred_scores'."),
        ({"pred_boxes": 1}, "a_boxes.pkl: has no 'pred_boxes' and 'pred_scores'."),
        (
            content(restore=False),
            "a_boxes.pkl: has boxes in the space of the preprocessed image. Predict with restore, "
            "so that boxes are those of the original image.",
        ),
        (content(pred_scores=np.zeros(2)), "a_boxes.pkl: has 1 boxes and 2 scores."),
        (
            content(pred_boxes=np.zeros((1, 4))),
            "a_boxes.pkl: 'pred_boxes' is not an array with six columns.",
        ),
        (content(pred_boxes="boxes"), "a_boxes.pkl: 'pred_boxes' is not an array of numbers."),
        (
            content(pred_scores=np.array([np.nan])),
            "a_boxes.pkl: 'pred_scores' holds a value that is not a finite number.",
        ),
    ],
)
def test_wrong_predictions_are_reported(
    tmp_path: Path, cases: pl.DataFrame, messages_of, value: object, message: str
) -> None:
    assert messages_of(read_marks, predictions(tmp_path / "m", value), cases) == [message]


def test_the_problems_of_all_files_are_reported_at_once(
    tmp_path: Path, cases: pl.DataFrame, messages_of
) -> None:
    predictions(tmp_path / "m", [1], "a_boxes.pkl")
    predictions(tmp_path / "m", content(), "z_boxes.pkl")
    assert messages_of(read_marks, tmp_path / "m", cases) == [
        "a_boxes.pkl: has no 'pred_boxes' and 'pred_scores'.",
        "z_boxes.pkl: has boxes in voxels, and the geometry of the case is not known. Give the "
        "cases with spacing and origin.",
    ]


def test_what_is_written_is_plain_numpy_in_voxels(tmp_path: Path, cases: pl.DataFrame) -> None:
    given = submission(case("a", mark(0.5, (11.5, 22.5, -80), diameter_mm=5.0)))
    write_marks(given, tmp_path / "m", cases)
    written = pickle.loads((tmp_path / "m" / "a_boxes.pkl").read_bytes())  # noqa: S301 - our own file
    # 5 mm are 5, 5 and 2.5 voxels, and one more; the centre is voxel (61.5, 72.5, 10)
    assert written["pred_boxes"].tolist() == [[8.25, 69.5, 11.75, 75.5, 58.5, 64.5]]
    assert written["pred_scores"].tolist() == [0.5]
    assert written["restore"] is True
    empty = pickle.loads((tmp_path / "m" / "b_boxes.pkl").read_bytes())  # noqa: S301 - our own file
    assert empty["pred_boxes"].shape == (0, 6)


def test_cases_without_geometry_and_marks_without_score_cannot_be_written(tmp_path: Path) -> None:
    bare = CASES.conform(pl.DataFrame({"case_id": ["a"]}), "cases")
    with pytest.raises(InputError) as caught:
        write_marks(submission(case("a", mark(None))), tmp_path / "m", bare)
    assert [str(problem) for problem in caught.value.problems] == [
        "case 'a': has no geometry; nnDetection's boxes are in voxels.",
        "submission 'algorithm': has marks without a score.",
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_box_beyond_any_image_is_refused(
    tmp_path: Path, cases: pl.DataFrame, messages_of
) -> None:
    far = content(pred_boxes=np.full((1, 6), 1e300))
    assert messages_of(read_marks, predictions(tmp_path / "m", far), cases) == [
        "a_boxes.pkl: 'pred_boxes' holds a value that is not a position in an image."
    ]


def test_a_geometry_that_cannot_be_is_refused(tmp_path: Path, messages_of) -> None:
    own = content(itk_origin=(0, 0, 0), itk_spacing=(1, 1, 1), itk_direction=(0,) * 9)
    assert messages_of(read_marks, predictions(tmp_path / "m", own)) == [
        "a_boxes.pkl: direction '0 0 0 0 0 0 0 0 0' is not nine orthonormal cosines. Give them row "
        "by row, separated by spaces; leave it empty for an axial image."
    ]
