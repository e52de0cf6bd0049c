import numpy as np
import polars as pl
import pytest

from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES
from nodulebench.imaging.geometry import (
    Geometry,
    geometries,
    lps_to_ras,
    slices_through,
    voxel_box_mm,
)

SPACING = np.array([0.5, 0.75, 2.0])
ORIGIN = np.array([-100.0, -120.0, -300.0])


def axial(size: tuple[int, int, int] | None = (400, 400, 100)) -> Geometry:
    return Geometry(SPACING, ORIGIN, np.eye(3), None if size is None else np.array(size))


def head_first() -> Geometry:
    return Geometry(SPACING, ORIGIN, np.diag([1.0, 1.0, -1.0]), np.array([400, 400, 100]))


def tilted(degrees: float = 10.0) -> Geometry:
    """Turned about the x axis, as a tilted gantry is."""
    angle = np.radians(degrees)
    turn = np.array(
        [[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]
    )
    return Geometry(SPACING, ORIGIN, turn, np.array([400, 400, 100]))


def cases(**columns: object) -> pl.DataFrame:
    given = {
        "case_id": "a",
        "spacing_x_mm": 0.5,
        "spacing_y_mm": 0.75,
        "spacing_z_mm": 2.0,
        "origin_x_mm": -100.0,
        "origin_y_mm": -120.0,
        "origin_z_mm": -300.0,
    }
    return CASES.conform(pl.DataFrame([given | columns]), "cases.csv")


def test_the_origin_is_the_centre_of_the_first_voxel() -> None:
    assert axial().to_world(np.zeros((1, 3))).tolist() == [[-100.0, -120.0, -300.0]]


def test_each_axis_has_its_own_spacing() -> None:
    assert axial().to_world(np.array([[10.0, 10.0, 10.0]])).tolist() == [[-95.0, -112.5, -280.0]]


def test_a_tilted_gantry_moves_y_and_z_together() -> None:
    # 10 voxels along the second axis: 7.5 mm, turned by 10 degrees towards the head
    world = tilted().to_world(np.array([[0.0, 10.0, 0.0]]))[0] - ORIGIN
    assert world == pytest.approx([0.0, 7.5 * np.cos(np.pi / 18), 7.5 * np.sin(np.pi / 18)])


@pytest.mark.parametrize("grid", [axial(), head_first(), tilted(), tilted(45)])
def test_world_and_index_undo_each_other(grid: Geometry) -> None:
    index = np.array([[0.0, 0.0, 0.0], [3.25, 17.5, 42.0], [-1.0, 500.0, 99.0]])
    assert grid.to_index(grid.to_world(index)) == pytest.approx(index, abs=1e-9)


@pytest.mark.parametrize("grid", [axial(), head_first(), tilted(), tilted(45), tilted(90)])
def test_extents_come_back(grid: Geometry) -> None:
    extent = np.array([[3.0, 4.5, 8.0]])
    assert grid.extent_to_world(grid.extent_to_voxels(extent)) == pytest.approx(extent)


def test_in_a_coronal_image_the_third_extent_is_along_y() -> None:
    assert tilted(90).extent_to_world(np.array([[2.0, 4.0, 8.0]])).tolist() == [[1.0, 16.0, 3.0]]


def test_a_box_spans_half_a_voxel_more_than_its_outer_centres() -> None:
    center, extent = voxel_box_mm(axial(), np.array([[10.0, 20, 30]]), np.array([[19.0, 23, 30]]))
    assert extent.tolist() == [[10 * 0.5, 4 * 0.75, 1 * 2.0]]
    assert center.tolist() == [[-100 + 14.5 * 0.5, -120 + 21.5 * 0.75, -240.0]]


def test_slices_are_counted_from_the_feet() -> None:
    at = np.array([[0.0, 0.0, -290.0]])
    assert axial().slice_of(at).tolist() == [5.0]
    # from head to feet: the origin is the 99th slice, and 10 mm above it lies outside
    assert head_first().slice_of(np.array([[0.0, 0.0, -310.0]])).tolist() == [94.0]


def test_slices_from_head_to_feet_need_their_number() -> None:
    grid = Geometry(SPACING, ORIGIN, np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(InputError, match=r"run from head to feet, and size_z is not given\. Give"):
        grid.slice_of(np.zeros((1, 3)))


@pytest.mark.parametrize("grid", [axial(), head_first(), tilted()])
def test_the_height_on_a_slice_leads_back_to_the_slice(grid: Geometry) -> None:
    xy = np.array([[-20.0, 35.0], [10.0, -80.0]])
    number = np.array([7.0, 50.0])
    height = grid.height_on(number, xy)
    assert grid.slice_of(np.column_stack([xy, height])) == pytest.approx(number)


def test_a_box_is_on_the_slices_whose_planes_it_contains() -> None:
    # planes every 2 mm from -300: from -291 to -285 there are those at -290, -288, -286
    box, number, center = slices_through(
        axial(), np.array([[0.0, 0.0, -288.0]]), np.array([[5.0, 5.0, 6.0]])
    )
    assert box.tolist() == [0, 0, 0]
    assert number.tolist() == [5, 6, 7]
    assert center.tolist() == [[0.0, 0.0, -290.0], [0.0, 0.0, -288.0], [0.0, 0.0, -286.0]]


def test_a_box_of_voxels_is_on_just_their_slices() -> None:
    center, extent = voxel_box_mm(axial(), np.array([[0.0, 0, 4]]), np.array([[9.0, 9, 6]]))
    assert slices_through(axial(), center, extent)[1].tolist() == [4, 5, 6]


def test_a_thin_box_between_planes_is_on_the_nearest_slice() -> None:
    _, number, _ = slices_through(
        axial(), np.array([[0.0, 0.0, -288.7]]), np.array([[5.0, 5.0, 0.5]])
    )
    assert number.tolist() == [6]


def test_a_box_larger_than_the_image_ends_with_it() -> None:
    _, number, _ = slices_through(
        axial((400, 400, 4)), np.array([[0.0, 0.0, -297.0]]), np.array([[5.0, 5.0, 1e9]])
    )
    assert number.tolist() == [0, 1, 2, 3]


def test_points_up_to_the_outer_edge_of_voxels_are_inside() -> None:
    points = ORIGIN + np.array([[-0.25, 0, 0], [-0.26, 0, 0], [199.75, 0, 0], [199.76, 0, 0]])
    assert axial().contains(points).tolist() == [True, False, True, False]


def test_ras_mirrors_x_and_y_and_back() -> None:
    points = np.array([[1.0, 2.0, 3.0]])
    assert lps_to_ras(points).tolist() == [[-1.0, -2.0, 3.0]]
    assert lps_to_ras(lps_to_ras(points)).tolist() == points.tolist()


def test_the_geometry_of_a_case_is_that_of_its_row() -> None:
    grids = geometries(cases(direction="1 0 0 0 1 0 0 0 -1", size_x=5, size_y=6, size_z=7))["a"]
    assert grids.spacing_mm.tolist() == [0.5, 0.75, 2.0]
    assert grids.origin_mm.tolist() == [-100.0, -120.0, -300.0]
    assert grids.direction.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, -1]]
    assert grids.size is not None
    assert grids.size.tolist() == [5, 6, 7]


