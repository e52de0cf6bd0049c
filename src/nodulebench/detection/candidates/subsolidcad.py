"""SubsolidCAD: regions of a density between lung and soft tissue (Jacobs et al. 2014).

Ground-glass and part-solid nodules are such regions; so are the rims of vessels and of the pleura,
whose voxels are half vessel, half lung. An opening takes thin rims away. A candidate moves to the
middle of what is dense around it: a rim to the middle of its nodule or vessel; what is long there
is a vessel and is dropped. The score ranks what is left by size and compactness.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray
from nodulebench.detection.regions import (
    all_parts,
    find_regions,
    move_to_centres,
    parts_of,
    roundness,
    strongest_of_clusters,
)
from nodulebench.detection.scan import Candidates, Chest
from nodulebench.imaging.morphology import opening


@dataclass(frozen=True)
class Settings:
    """Every parameter, from the paper or chosen."""

    lowest_hu: float = -750.0
    """Paper: below it is lung."""
    highest_hu: float = -300.0
    """Paper: above it is solid."""
    opening_voxels: float = 3.0
    """Paper: diameter of the ball of the opening."""
    smallest_mm3: float = 34.0
    """Paper: smaller regions are dropped (a ball of 4 mm; the paper's reason speaks of 5 mm)."""
    voxel_mm: float = 1.0
    """Open: cubes, so that the ball of the opening is one in thick slices too."""
    sigma_voxels: float = 1.25
    """Open: smoothing against noise, which frays the mask: a core may depend on a single voxel."""
    thinning_mm: tuple[float, ...] = (2.0, 3.0, 4.0, 5.0)
    """Open: depths at which parts of a region joined by rims of vessels are looked for."""
    apart_mm: float = 3.0
    """Open: a part nearer than this to the centre of its region is not a separate candidate."""
    least_compactness: float = 0.5
    """Open: longer or more ragged regions are rims of vessels and of the pleura (a ball has 1)."""
    centering_mm: tuple[float, float] = (3.0, 8.0)
    """Open: a centre moves to the centre of mass within a ball of its radius, within these."""
    centering_steps: int = 4
    """Open: how often it moves; more would let it run along vessels."""
    least_roundness: float = 0.35
    """Open: shortest by longest axis of what is dense around the centre; vessels have less."""
    roundness_mm: tuple[float, float] = (5.0, 15.0)
    """Open: looked at within a ball of the region's radius, within these."""
    least_score: float = 1.25
    """Open: of compactness squared times radius (mm); a ball of 2.5 mm has it."""


DEFAULT = Settings()


def detect(chest: Chest, settings: Settings = DEFAULT) -> Candidates:
    """Candidates with compactness squared times radius (mm) as score; near ones are merged."""
    cubes = chest.resampled(settings.voxel_mm)
    step = settings.voxel_mm
    found = find_regions(_opened(cubes, settings))
    large = found.chosen(found.size * settings.voxel_mm**3 >= settings.smallest_mm3)
    regions = np.zeros_like(cubes.lungs.mask)
    regions[tuple(large.place.T)] = True
    levels = [parts_of(regions, thinning_mm / step) for thinning_mm in (0.0, *settings.thinning_mm)]
    compact = [level.chosen(level.compactness >= settings.least_compactness) for level in levels]
    parts = all_parts(compact, settings.apart_mm / step)
    hu, lungs = cubes.hu.astype(np.float32, copy=False), cubes.lungs.mask
    score = parts.compactness**2 * parts.radius * step
    center = move_to_centres(
        hu,
        lungs,
        parts.center,
        np.clip(parts.radius, *np.array(settings.centering_mm) / step),
        densest_hu=settings.highest_hu,
        steps=settings.centering_steps,
    )
    is_chosen = strongest_of_clusters(center, score, np.full(len(parts), settings.apart_mm / step))
    is_chosen &= score >= settings.least_score
    round_there = roundness(
        hu,
        lungs,
        center[is_chosen],
        np.clip(parts.radius[is_chosen], *np.array(settings.roundness_mm) / step),
        densities_hu=(settings.lowest_hu, settings.highest_hu),
    )
    is_chosen[is_chosen] = round_there >= settings.least_roundness
    diameter_mm = 2.0 * parts.radius * step
    return Candidates(cubes.to_world(center[is_chosen]), score[is_chosen], diameter_mm[is_chosen])


def _opened(cubes: Chest, settings: Settings) -> BoolArray:
    from scipy import ndimage

    hu = cubes.hu.astype(np.float32, copy=False)
    if settings.sigma_voxels > 0:
        hu = ndimage.gaussian_filter(hu, settings.sigma_voxels)
    mask: BoolArray = (hu >= settings.lowest_hu) & (hu <= settings.highest_hu) & cubes.lungs.mask
    return opening(mask, (settings.opening_voxels - 1.0) / 2.0)
