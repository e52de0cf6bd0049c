"""LargeCAD: solid regions of 8 to 40 mm (Setio et al. 2015), for nodules of 10 mm and more.

Large nodules touch vessels, the pleura and the mediastinum. The lungs are closed with a wide
ball, which cuts nodules off the chest wall; thinning to several depths cuts them off vessels.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray
from nodulebench.detection.regions import all_parts, parts_of
from nodulebench.detection.scan import Candidates, Chest
from nodulebench.imaging.lungs import LEFT, RIGHT
from nodulebench.imaging.morphology import block_mean, closing, repeated


@dataclass(frozen=True)
class Settings:
    """Every parameter, from the paper or chosen."""

    lowest_hu: float = -300.0
    """Paper: below it is not solid."""
    diameter_mm: tuple[float, float] = (6.5, 40.0)
    """Paper: diameters of the ball with a region's volume, 8 to 40 mm; open: from 6.5 mm,
    because of a nodule of 8 mm less than that is denser than the lowest density."""
    voxel_mm: float = 1.4
    """Open: fine enough for regions of 8 mm."""
    closing_mm: float = 18.0
    """Open: each lung is closed with a ball of this radius; nodules up to twice as wide at the
    pleura come to lie inside."""
    thinning_mm: tuple[float, ...] = (1.4, 2.0, 3.0, 4.5, 6.5, 9.0, 12.0)
    """Open: depths at which regions are parted from vessels and from each other."""
    apart_mm: float = 3.0
    """Open: a region nearer than this to one found at a lower depth is the same."""
    least_compactness: float = 0.6
    """Open: longer or more ragged regions are vessels and folds of the pleura (a ball has 1)."""


DEFAULT = Settings()


def detect(chest: Chest, settings: Settings = DEFAULT) -> Candidates:
    """Candidates with compactness squared times radius (mm) as score."""
    cubes = chest.resampled(settings.voxel_mm)
    step = settings.voxel_mm
    is_dense = cubes.hu.astype(np.float32, copy=False) >= settings.lowest_hu
    solid = is_dense & _wide_lungs(cubes, settings.closing_mm)
    smallest, largest = settings.diameter_mm
    levels = []
    for thinning_mm in settings.thinning_mm:
        parts = parts_of(solid, thinning_mm / step)
        diameter_mm = 2.0 * parts.radius * step
        is_right_size = (diameter_mm >= smallest) & (diameter_mm <= largest)
        levels.append(
            parts.chosen(is_right_size & (parts.compactness >= settings.least_compactness))
        )
    parts = all_parts(levels, settings.apart_mm / step)
    score = parts.compactness**2 * parts.radius * step
    return Candidates(cubes.to_world(parts.center), score, 2.0 * parts.radius * step)


def _wide_lungs(cubes: Chest, closing_mm: float) -> BoolArray:
    """The lungs and their dents that a ball cannot enter, on voxels twice as wide."""
    factors = np.full(3, 2, dtype=np.int64)
    wide = cubes.lungs.mask.copy()
    for side in (RIGHT, LEFT):
        lung = cubes.lungs.label == side
        if lung.any():
            coarse = block_mean(lung, factors) >= 0.5
            closed = closing(coarse, closing_mm, cubes.spacing_mm * factors)
            wide |= repeated(closed, factors, lung.shape)
    return wide
