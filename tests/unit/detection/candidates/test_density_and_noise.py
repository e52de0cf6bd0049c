"""Candidates do not follow the density of the lung, nor its noise."""

from dataclasses import replace

import numpy as np
import pytest

from builders.lung_scenes import LUNG_HU, ball, lung_with, rod, world
from nodulebench.detection.candidates import etrocad, isicad, largecad, lungcam, subsolidcad, vbna

NODULES = ((20, 20, 20), (44, 22, 42), (30, 46, 24))
FINDERS = {
    "isicad": isicad.detect,
    "subsolidcad": subsolidcad.detect,
    "largecad": largecad.detect,
    "etrocad": lambda chest: etrocad.find(chest).candidates,
    "vbna": vbna.find_in_parenchyma,
    "lungcam": lungcam.detect,
}


def _scene(name, noise_hu=12.0, seed=0):
    """Three nodules and a vessel; nodules of ground glass for SubsolidCAD."""
    hu = -500.0 if name == "subsolidcad" else 0.0
    nodules = [ball(place, 6.0, hu=hu) for place in NODULES]
    return lung_with(*nodules, rod((0, 40, 48), 2.0), noise_hu=noise_hu, seed=seed)


def _of_density(chest, level):
    """The same chest with parenchyma of another density; air and tissue stay."""
    hu = np.interp(chest.hu, [-1000.0, LUNG_HU, 0.0, 3000.0], [-1000.0, level, 0.0, 3000.0])
    volume = replace(chest.volume, hu=hu.astype(np.float32))
    return replace(chest, volume=volume)


def _found(candidates):
    places = np.array([world(*place) for place in NODULES])
    apart = np.linalg.norm(candidates.center_mm[:, None] - places, axis=2)
    return (apart.min(axis=0, initial=np.inf) < 6.0).tolist()


@pytest.mark.parametrize("level", [-900.0, -750.0])
@pytest.mark.parametrize("name", FINDERS)
def test_lungs_of_another_density_have_as_many_candidates(name, level):
    chest = _scene(name)
    plain = FINDERS[name](chest)
    other = FINDERS[name](_of_density(chest, level))
    assert _found(plain) == [True] * 3
    assert _found(other) == [True] * 3
    assert abs(len(other) - len(plain)) <= max(2, 0.25 * len(plain))


@pytest.mark.parametrize("name", FINDERS)
def test_a_noisy_lung_keeps_its_nodules_and_its_number_of_candidates(name):
    plain, other = (FINDERS[name](_scene(name, noise_hu=sd)) for sd in (8.0, 25.0))
    assert _found(other) == [True] * 3
    assert len(other) <= max(len(plain) + 4, 1.5 * len(plain))
