"""Segmentations as Slicer saves them: a part of the image, segments that overlap, labels bare."""

from pathlib import Path

import numpy as np
import pytest

from builders.drawn import GRIDS, drawn, grid, held
from nodulebench.core.errors import InputError
from nodulebench.imaging.geometry import Geometry
from nodulebench.io.images.nrrd import Nrrd, read_nrrd, write_nrrd
from nodulebench.io.images.seg_nrrd import read_readings, write_readings


def test_segments_that_overlap_are_in_layers_of_their_own(tmp_path: Path) -> None:
    where = grid(GRIDS["oblique"])
    both = {("a", "anna", "x"): {(5, 5, 2), (6, 5, 2)}, ("a", "anna", "y"): {(6, 5, 2), (7, 5, 2)}}
    before = drawn({"a": where}, both)
    write_readings(before, tmp_path / "out")
    assert read_nrrd(tmp_path / "out" / "anna" / "a.seg.nrrd").labels.shape == (2, 9, 20, 24)
    assert held(read_readings(tmp_path / "out", before.cases)) == held(before)


def part(where: Geometry, first: tuple[int, int, int], shift: float = 0.0) -> Geometry:
    """The grid of a box of the image that begins at a voxel."""
    origin = where.to_world(np.array([first], dtype=float) + shift)[0]
    return Geometry(where.spacing_mm, origin, where.direction, np.array([3, 3, 2]))


def test_a_part_of_the_image_is_placed_in_it_and_bare_labels_are_findings(tmp_path: Path) -> None:
    where = grid(GRIDS["oblique, head first"])
    labels = np.zeros((1, 2, 3, 3), dtype=np.uint8)
    labels[0, 1, 2, 0] = 1
    labels[0, 0, 1, 1] = 7
    said = {"Segment0_ID": "Segment_1", "Segment0_Name": "left", "Segment0_LabelValue": "1"}
    (tmp_path / "bo").mkdir()
    write_nrrd(Nrrd(labels, part(where, (4, 6, 3)), said), tmp_path / "bo" / "a.seg.nrrd")
    cases = drawn({"a": where}, {("a", "bo", "x"): {(1, 1, 1)}}).cases
    readings = read_readings(tmp_path, cases)
    assert held(readings) == {("a", "left"): {(4, 8, 4)}, ("a", "7"): {(5, 7, 3)}}
    assert readings.sessions["reader_id"].to_list() == ["bo"]
    alone = read_readings(tmp_path / "bo" / "a.seg.nrrd")
    assert held(alone) == {("a", "left"): {(0, 2, 1)}, ("a", "7"): {(1, 1, 0)}}


def test_voxels_of_another_grid_are_refused(tmp_path: Path) -> None:
    where = grid(GRIDS["plain"])
    labels = np.ones((1, 2, 3, 3), dtype=np.uint8)
    write_nrrd(Nrrd(labels, part(where, (4, 6, 3), shift=0.3), {}), tmp_path / "a.nrrd")
    cases = drawn({"a": where}, {("a", "bo", "x"): {(1, 1, 1)}}).cases
    with pytest.raises(InputError, match="not those of the image"):
        read_readings(tmp_path, cases)
