"""Pieces made of runs are those that scipy finds pixel by pixel."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import ndimage

from nodulebench.curation.deidentify.burned_in import boxes_of, pieces_of, places_of, runs_of

MASKS = arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=12))


def test_runs_and_pieces_of_a_small_mask() -> None:
    mask = np.array([[1, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 1]], dtype=bool)
    runs = runs_of(mask)
    assert (runs.width, runs.start.tolist(), runs.stop.tolist()) == (
        5,
        [0, 3, 7, 15, 18],
        [2, 4, 8, 16, 19],
    )
    assert pieces_of(runs, over_corners=True).tolist() == [0, 0, 0, 1, 2]
    assert pieces_of(runs, over_corners=False).tolist() == [0, 1, 2, 3, 4]
    boxes = boxes_of(runs, pieces_of(runs, over_corners=True))
    assert boxes.tolist() == [[0, 2, 0, 4], [3, 4, 0, 1], [3, 4, 3, 4]]


def test_pixels_that_end_a_row_do_not_touch_those_that_begin_the_next() -> None:
    mask = np.array([[0, 0, 1], [1, 0, 0]], dtype=bool)
    for over_corners in (True, False):
        assert pieces_of(runs_of(mask), over_corners=over_corners).tolist() == [0, 1]


@pytest.mark.parametrize("over_corners", [True, False])
@given(mask=MASKS)
def test_pieces_are_those_of_scipy(mask: npt.NDArray[np.bool_], over_corners: bool) -> None:
    runs = runs_of(mask)
    row, column, run = runs.pixels()
    made = np.zeros(mask.shape, dtype=int)
    if len(run):
        piece = pieces_of(runs, over_corners=over_corners)
        made[row, column] = piece[run] + 1
    expected, count = ndimage.label(mask, np.ones((3, 3)) if over_corners else None)
    assert np.array_equal(made, expected)
    if count:
        boxes = [tuple(slice(*side) for side in pairs(box)) for box in boxes_of(runs, piece)]
        assert boxes == ndimage.find_objects(expected)


def pairs(box: npt.NDArray[np.int64]) -> Any:
    return box.reshape(2, 2).tolist()


@given(mask=MASKS)
def test_places_are_those_of_numpy(mask: npt.NDArray[np.bool_]) -> None:
    assert places_of(mask).tolist() == np.flatnonzero(mask).tolist()
