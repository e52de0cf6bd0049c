"""Candidates on a scan -> MARKS and MARK_SLICES: box per slice, axes, diameter and density of each.

Each candidate is cut out on the scan's own voxels: what is denser than half-way between it and the
lung around it, hangs together with it, and is left when vessels are cut off.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray, IntArray
from nodulebench.core.tables import MARK_SLICES, MARKS
from nodulebench.detection.scan import Candidates, Chest
from nodulebench.imaging.geometry import Geometry, voxel_box_mm
from nodulebench.imaging.outlines import long_and_short_mm

LUNG_HU = -850.0
"""Aerated lung around a nodule."""
FAINTEST_HU = -780.0
"""Lower thresholds would take noise of the lung in."""
DENSEST_HU = 60.0
"""Calcium counts as soft tissue where the threshold is chosen, so that a rim is not lost."""
SOLID_HU = -300.0
"""LUNA16's SubsolidCAD and LargeCAD part solid from ground glass here."""
CALCIFIED_HU = 100.0
"""NIFDC: calcified nodules usually have more."""
GROUND_GLASS_SHARE, SOLID_SHARE = 0.1, 0.5
"""Shares of solid voxels in the inner part below and above which a nodule is of one density."""
SEED_MM = 2.5
"""A detector's centre may be this far from the densest voxel."""
REACH_MM = (5.0, 22.0)
"""How far a candidate may reach from its centre: its radius and a half, within these limits."""
HALO_HU = -650.0
"""Voxels around a solid part that are denser than this may be ground glass."""
HALO_MM = 2.0
"""A rim as wide as this is ground glass, a narrower one a blurred edge."""
VESSEL_SHARE = 0.45
"""Parts thinner than this share of the greatest thickness are vessels and are cut off."""


@dataclass(frozen=True, eq=False)
class Outline:
    """The voxels of one candidate and their class of density."""

    place: IntArray
    """n x 3: slice, row, column in the chest."""
    density: str


