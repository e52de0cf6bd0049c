"""Chest CT volume -> the two lungs: threshold, components, airways out, sides apart, closing.

The work is done on voxels of about 1.5 mm; only the border is decided on the image's own grid.
Vessels, and nodules up to the closing's width that touch the pleura, belong to the lungs.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.errors import InputError
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.lungs.airways import find_airways
from nodulebench.imaging.morphology import (
    block_mean,
    closing,
    dilated,
    eroded,
    grown_into,
    largest_components,
    repeated,
)
from nodulebench.imaging.volume import Volume, VoxelArray, to_patient_axes
from nodulebench.model.arrays import BoolArray, FloatArray, IntArray

RIGHT, LEFT = 1, 2
COARSE_MM = 1.5
AIR_THRESHOLD_HU = -400.0
"""Half-way between lung (about -850 HU) and soft tissue (about 50 HU)."""
SMALLEST_LUNG_ML = 50.0
SMALLER_LUNG_SHARE = 0.1
"""A lung may be this small beside the other; less is bowel gas or a bulla."""
CLOSING_MM = 10.0
SLACK_MM = 10.0
"""LUNA16 dropped candidates that lay further than this outside the lungs."""
LARGEST_SEPARATION_MM = 15.0
AIRWAY_WALL_MM = 2.0

LabelArray = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Lungs:
    """Which voxels belong to the right and the left lung, in the patient's axes."""

    label: LabelArray
    """0 outside, ``RIGHT`` or ``LEFT``; axes slice (from the feet), row, column."""
    geometry: Geometry

    @property
    def mask(self) -> BoolArray:
        """Both lungs."""
        return self.label > 0

    def with_slack(self, slack_mm: float = SLACK_MM) -> BoolArray:
        """Both lungs and everything at most ``slack_mm`` away from them."""
        spacing = self.geometry.spacing_mm[::-1]
        factors = _coarse_factors(spacing)
        coarse = block_mean(self.mask.astype(np.float32), factors) >= 0.5
        wide = dilated(coarse, slack_mm, spacing * factors)
        return repeated(wide, factors, self.label.shape) | self.mask


def segment_lungs(
    volume: Volume, where: str = "volume", *, closing_mm: float = CLOSING_MM
) -> Lungs:
    """Find the lungs of a chest CT.

    Args:
        volume: the scan in any axis order; it is turned into the patient's axes first.
        where: what the volume is, for messages.
        closing_mm: nodules and vessels in gaps up to twice this wide are taken in.

    Raises:
        InputError: if the image is too oblique or shows no lung.
    """
    upright = to_patient_axes(volume, where)
    spacing = upright.spacing_mm
    factors = _coarse_factors(spacing)
    coarse = block_mean(upright.hu, factors)
    step = spacing * factors
    inside = _air_in_body(coarse < AIR_THRESHOLD_HU)
    lungs = _lung_components(inside, step, where)
    airways = find_airways(coarse, step)
    lungs &= ~dilated(airways, AIRWAY_WALL_MM, step)
    right, left = _sides(lungs, step)
    closed = np.zeros(lungs.shape, dtype=np.uint8)
    for side, lung in ((RIGHT, right), (LEFT, left)):
        grown = closing(lung, closing_mm, step) & ~airways
        closed[grown & ((closed == 0) | lung)] = side
    return Lungs(_refined(upright.hu, closed, factors, step), upright.geometry)


def _coarse_factors(spacing_mm: FloatArray) -> IntArray:
    return np.maximum(1, np.rint(COARSE_MM / spacing_mm)).astype(np.int64)


def _air_in_body(air: BoolArray) -> BoolArray:
    """Air that is not connected with the sides of the image (above and below may be cut)."""
    from scipy import ndimage

    labels, _ = ndimage.label(air)
    sides = (labels[:, 0], labels[:, -1], labels[:, :, 0], labels[:, :, -1])
    outside = np.unique(np.concatenate([side.ravel() for side in sides]))
    return air & ~np.isin(labels, outside)


def _lung_components(inside: BoolArray, step: FloatArray, where: str) -> BoolArray:
    """The one or two largest regions of air in the body."""
    voxel_ml = float(np.prod(step)) / 1000.0
    regions = largest_components(inside, 2)
    sizes = [float(np.count_nonzero(region)) * voxel_ml for region in regions]
    largest = sizes[0] if sizes else 0.0
    if largest < SMALLEST_LUNG_ML:
        raise InputError.at(
            where,
            f"shows no lung: the largest region of air in the body has {largest:.0f} ml "
            f"(a lung has at least {SMALLEST_LUNG_ML:.0f} ml).",
            "Is it a chest CT in Hounsfield units that holds the whole thorax?",
        )
    kept = [
        region
        for region, size in zip(regions, sizes, strict=True)
        if size >= SMALLER_LUNG_SHARE * largest
    ]
    whole: BoolArray = np.logical_or.reduce(kept)
    return whole


def _sides(lungs: BoolArray, step: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Right and left lung; where they touch they are thinned until they part."""
    for thinning_mm in np.arange(0.0, LARGEST_SEPARATION_MM, float(step.max())):
        core = eroded(lungs, float(thinning_mm), step) if thinning_mm else lungs
        regions = largest_components(core, 2)
        if len(regions) == 2 and regions[1].sum() >= SMALLER_LUNG_SHARE * regions[0].sum():
            return _grown_back(lungs, regions)
    nothing = np.zeros_like(lungs)
    is_right = lungs.nonzero()[2].mean() < lungs.shape[2] / 2
    return (lungs, nothing) if is_right else (nothing, lungs)


def _grown_back(lungs: BoolArray, cores: list[BoolArray]) -> tuple[BoolArray, BoolArray]:
    """Let both cores grow in turn until they fill the lungs; the right one lies at smaller x."""
    columns = [core.nonzero()[2].mean() for core in cores]
    right, left = cores[int(np.argmin(columns))], cores[int(np.argmax(columns))]
    before = 0
    while (filled := int(right.sum()) + int(left.sum())) > before:
        before = filled
        right = grown_into(right, lungs & ~left)
        left = grown_into(left, lungs & ~right)
    return right, left


def _refined(hu: VoxelArray, closed: LabelArray, factors: IntArray, step: FloatArray) -> LabelArray:
    """Decide the border voxel by voxel: of the rim only what is air belongs to the lung."""
    reach = float(step.max()) + 1e-6
    fine = np.zeros(hu.shape, dtype=np.uint8)
    air = hu < AIR_THRESHOLD_HU
    for side in (RIGHT, LEFT):
        lung = closed == side
        if not lung.any():
            continue
        rim = repeated(
            dilated(lung, reach, step) & ~(closed == RIGHT + LEFT - side), factors, hu.shape
        )
        core = repeated(eroded(lung, reach, step), factors, hu.shape)
        fine[core | (rim & air)] = side
    return fine
