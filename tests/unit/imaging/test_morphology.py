import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from nodulebench.imaging.morphology import (
    block_mean,
    closing,
    dilated,
    eroded,
    grown_into,
    repeated,
)

SPACING = st.tuples(*[st.floats(0.5, 2.5)] * 3).map(np.array)
MASKS = st.tuples(st.integers(0, 999), st.floats(0.01, 0.6)).map(
    lambda drawn: np.random.default_rng(drawn[0]).random((7, 9, 11)) < drawn[1]
)


@given(mask=MASKS, spacing=SPACING, radius=st.floats(0.0, 6.0))
@settings(deadline=None)
def test_dilation_is_everything_within_the_radius(mask, spacing, radius):
    apart = (
        ndimage.distance_transform_edt(~mask, sampling=spacing)
        if mask.any()
        else np.full(mask.shape, np.inf)
    )
    is_clear = np.abs(apart - radius) > 1e-9
    assert np.array_equal(dilated(mask, radius, spacing)[is_clear], (apart <= radius)[is_clear])


@given(mask=MASKS, spacing=SPACING, radius=st.floats(0.0, 6.0))
@settings(deadline=None)
def test_erosion_is_everything_deeper_than_the_radius(mask, spacing, radius):
    inner = np.pad(mask, 1)[1:-1, 1:-1, 1:-1]
    depth = (
        ndimage.distance_transform_edt(inner, sampling=spacing)
        if not inner.all()
        else np.full(mask.shape, np.inf)
    )
    is_clear = np.abs(depth - radius) > 1e-9
    expected = inner & (depth > radius)
    assert np.array_equal(eroded(mask, radius, spacing)[is_clear], expected[is_clear])


@given(mask=MASKS, radius=st.floats(0.0, 4.0))
@settings(deadline=None)
def test_closing_only_adds_and_doing_it_again_adds_nothing(mask, radius):
    spacing = np.ones(3)
    closed = closing(mask, radius, spacing)
    assert np.all(closed[mask])
    assert np.array_equal(closing(closed, radius, spacing), closed)


def test_closing_fills_a_hole_and_a_dent_but_not_a_bay():
    mask = np.zeros((1, 60, 60), dtype=np.bool_)
    mask[0, 10:50, 10:50] = True
    mask[0, 30, 30] = False
    mask[0, 20:23, 45:50] = False
    mask[0, 34:50, 10:26] = False
    closed = closing(np.repeat(mask, 9, axis=0), 3.0, np.ones(3))
    assert closed[4, 30, 30]
    assert closed[4, 21, 46]
    assert not closed[4, 44, 14]


def test_block_means_fill_up_the_last_block_and_repetition_undoes_them():
    values = np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    factors = np.array([1, 1, 2])
    coarse = block_mean(values, factors)
    assert coarse.ravel().tolist() == [0.5, 2.5, 4.0]
    fine = repeated(coarse > 2, factors, values.shape)
    assert fine.ravel().tolist() == [False, False, True, True, True]


def test_blocks_may_begin_before_the_image():
    # two before it: the first block has one voxel, the next 1 2 3, the last 4
    values = np.arange(5, dtype=np.int16).reshape(5, 1, 1)
    factors, lead = np.array([3, 1, 1]), np.array([2, 0, 0])
    coarse = block_mean(values, factors, lead)
    assert coarse.ravel().tolist() == [0.0, 2.0, 4.0]
    fine = repeated(coarse > 1, factors, values.shape, lead)
    assert fine.ravel().tolist() == [False, True, True, True, True]


@given(
    shape=st.tuples(*[st.integers(1, 7)] * 3),
    factors=st.tuples(*[st.integers(1, 4)] * 3),
    seed=st.integers(0, 99),
)
def test_blocks_are_means_of_the_voxels_that_say_so(shape, factors, seed):
    random = np.random.default_rng(seed)
    values = random.integers(-1000, 1000, shape).astype(np.int16)
    lead = random.integers(0, factors)
    coarse = block_mean(values, np.array(factors), lead)
    block = (np.indices(shape).reshape(3, -1).T + lead) // factors
    for at in np.unique(block, axis=0):
        inside = values.ravel()[(block == at).all(axis=1)]
        # of an axis after the other, so a block at two ends is a mean of means: the same
        assert coarse[tuple(at)] == pytest.approx(inside.mean(), abs=1e-3)
    assert coarse.shape == tuple(block.max(axis=0) + 1)


def test_growing_stays_in_its_room():
    seed = np.zeros((1, 3, 3), dtype=np.bool_)
    seed[0, 1, 1] = True
    allowed = np.zeros_like(seed)
    allowed[0, 1] = True
    assert grown_into(seed, allowed)[0].tolist() == [[False] * 3, [True] * 3, [False] * 3]


@pytest.mark.parametrize("radius", [0.0, 5.0])
def test_nothing_stays_nothing(radius):
    empty = np.zeros((3, 3, 3), dtype=np.bool_)
    assert not dilated(empty, radius, np.ones(3)).any()
    assert not closing(empty, radius, np.ones(3)).any()
