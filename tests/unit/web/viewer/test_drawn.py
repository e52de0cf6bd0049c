"""Outlines that the server makes hold exactly the pixels they should."""

from pathlib import Path

import numpy as np
import pytest

from builders.reading import BALL_MM, RADIUS_MM, write_scans
from nodulebench.imaging.rasters import voxels_of
from nodulebench.web.viewer.findings import (
    Finding,
    OutlinedSlice,
    fill_gaps,
    join_stroke,
    measure_finding,
    outlines_of,
    propose_outlines,
)
from nodulebench.web.viewer.scans import Tiles, scans_in, tiles_of


@pytest.fixture
def tiles(tmp_path: Path) -> Tiles:
    (scan,) = scans_in(write_scans(tmp_path, "a"))
    return tiles_of(scan, tmp_path / "cache")


def voxels(tiles: Tiles, *slices: OutlinedSlice) -> set[tuple[int, ...]]:
    return {
        tuple(index)
        for index in voxels_of((slice_.as_drawn for slice_ in slices), tiles.grid).tolist()
    }


def box(tiles: Tiles, number: int, low: tuple[int, int], high: tuple[int, int]) -> OutlinedSlice:
    i, j = np.meshgrid(np.arange(low[0], high[0] + 1), np.arange(low[1], high[1] + 1))
    voxel = np.column_stack([i.ravel(), j.ravel(), np.full(i.size, number)])
    return outlines_of(voxel, tiles.grid)[0]


def test_outlines_contain_exactly_their_voxels(tiles: Tiles) -> None:
    random = np.random.default_rng(3)
    mask = random.random((5, 12, 14)) < 0.5
    voxel = np.argwhere(mask)[:, ::-1] + [20, 18, 7]
    made = outlines_of(voxel, tiles.grid)
    assert [slice_.slice_index for slice_ in made] == [7, 8, 9, 10, 11]
    assert voxels(tiles, *made) == {tuple(index) for index in voxel.tolist()}


def test_a_proposal_measures_the_ball(tiles: Tiles) -> None:
    place = tuple(BALL_MM.tolist())
    finding = Finding(position_mm=place, slices=propose_outlines(tiles, place, 0))
    sizes = measure_finding(finding, tiles)
    assert sizes["diameter_mm"] == pytest.approx(2 * RADIUS_MM, rel=0.06)
    assert sizes["average_mm"] == pytest.approx(2 * RADIUS_MM, abs=0.9)


def test_strokes_add_and_erase_pixels(tiles: Tiles) -> None:
    own, stroke = box(tiles, 9, (10, 10), (15, 15)), box(tiles, 9, (14, 12), (20, 13))
    before, other = voxels(tiles, own), voxels(tiles, stroke)
    added = join_stroke(tiles, own, stroke.outline, 9, adds=True)
    erased = join_stroke(tiles, own, stroke.outline, 9, adds=False)
    assert added is not None
    assert erased is not None
    assert voxels(tiles, added) == before | other
    assert voxels(tiles, erased) == before - other
    assert join_stroke(tiles, own, own.outline, 9, adds=False) is None
    begun = join_stroke(tiles, None, stroke.outline, 9, adds=True)
    assert begun is not None
    assert voxels(tiles, begun) == other


def test_a_hole_in_the_middle_stays_a_hole(tiles: Tiles) -> None:
    own, stroke = box(tiles, 9, (10, 10), (16, 16)), box(tiles, 9, (12, 12), (14, 14))
    left = join_stroke(tiles, own, stroke.outline, 9, adds=False)
    assert left is not None
    assert len(voxels(tiles, left)) == 49 - 9


def test_slices_between_are_filled_evenly(tiles: Tiles) -> None:
    small, large = box(tiles, 4, (20, 20), (22, 22)), box(tiles, 8, (16, 16), (26, 26))
    made = fill_gaps(tiles, [large, small])
    assert [slice_.slice_index for slice_ in made] == [4, 5, 6, 7, 8]
    assert made[0] == small
    assert made[-1] == large
    counts = [len(voxels(tiles, slice_)) for slice_ in made]
    assert counts == sorted(counts)
    assert counts[0] == 9
    assert 9 < counts[2] < 121


def test_a_single_slice_and_neighbours_stay_the_same(tiles: Tiles) -> None:
    first, two = box(tiles, 4, (20, 20), (22, 22)), box(tiles, 5, (20, 20), (23, 22))
    assert fill_gaps(tiles, [first]) == (first,)
    assert fill_gaps(tiles, [first, two]) == (first, two)
