import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.detection.scan import SharedResults, positions_around, prepare_scan, resample
from nodulebench.imaging.lungs import Lungs
from nodulebench.imaging.volume import make_volume
from nodulebench.runner.scan_variants import cropped


def _chest(shape=(20, 60, 80), spacing_xyz=(0.7, 0.7, 2.0), origin=(-30.0, 5.0, -200.0)):
    hu = np.full(shape, -850, dtype=np.int16)
    volume = make_volume(hu, spacing_mm=spacing_xyz, origin_mm=origin)
    label = np.zeros(shape, dtype=np.uint8)
    label[8:12, 25:30, 30:50] = 1
    return volume, Lungs(label, volume.geometry)


def test_a_chest_is_cut_to_the_lungs_and_their_margin():
    volume, lungs = _chest()
    chest = prepare_scan(volume, lungs=lungs)
    # 15 mm is 8 slices of 2 mm (7.5 rounded up) and 22 pixels of 0.7 mm
    assert chest.hu.shape == (8 + 4 + 8, 22 + 5 + 22, 22 + 20 + 22)
    assert chest.lungs.mask.sum() == lungs.mask.sum()


def test_a_voxel_keeps_its_place_in_the_patient():
    volume, lungs = _chest()
    chest = prepare_scan(volume, lungs=lungs)
    # voxel (10, 27, 40) of the scan is (10 - 0, 27 - 3, 40 - 8) of the cut chest
    place = chest.to_world(np.array([[10.0, 24.0, 32.0]]))
    assert np.allclose(place, [[-30 + 40 * 0.7, 5 + 27 * 0.7, -200 + 20.0]])
    assert np.allclose(chest.to_index(place), [[10, 24, 32]])


def test_resampling_keeps_places_and_is_made_once():
    volume, lungs = _chest()
    chest = prepare_scan(volume, lungs=lungs)
    cubes = chest.resampled(1.0)
    assert cubes is chest.resampled(1.0)
    assert np.allclose(cubes.spacing_mm, 1.0)
    # around the lung 8 mm are seen: 4 slices of 2 mm and 12 pixels of 0.7 mm (11.4 rounded up);
    # from its centre to the last voxel there are 11 mm, 9.8 mm and 15.05 mm; 1 mm voxels in pairs
    # on either side: 10 and 10, 10 and 10, 14 and 14
    assert cubes.hu.shape == (20, 20, 28)
    # the centre is at slice 9.5, row 24 and column 31.5 of the cut chest
    first = np.array([[9.5 - 9.5 / 2.0, 24 - 9.5 / 0.7, 31.5 - 13.5 / 0.7]])
    assert np.allclose(cubes.to_world(np.zeros((1, 3))), chest.to_world(first))
    # slices 8 to 11 of 2 mm, rows 22 to 26 and columns 22 to 41 of 0.7 mm: 1 mm centres at 15.5
    # to 22.5 mm, at 15.3 (row 21.9) to 18.3 (26.1), at 15.55 (column 22.2) to 28.55 (40.8)
    assert cubes.lungs.mask.sum() == 8 * 4 * 14


def test_threads_that_ask_for_the_same_get_what_one_of_them_made_and_others_do_not_wait():
    results, made = SharedResults(), []
    all_ask, two_at_it = threading.Barrier(8), threading.Barrier(2)

    def make(step):
        two_at_it.wait(timeout=300)  # passes only where both steps are made at the same time
        made.append(step)
        return [step]

    def ask(step):
        all_ask.wait(timeout=300)
        return results.get(step, lambda: make(step))

    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(ask, [1.0, 1.4] * 4))
    assert sorted(made) == [1.0, 1.4]
    assert all(result is got[number % 2] for number, result in enumerate(got))


