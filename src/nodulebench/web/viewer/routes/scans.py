"""The list of scans, their grids and voxels, and the hanging that a reader saved."""

from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, HTTPException, Response
from pydantic import Field, FiniteFloat

from nodulebench.core.config_model import ConfigModel, checked
from nodulebench.core.json_types import JsonObject
from nodulebench.io.atomic import make_folder
from nodulebench.io.json_files import read_json, write_json
from nodulebench.web.viewer.routes.dependencies import CurrentScan, CurrentSession, CurrentTiles
from nodulebench.web.viewer.scans import Tiles

router = APIRouter()
MOST_SLICES = 64
"""The largest number of slices in one response."""
SOON_S = 0.2


@router.get("/scans")
def list_scans(session: CurrentSession) -> list[JsonObject]:
    """Every scan, the state of its reading, and the time spent on it."""
    return session.list_scans()


@router.get("/scans/{number}")
def scan_grid(
    session: CurrentSession, scan: CurrentScan, number: int, response: Response
) -> JsonObject:
    """The grid of a scan; status 202 while the scan is being read."""
    tiles = session.tiles(number, waits_s=SOON_S)
    if tiles is None:
        response.status_code = 202
        return {"case_id": session.title(number), "files": len(scan.files)}
    return {"case_id": session.title(number), **_grid(tiles)}


def _grid(tiles: Tiles) -> JsonObject:
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
    """For each slice shown, its number (from 0) along the image axis that it came from."""
    count = tiles.volume.shape[0]
    ends = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, count - 1.0]])
    index = tiles.original.to_index(tiles.grid.to_world(ends)).round()
    axis = int(abs(index[1] - index[0]).argmax()) if count > 1 else 2
    first, last = int(index[0, axis]), int(index[1, axis])
    return list(range(first, last + 1) if last >= first else range(first, last - 1, -1))


@router.get("/scans/{number}/slices/{first}/{count}")
def voxels(tiles: CurrentTiles, first: int, count: int) -> Response:
    """Neighbouring slices from the feet on: int16, little-endian, row by row."""
    slices = tiles.volume.shape[0]
    if not (0 <= first < slices and 1 <= count <= min(MOST_SLICES, slices - first)):
        raise HTTPException(404, "no such slices")
    return Response(tiles.slices(first, count), media_type="application/octet-stream")


HANGING = "hanging.json"
Zoom = Annotated[FiniteFloat, Field(gt=0, le=1000)]


class Window(ConfigModel):
    """Level and width of the grey scale in HU."""

    level: Annotated[FiniteFloat, Field(ge=-2000, le=4000)]
    width: Annotated[FiniteFloat, Field(ge=1, le=8000)]


class Zooms(ConfigModel):
    """The zoom of each plane; 1: the whole plane fits the view."""

    axial: Zoom
    coronal: Zoom
    sagittal: Zoom


class Hanging(ConfigModel):
    """The hanging protocol of a reader: how every scan is first shown."""

    layout: Literal["three", "one", "prior"]
    preset: Literal["lung", "mediastinum", "bone", "own"]
    window: Window
    is_inverted: bool
    slab_mm: Literal[0, 5, 10, 20, 40]
    shows_cross: bool
    zoom: Zooms


@router.get("/hanging")
def hanging(session: CurrentSession) -> JsonObject | None:
    """The saved hanging; null: none yet."""
    path = session.folder / HANGING
    if not path.is_file():
        return None
    return checked(Hanging, read_json(path), str(path)).model_dump(mode="json")


@router.post("/hanging")
def save_hanging(session: CurrentSession, wanted: Hanging) -> dict[str, bool]:
    """Use a hanging for every scan that is opened from now on."""
    make_folder(session.folder)
    write_json(wanted.model_dump(mode="json"), session.folder / HANGING)
    return {"is_saved": True}
