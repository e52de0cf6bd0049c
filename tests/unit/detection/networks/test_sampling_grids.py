import numpy as np

from nodulebench.detection.networks.network import ORTHOGONAL, SYMMETRY, cube, planes, stacked


def test_a_cube_is_around_its_position() -> None:
    grid = cube((2, 3, 1), (2.0, 1.0, 5.0))

    assert grid.shape == (2, 3, 1)
    assert grid.offset_mm[0, 0, 0].tolist() == [-1.0, -1.0, 0.0]
    assert grid.offset_mm[1, 2, 0].tolist() == [1.0, 1.0, 0.0]


def test_the_nine_planes_are_those_of_a_cubes_symmetry() -> None:
    rows, columns = (np.array([plane[side] for plane in SYMMETRY], float) for side in (0, 1))
    normal = np.cross(rows, columns)
    seen = {
        tuple(np.round(np.sign(vector[np.argmax(np.abs(vector))]) * vector, 6)) for vector in normal
    }

    assert np.allclose(np.einsum("ij,ij->i", rows, columns), 0)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.allclose(np.linalg.norm(columns, axis=1), 1)
    assert len(seen) == 9
    # a cube's symmetry planes have one or two equal parts of a normal
    assert sorted(int((np.abs(vector) > 0.1).sum()) for vector in normal) == [1] * 3 + [2] * 6


def test_planes_next_to_a_position_are_along_their_normal() -> None:
    grid = planes(ORTHOGONAL, 3, 2.0, (-2.0, 0.0, 2.0))

    assert grid.shape == (3, 3, 3, 3)
    assert grid.offset_mm[0, 1, 0, 0].tolist() == [0.0, -2.0, -2.0]
    assert abs(grid.offset_mm[0, 0, 1, 1]).tolist() == [2.0, 0.0, 0.0]
    assert abs(grid.offset_mm[2, 2, 1, 1]).tolist() == [0.0, 0.0, 2.0]


def test_planes_are_moved_within_themselves() -> None:
    still, moved = (
        planes(ORTHOGONAL, 3, 2.0, moved_mm=moved_mm) for moved_mm in ((0.0, 0.0), (4.0, -1.0))
    )
    away = moved.offset_mm - still.offset_mm

    # axial: rows go to the back, columns to the left; coronal: head, left; sagittal: head, back
    assert (away[0] == [0.0, 4.0, -1.0]).all()
    assert (away[1] == [4.0, 0.0, -1.0]).all()
    assert (away[2] == [4.0, -1.0, 0.0]).all()


def test_stacked_grids_are_side_by_side() -> None:
    near, far = cube((2, 2, 2), (1.0, 1.0, 1.0)), cube((2, 2, 2), (3.0, 3.0, 3.0))

    assert np.allclose(stacked(near, far).offset_mm[1], 3 * stacked(near, far).offset_mm[0])
