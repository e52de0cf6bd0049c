"""The list of scans, where their voxels are, and the voxels."""

from typing import Any

import numpy as np
from fastapi import APIRouter, HTTPException, Response

from nodulebench.web.viewer.routes.dependencies import GivenRoom, GivenScan, GivenTiles
from nodulebench.web.viewer.tiles import Tiles

router = APIRouter()
MOST_SLICES = 64
"""That are sent at once."""
SOON_S = 0.2


@router.get("/scans")
def listed(room: GivenRoom) -> list[dict[str, Any]]:
    """Every scan, how far its reading is, and the time spent on it."""
    return room.listed()


@router.get("/scans/{number}")
def placed(room: GivenRoom, scan: GivenScan, number: int, response: Response) -> dict[str, Any]:
    """Where the voxels of a scan are; 202 while they are being read."""
    tiles = room.tiles(number, waits_s=SOON_S)
    if tiles is None:
        response.status_code = 202
        return {"case_id": room.title(number), "files": len(scan.files)}
    return {"case_id": room.title(number), **_grid(tiles)}


def _grid(tiles: Tiles) -> dict[str, Any]:
    grid, size = tiles.grid, tiles.volume.shape[::-1]
    return {
        "size": size,
        "spacing_mm": grid.spacing_mm.tolist(),
        "origin_mm": grid.origin_mm.tolist(),
        "direction": grid.direction.tolist(),
        "is_resampled": tiles.is_resampled,
        "original_slices": None if tiles.is_resampled else _original_slices(tiles),
    }


def _original_slices(tiles: Tiles) -> list[int]:
    """For each slice shown its number, from 0, along the image axis that it came from."""
    count = tiles.volume.shape[0]
    ends = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, count - 1.0]])
    place = tiles.original.to_index(tiles.grid.to_world(ends)).round()
    axis = int(abs(place[1] - place[0]).argmax()) if count > 1 else 2
    first, last = int(place[0, axis]), int(place[1, axis])
    return list(range(first, last + 1) if last >= first else range(first, last - 1, -1))


@router.get("/scans/{number}/slices/{first}/{count}")
def voxels(tiles: GivenTiles, first: int, count: int) -> Response:
    """Neighbouring slices from the feet on: int16, little-endian, row by row."""
    slices = tiles.volume.shape[0]
    if not (0 <= first < slices and 1 <= count <= min(MOST_SLICES, slices - first)):
        raise HTTPException(404, "no such slices")
    return Response(tiles.slices(first, count), media_type="application/octet-stream")
