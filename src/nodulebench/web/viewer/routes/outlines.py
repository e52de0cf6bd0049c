"""Outlines that the server makes: a proposal at a click, strokes joined, slices filled between.

Nothing is kept here; what a reader takes of it comes back as an edit.
"""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from nodulebench.core.config_model import Written
from nodulebench.core.errors import InputError
from nodulebench.web.viewer.drawn import filled_between, joined, proposed
from nodulebench.web.viewer.findings import MOST_CORNERS, Finding, OutlinedSlice, Place, Point
from nodulebench.web.viewer.measured import measured
from nodulebench.web.viewer.routes.dependencies import GivenTiles
from nodulebench.web.viewer.tiles import Tiles

router = APIRouter()


class Click(Written):
    """A click on a nodule, and turns of the wheel since."""

    place_mm: Place
    level: int = Field(default=0, ge=-8, le=8)


class Stroke(Written):
    """A closed stroke on a slice, and what was there before."""

    slice_index: int = Field(ge=0)
    stroke: Annotated[tuple[Point, ...], Field(min_length=3, max_length=MOST_CORNERS)]
    drawn: OutlinedSlice | None = None
    adds: bool = True


class Gaps(Written):
    """Outlines that may leave slices out."""

    slices: Annotated[tuple[OutlinedSlice, ...], Field(min_length=1)]


@router.post("/scans/{number}/proposal")
def proposal(tiles: GivenTiles, click: Click) -> dict[str, Any]:
    """Outlines of the nodule at a place, and its sizes."""
    finding = Finding(place_mm=click.place_mm, slices=proposed(tiles, click.place_mm, click.level))
    return {
        "slices": [one.model_dump(mode="json") for one in finding.slices],
        "measured": measured(finding, tiles),
    }


@router.post("/scans/{number}/joined")
def stroked(tiles: GivenTiles, given: Stroke) -> dict[str, Any]:
    """The outline of a slice after a stroke; null where nothing is left."""
    _refuse_outside([given.slice_index], tiles)
    made = joined(tiles, given.drawn, given.stroke, given.slice_index, adds=given.adds)
    return {"drawn": None if made is None else made.model_dump(mode="json")}


@router.post("/scans/{number}/filled")
def filled(tiles: GivenTiles, gaps: Gaps) -> dict[str, Any]:
    """Outlines on all slices from the lowest to the highest that has one."""
    _refuse_outside([one.slice_index for one in gaps.slices], tiles)
    made = filled_between(tiles, gaps.slices)
    return {"slices": [one.model_dump(mode="json") for one in made]}


def _refuse_outside(numbers: list[int], tiles: Tiles) -> None:
    count = tiles.volume.shape[0]
    if max(numbers) >= count:
        raise InputError.at(f"slice {max(numbers)}", f"is outside the image of {count} slices.")
