"""The description of a position: against hand-made scenes and plain sums."""

import numpy as np
import pytest

from builders.lung_scenes import LUNG_HU, ball, lung_with, rod
from nodulebench.detection.classifiers import description
from nodulebench.detection.classifiers.description import NAMES, describe_positions, describe_voxels

MIDDLE = (32.0, 32.0, 32.0)


def seen(chest, *places):
    """The columns by name."""
    rows = describe_positions(chest, chest.to_world(np.array(places)))
    assert rows.shape == (len(places), len(NAMES))
    return [dict(zip(NAMES, row.tolist(), strict=True)) for row in rows]


def test_a_ball_is_round_and_a_vessel_is_long():
    (round_ball,) = seen(lung_with(ball(MIDDLE, 4.0)), MIDDLE)
    (vessel,) = seen(lung_with(rod(MIDDLE, 2.0)), MIDDLE)
    # a ball's rays are its radius, up to half a voxel and a blurred edge
    assert round_ball["near_ray_0.5"] == pytest.approx(4.0, abs=0.75)
    assert round_ball["near_width_1"] - round_ball["near_width_0"] <= 3.0
    assert round_ball["near_long"] == 0.0
    assert vessel["near_width_1"] >= 16.0
    assert vessel["near_long"] > 0.0
    assert round_ball["near_roundness"] > 0.7 > 0.5 > vessel["near_roundness"]
    # nothing curves along the vessel: it is a line, and no dot
    assert round_ball["near_dot_2.1"] > 50.0 > 10.0 > vessel["near_dot_2.1"]
    assert vessel["near_line_1.3"] > round_ball["near_line_1.3"]
    assert round_ball["near_slope_2.1"] == pytest.approx(0.0, abs=5.0)


def test_lung_without_anything_has_no_form():
    (empty,) = seen(lung_with(), MIDDLE)
    for name in NAMES:
        view, what, *_ = name.split("_")
        if what in ("shell", "density", "level", "around"):
            assert empty[name] == pytest.approx(LUNG_HU, abs=0.5), name
        elif what in ("slope", "steepest", "middle", "flattest", "dot", "line", "unrest"):
            assert empty[name] == pytest.approx(0.0, abs=0.5), (view, name)
    assert empty["near_lung_8.5"] == pytest.approx(1.0, abs=1e-5)


def test_shells_are_means_over_shells():
    random = np.random.default_rng(1)
    hu = random.uniform(-950, 100, (25, 25, 25)).astype(np.float32)
    lungs = random.random(hu.shape) < 0.7
    row = dict(
        zip(NAMES, describe_voxels(hu, lungs, np.array([[12.2, 11.8, 12.0]]))[0], strict=True)
    )
    away = np.linalg.norm(np.argwhere(np.ones(hu.shape)) - 12, axis=1).reshape(hu.shape)
    for low, high in zip(description.SHELLS, description.SHELLS[1:], strict=False):
        shell = (away >= low) & (away < high) & (np.abs(np.indices(hu.shape) - 12) <= 8).all(axis=0)
        assert row[f"near_shell_{high:g}"] == pytest.approx(hu[shell].mean(), rel=1e-4)
        assert row[f"near_unrest_{high:g}"] == pytest.approx(hu[shell].std(), rel=2e-3)
        assert row[f"near_lung_{high:g}"] == pytest.approx(lungs[shell].mean(), abs=1e-5)


def test_turning_and_mirroring_a_chest_changes_no_shell_and_no_derivative():
    random = np.random.default_rng(2)
    hu = random.uniform(-950, 100, (26, 26, 26)).astype(np.float32)
    lungs = np.ones(hu.shape, bool)
    # far voxels are pairs: the middle of a pair stays the middle of one
    place = np.array([[12.0, 12.0, 12.0]])
    names = [name for name in NAMES if name.startswith("near") and "ray" not in name]
    names = [
        name for name in names if name.split("_")[1] not in ("width", "long", "wall", "roundness")
    ]
    columns = [NAMES.index(name) for name in names]
    first = describe_voxels(hu[:25, :25, :25], lungs[:25, :25, :25], place)[0, columns]
    for turned in (hu[:25, :25, :25].transpose(2, 0, 1), hu[:25, :25, :25][::-1, :, ::-1]):
        again = describe_voxels(np.ascontiguousarray(turned), lungs[:25, :25, :25], place)
        assert again[0, columns] == pytest.approx(first, rel=1e-3, abs=0.05)


def test_places_at_the_border_and_beyond_it_are_described():
    chest = lung_with(ball(MIDDLE, 4.0))
    described = seen(chest, (0.0, 0.0, 0.0), (-5.0, 70.0, 32.0))
    assert all(np.isfinite(list(description.values())).all() for description in described)


def test_many_places_are_described_as_each_separately(monkeypatch):
    chest = lung_with(ball(MIDDLE, 4.0))
    places = chest.to_world(np.random.default_rng(3).uniform(10, 54, (7, 3)))
    together = describe_positions(chest, places)
    monkeypatch.setattr(description, "AT_ONCE", 2)
    assert describe_positions(chest, places) == pytest.approx(together, rel=1e-5, abs=1e-3)
    assert describe_positions(chest, places[:0]).shape == (0, len(NAMES))


def test_places_in_one_voxel_have_equal_descriptions_wherever_they_are_in_a_list() -> None:
    chest = lung_with(ball(MIDDLE, 4.0))
    voxel = np.random.default_rng(4).integers(10, 50, (300, 3)) + 0.75
    index = np.concatenate([voxel, voxel[::-1] + 0.125])

    described = describe_voxels(chest.hu.astype(np.float32), chest.lungs.mask, index)

    assert np.array_equal(described[:300], described[300:][::-1])
