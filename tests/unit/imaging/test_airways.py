import numpy as np
import pytest

from nodulebench.imaging.lungs import find_airways

STEP = np.array([2.0, 2.0, 2.0])


def chest(lumen_hu, top_hu, wall_hu=40.0):
    """A trachea of 8 mm radius above a lung, with a wall of two voxels between."""
    hu = np.full((100, 60, 80), 40.0, dtype=np.float32)
    row, column = np.ogrid[:60, :80]
    hu[2:40, 10:50, 10:70] = -850
    hu[40:42, 10:50, 10:70] = wall_hu
    inside = (row - 30) ** 2 + (column - 40) ** 2 <= 16
    for number in range(42, 100):
        hu[number][inside] = top_hu if number >= 88 else lumen_hu
    return hu, inside


@pytest.mark.parametrize("top_hu", [-940.0, -990.0])
def test_the_whole_trachea_is_found_also_where_a_part_of_it_is_darker(top_hu):
    hu, inside = chest(-940.0, top_hu)
    airways = find_airways(hu, STEP)
    assert np.array_equal(airways, np.stack([(k >= 42) & inside for k in range(100)]))


def test_a_region_that_breaks_through_into_the_lung_is_not_the_airways():
    hu, inside = chest(-940.0, -940.0, wall_hu=-830.0)
    airways = find_airways(hu, STEP)
    assert not airways[:40].any()
    assert airways[50][inside].all()


def test_a_scan_without_a_trachea_has_no_airways():
    assert not find_airways(np.full((60, 40, 40), 40.0, dtype=np.float32), STEP).any()
