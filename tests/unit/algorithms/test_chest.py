import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.algorithms.chest import resample, see_chest
from nodulebench.algorithms.lungs import Lungs
from nodulebench.model.volume import make_volume


def _chest(shape=(20, 60, 80), spacing_xyz=(0.7, 0.7, 2.0), origin=(-30.0, 5.0, -200.0)):
    hu = np.full(shape, -850, dtype=np.int16)
    volume = make_volume(hu, spacing_mm=spacing_xyz, origin_mm=origin)
    label = np.zeros(shape, dtype=np.uint8)
    label[8:12, 25:30, 30:50] = 1
    return volume, Lungs(label, volume.geometry)


def test_a_chest_is_cut_to_the_lungs_and_their_margin():
    volume, lungs = _chest()
    chest = see_chest(volume, lungs=lungs)
    # 15 mm is 8 slices of 2 mm (7.5 rounded up) and 22 pixels of 0.7 mm
    assert chest.hu.shape == (8 + 4 + 8, 22 + 5 + 22, 22 + 20 + 22)
    assert chest.lungs.mask.sum() == lungs.mask.sum()


def test_a_voxel_keeps_its_place_in_the_patient():
    volume, lungs = _chest()
    chest = see_chest(volume, lungs=lungs)
    # voxel (10, 27, 40) of the scan is (10 - 0, 27 - 3, 40 - 8) of the cut chest
    place = chest.to_world(np.array([[10.0, 24.0, 32.0]]))
    assert np.allclose(place, [[-30 + 40 * 0.7, 5 + 27 * 0.7, -200 + 20.0]])
    assert np.allclose(chest.to_index(place), [[10, 24, 32]])


def test_resampling_keeps_places_and_is_made_once():
    volume, lungs = _chest()
    chest = see_chest(volume, lungs=lungs)
    cubes = chest.resampled(1.0)
    assert cubes is chest.resampled(1.0)
    assert np.allclose(cubes.spacing_mm, 1.0)
    # 38, 33.6 and 44.1 mm hold 39, 34 and 45 centres; of odd numbers one is left out
    assert cubes.hu.shape == (38, 34, 44)
    middle = [(np.array([one.hu.shape]) - 1) / 2 for one in (cubes, chest)]
    assert np.allclose(cubes.to_world(middle[0]), chest.to_world(middle[1]))
    # slices 8 to 11 of 2 mm, rows 22 to 26 and columns 22 to 41 of 0.7 mm: 1 mm centres at 15.5
    # to 22.5 mm, at 15.3 (row 21.9) to 18.3 (26.1), at 15.55 (column 22.2) to 28.55 (40.8)
    assert cubes.lungs.mask.sum() == 8 * 4 * 14


def test_linear_ramps_stay_linear_between_the_borders():
    ramp = np.arange(30, dtype=np.float32)[:, None, None] * np.ones((1, 4, 4), dtype=np.float32)
    finer = resample(ramp, np.array([2.0, 1.0, 1.0]), 1.0)
    # 59 centres would fit; 58 lie half a step further in
    assert np.allclose(finer[:, 0, 0], np.arange(58) / 2 + 0.25)
    coarser = resample(ramp, np.array([0.5, 1.0, 1.0]), 1.0)
    # 15 of 1 mm fit into 14.5 mm; 14 lie at 0.75, 1.75 ... 13.75 mm: 1.5 old voxels and so on
    assert np.allclose(coarser[1:-1, 0, 0], np.arange(1, 13) * 2 + 1.5)


SPACINGS = st.tuples(*[st.floats(0.4, 3.0)] * 3)


@given(spacing=SPACINGS, step=st.floats(0.5, 2.5), value=st.integers(-1000, 1000))
def test_an_even_image_stays_even(spacing, step, value):
    image = np.full((9, 8, 7), value, dtype=np.float32)
    result = resample(image, np.array(spacing), step)
    assert np.allclose(result, value, atol=1e-3)
    fitting = [
        int((n - 1) * s / step + 1e-6) + 1 for n, s in zip(image.shape, spacing, strict=True)
    ]
    assert result.shape == tuple(max(1, count - count % 2) for count in fitting)


@given(spacing=SPACINGS, step=st.floats(0.5, 2.5), seed=st.integers(0, 1000))
def test_a_mirror_image_is_resampled_to_the_mirror_image(spacing, step, seed):
    image = np.random.default_rng(seed).normal(-800, 100, (9, 8, 7)).astype(np.float32)
    plain = resample(image, np.array(spacing), step)
    for axis in range(3):
        turned = resample(np.flip(image, axis), np.array(spacing), step)
        assert np.allclose(np.flip(turned, axis), plain, atol=1e-2)
