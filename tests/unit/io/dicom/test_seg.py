"""DICOM segmentations: valid, and the same voxels when they are read again."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.dicom import complaints, grid_of, marks_on, needs, write_series
from builders.reports import messages_of, written
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.core.tables import MARKS, NODULES, Reference, Submission
from nodulebench.imaging.rasters import voxels_of
from nodulebench.io.dicom.findings import drawn_by_owner
from nodulebench.io.formats import FORMATS, read_cases, read_reference, read_submission

pydicom = pytest.importorskip("pydicom")
highdicom = pytest.importorskip("highdicom")

FORM = FORMATS["dicom_seg"]


def voxels(held: Any, key: str, cases: pl.DataFrame) -> dict[str, set[tuple[int, ...]]]:
    drawn = drawn_by_owner(held.slices, key)
    return {
        name: set(map(tuple, voxels_of(outlines, grid_of(cases)).tolist()))
        for (_, name), outlines in drawn.items()
    }


def dice(first: set[Any], second: set[Any]) -> float:
    return 2 * len(first & second) / (len(first) + len(second))


def outlined(cases: pl.DataFrame) -> Submission:
    """Two marks that overlap, both outlined."""
    marks = marks_on(cases)
    return Submission(marks.name, marks.marks[:2], marks.slices)


def segmented(cases: pl.DataFrame, path: Path) -> Path:
    return written(outlined(cases), cases, path, "dicom_seg")


def changed(path: Path, **elements: Any) -> Path:
    data = pydicom.dcmread(path)
    for keyword, value in elements.items():
        setattr(data, keyword, value)
    data.save_as(path)
    return path


@pytest.mark.slow
def test_masks_come_back_voxel_by_voxel(scanned: pl.DataFrame, tmp_path: Path) -> None:
    after = read_submission(segmented(scanned, tmp_path / "seg"), scanned)
    old = voxels(outlined(scanned), "mark_id", scanned)
    new = voxels(after, "mark_id", scanned)
    assert list(new) == ["whole", "flat"]
    assert [dice(old[name], new[name]) for name in old] == [1.0, 1.0]
    assert len(old["flat"]) == 38
    assert after.name == "my 算法"


def test_highdicom_finds_the_voxels_at_the_same_places(
    scanned: pl.DataFrame, tmp_path: Path
) -> None:
    held = highdicom.seg.segread(segmented(scanned, tmp_path / "one.dcm"))
    volume = held.get_volume(segment_numbers=[1], combine_segments=True)
    theirs = volume.map_indices_to_reference(np.argwhere(volume.array == 1))
    index = np.array(sorted(voxels(outlined(scanned), "mark_id", scanned)["whole"]), dtype=float)
    ours = grid_of(scanned).to_world(index)
    assert len(ours) == len(theirs) == 3 * 38
    distance = np.linalg.norm(ours[:, None] - theirs[None], axis=2).min(axis=1)
    assert distance.max() < 1e-3


def test_a_mark_of_a_segment_has_its_box_and_the_size_of_its_volume(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    after = read_submission(segmented(axial, tmp_path / "seg"), axial)
    row = after.marks.row(0, named=True)
    # columns 18 to 24 from edge to edge, rows 17 to 24, slices 4 to 6
    assert row["x_mm"] == pytest.approx(-164.66 + 0.7 * 21)
    assert row["y_mm"] == pytest.approx(-107.2 + 0.8 * 20.5)
    assert row["z_mm"] == pytest.approx(694.9 + 1.8 * 5)
    volume = 3 * 38 * 0.7 * 0.8 * 1.8
    assert row["diameter_mm"] == pytest.approx(2 * (3 * volume / (4 * np.pi)) ** (1 / 3))
    assert row["score"] is None
    assert after.slices["length_mm"][0] == pytest.approx(7 * 0.7)
    assert after.slices["width_mm"][0] == pytest.approx(8 * 0.8)


def test_points_and_boxes_are_filled(axial: pl.DataFrame, tmp_path: Path) -> None:
    marks = marks_on(axial, has_contour=False)
    FORM.write_marks(marks, tmp_path / "seg", axial)
    filled = voxels(read_submission(tmp_path / "seg", axial), "mark_id", axial)
    # the boxes lie on pixel edges: 7 columns and 8 rows
    assert {name: len(held) for name, held in filled.items()} == {
        "whole": 3 * 56,
        "flat": 56,
        "point": 1,
    }


def test_a_reference_leaves_out_ignored_findings(axial: pl.DataFrame, tmp_path: Path) -> None:
    marks = outlined(axial)
    nodules = NODULES.arrange(
        marks.marks.rename({"mark_id": "nodule_id"}).with_columns(
            pl.col("diameter_mm").fill_null(5.0), is_ignored=pl.Series([False, True])
        )
    )
    slices = marks.slices.rename({"mark_id": "nodule_id"})
    before = Reference("set", axial, nodules, slices)
    FORM.write_reference(before, tmp_path / "seg")
    after = read_reference(tmp_path / "seg", axial)
    assert after.nodules["nodule_id"].to_list() == ["whole"]
    assert not after.nodules["is_ignored"].any()
    old, new = (voxels(reference_, "nodule_id", axial) for reference_ in (before, after))
    assert dice(old["whole"], new["whole"]) == 1.0


def test_segments_that_do_not_overlap_are_kept_apart(axial: pl.DataFrame, tmp_path: Path) -> None:
    marks = outlined(axial)
    moved = marks.slices.filter(pl.col("mark_id") == "whole")
    apart = marks.slices.with_columns(
        slice_index=pl.when(pl.col("mark_id") == "flat").then(9).otherwise("slice_index"),
        z_mm=pl.when(pl.col("mark_id") == "flat").then(694.9 + 16.2).otherwise("z_mm"),
    )
    assert moved.height == 3
    FORM.write_marks(Submission("a", marks.marks, apart), tmp_path / "seg", axial)
    separate = voxels(read_submission(tmp_path / "seg", axial), "mark_id", axial)
    assert {k for _, _, k in separate["flat"]} == {9}
    assert {k for _, _, k in separate["whole"]} == {4, 5, 6}


@needs("dciodvfy")
def test_dciodvfy_finds_nothing_wrong(scanned: pl.DataFrame, tmp_path: Path) -> None:
    assert complaints("dciodvfy", segmented(scanned, tmp_path / "one.dcm")) == []


def test_readings_are_what_their_creators_outlined(axial: pl.DataFrame, tmp_path: Path) -> None:
    path = segmented(axial, tmp_path / "one.dcm")
    changed(path, ContentCreatorName="Bo^Li")
    readings = FORM.read_readings(path, axial)
    assert readings.sessions.select("case_id", "reader_id").rows() == [
        (axial["case_id"][0], "Bo^Li")
    ]
    assert readings.findings.select("finding_id", "kind", "x_mm").rows() == [
        ("whole", "nodule", None),
        ("flat", "nodule", None),
    ]
    assert readings.slices["convention"].unique().to_list() == ["boundary"]
    assert "images" not in readings.cases.columns


def test_other_structures_are_passed_over(axial: pl.DataFrame, tmp_path: Path) -> None:
    path = segmented(axial, tmp_path / "one.dcm")
    data = pydicom.dcmread(path)
    code = data.SegmentSequence[1].SegmentedPropertyTypeCodeSequence[0]
    code.CodeValue, code.CodeMeaning = "39607008", "Lung"
    data.save_as(path)
    submission = read_submission(path, axial)
    assert submission.marks["mark_id"].to_list() == ["whole"]
    assert sentences(submission.notices) == (
        "one.dcm: findings other than nodules were skipped: 1 Lung.",
    )


def test_half_and_more_of_a_fractional_pixel_counts(axial: pl.DataFrame, tmp_path: Path) -> None:
    import highdicom

    path = segmented(axial, tmp_path / "one.dcm")
    data = pydicom.dcmread(path)
    stored = data.pixel_array.astype(np.uint8) * 127
    stored[0, 17, 18] = 128
    data.SegmentationType, data.SegmentationFractionalType = "FRACTIONAL", "PROBABILITY"
    data.MaximumFractionalValue = 255
    data.BitsAllocated, data.BitsStored, data.HighBit = 8, 8, 7
    data.PixelData = stored.tobytes()
    data.save_as(path)
    submission = read_submission(path, axial)
    assert highdicom.__version__
    assert sum(len(held) for held in voxels(submission, "mark_id", axial).values()) == 1
    assert sentences(submission.notices) == (
        "one.dcm is fractional: pixels with a fraction of at least one half were used.",
    )


def test_nothing_to_fill_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs at least one\. Write a DICOM report"):
        FORM.write_marks(Submission("a", MARKS.empty()), tmp_path / "seg", axial)


def test_a_mark_outside_the_image_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    far = outlined(axial).slices.with_columns(contour=pl.lit("900 900;905 900;905 905"))
    with pytest.raises(InputError, match="'whole': contains no voxel of the image") as caught:
        FORM.write_marks(Submission("a", outlined(axial).marks, far), tmp_path / "seg", axial)
    assert len(caught.value.problems) == 2


def test_no_series_no_place_no_frames_are_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    path = changed(segmented(axial, tmp_path / "a.dcm"), ReferencedSeriesSequence=[])
    assert messages_of(path, axial, form="dicom_seg") == [
        "a.dcm: refers to no image series. Without it the case is unknown; export it again."
    ]
    path = segmented(axial, tmp_path / "b.dcm")
    data = pydicom.dcmread(path)
    del data.PerFrameFunctionalGroupsSequence[1].PlanePositionSequence
    data.save_as(path)
    assert messages_of(path, axial, form="dicom_seg") == [
        "b.dcm frame 2: has no usable ImagePositionPatient. It has no position; export it again."
    ]
    path = segmented(axial, tmp_path / "c.dcm")
    data = pydicom.dcmread(path)
    del data.PerFrameFunctionalGroupsSequence[-1]
    data.save_as(path)
    assert messages_of(path, axial, form="dicom_seg") == [
        "c.dcm: describes 3 frames and holds 4. Copy or export it again."
    ]


def test_a_report_is_not_a_segmentation(axial: pl.DataFrame, tmp_path: Path) -> None:
    FORMATS["dicom_sr"].write_marks(marks_on(axial), tmp_path / "sr.dcm", axial)
    (problem,) = messages_of(tmp_path / "sr.dcm", axial, form="dicom_seg")
    assert "is Comprehensive 3D SR Storage, not Segmentation Storage" in problem


def test_a_segmentation_of_another_series_is_on_no_slice(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    path = segmented(axial, tmp_path / "seg" / "one.dcm")
    write_series(tmp_path / "other", "other")
    submission = read_submission(path, read_cases(tmp_path / "other"))
    assert submission.marks["case_id"].unique().to_list() == axial["case_id"].to_list()
    assert submission.slices is None
    with pytest.raises(InputError, match="is not among the 1 given cases"):
        read_reference(path, read_cases(tmp_path / "other"))
