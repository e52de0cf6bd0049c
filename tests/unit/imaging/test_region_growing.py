"""A click on something round in lung gives it, without vessel and wall."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.reading import BALL_MM, INSIDE_HU, OUTSIDE_HU, RADIUS_MM, ball
from nodulebench.imaging.region_growing import grow_nodule
from nodulebench.imaging.volume import Volume


def diameter_mm(volume: Volume, count: int) -> float:
    return float((6 / math.pi * count * volume.voxel_mm3) ** (1 / 3))


def around(volume: Volume) -> np.ndarray:
    """Every voxel's place beside the ball's middle: z, y, x last axis x, y, z."""
    k, j, i = np.indices(volume.hu.shape).reshape(3, -1).astype(float)
    place = volume.geometry.to_world(np.column_stack([i, j, k])) - BALL_MM
    return place.reshape(*volume.hu.shape, 3)


@settings(max_examples=8, deadline=None)
@given(
    spacing=st.tuples(st.floats(0.5, 1.0), st.floats(0.5, 1.0), st.floats(0.6, 2.5)),
    click=st.tuples(*[st.floats(-2.5, 2.5)] * 3),
)
def test_a_ball_is_found_whole_wherever_it_is_clicked(
    spacing: tuple[float, float, float], click: tuple[float, float, float]
) -> None:
    volume = ball(size=(48, 48, 24), spacing_mm=spacing)
    grown = grow_nodule(volume, BALL_MM + np.array(click))
    assert diameter_mm(volume, len(grown.voxel)) == pytest.approx(2 * RADIUS_MM, rel=0.06)
    middle = volume.geometry.to_world(grown.voxel.astype(float)).mean(axis=0)
    assert np.abs(middle - BALL_MM).max() < max(spacing) / 2


@pytest.mark.parametrize("off_mm", [0.0, 0.6, 1.25])
def test_a_flat_nodule_in_thick_slices_is_not_cut(off_mm: float) -> None:
    """Its depth counts whole slices, and it is more than twice as wide as it is high."""
    volume = ball(size=(60, 60, 19), spacing_mm=(0.8, 0.8, 2.5))
    place = around(volume) - np.array([0, 0, off_mm])
    half = np.array([6.6, 6.6, 3.1])
    share = np.clip((1 - np.linalg.norm(place / half, axis=-1)) * 4 + 0.5, 0, 1)
    volume.hu[:] = np.rint(OUTSIDE_HU + share * (INSIDE_HU - OUTSIDE_HU))
    grown = grow_nodule(volume, BALL_MM + np.array([1.0, -1.0, off_mm]))
    whole = {tuple(one) for one in np.argwhere(share >= 0.5)[:, ::-1].tolist()}
    assert whole <= {tuple(one) for one in grown.voxel.tolist()}


def test_vessels_and_the_wall_are_cut_off() -> None:
    volume = ball(size=(90, 90, 60), spacing_mm=(0.7, 0.7, 1.0))
    away = around(volume)
    is_vessel = np.hypot(away[..., 1] - 1, away[..., 2]) < 1.4
    is_wall = away[..., 0] > RADIUS_MM - 1.5
    volume.hu[is_vessel | is_wall] = INSIDE_HU
    grown = grow_nodule(volume, BALL_MM)
    inside = np.linalg.norm(volume.geometry.to_world(grown.voxel.astype(float)) - BALL_MM, axis=1)
    assert diameter_mm(volume, len(grown.voxel)) == pytest.approx(2 * RADIUS_MM, rel=0.12)
    assert np.mean(inside > RADIUS_MM + 1) < 0.03


def test_turns_of_the_wheel_make_it_larger_and_smaller() -> None:
    volume = ball(size=(60, 60, 40), spacing_mm=(0.8, 0.8, 1.0))
    counts = [len(grow_nodule(volume, BALL_MM, level).voxel) for level in range(-4, 5)]
    assert counts == sorted(counts)
    assert counts[0] < counts[4] < counts[-1]


def test_a_larger_proposal_loses_no_voxel_and_a_smaller_one_wins_none() -> None:
    random = np.random.default_rng(3)
    volume = ball(size=(44, 44, 24), spacing_mm=(0.9, 0.9, 1.6))
    away = around(volume)
    is_vessel = np.hypot(away[..., 1] - 2, away[..., 2] - 1) < 1.3
    noisy = np.where(is_vessel, INSIDE_HU, volume.hu) + random.normal(0, 90, volume.hu.shape)
    rough = Volume(noisy.astype(np.int16), volume.geometry)
    held = [set(map(tuple, grow_nodule(rough, BALL_MM, turn).voxel)) for turn in (-6, -3, 0, 3, 6)]
    for smaller, larger in itertools.pairwise(held):
        assert smaller < larger


def test_ground_glass_is_found_by_its_own_density() -> None:
    volume = ball(size=(60, 60, 40), spacing_mm=(0.8, 0.8, 1.0))
    share = (volume.hu.astype(float) - OUTSIDE_HU) / (INSIDE_HU - OUTSIDE_HU)
    faint = Volume((OUTSIDE_HU + 300 * share).astype(np.int16), volume.geometry)
    grown = grow_nodule(faint, BALL_MM)
    assert diameter_mm(faint, len(grown.voxel)) == pytest.approx(2 * RADIUS_MM, rel=0.06)


@pytest.mark.parametrize("hu", [-850, 50])
def test_a_click_on_nothing_still_gives_the_place_itself(hu: int) -> None:
    volume = ball(size=(30, 30, 12))
    volume.hu[:] = hu
    grown = grow_nodule(volume, volume.geometry.to_world(np.array([[0.0, 0.0, 0.0]]))[0])
    assert len(grown.voxel) >= 1
    assert (grown.voxel >= 0).all()
    assert (grown.voxel < [30, 30, 12]).all()
