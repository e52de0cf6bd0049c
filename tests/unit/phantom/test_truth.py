import numpy as np
import pytest

from builders.shapes import sphere
from nodulebench.imaging.geometry import Geometry, geometry_columns
from nodulebench.imaging.outlines import area_mm2, read_outline
from nodulebench.phantom.nodule import Nodule
from nodulebench.phantom.truth import nodule_mask, nodule_rows, nodule_tables, slice_rows


def ball(center, radius):
    shape = sphere(center, radius)
    return Nodule("n1", "solid", "smooth", "isolated", shape, hu=40.0, edge_mm=0.3)


def grid(spacing_z=1.0, slices=40):
    return Geometry(
        np.array([0.5, 0.5, spacing_z]),
        np.array([-20.0, -20.0, -20.0]),
        np.eye(3),
        np.array([80, 80, slices]),
    )


def test_a_balls_row_holds_its_measures():
    (row,) = nodule_rows("case", [ball((1, 2, 3), 5)])
    assert (row["x_mm"], row["y_mm"], row["z_mm"]) == pytest.approx((1, 2, 3))
    assert row["diameter_mm"] == pytest.approx(10, rel=1e-3)
    assert row["volume_mm3"] == pytest.approx(523.5988, rel=1e-6)
    assert (row["type"], row["density"], row["malignancy"]) == ("solid", "solid", 0.0)


def test_each_slice_of_a_ball_shows_a_circle_of_its_height():
    rows = slice_rows("case", [ball((0, 0, 0), 5.2)], grid())
    assert [row["z_mm"] for row in rows] == list(range(-5, 6))
    assert [row["slice_index"] for row in rows] == list(range(15, 26))
    for row in rows:
        diameter = 2 * np.sqrt(5.2**2 - row["z_mm"] ** 2)
        assert row["length_mm"] == pytest.approx(diameter, rel=2e-3)
        assert row["width_mm"] == pytest.approx(diameter, rel=2e-3)
        assert row["long_mm"] == pytest.approx(diameter, rel=2e-3)
        assert (row["center_x_mm"], row["center_y_mm"]) == pytest.approx((0, 0), abs=0.01)
        outline = read_outline(row["contour"], "row")
        assert area_mm2(outline) == pytest.approx(np.pi * diameter**2 / 4, rel=5e-3)


def test_a_nodule_between_two_slices_is_seen_on_the_nearer_one():
    (row,) = slice_rows("case", [ball((0, 0, 2.0), 1.0)], grid(5.0, 8))
    assert (row["slice_index"], row["z_mm"]) == (4, 0.0)
    assert row["long_mm"] == pytest.approx(2.0, rel=2e-3)


def test_slices_outside_the_scan_do_not_count():
    rows = slice_rows("case", [ball((0, 0, -20.0), 3.5)], grid())
    assert [row["slice_index"] for row in rows] == [0, 1, 2, 3]


def test_the_mask_holds_the_voxels_whose_centres_lie_inside():
    geometry = grid(0.5, 80)
    box, inside = nodule_mask(ball((0.1, 0.2, 0.3), 5), geometry)
    k, j, i = np.nonzero(inside)
    index = np.column_stack([i + box[2].start, j + box[1].start, k + box[0].start]).astype(float)
    apart = geometry.to_world(index) - [0.1, 0.2, 0.3]
    assert np.linalg.norm(apart, axis=1).max() <= 5
    assert inside.sum() * 0.125 == pytest.approx(523.6, rel=0.01)


def test_the_mask_of_a_nodule_at_the_edge_is_cut_off():
    box, inside = nodule_mask(ball((-20.0, 0, 0), 4), grid())
    assert box[2].start == 0
    assert inside.any()


def test_no_nodules_make_empty_tables():
    nodules, slices = nodule_tables([], [])
    assert (nodules.height, slices.height) == (0, 0)


def test_geometry_is_in_the_columns_of_cases():
    columns = geometry_columns(grid(2.5, 30))
    assert columns["size_z"] == 30
    assert columns["spacing_z_mm"] == 2.5
    assert columns["origin_x_mm"] == -20.0
    assert columns["direction"] == "1 0 0 0 1 0 0 0 1"
