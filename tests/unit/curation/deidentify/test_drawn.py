"""Pixels of one value with sharp edges were drawn; air, corners and metal that were cut off not."""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import ndimage

from nodulebench.curation.deidentify.burned_in import (
    _outstanding,
    _sharp_within,
    _steps,
    drawn_boxes,
)


def picture(seed: int = 1, side: int = 128, noise: float = 12) -> npt.NDArray[Any]:
    """A body in air with noise, as stored values from 0."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] - side / 2
    body = np.where(np.hypot(x, y) < 0.3 * side, 1060.0, 30.0)
    return (ndimage.gaussian_filter(body, 1) + random.normal(0, noise, body.shape)).astype(np.int16)


def corners(stored: npt.NDArray[Any], value: int) -> npt.NDArray[Any]:
    """The same with a value outside of a round field of view."""
    y, x = np.mgrid[: len(stored), : len(stored)] - (len(stored) - 1) / 2
    return np.where(np.hypot(x, y) > len(stored) / 2, value, stored).astype(stored.dtype)


def letters(stored: npt.NDArray[Any], row: int, column: int, value: int) -> npt.NDArray[Any]:
    """Two signs of five rows, an L and an H."""
    made = stored.copy()
    made[row : row + 5, column] = made[row + 4, column : column + 3] = value
    made[row : row + 5, column + 5] = made[row : row + 5, column + 8] = value
    made[row + 2, column + 5 : column + 9] = value
    return made


NATURAL = {
    "noise": lambda: picture(),
    "little noise": lambda: picture(noise=2),
    "hardly any noise": lambda: picture(noise=1),
    "air cut off": lambda: picture().clip(0),
    "corners filled": lambda: corners(picture(), -2000),
    "corners filled, air cut off": lambda: corners(picture().clip(30), -2000),
    "metal cut off": lambda: (
        np.maximum(
            picture(),
            ndimage.gaussian_filter(np.pad(np.full((8, 8), 9e3), 60), 1.5),
        )
        .clip(None, 4095)
        .astype(np.int16)
    ),
}


@pytest.mark.parametrize("name", NATURAL)
def test_nothing_was_drawn_into_what_a_scanner_sees(name: str) -> None:
    assert len(drawn_boxes(NATURAL[name](), 1)) == 0


@pytest.mark.parametrize("name", NATURAL)
@pytest.mark.parametrize("value", [100, 500, 3000, 9000])
@pytest.mark.parametrize("place", [(10, 60), (60, 40)], ids=["next to the body", "over the body"])
def test_two_small_letters_are_found(name: str, value: int, place: tuple[int, int]) -> None:
    boxes = drawn_boxes(letters(NATURAL[name](), *place, value), 1)
    if value < 9000 or name != "metal cut off":  # there the metal is outstanding first
        assert [place[0], place[0] + 5] in boxes[:, :2].tolist()
    assert len(boxes) >= 1


@pytest.mark.parametrize("value", [-2000, 0])
def test_dark_letters_over_the_body_are_found(value: int) -> None:
    stored = corners(picture().clip(0), -2000)
    assert len(drawn_boxes(letters(stored, 60, 60, value), 1)) >= 2


def test_a_box_and_an_underline_are_found() -> None:
    stored = picture()
    stored[5:15, 5:60] = 2000
    assert [5, 15, 5, 60] in drawn_boxes(stored, 1).tolist()
    stored = picture()
    stored[5, 5:60] = 700
    assert [5, 6, 5, 60] in drawn_boxes(stored, 1).tolist()


def test_an_even_picture_holds_nothing() -> None:
    assert len(drawn_boxes(np.full((16, 16), 7, dtype=np.uint16), 1)) == 0


def by_hand(stored: npt.NDArray[Any], value: int, least: float) -> set[tuple[int, int, int]]:
    """Row, first column and column after the last of runs of a value, pixel by pixel."""
    boxes = set()
    for number, row in enumerate(stored.astype(int).tolist()):
        for first in range(1, len(row)):
            after = first
            while after < len(row) and row[after] == value:
                after += 1
            is_run = first < after < len(row) and row[first - 1] != value
            if is_run and min(abs(row[first - 1] - value), abs(row[after] - value)) >= least:
                boxes.add((number, first, after))
    return boxes


@pytest.mark.parametrize("kind", ["i2", "<u2", ">i2", ">u2", "u1"])
@pytest.mark.parametrize("values", [(0, 1, 3), (0, 100, 200), (0, 5, 60, 255)])
def test_sharp_runs_are_those_that_are_counted_pixel_by_pixel(
    kind: str, values: tuple[int, ...]
) -> None:
    random = np.random.default_rng(len(values))
    for _ in range(20):
        stored = random.choice(values, (9, 17), p=random.dirichlet(np.ones(len(values))))
        stored = stored.astype(kind)
        for value in values:
            for least in (1.0, 2.5, 90.0):
                steps = _steps(stored, 1.0, max(values))
                runs = _sharp_within(stored, steps, value, least)
                row = runs.start // runs.width
                run_bounds = zip(
                    row, runs.start % runs.width, runs.stop - row * runs.width, strict=True
                )
                assert set(run_bounds) == by_hand(stored, value, least)


def test_steps_of_values_that_two_bytes_hardly_hold() -> None:
    stored = np.array([[0, 65535, 0, 65535], [40000, 0, 0, 32768]], np.uint16)
    assert _steps(stored, 30000, 65535).place.tolist() == [1, 2, 3, 5, 7]
    lower = (stored // 2).astype(np.uint16) + 32768
    assert _steps(lower, 16385, 32767).place.tolist() == [1, 2, 3, 5]


@pytest.mark.parametrize("least", [-1024, 0, 30000])
def test_outstanding_values_equal_those_of_a_plain_count(least: int) -> None:
    random = np.random.default_rng(least % 97)
    for _ in range(40):
        values = least + 1 + random.integers(0, 60, random.integers(0, 900))
        pairs = np.concatenate((values, np.repeat(values[:3], random.integers(0, 90))))
        count = Counter(pairs.tolist()) + Counter({least: 13})
        expected = [
            value
            for value in sorted(count)
            if count[value] > 12 + 3 * min(count[value - 1], count[value + 1])
            and count[value]
            > 12 + 3 * sum(count[value + by] for by in (*range(-8, 0), *range(1, 9))) / 16
        ]
        assert _outstanding(pairs.astype(np.int16), least) == expected
