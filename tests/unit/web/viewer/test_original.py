"""Outlines go back to the slices that were acquired."""

from pathlib import Path

import numpy as np
import pytest

from builders.dicom import TURNED
from builders.reading import BALL_MM, RADIUS_MM, ball, write_scans
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.rasters import voxels_of
from nodulebench.imaging.volume import Volume
from nodulebench.web.viewer.findings import grid_of, on_original, propose_outlines
from nodulebench.web.viewer.scans import Scan, Tiles, scans_in, tiles_of

PLACE = (float(BALL_MM[0]), float(BALL_MM[1]), float(BALL_MM[2]))


def shown(folder: Path, volume: Volume) -> Tiles:
    (scan,) = scans_in(write_scans(folder / "scans", "a", volume=volume))
    return tiles_of(scan, folder / "cache")


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_outlines_of_an_oblique_scan_return_to_its_slices(tmp_path: Path, sign: float) -> None:
    direction = TURNED * np.array([1.0, 1.0, sign])
    tiles = shown(tmp_path, ball(size=(64, 60, 30), direction=direction))
    assert tiles.is_resampled
    made = on_original(propose_outlines(tiles, PLACE, 0), tiles)
    grid = grid_of(tiles)
    assert grid is tiles.original
    voxel = voxels_of((slice_.as_drawn for slice_ in made), grid)
    place = grid.to_world(voxel.astype(float))
    away = np.linalg.norm(place - BALL_MM, axis=1)
    assert away.max() < RADIUS_MM + 1.5
    volume = len(voxel) * np.prod(grid.spacing_mm)
    assert (6 / np.pi * volume) ** (1 / 3) == pytest.approx(2 * RADIUS_MM, rel=0.08)
    assert np.abs(place.mean(axis=0) - BALL_MM).max() < 0.7
    numbers = [slice_.slice_index for slice_ in made]
    assert sorted(numbers) == list(range(min(numbers), max(numbers) + 1))


def test_a_reordered_image_keeps_outlines_and_numbers(tmp_path: Path) -> None:
    tiles = shown(tmp_path, ball(direction=np.diag([-1.0, 1.0, -1.0])))
    slices = propose_outlines(tiles, PLACE, 0)
    assert on_original(slices, tiles) is slices
    own = voxels_of((slice_.as_drawn for slice_ in slices), tiles.original)
    here = voxels_of((slice_.as_drawn for slice_ in slices), tiles.grid)
    places = [
        set(map(tuple, grid.to_world(voxel.astype(float)).round(3).tolist()))
        for grid, voxel in ((tiles.original, own), (tiles.grid, here))
    ]
    assert places[0] == places[1]


def test_slices_along_the_body_and_of_a_tilted_gantry_keep_the_grid_shown(tmp_path: Path) -> None:
    coronal = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
    tiles = shown(tmp_path / "coronal", ball(direction=coronal))
    assert grid_of(tiles) is tiles.grid
    lean = np.array([[1.0, 0, 0], [0, 1, np.sin(0.2)], [0, 0, np.cos(0.2)]])
    straight = ball()
    grid = straight.geometry
    tilted = Volume(straight.hu, Geometry(grid.spacing_mm, grid.origin_mm, lean, grid.size))
    file = write_scans(tmp_path / "tilted", "a") / "a.mhd"
    tiles = tiles_of(Scan("a", (file,), lambda: tilted), tmp_path / "cache")
    assert tiles.is_resampled
    assert grid_of(tiles) is tiles.grid
