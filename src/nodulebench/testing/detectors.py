"""What every candidate detector and every check of admission keeps to."""

import inspect
from functools import cache

import numpy as np

from nodulebench.curation.admission_checks import CHECKS
from nodulebench.detection.candidates import DETECTORS
from nodulebench.detection.scan import Candidates, Chest, prepare_scan
from nodulebench.imaging.volume import make_volume
from nodulebench.testing.test_sets import expect

SPACING_MM = np.array([2.0, 2.5, 2.0])
ORIGIN_MM = np.array([-110.0, -80.0, -300.0])
BALLS = ((25, 24, 35, 5.0), (40, 30, 30, 6.0), (20, 40, 80, 5.0), (45, 24, 76, 6.5))
"""Slice, row, column and radius in mm of what looks like a nodule."""


@cache
def made_up_chest() -> Chest:
    """Two lungs of 62 x 90 x 100 mm in a body, with four balls."""
    hu = np.full((60, 64, 112), -1000.0)
    hu[:, 6:60, 6:108] = 40.0
    for columns in (slice(16, 48), slice(64, 98)):
        hu[6:56, 14:54, columns] = -860.0
    index = np.indices(hu.shape)
    for k, j, i, radius in BALLS:
        offset = index - np.array([k, j, i])[:, None, None, None]
        distance = np.sqrt(((offset * SPACING_MM[::-1, None, None, None]) ** 2).sum(axis=0))
        hu[distance <= radius] = 30.0
    hu += np.random.default_rng(1).normal(0, 5.0, hu.shape)
    whole = np.rint(hu).astype(np.int16)
    return prepare_scan(make_volume(whole, spacing_mm=SPACING_MM, origin_mm=ORIGIN_MM))


def check_detector(name: str) -> None:
    """Run a registered detector on a made-up chest; AssertionError if it breaks its contract.

    Its candidates are as many places as scores and sizes, inside the scan, finite, and the same the
    second time.
    """
    chest = made_up_chest()
    first, second = (DETECTORS[name](chest) for _ in range(2))
    expect(isinstance(first, Candidates), f"{name} gives {type(first).__name__}, not Candidates")
    shapes = {len(first.center_mm), len(first.score), len(first.diameter_mm)}
    expect(len(shapes) == 1, f"{name} has not as many places as scores and diameters")
    expect(first.center_mm.shape[1:] == (3,), f"{name}: a place is x, y and z")
    for what in ("center_mm", "score", "diameter_mm"):
        values = getattr(first, what)
        expect(bool(np.isfinite(values).all()), f"{name}: {what} is not a number")
        expect(np.array_equal(values, getattr(second, what)), f"{name}: {what} differs each time")
    expect(bool((first.diameter_mm > 0).all()), f"{name}: a diameter is not positive")
    index = chest.to_index(first.center_mm)
    is_inside = (index >= -0.5) & (index <= np.array(chest.hu.shape) - 0.5)
    expect(bool(is_inside.all()), f"{name}: a candidate is outside the scan")


def check_admission_check(name: str) -> None:
    """Look at a registered check of admission: it takes one subject and says what it means."""
    check = CHECKS[name]
    expect(len(inspect.signature(check).parameters) == 1, f"{name} takes more than a subject")
    expect(bool(inspect.getdoc(check)), f"{name} does not say what it means")
