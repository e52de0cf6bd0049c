import numpy as np
import pytest

from nodulebench.core.errors import InputError
from nodulebench.imaging.lungs import RIGHT, segment_part_of_lung
from nodulebench.imaging.volume import make_volume


def block(shape=(40, 40, 40)):
    """Lung below row 25, chest wall above it."""
    hu = np.full(shape, -850, dtype=np.int16)
    hu[:, 25:] = 40
    return hu


def lung_of(hu, **settings):
    return segment_part_of_lung(make_volume(hu, spacing_mm=(1, 1, 1)), **settings).label


def test_lung_is_what_holds_air():
    label = lung_of(block())
    assert (label[:, :25] == RIGHT).all()
    assert not label[:, 25:].any()


def test_nodules_in_the_lung_on_the_pleura_and_cut_by_a_face_belong_to_it():
    hu = block()
    hu[18:24, 10:16, 18:24] = 40
    hu[10:16, 20:25, 10:16] = 40
    hu[0:4, 8:14, 30:36] = 40
    # the ball of 10 mm dents the gap at the pleura by less than a voxel
    assert (lung_of(hu)[:, :24] == RIGHT).all()
    assert not lung_of(hu, closing_mm=2.0)[12, 22, 12]


def test_air_outside_the_body_is_not_a_lung():
    hu = block()
    hu[:, 32:] = -1000
    label = lung_of(hu)
    assert (label[:, :25] == RIGHT).all()
    assert not label[:, 34:].any()


def test_an_emphysematous_lung_only_is_still_a_lung():
    hu = block()
    hu[:, :25] = -970
    assert (lung_of(hu)[:, :25] == RIGHT).all()


def test_a_block_without_lung_is_refused():
    hu = np.full((20, 20, 20), 40, dtype=np.int16)
    with pytest.raises(InputError, match=r"block 7: shows no lung: .* has 0\.0 ml"):
        segment_part_of_lung(make_volume(hu, spacing_mm=(1, 1, 1)), "block 7")
    hu[:5, :5, :5] = -900
    with pytest.raises(InputError, match=r"has 0\.1 ml \(a part of a lung has at least 1 ml\)"):
        segment_part_of_lung(make_volume(hu, spacing_mm=(1, 1, 1)))