def test_direction_is_given_row_by_row() -> None:
    # the second image axis runs to the head, the third to the front
    grids = geometries(cases(direction="1 0 0 0 0 -1 0 1 0"))["a"]
    assert grids.to_world(np.array([[0.0, 1.0, 0.0]])).tolist() == [[-100.0, -120.0, -299.25]]


def test_a_case_without_spacing_has_no_geometry() -> None:
    assert geometries(cases(spacing_z_mm=None)) == {}
    assert geometries(None) == {}


@pytest.mark.parametrize(
    "direction", ["1 0 0", "1 0 0 0 1 0 0 0 2", "a b c d e f g h i", "nan " * 9]
)
def test_a_wrong_direction_is_refused(direction: str) -> None:
    with pytest.raises(InputError, match=r"^case 'a': direction '.*' is not nine orthonormal"):
        geometries(cases(direction=direction))


def test_a_voxel_without_size_is_refused() -> None:
    with pytest.raises(InputError, match=r"^case 'a': has an impossible voxel size: 0 0\.75 2\."):
        geometries(cases(spacing_x_mm=0.0))


def test_an_origin_beyond_all_reason_is_refused() -> None:
    with pytest.raises(InputError, match=r"^case 'a': has an impossible origin: -100 1e\+300"):
        geometries(cases(origin_y_mm=1e300))


def test_without_a_size_every_place_is_inside_and_boxes_keep_their_slices() -> None:
    grid = axial(None)
    assert grid.contains(np.array([[9999.0, 0.0, 0.0]])).tolist() == [True]
    _, number, _ = slices_through(grid, np.array([[0.0, 0, -300]]), np.array([[5.0, 5, 4]]))
    assert number.tolist() == [-1, 0, 1]
