"""Candidates as somebody may see them -> findings and what is told of each, as shown."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from nodulebench.annotation.reader_view import Shown
from nodulebench.annotation.readings.reading import DrawnSlice
from nodulebench.web.viewer.evaluation import outlined, shown_number
from nodulebench.web.viewer.findings import Finding, OutlinedSlice
from nodulebench.web.viewer.tiles import Tiles


def finding_of(shown: Shown, tiles: Tiles) -> Finding:
    """A candidate as a finding that can be judged, and changed where that is allowed."""
    slices = tuple(
        OutlinedSlice.model_validate(one) for one in outlined(_rows(shown.slices), tiles)
    )
    return Finding.model_validate(
        {"place_mm": _middle(shown.slices, tiles), "slices": slices, "type": shown.type}
    )


def told_of(shown: Shown, tiles: Tiles) -> dict[str, Any]:
    """What is known of a candidate, ``why`` as notices whose words are made at the door."""
    at = {one.slice_index: shown_number(row, tiles) for one, row in _with_rows(shown)}
    return {
        "is_asked": shown.is_asked,
        "inconsistent": sorted({at[one] for one in shown.inconsistent_slices if one in at}),
        "readers": [
            {"letter": letter, "slices": list(outlined(_rows(slices), tiles))}
            for letter, slices in shown.readers.items()
        ],
        "of_readers": shown.of_readers,
        "why": shown.why,
        "types": shown.types,
        "comment": shown.comment,
        "is_nodule": shown.is_nodule,
        "note": shown.note,
    }


def _with_rows(shown: Shown) -> list[tuple[DrawnSlice, dict[str, Any]]]:
    every = [*shown.slices, *(one for each in shown.readers.values() for one in each)]
    return list(zip(every, _rows(every), strict=True))


def _rows(slices: Iterable[DrawnSlice]) -> list[dict[str, Any]]:
    return [one.model_dump() for one in slices]


def _middle(slices: tuple[DrawnSlice, ...], tiles: Tiles) -> list[float]:
    """The middle of the largest box, on the slice where that is shown."""
    largest = max(slices, key=lambda one: one.length_mm * one.width_mm)
    center = np.array([[largest.center_x_mm, largest.center_y_mm]])
    number = shown_number(largest.model_dump(), tiles)
    height = float(tiles.grid.height_on(np.array([float(number)]), center)[0])
    return [largest.center_x_mm, largest.center_y_mm, height]
