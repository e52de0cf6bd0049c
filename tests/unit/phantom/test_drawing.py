"""Tubes, trees, textures and nodules as voxels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.shapes import sphere
from nodulebench.phantom.canvas import Canvas, random_texture
from nodulebench.phantom.nodule import Nodule, paint_nodule
from nodulebench.phantom.tubes import Tubes, grow_tree, paint_in_lung, paint_tubes, path


def canvas(value=-900.0, step=(1.0, 0.7, 0.7), size=(30, 40, 40)):
    z, y, x = (np.arange(count) * width for count, width in zip(size, step, strict=True))
    return Canvas(np.full(size, value, dtype=np.float32), x, y, z)


def tube(start, end, radius):
    return Tubes(np.array([start]), np.array([end]), np.array([radius]), np.array([radius]))


def added_mm3(drawn, before, contrast):
    return float((drawn.hu - before).sum()) / contrast * np.prod(drawn.steps_mm)


@pytest.mark.parametrize("radius", [0.2, 0.4, 1.5, 3.0])
def test_a_tube_adds_its_own_volume_whether_thin_or_thick(radius):
    drawn = canvas()
    line = tube((6.0, 6.0, 5.0), (18.0, 20.0, 22.0), radius)
    paint_in_lung(drawn, line, 100.0, -900.0)
    length = np.linalg.norm([12.0, 14.0, 17.0])
    # drawn tubes end in half balls, thin ones do not
    ends = 4 / 3 * np.pi * radius**3 if radius > 1 else 0.0
    expected = np.pi * radius**2 * length + ends
    assert added_mm3(drawn, -900.0, 1000.0) == pytest.approx(expected, rel=0.12)


def test_tubes_in_lung_do_not_change_soft_tissue():
    drawn = canvas(40.0)
    paint_in_lung(drawn, tube((6.0, 6.0, 5.0), (18.0, 20.0, 22.0), 2.0), 300.0, -900.0)
    assert np.all(drawn.hu == 40.0)


def test_a_flattened_tube_is_taller_than_wide():
    drawn = canvas(0.0)
    paint_tubes(
        drawn, tube((0.0, 14.0, 15.0), (28.0, 14.0, 15.0), 4.0), 1.0, flattening=(1, 1, 0.5)
    )
    column = drawn.hu[:, :, 20]
    assert column.max(axis=1).sum() == pytest.approx(16.0, abs=1.5)
    assert column.max(axis=0).sum() * 0.7 == pytest.approx(8.0, abs=1.0)


def test_tubes_outside_the_canvas_are_not_drawn():
    drawn = canvas()
    paint_in_lung(drawn, tube((-90.0, 6.0, 5.0), (-80.0, 20.0, 22.0), 2.0), 40.0, -900.0)
    paint_in_lung(drawn, tube((-90.0, 6.0, 5.0), (-80.0, 20.0, 22.0), 0.2), 40.0, -900.0)
    assert np.all(drawn.hu == -900.0)


def test_cutting_tubes_keeps_their_length_and_taper():
    line = Tubes(np.zeros((1, 3)), np.array([[0.0, 0.0, 50.0]]), np.array([5.0]), np.array([1.0]))
    pieces = line.cut()
    lengths = np.linalg.norm(pieces.end - pieces.start, axis=1)
    assert lengths.sum() == pytest.approx(50)
    assert lengths.max() <= 12
    assert pieces.start_radius.tolist() == pytest.approx([5.0, 4.2, 3.4, 2.6, 1.8])
    assert pieces.end_radius[-1] == 1.0


def test_a_smoothed_path_keeps_its_ends():
    bent = path([(0, 0, 0), (10, 0, 0), (10, 10, 0)], 2.0, smoothness=2)
    assert bent.start[0].tolist() == [0, 0, 0]
    assert bent.end[-1].tolist() == [10, 10, 0]
    assert np.array_equal(bent.start[1:], bent.end[:-1])


@given(count=st.integers(1, 60), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_a_tree_reaches_every_point_and_hangs_together(count, seed):
    random = np.random.default_rng(seed)
    points = random.uniform(-50, 50, (count, 3))
    root = np.array([100.0, 0.0, 0.0])
    tree = grow_tree(root, points, 0.4, random)
    ends = {tuple(end) for end in tree.tubes.end}
    assert all(tuple(point) in ends for point in points)
    starts = {tuple(start) for start in tree.tubes.start}
    assert starts <= ends | {tuple(root)}
    assert tree.ends[0] == count
    # Murray's law with the tree's own power: the root is as wide as its ends together
    assert tree.tubes.end_radius[0] == pytest.approx(0.4 * count ** (1 / 2.6))


def test_texture_has_unit_spread_and_repeats():
    texture = random_texture(np.random.default_rng(1), 1.0, 1.5)
    x = np.arange(128) * 1.0
    part = texture.on_slice(x, x, 5.0)
    assert texture.values.std() == pytest.approx(1, abs=1e-3)
    assert np.allclose(part, texture.values[5], atol=1e-5)
    assert np.allclose(texture.on_slice(x + 128, x - 256, 5.0), part, atol=1e-5)
    between = texture.on_slice(x, x, 5.5)
    assert np.allclose(between, (texture.values[5] + texture.values[6]) / 2, atol=1e-5)


def nodule(radius, kind="solid", hu=40.0, edge=0.2):
    shape = sphere((14.0, 14.0, 15.0), radius)
    return Nodule("n", kind, "smooth", "isolated", shape, hu=hu, edge_mm=edge)


@pytest.mark.parametrize("radius", [1.0, 2.5, 6.0])
@pytest.mark.parametrize("edge", [0.2, 1.0])
def test_a_drawn_nodule_has_the_volume_of_its_shape(radius, edge):
    drawn = canvas()
    paint_nodule(drawn, nodule(radius, edge=min(edge, radius / 2)))
    volume = added_mm3(drawn, -900.0, 940.0)
    assert volume == pytest.approx(4 / 3 * np.pi * radius**3, rel=0.08)


def test_vessels_show_through_ground_glass_but_not_through_solid():
    for kind, hu, expected in (("pure_ground_glass", -600.0, 40.0), ("solid", 20.0, 20.0)):
        drawn = canvas()
        paint_tubes(drawn, tube((0.0, 14.0, 15.0), (28.0, 14.0, 15.0), 1.5), 40.0)
        paint_nodule(drawn, nodule(6.0, kind, hu))
        assert drawn.hu[15, 20, 20] == pytest.approx(expected)
        assert drawn.hu[15, 25, 20] == pytest.approx(hu)
