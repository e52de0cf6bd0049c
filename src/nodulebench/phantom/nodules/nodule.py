"""Nodule: an analytic shape with what CT shows of it -> voxels drawn on a canvas."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.phantom.canvas import Canvas, Field
from nodulebench.phantom.nodules.shape import NoduleShape
from nodulebench.phantom.tubes import Tubes, paint_in_lung

ATTACHMENTS = ("isolated", "juxtavascular", "juxtapleural")
MOST_SUBVOXELS = 1_500_000
LUNG_HU = -880.0
"""Around spicules."""


@dataclass(frozen=True)
class Nodule:
    """One nodule in the patient.

    Spicules are drawn, but outline, diameters and volume are those of the body without them.
    """

    nodule_id: str
    type: str
    surface: str
    attachment: str
    shape: NoduleShape
    hu: float
    edge_mm: float
    """Over what width the density falls off at the surface."""
    core: NoduleShape | None = None
    """The solid part of a part-solid nodule."""
    core_hu: float = 0.0
    spicules: Tubes | None = None
    is_malignant: bool = False

    @property
    def is_see_through(self) -> bool:
        """Whether vessels and bronchi are seen within it: ground glass."""
        return self.type in ("part_solid", "pure_ground_glass")

    @property
    def anchor_mm(self) -> FloatArray:
        """The point that stays where it is as the nodule grows: the pleura's, or the centre."""
        if self.shape.plane_normal is None:
            return self.shape.center_mm
        return self.shape.center_mm + self.shape.plane_mm * self.shape.plane_normal

    def grown(self, volume_ratio: float) -> "Nodule":
        """The nodule with its volume multiplied."""
        factor, anchor = volume_ratio ** (1 / 3), self.anchor_mm
        return self._changed(
            lambda shape: shape.scaled(factor, anchor),
            lambda point: anchor + factor * (point - anchor),
        )

    def moved(self, shift_mm: FloatArray) -> "Nodule":
        """The nodule at another place."""
        return self._changed(lambda shape: shape.moved(shift_mm), lambda point: point + shift_mm)

    def _changed(
        self,
        shaped: Callable[[NoduleShape], NoduleShape],
        placed: Callable[[FloatArray], FloatArray],
    ) -> "Nodule":
        """The nodule with its shapes changed, and its spicules between other places."""
        core, spicules = self.core, self.spicules
        if spicules is not None:
            ends = placed(spicules.start), placed(spicules.end)
            spicules = replace(spicules, start=ends[0], end=ends[1])
        core = None if core is None else shaped(core)
        return replace(self, shape=shaped(self.shape), core=core, spicules=spicules)


def paint_nodule(canvas: Canvas, nodule: Nodule) -> None:
    """Draw a nodule; ground glass lets what is denser show through."""
    if nodule.spicules is not None:
        paint_in_lung(canvas, nodule.spicules, nodule.hu, LUNG_HU)
    _paint_shape(
        canvas, nodule.shape, nodule.hu, nodule.edge_mm, is_see_through=nodule.is_see_through
    )
    if nodule.core is not None:
        _paint_shape(canvas, nodule.core, nodule.core_hu, nodule.edge_mm, is_see_through=True)


def _paint_shape(
    canvas: Canvas, shape: NoduleShape, hu: float, edge_mm: float, *, is_see_through: bool
) -> None:
    reach = shape.largest_reach_mm + edge_mm + canvas.voxel_mm
    box = canvas.box(shape.center_mm - reach, shape.center_mm + reach)
    if box is None:
        return
    part, x, y, z = box
    cover = _cover(shape, edge_mm, x.ravel(), y.ravel(), z.ravel(), canvas)
    if is_see_through:
        # what is denser than the nodule stays; what is less dense is filled up
        part += cover * np.maximum(np.float32(hu) - part, 0)
    else:
        part += cover * (np.float32(hu) - part)


def _cover(
    shape: NoduleShape, edge_mm: float, x: Field, y: Field, z: Field, canvas: Canvas
) -> Field:
    """Which share of each voxel lies in the nodule, from its parts' distances to the surface."""
    voxels = len(x) * len(y) * len(z)
    parts = int(np.clip((MOST_SUBVOXELS / voxels) ** (1 / 3), 1, 4))
    edge = np.float32(max(edge_mm, canvas.voxel_mm / parts))
    axes = [
        _divided(values, step, parts)
        for values, step in zip((z, y, x), canvas.steps_mm, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij")[::-1], axis=-1)
    distance = shape.distance_mm(grid.reshape(-1, 3)).reshape(grid.shape[:3])
    share: Field = np.clip(0.5 - distance / edge, 0, 1)
    blocks = share.reshape(len(z), parts, len(y), parts, len(x), parts)
    mixed: Field = blocks.mean(axis=(1, 3, 5), dtype=np.float32)
    return mixed


def _divided(centers: Field, step: float, parts: int) -> Field:
    """The centres of the equal parts of each voxel."""
    offset = ((np.arange(parts) + 0.5) / parts - 0.5) * step
    return (centers[:, None] + offset.astype(np.float32)).ravel()
