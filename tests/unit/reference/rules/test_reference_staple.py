"""STAPLE against ITK: expected values come from SimpleITK 2.5's STAPLEImageFilter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.words import undefined
from nodulebench.core.arrays import BoolArray
from nodulebench.reference.rules.staple import estimate_truth

THREE_READERS = (
    "000000000000 000111100000 001111110000 001111110000 000111100000 000000000000",
    "000000000000 000011110000 000111111000 000111110000 000011100000 000000000000",
    "000000000000 000111100000 000111111000 001111110000 001111100000 000011000000",
)


def mask(text: str) -> list[bool]:
    return [letter == "1" for letter in text.replace(" ", "")]


def discs(*circles: tuple[float, float, float]) -> BoolArray:
    y, x = np.mgrid[-6:7, -6:7]
    return np.array([(np.hypot(y - dy, x - dx) < r).ravel() for dy, dx, r in circles])


def test_three_readers_are_estimated_as_by_itk() -> None:
    estimate = estimate_truth(np.array([mask(text) for text in THREE_READERS]))
    assert estimate.sensitivity.tolist() == pytest.approx([0.9441562, 0.8444707, 1.0], abs=1e-6)
    assert estimate.specificity.tolist() == pytest.approx(
        [0.9796159, 0.9796188, 0.9434252], abs=1e-6
    )
    levels = np.unique(estimate.probability.round(5)).tolist()
    assert levels == pytest.approx([0.0, 0.05923, 0.94263, 0.98083, 0.99992], abs=2e-5)
    assert int((estimate.probability >= 0.5).sum()) == 20


def test_four_discs_are_estimated_as_by_itk() -> None:
    estimate = estimate_truth(discs((0, 0, 4.2), (0.6, -0.4, 3.6), (-0.8, 0.5, 4.9), (0, 1.2, 2.9)))
    expected = [1.0, 0.66666671, 0.98245614, 0.42105266]
    assert estimate.sensitivity.tolist() == pytest.approx(expected, abs=1e-6)
    expected = [0.99999996, 0.99107143, 0.80357140, 1.0]
    assert estimate.specificity.tolist() == pytest.approx(expected, abs=1e-6)
    assert estimate.probability.sum() == pytest.approx(56.999999, abs=1e-5)


def test_readers_who_agree_are_right() -> None:
    disc = discs((0, 0, 3))[0]
    estimate = estimate_truth(np.array([disc, disc, disc]))
    assert ((estimate.probability > 0.5) == disc).all()
    assert estimate.sensitivity.tolist() == pytest.approx([1, 1, 1])


@given(st.permutations(range(4)))
def test_the_order_of_readers_does_not_matter(order: list[int]) -> None:
    drawn = discs((0, 0, 4.2), (0.6, -0.4, 3.6), (-0.8, 0.5, 4.9), (0, 1.2, 2.9))
    plain, mixed = estimate_truth(drawn), estimate_truth(drawn[order])
    assert mixed.probability == pytest.approx(plain.probability)
    assert mixed.sensitivity == pytest.approx(plain.sensitivity[order])


@pytest.mark.parametrize("is_drawn", [True, False])
def test_without_inside_or_outside_there_is_nothing_to_estimate(is_drawn: bool) -> None:
    with undefined(match="needs voxels inside and outside"):
        estimate_truth(np.full((3, 8), is_drawn))
