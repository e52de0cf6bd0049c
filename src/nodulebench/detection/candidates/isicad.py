"""ISICAD: where surfaces of equal density curve like a ball (Murphy et al. 2009).

Seeds of a high shape index grow into clusters; near clusters are merged; the centre of mass is the
candidate. Most small nodules and many large ones are found so; vessels are tubes and are not.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray
from nodulebench.detection.curvature import curvature
from nodulebench.detection.regions import CORNERS, Regions, find_regions
from nodulebench.detection.scan import Candidates, Chest, no_candidates
from nodulebench.imaging.linking import merged_within


@dataclass(frozen=True)
class Settings:
    """Every parameter, from the paper or chosen."""

    voxel_mm: float = 1.4
    """Paper: 256 x 256 pixels and as many slices as make voxels cubes; open: 1.4 mm for all scans
    (256 pixels of the usual field of view of 360 mm), so that a scan's field changes nothing."""
    sigma_voxels: float = 1.0
    """Paper: scale of the derivatives."""
    merge_voxels: float = 3.0
    """Paper: clusters at most this far apart are one, recursively."""
    seed_shape_index: float = 0.9
    """Open: a seed curves almost like a ball (+1)."""
    grown_shape_index: float = 0.8
    """Open: broader than a seed's; far from a tube's 0.5, so that clusters leave out vessels."""
    seed_curvedness: tuple[float, float] = (0.2, 4.0)
    """Open: per voxel; a ball of radius r voxels has sqrt(2) / r. Below: flat; above: noise."""
    grown_curvedness: tuple[float, float] = (0.1, 5.0)
    """Open: broader than a seed's."""
    seed_hu: float = -740.0
    """Open: smoothed density from which there may be a seed; below it noise of the lung abounds."""
    grown_hu: float = -770.0
    """Open: broader than a seed's."""
    smallest_voxels: int = 6
    """Open: clusters of fewer voxels are noise (6 voxels are 16 mm3)."""


DEFAULT = Settings()


def detect(chest: Chest, settings: Settings = DEFAULT) -> Candidates:
    """Candidates with the number of their voxels as score."""
    cubes = chest.resampled(settings.voxel_mm)
    clusters = _clusters(cubes, settings)
    if not clusters.count:
        return no_candidates()
    group = merged_within(clusters.center, clusters.size, settings.merge_voxels)
    merged = clusters.united(group)
    # a shell of radius r has the spread r, a full ball of radius r the spread sqrt(3/5) r
    radius_voxels = np.maximum(merged.spread, np.cbrt(merged.size * 3 / (4 * np.pi)))
    # smoothing carries the density of a cluster's edge about its scale outwards
    radius_voxels = np.maximum(radius_voxels - settings.sigma_voxels, 0.5)
    return Candidates(
        cubes.to_world(merged.center), merged.size, 2 * radius_voxels * settings.voxel_mm
    )


def _clusters(cubes: Chest, settings: Settings) -> Regions:
    from scipy import ndimage

    hu = cubes.hu.astype(np.float32, copy=False)
    smooth = ndimage.gaussian_filter(hu, settings.sigma_voxels)
    where = cubes.lungs.mask & (smooth >= min(settings.seed_hu, settings.grown_hu))
    curved = curvature(hu, settings.sigma_voxels, where)
    density = smooth[where]

    def chosen(shape_index: float, curvedness: tuple[float, float], lowest_hu: float) -> BoolArray:
        low, high = curvedness
        is_chosen: BoolArray = (curved.shape_index >= shape_index) & (density >= lowest_hu)
        is_chosen &= (curved.curvedness >= low) & (curved.curvedness <= high)
        image = np.zeros(where.shape, dtype=np.bool_)
        image[where] = is_chosen
        return image

    seeds = chosen(settings.seed_shape_index, settings.seed_curvedness, settings.seed_hu)
    grown = chosen(settings.grown_shape_index, settings.grown_curvedness, settings.grown_hu)
    regions = find_regions(grown | seeds, CORNERS)
    has_seed = regions.mean(regions.of(seeds)) > 0
    return regions.chosen(has_seed & (regions.size >= settings.smallest_voxels))