def measure_marks(
    chest: Chest, candidates: Candidates, case_id: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Measure candidates on the scan.

    Marks keep the detector's centre and score, in its order; slices are those of the whole scan.
    """
    index = chest.to_index(candidates.center_mm)
    outlines = [
        cut_out(chest, place, diameter)
        for place, diameter in zip(index, candidates.diameter_mm.tolist(), strict=True)
    ]
    slices = _slice_table(chest, outlines, case_id, chest.scan)
    largest = (
        slices.sort(pl.col("long_mm") * pl.col("short_mm"), descending=True, maintain_order=True)
        .unique("mark_id", keep="first", maintain_order=True)
        .select("mark_id", "long_mm", "short_mm")
    )
    marks = pl.DataFrame(
        {
            "case_id": [case_id] * len(candidates),
            "mark_id": [str(number + 1) for number in range(len(candidates))],
            **{f"{axis}_mm": candidates.center_mm[:, at] for at, axis in enumerate("xyz")},
            "score": candidates.score,
            "density": [outline.density for outline in outlines],
        },
        schema_overrides={"case_id": pl.String, "mark_id": pl.String, "density": pl.String},
    ).join(largest, on="mark_id", how="left", maintain_order="left")
    marks = marks.with_columns(diameter_mm=(pl.col("long_mm") + pl.col("short_mm")) / 2)
    return MARKS.conform(marks, "marks"), MARK_SLICES.conform(slices, "mark slices")


def cut_out(chest: Chest, index: FloatArray, diameter_mm: float) -> Outline:
    """The voxels of a candidate at a (fractional) voxel of the chest; at least one."""
    spacing = chest.spacing_mm
    reach_mm = float(np.clip(0.75 * diameter_mm + 2.0, *REACH_MM))
    shape = np.array(chest.hu.shape)
    middle = np.clip(np.rint(index).astype(np.int64), 0, shape - 1)
    reach = np.ceil(reach_mm / spacing).astype(np.int64)
    low, high = np.maximum(middle - reach, 0), np.minimum(middle + reach + 1, shape)
    box = tuple(slice(*bounds) for bounds in zip(low, high, strict=True))
    hu: Float32Array = chest.hu[box].astype(np.float32)
    axes = np.ogrid[tuple(slice(0, length) for length in hu.shape)]
    away_mm = np.sqrt(
        sum(((axes[at] + low[at] - index[at]) * spacing[at]) ** 2 for at in range(3))
    ).astype(np.float32)
    seed, threshold_hu = _seed(hu, away_mm)
    within: BoolArray = chest.lungs.label[box] > 0
    if not within[seed]:  # in the slack around the lungs
        within = np.ones_like(within)
    within &= away_mm <= reach_mm
    inside, depth_mm = _without_vessels(within & (hu >= threshold_hu), seed, spacing)
    if threshold_hu > HALO_HU:
        with_halo = _without_vessels(within & (hu >= HALO_HU), seed, spacing)
        # by the radii of both on the slice with the largest area
        widest = int(np.argmax(inside.sum(axis=(1, 2))))
        pixels = [np.count_nonzero(region[widest]) for region in (with_halo[0], inside)]
        wide, narrow = np.sqrt(np.array(pixels) * float(spacing[1] * spacing[2]) / np.pi).tolist()
        if wide - narrow >= HALO_MM:
            inside, depth_mm = with_halo
    density = _density(hu[inside], depth_mm[inside])
    return Outline(np.argwhere(inside) + low, density)


def _seed(hu: Float32Array, away_mm: Float32Array) -> tuple[tuple[int, ...], float]:
    near = away_mm <= max(SEED_MM, float(away_mm.min()))
    seed = np.unravel_index(int(np.argmax(np.where(near, hu, -np.inf))), hu.shape)
    # a high percentile of the near voxels, because their maximum is noise
    typical = min(float(np.percentile(hu[near], 90)), float(hu[seed]), DENSEST_HU)
    threshold_hu = min(max((typical + LUNG_HU) / 2, FAINTEST_HU), float(hu[seed]))
    return tuple(int(at) for at in seed), threshold_hu


def _without_vessels(
    dense: BoolArray, seed: tuple[int, ...], spacing_mm: FloatArray
) -> tuple[BoolArray, FloatArray]:
    """The region connected with the seed by more than a vessel, and each voxel's depth in it."""
    from scipy import ndimage

    whole = _connected(dense, seed)
    (box,) = ndimage.find_objects(whole.astype(np.uint8))
    padded = np.pad(whole[box], 1)
    inner = (slice(1, -1),) * 3
    depth_mm = np.zeros(whole.shape)
    depth_mm[box] = ndimage.distance_transform_edt(padded, sampling=spacing_mm)[inner]
    thickest = np.unravel_index(int(np.argmax(depth_mm)), depth_mm.shape)
    cut_mm = VESSEL_SHARE * float(depth_mm[thickest])
    core = depth_mm > cut_mm
    core = _connected(core, seed if core[seed] else tuple(int(at) for at in thickest))
    # grown back by the thickness that was cut, within the whole
    away_mm = ndimage.distance_transform_edt(~np.pad(core[box], 1), sampling=spacing_mm)[inner]
    inside = whole
    inside[box] &= away_mm <= cut_mm + 1e-6
    return inside, depth_mm


def _connected(mask: BoolArray, seed: tuple[int, ...]) -> BoolArray:
    from scipy import ndimage

    labels, _ = ndimage.label(mask)
    region: BoolArray = labels == labels[seed]
    return region


def _density(hu: Float32Array, depth_mm: FloatArray) -> str:
    """The class of density of the inner half, where no voxel is half lung."""
    inner = hu[depth_mm >= np.median(depth_mm)]
    if float(np.median(inner)) > CALCIFIED_HU:
        return "calcified"
    solid = float(np.mean(inner >= SOLID_HU))
    if solid >= SOLID_SHARE:
        return "solid"
    return "part_solid" if solid > GROUND_GLASS_SHARE else "ground_glass"


def _slice_table(
    chest: Chest, outlines: list[Outline], case_id: str, scan: Geometry
) -> pl.DataFrame:
    parts = [
        (str(number), outline.place[outline.place[:, 0] == at])
        for number, outline in enumerate(outlines, start=1)
        for at in np.unique(outline.place[:, 0])
    ]
    corners = (
        np.array([edge(pixels, axis=0)[::-1] for _, pixels in parts], np.float64).reshape(-1, 3)
        for edge in (np.min, np.max)
    )
    center, extent = voxel_box_mm(chest.volume.geometry, *corners)
    axes = [_axes_mm(pixels[:, 1:], chest.spacing_mm[1:]) for _, pixels in parts]
    long_short = np.array(axes, dtype=np.float64).reshape(-1, 2)
    return pl.DataFrame(
        {
            "case_id": [case_id] * len(parts),
            "mark_id": [mark_id for mark_id, _ in parts],
            "slice_index": np.rint(scan.to_index(center)[:, 2]).astype(np.int64),
            "z_mm": center[:, 2],
            "center_x_mm": center[:, 0],
            "center_y_mm": center[:, 1],
            "length_mm": extent[:, 0],
            "width_mm": extent[:, 1],
            "long_mm": long_short[:, 0],
            "short_mm": long_short[:, 1],
        },
        schema_overrides={"case_id": pl.String, "mark_id": pl.String},
    )


def _axes_mm(pixels: IntArray, spacing_mm: FloatArray) -> tuple[float, float]:
    """Long and short axis of pixels (row, column): those of the hull of their edges' middles."""
    from scipy.spatial import ConvexHull

    halves = np.array([[0.5, 0], [-0.5, 0], [0, 0.5], [0, -0.5]])
    points = ((pixels[:, None, :] + halves) * spacing_mm).reshape(-1, 2)
    return long_and_short_mm(points[ConvexHull(points).vertices])
