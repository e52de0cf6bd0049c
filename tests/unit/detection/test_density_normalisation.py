import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodulebench.detection.density_normalisation import (
    USUAL_HU,
    USUAL_NOISE_HU,
    bend_densities,
    noise,
    reduce_noise,
    standardise_densities,
)


def _lung(level, shape=(48, 48, 48), noise_hu=0.0, seed=1):
    hu = np.full(shape, level) + noise_hu * np.random.default_rng(seed).standard_normal(shape)
    lungs = np.zeros(shape, dtype=np.bool_)
    lungs[4:-4, 4:-4, 4:-4] = True
    hu[~lungs] = 40.0
    return hu.astype(np.float32), lungs


def test_the_scale_is_bent_at_the_parenchyma_by_hand():
    # parenchyma of -800 goes to -850: below it 200 HU become 150, above it 800 become 850
    hu = np.float32([-1024, -1000, -900, -800, -400, 0, 300])
    moved = bend_densities(hu, np.full(7, -800, np.float32))
    assert moved == pytest.approx([-1024, -1000, -925, -850, -425, 0, 300])


@given(level=st.floats(-950, -650), seed=st.integers(0, 100))
def test_a_denser_voxel_stays_denser_and_nothing_leaves_its_range(level, seed):
    hu = np.sort(np.random.default_rng(seed).uniform(-1100, 400, 200)).astype(np.float32)
    moved = bend_densities(hu, np.full(200, level, np.float32))
    assert (np.diff(moved) >= -1e-3).all()
    still = (hu <= -1000) | (hu >= 0)
    assert np.array_equal(moved[still], hu[still])
    assert ((moved[~still] >= -1000.01) & (moved[~still] <= 0.01)).all()


@pytest.mark.parametrize("level", [-930.0, -850.0, -750.0])
def test_every_lung_becomes_the_usual_one(level):
    hu, lungs = _lung(level)
    usual = standardise_densities(hu, lungs, 1.0)
    # half of the surroundings is parenchyma, against 2 % for the usual: a tenth at most is left
    assert usual[24, 24, 24] == pytest.approx(USUAL_HU, abs=0.1 * abs(level - USUAL_HU) + 0.5)
    assert (usual[~lungs] == 40.0).all()


def test_a_slope_of_density_from_front_to_back_is_levelled():
    hu, lungs = _lung(0.0, shape=(48, 96, 48))
    hu[lungs] = np.broadcast_to(np.linspace(-900, -780, 96)[:, None], hu.shape)[lungs]
    usual = standardise_densities(hu, lungs, 1.0)
    apart = [image[24, 72, 24] - image[24, 24, 24] for image in (hu, usual)]
    assert apart[0] == pytest.approx(60, abs=2)
    assert abs(apart[1]) < 20


def test_a_nodule_and_a_vessel_do_not_count_as_parenchyma():
    plain, lungs = _lung(-800.0)
    other = plain.copy()
    other[20:30, 20:30, 20:30] = -550.0
    other[:, 36:40, 36:40] = 0.0
    other[~lungs] = 40.0
    usual = [standardise_densities(hu, lungs, 1.0)[12, 12, 12] for hu in (plain, other)]
    assert usual[1] == pytest.approx(usual[0], abs=2.0)


def test_few_voxels_of_lung_change_little():
    hu, lungs = _lung(-700.0)
    speck = np.zeros_like(lungs)
    speck[22:26, 22:26, 22:26] = True  # 0.06 ml
    assert standardise_densities(hu, speck, 1.0)[24, 24, 24] == pytest.approx(-700, abs=20)
    assert np.array_equal(standardise_densities(hu, np.zeros_like(lungs), 1.0), hu)


@pytest.mark.parametrize("cut", [2, 4])
def test_cutting_air_away_changes_nothing(cut):
    hu, lungs = _lung(-790.0, noise_hu=5.0)
    whole = standardise_densities(hu, lungs, 1.0, (24, 24, 24))
    part = standardise_densities(hu[cut:], lungs[cut:], 1.0, (24 - cut, 24, 24))
    assert np.allclose(part, whole[cut:], atol=1e-3)


@settings(max_examples=10, deadline=None)
@given(sd=st.floats(3, 30), seed=st.integers(0, 100))
def test_noise_is_measured_and_brought_down_to_the_usual(sd, seed):
    hu, lungs = _lung(-850.0, noise_hu=sd, seed=seed)
    assert noise(hu, lungs) == pytest.approx(sd, rel=0.08)
    quiet = reduce_noise(hu, lungs)
    if sd < 0.9 * USUAL_NOISE_HU:
        assert quiet is hu
    else:
        assert noise(quiet, lungs) < 1.1 * USUAL_NOISE_HU
    assert np.isnan(noise(hu, np.zeros_like(lungs)))