def test_what_could_not_be_made_is_made_by_the_next_who_asks():
    results = SharedResults()
    with pytest.raises(ZeroDivisionError):
        results.get("x", lambda: 1 // 0)
    assert results.get("x", lambda: results.get("y", lambda: 2) + 1) == 3


def test_another_chest_has_other_voxels():
    volume, lungs = _chest()
    chest = prepare_scan(volume, lungs=lungs)
    denser = replace(chest, volume=replace(chest.volume, hu=chest.hu + 800))
    assert chest.resampled(1.0).hu.max() < denser.resampled(1.0).hu.min()


def test_linear_ramps_stay_linear_between_the_borders():
    ramp = np.arange(30, dtype=np.float32)[:, None, None] * np.ones((1, 4, 4), dtype=np.float32)
    even = [np.array([1.0])] * 2
    # voxels of 1 mm around 5 in voxels of 2 mm: ten below, 48 above
    places = positions_around(5.0, 30, 2.0, 1.0)
    assert np.allclose(places, 0.25 + 0.5 * np.arange(58))
    finer = resample(ramp, np.array([2.0, 1.0, 1.0]), 1.0, [places, *even])
    assert np.allclose(finer[:, 0, 0], places)
    # voxels of 1 mm around 14 in voxels of 0.5 mm: six below, eight above, the last on the border
    places = positions_around(14.0, 30, 0.5, 1.0)
    assert np.allclose(places, np.arange(3, 30, 2))
    coarser = resample(ramp, np.array([0.5, 1.0, 1.0]), 1.0, [places, *even])
    assert np.allclose(coarser[1:-1, 0, 0], places[1:-1])


SPACINGS = st.floats(0.4, 3.0)
STEPS = st.floats(0.5, 2.5)


@given(middle=st.floats(0, 40), count=st.integers(2, 41), spacing=SPACINGS, step=STEPS)
def test_places_lie_inside_in_pairs_around_the_middle(middle, count, spacing, step):
    middle = min(middle, count - 1.0)
    places = positions_around(middle, count, spacing, step)
    assert places.min() >= 0
    assert places.max() <= count - 1
    if len(places) > 1:
        assert np.allclose(np.diff(places), step / spacing, atol=1e-5)
        away = (places - middle) * spacing / step
        assert np.allclose(away - 0.5, np.rint(away - 0.5), atol=1e-5)
        assert (away < 0).sum() % 2 == (away > 0).sum() % 2 == 0
        # another pair would not fit
        assert min(places[0] * spacing, (count - 1 - places[-1]) * spacing) < 2 * step + 1e-5
    mirrored = positions_around(count - 1 - middle, count, spacing, step)
    assert np.allclose(count - 1 - mirrored[::-1], places, atol=1e-5)


@given(cut=st.integers(0, 9), middle=st.floats(20, 25), spacing=SPACINGS, step=STEPS)
def test_cutting_the_image_leaves_the_places_that_remain(cut, middle, spacing, step):
    whole = positions_around(middle, 50, spacing, step)
    part = positions_around(middle - cut, 50 - cut, spacing, step) + cut
    assert len(part) <= len(whole)
    assert np.allclose(part, whole[len(whole) - len(part) :], atol=1e-5)
    assert (len(whole) - len(part)) % 2 == 0


@given(spacing=st.tuples(*[SPACINGS] * 3), step=STEPS, value=st.integers(-1000, 1000))
def test_an_even_image_stays_even(spacing, step, value):
    image = np.full((9, 8, 7), value, dtype=np.float32)
    result = resample(image, np.array(spacing), step, _places(image, spacing, step))
    assert np.allclose(result, value, atol=1e-3)


@given(spacing=st.tuples(*[SPACINGS] * 3), step=STEPS, seed=st.integers(0, 1000))
def test_a_mirror_image_is_resampled_to_the_mirror_image(spacing, step, seed):
    image = np.random.default_rng(seed).normal(-800, 100, (9, 8, 7)).astype(np.float32)
    places = _places(image, spacing, step)
    plain = resample(image, np.array(spacing), step, places)
    for axis in range(3):
        turned = resample(np.flip(image, axis), np.array(spacing), step, places)
        assert np.allclose(np.flip(turned, axis), plain, atol=1e-2)


def _places(image, spacing, step):
    return [
        positions_around((length - 1) / 2, length, size, step)
        for length, size in zip(image.shape, spacing, strict=True)
    ]


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_a_chest_cut_nearer_to_its_lungs_is_seen_on_the_same_voxels(cut):
    volume, lungs = _chest()
    hu = np.random.default_rng(1).integers(-1000, 100, volume.hu.shape).astype(np.int16)
    whole = prepare_scan(replace(volume, hu=hu), lungs=lungs).resampled(1.0)
    less = cropped(replace(volume, hu=hu), (slice(0, None), slice(3 + cut, None), slice(0, None)))
    label = lungs.label[:, 3 + cut :]
    part = prepare_scan(less.volume, lungs=Lungs(label, less.volume.geometry)).resampled(1.0)
    offset = part.to_index(whole.to_world(np.zeros((1, 3))))[0]
    assert np.allclose(offset, np.rint(offset))
    rows = part.hu.shape[1]
    assert np.allclose(part.hu[:, 2:], whole.hu[:, -rows:][:, 2:], atol=1e-2)
