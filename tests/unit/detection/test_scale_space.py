import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.lung_scenes import ball, lung_with, rod
from nodulebench.detection.scale_space import (
    DIAMETER_PER_SCALE,
    Grid,
    dot_strength,
    eigenvalues,
    find_peaks,
    line_strength,
    peaks_of_chest,
    smoothed,
)


@given(st.lists(st.floats(-100, 100, width=32), min_size=6, max_size=6))
def test_eigenvalues_are_those_of_numpy(entries):
    a, b, c, d, e, f = entries
    matrix = np.array([[a, d, e], [d, b, f], [e, f, c]])
    values = eigenvalues(np.array(entries, dtype=np.float32)[:, None])[:, 0]
    assert np.allclose(values, np.linalg.eigvalsh(matrix), atol=2e-2)


def test_equal_eigenvalues_are_found():
    assert np.allclose(eigenvalues(np.float32([[-2], [-2], [-2], [0], [0], [0]]))[:, 0], -2)


def test_dots_lines_and_planes_by_hand():
    #                       ball  cylinder  plate  between
    values = np.float32([[-1.0, -1.0, -1.0, -4.0], [-1.0, -1.0, 0.0, -2.0], [-1.0, 0.0, 0.0, -1.0]])
    assert np.allclose(dot_strength(values), [1.0, 0.0, 0.0, 1.0 / 4.0])
    assert np.allclose(line_strength(values), [0.0, 1.0, 0.0, 2.0 * (2.0 - 1.0) / 4.0])


def test_a_dark_spot_is_not_a_dot():
    values = np.float32([[1.0], [2.0], [3.0]])
    assert dot_strength(values) == 0
    assert line_strength(values) == 0


@pytest.mark.parametrize(("radius", "scale"), [(5.0, 3.0), (6.0, 3.2), (8.0, 4.6)])
def test_a_ball_answers_as_calculus_says(radius, scale):
    # in the middle of a voxel of twice the width
    image = ball((32.5, 32.5, 32.5), radius, hu=150.0).astype(np.float32)
    contrast = image.max()
    peaks = find_peaks(image, np.ones(image.shape, bool), (scale,))
    at_center = np.argmin(np.abs(peaks.index - 32.5).sum(axis=1))
    # second derivative of a Gaussian-smoothed ball, times the scale squared
    ratio = radius / scale
    expected = contrast * np.sqrt(2 / np.pi) / 3 * ratio**3 * np.exp(-(ratio**2) / 2)
    # second differences smooth once more, by a sixth of a squared voxel: some percent less
    assert 0.93 * expected < peaks.dot[at_center] < expected
    assert peaks.line[at_center] == pytest.approx(0.0, abs=0.03 * expected)


@pytest.mark.parametrize("diameter", [4.0, 8.0, 15.0])
def test_the_strongest_scale_tells_the_diameter(diameter):
    chest = lung_with(ball((32, 32, 32), diameter / 2))
    peaks = peaks_of_chest(chest)
    best = int(np.argmax(peaks.dot))
    assert np.abs(peaks.index[best] - 32).max() <= 1
    # scales lie a factor of 1.45 apart
    assert 1 / 1.4 < peaks.scale[best] * DIAMETER_PER_SCALE / diameter < 1.4


@pytest.mark.parametrize("reach", [1, 2, 3])
def test_gradients_meet_in_balls_cylinders_and_plates(reach):
    center = np.array([[32, 32, 32]]) + reach + 1
    plate = np.zeros((64, 64, 64))
    plate[28:37] = 100.0
    for image, expected in (
        (ball((32, 32, 32), 5.0), 3.0),
        (rod((32, 32, 32), 4.0), 2.0),
        (plate, 1.0),
        (-plate, -1.0),
    ):
        grid = Grid(np.pad(smoothed(image.astype(np.float32), 2.0), reach + 1, mode="edge"))
        convergence = grid.convergence(grid.flat(center), reach)
        assert convergence == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_mirror_image_has_its_peaks_mirrored(axis):
    image = ball((20, 24, 30), 6.0) + ball((40, 31.5, 28), 2.0) + ball((33, 50, 41), 9.0)
    # uneven, so that no two voxels are equally high
    image += np.random.default_rng(3).normal(0, 20, image.shape)
    peaks, turned = (
        find_peaks(peaks_.astype(np.float32), np.ones(image.shape, bool))
        for peaks_ in (image, np.flip(image, axis))
    )
    turned.index[:, axis] = 63 - turned.index[:, axis]
    strong = [peaks_.chosen(peaks_.is_dot_peak & (peaks_.dot > 50)) for peaks_ in (peaks, turned)]
    order, other = (np.lexsort((*peaks_.index.T, peaks_.scale)) for peaks_ in strong)
    assert len(order) > 10
    assert np.allclose(strong[0].index[order], strong[1].index[other])
    assert np.allclose(strong[0].dot[order], strong[1].dot[other], rtol=1e-2)


def test_a_vessel_has_no_dot_but_at_its_ends():
    image = rod((32, 32, 32), 2.0).astype(np.float32)
    peaks = find_peaks(image, np.ones(image.shape, bool))
    inner = (peaks.index[:, 0] > 12) & (peaks.index[:, 0] < 52)
    assert not inner.any()


def test_no_peaks_outside_the_mask_or_in_an_even_image():
    image = ball((20, 20, 20), 4.0).astype(np.float32)
    mask = np.ones(image.shape, bool)
    mask[:32] = False
    assert len(find_peaks(image, mask).dot) == 0
    assert len(find_peaks(np.zeros((16, 16, 16), np.float32), np.ones((16, 16, 16), bool)).dot) == 0


def test_the_peaks_of_a_chest_are_taken_once():
    chest = lung_with(ball((32, 32, 32), 4.0))
    assert peaks_of_chest(chest) is peaks_of_chest(chest)


def test_the_chest_wall_is_not_a_peak():
    assert len(peaks_of_chest(lung_with()).dot) == 0
