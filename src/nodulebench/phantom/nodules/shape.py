"""NoduleShape: an analytic surface -> inside test, volume, outlines and extents, without voxels.

A shape is seen from its centre: in every direction the surface is at one distance, that of an
ellipsoid, raised by lobes and cut off by a plane (the pleura). Everything else follows from that
distance.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.imaging.outlines import area_mm2, long_and_short_mm
from nodulebench.phantom.canvas import Field

OUTLINE_CORNERS = 180
_POLAR, _AROUND = 120, 240
_SECTIONS = 15
_BISECTIONS = 34
_GRID, _ZOOM = 13, 5.0


@dataclass(frozen=True)
class Lobe:
    """A bulge of the surface: where it points, how high it is and how narrow."""

    direction: tuple[float, ...]
    height: float
    """As a share of the distance from the centre."""
    narrowness: float


@dataclass(frozen=True)
class NoduleShape:
    """An ellipsoid with lobes, cut off by a plane."""

    center_mm: FloatArray
    semi_axes_mm: FloatArray
    rotation: FloatArray
    """Column j is the direction of axis j in the patient."""
    lobes: tuple[Lobe, ...] = ()
    plane_normal: FloatArray | None = None
    """Points outwards; beyond the plane nothing belongs to the nodule."""
    plane_mm: float = 0.0
    """Distance of the plane from the centre."""

    def reach_mm(self, direction: Field) -> Field:
        """Distance from the centre to the surface in directions (n x 3, unit length)."""
        local = direction @ self.rotation.astype(direction.dtype)
        square = ((local / self.semi_axes_mm.astype(direction.dtype)) ** 2).sum(axis=-1)
        reach: Field = 1 / np.sqrt(np.maximum(square, 1e-12))  # the centre itself has no direction
        swell = 1.0
        for lobe in self.lobes:
            nearness = direction @ np.array(lobe.direction, dtype=direction.dtype)
            swell = swell + lobe.height * np.exp(lobe.narrowness * (nearness - 1))
        reach = reach * swell
        if self.plane_normal is not None:
            towards = direction @ self.plane_normal.astype(direction.dtype)
            limit = self.plane_mm / np.maximum(towards, 1e-9)
            reach = np.minimum(reach, np.where(towards > 0, limit, np.inf).astype(reach.dtype))
        return reach

    def distance_mm(self, point_mm: Field) -> Field:
        """How far points (n x 3) lie beyond the surface, seen from the centre; inside negative."""
        offset = point_mm - self.center_mm.astype(point_mm.dtype)
        length = np.sqrt((offset**2).sum(axis=-1))
        beyond: Field = length - self.reach_mm(offset / np.maximum(length, 1e-9)[..., None])
        return beyond

    def contains(self, point_mm: FloatArray) -> BoolArray:
        """Whether points lie in the nodule."""
        return self.distance_mm(point_mm) <= 0

    @cached_property
    def volume_mm3(self) -> float:
        """The volume: the third of the cubed distance, integrated over all directions."""
        direction, weight = _sphere()
        return float((self.reach_mm(direction) ** 3) @ weight / 3)

    @cached_property
    def centroid_mm(self) -> FloatArray:
        """The centre of mass."""
        direction, weight = _sphere()
        moment = (self.reach_mm(direction) ** 4 * weight) @ direction / 4
        return self.center_mm + moment / self.volume_mm3

    @cached_property
    def largest_reach_mm(self) -> float:
        """The radius of a ball around the centre that holds the nodule."""
        direction, _ = _sphere()
        return float(self.reach_mm(direction).max()) * 1.001

    @cached_property
    def extent_z_mm(self) -> tuple[float, float]:
        """The lowest and the highest z of the nodule."""
        direction, _ = _sphere()
        height = self.reach_mm(direction) * direction[:, 2]
        return float(self.center_mm[2] + height.min()), float(self.center_mm[2] + height.max())

    def outline(self, z_mm: float, corners: int = OUTLINE_CORNERS) -> FloatArray | None:
        """The outline on the plane at ``z_mm``: corners (x, y); None where the plane misses it."""
        start = self._deepest(z_mm)
        if start is None:
            return None
        angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
        ray = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(len(angle))])
        near, far = np.zeros(len(angle)), np.full(len(angle), 2.1 * self.largest_reach_mm)
        for _ in range(_BISECTIONS):
            middle = (near + far) / 2
            is_inside = self.contains(start + middle[:, None] * ray)
            near, far = np.where(is_inside, middle, near), np.where(is_inside, far, middle)
        line: FloatArray = start[:2] + near[:, None] * ray[:, :2]
        return line

    @cached_property
    def largest_section_z_mm(self) -> float:
        """The height of the largest axial section."""
        low, high = self.extent_z_mm
        heights, best = np.array([(low + high) / 2]), 0
        for _ in range(3):
            heights = np.linspace(low, high, _SECTIONS)[1:-1]
            areas = [self._area(float(z)) for z in heights]
            best = int(np.argmax(areas))
            step = float(heights[1] - heights[0])
            low, high = float(heights[best]) - step, float(heights[best]) + step
        return float(heights[best])

    @cached_property
    def long_and_short_mm(self) -> tuple[float, float]:
        """Long and short diameter of the largest axial section."""
        outline = self.outline(self.largest_section_z_mm)
        return (0.0, 0.0) if outline is None else long_and_short_mm(outline)

    @property
    def diameter_mm(self) -> float:
        """The mean of long and short diameter."""
        return float(np.mean(self.long_and_short_mm))

    def scaled(self, factor: float, anchor_mm: FloatArray) -> "NoduleShape":
        """The shape grown by ``factor`` in length, with the anchor staying where it is."""
        return replace(
            self,
            center_mm=anchor_mm + factor * (self.center_mm - anchor_mm),
            semi_axes_mm=self.semi_axes_mm * factor,
            plane_mm=self.plane_mm * factor,
        )

    def moved(self, shift_mm: FloatArray) -> "NoduleShape":
        """The same shape at another place."""
        return replace(self, center_mm=self.center_mm + shift_mm)

    def _area(self, z_mm: float) -> float:
        outline = self.outline(z_mm, corners=48)
        return 0.0 if outline is None else area_mm2(outline)

    def _deepest(self, z_mm: float) -> FloatArray | None:
        """The point of a plane that is deepest in the nodule; None where the plane misses it."""
        middle, half = self.center_mm[:2], self.largest_reach_mm
        best = np.zeros(3)
        depth = np.zeros(1)
        for _ in range(4):
            offset = np.linspace(-half, half, _GRID)
            x, y = np.meshgrid(middle[0] + offset, middle[1] + offset)
            points = np.column_stack([x.ravel(), y.ravel(), np.full(x.size, z_mm)])
            depth = self.distance_mm(points)
            best = points[int(np.argmin(depth))]
            middle, half = best[:2], half / _ZOOM
        return best if depth.min() < 0 else None


@cache
def _sphere() -> tuple[FloatArray, FloatArray]:
    """Directions over the whole sphere, and their shares of the solid angle.

    Gauss-Legendre nodes along the axis and even steps around it: exact for smooth surfaces.
    """
    height, share = np.polynomial.legendre.leggauss(_POLAR)
    around = (np.arange(_AROUND) + 0.5) * 2 * np.pi / _AROUND
    radius = np.sqrt(1 - height**2)
    direction = np.stack(
        [
            np.outer(radius, np.cos(around)),
            np.outer(radius, np.sin(around)),
            np.repeat(height[:, None], _AROUND, axis=1),
        ],
        axis=-1,
    ).reshape(-1, 3)
    weight = np.repeat(share, _AROUND) * 2 * np.pi / _AROUND
    direction.flags.writeable = weight.flags.writeable = False  # the same for all nodules
    return direction, weight
