"""Nodule: an analytic shape with what CT shows of it -> volume, outlines, voxels on a canvas.

A shape is seen from its centre: in every direction the surface is at one distance, that of an
ellipsoid, raised by lobes and cut off by a plane (the pleura). Everything else follows from that
distance, without voxels.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.imaging.outlines import area_mm2, long_and_short_mm
from nodulebench.phantom.canvas import Canvas, Field
from nodulebench.phantom.chest import Chest
from nodulebench.phantom.nodule_placement import (
    NodulePosition,
    NoPlaceError,
    Surroundings,
    place_isolated,
    place_juxtavascular,
    place_on_pleura,
)
from nodulebench.phantom.tubes import Tubes, paint_in_lung

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
        return self.distance_mm(point_mm) <= 0

    @cached_property
    def volume_mm3(self) -> float:
        """The volume: the third of the cubed distance, integrated over all directions."""
        direction, weight = _sphere()
        return float((self.reach_mm(direction) ** 3) @ weight / 3)

    @cached_property
    def centroid_mm(self) -> FloatArray:
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
        low, high = self.extent_z_mm
        heights, best = np.array([(low + high) / 2]), 0
        for _ in range(3):
            heights = np.linspace(low, high, _SECTIONS)[1:-1]
            outlines = [self.outline(float(z), corners=48) for z in heights]
            areas = [0.0 if outline is None else area_mm2(outline) for outline in outlines]
            best = int(np.argmax(areas))
            step = float(heights[1] - heights[0])
            low, high = float(heights[best]) - step, float(heights[best]) + step
        return float(heights[best])

    @cached_property
    def long_and_short_mm(self) -> tuple[float, float]:
        outline = self.outline(self.largest_section_z_mm)
        return (0.0, 0.0) if outline is None else long_and_short_mm(outline)

    @property
    def diameter_mm(self) -> float:
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
        return replace(self, center_mm=self.center_mm + shift_mm)

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
        factor, anchor = volume_ratio ** (1 / 3), self.anchor_mm
        return self._changed(
            lambda shape: shape.scaled(factor, anchor),
            lambda point: anchor + factor * (point - anchor),
        )

    def moved(self, shift_mm: FloatArray) -> "Nodule":
        return self._changed(lambda shape: shape.moved(shift_mm), lambda point: point + shift_mm)

    def _changed(
        self,
        shaped: Callable[[NoduleShape], NoduleShape],
        placed: Callable[[FloatArray], FloatArray],
    ) -> "Nodule":
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
    """The share of each voxel in the nodule, from its parts' distances to the surface."""
    voxels = len(x) * len(y) * len(z)
    parts = int(np.clip((MOST_SUBVOXELS / voxels) ** (1 / 3), 1, 4))
    edge = np.float32(max(edge_mm, canvas.voxel_mm / parts))
    offset = (np.arange(parts) + 0.5) / parts - 0.5
    axes = [
        (values[:, None] + (offset * step).astype(np.float32)).ravel()
        for values, step in zip((z, y, x), canvas.steps_mm, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij")[::-1], axis=-1)
    distance = shape.distance_mm(grid.reshape(-1, 3)).reshape(grid.shape[:3])
    share: Field = np.clip(0.5 - distance / edge, 0, 1)
    blocks = share.reshape(len(z), parts, len(y), parts, len(x), parts)
    mixed: Field = blocks.mean(axis=(1, 3, 5), dtype=np.float32)
    return mixed


SMALLEST_MM, LARGEST_MM = 2.0, 30.0


@dataclass(frozen=True, slots=True)
class Kind:
    """The ranges of one type of nodule: density (HU), edge and size (mm)."""

    hu: tuple[float, float]
    edge_mm: tuple[float, float]
    diameter_mm: tuple[float, float]
    surfaces: tuple[str, ...]
    core_hu: tuple[float, float] | None = None


KINDS: dict[str, Kind] = {
    "solid": Kind((10, 60), (0.2, 0.5), (2.0, 30.0), ("smooth", "lobulated", "spiculated")),
    "part_solid": Kind(
        (-620, -480), (1.2, 2.6), (6.0, 30.0), ("smooth", "lobulated", "spiculated"), (-40, 40)
    ),
    "pure_ground_glass": Kind((-690, -540), (1.2, 3.0), (4.0, 26.0), ("smooth", "lobulated")),
    "calcified": Kind((220, 900), (0.2, 0.4), (2.0, 14.0), ("smooth", "lobulated")),
    "pleural": Kind((10, 60), (0.2, 0.5), (4.0, 28.0), ("smooth", "lobulated")),
    "pleural_calcified": Kind((220, 900), (0.2, 0.4), (3.0, 20.0), ("smooth", "lobulated")),
}
"""The six types of NIFDC 2022; what is calcified has more than 100 HU."""

MALIGNANT_SHARE = {"smooth": 0.08, "lobulated": 0.35, "spiculated": 0.8}
CONTACT = 0.8
"""A juxtapleural nodule's centre is this share of its radius from the pleura."""


def random_diameter(kind: Kind, random: np.random.Generator) -> float:
    """Small nodules are more frequent: the logarithm is evenly spread."""
    low, high = kind.diameter_mm
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def make_nodule(
    around: Surroundings,
    *,
    nodule_id: str,
    type: str,  # noqa: A002 - the column's name
    surface: str,
    attachment: str,
    diameter_mm: float,
    random: np.random.Generator,
) -> Nodule:
    """A nodule at a place that fits it; the truth's diameters are measured on what came out.

    ``attachment``: isolated, juxtavascular or juxtapleural; pleural types lie on the pleura.
    """
    kind = KINDS[type]
    is_pleural = type.startswith("pleural")
    radius = diameter_mm / 2
    place, flatness = _place(around, attachment, is_pleural, radius, random)
    shape = _random_shape(place, surface, radius, flatness, random)
    if is_pleural or attachment == "juxtapleural":
        height = _pleura_height(is_pleural, radius)
        shape = replace(shape, plane_normal=place.outward, plane_mm=height)
    if 2 * shape.largest_reach_mm > LARGEST_MM:  # made smaller than what is no nodule any more
        long, _ = shape.long_and_short_mm
        on_pleura = 0.0 if shape.plane_normal is None else shape.plane_mm * shape.plane_normal
        shape = shape.scaled(min(1.0, LARGEST_MM / long), shape.center_mm + on_pleura)
    core = None if kind.core_hu is None else _random_core(shape, random)
    return Nodule(
        nodule_id=nodule_id,
        type=type,
        surface=surface,
        attachment="juxtapleural" if is_pleural else attachment,
        shape=shape,
        hu=float(random.uniform(*kind.hu)),
        edge_mm=min(float(random.uniform(*kind.edge_mm)), 0.5 * radius),
        core=core,
        core_hu=0.0 if kind.core_hu is None else float(random.uniform(*kind.core_hu)),
        spicules=_random_spicules(shape, random) if surface == "spiculated" else None,
        is_malignant=type != "calcified"
        and not is_pleural
        and bool(random.random() < MALIGNANT_SHARE[surface]),
    )


def _pleura_height(is_pleural: bool, radius: float) -> float:
    return (0.1 if is_pleural else CONTACT) * radius


def _place(
    around: Surroundings,
    attachment: str,
    is_pleural: bool,
    radius: float,
    random: np.random.Generator,
) -> tuple[NodulePosition, float]:
    """A place, and how flat a nodule is there (1: as high as wide)."""
    for _ in range(6):
        try:
            if is_pleural or attachment == "juxtapleural":
                height = _pleura_height(is_pleural, radius)
                flatness = float(random.uniform(0.45, 0.75)) if is_pleural else 1.0
                return place_on_pleura(around, radius, height, random), flatness
            if attachment == "juxtavascular":
                return place_juxtavascular(around, radius, random), 1.0
            return place_isolated(around, radius, random), 1.0
        except NoPlaceError:
            continue
    raise NoPlaceError


def _random_shape(
    place: NodulePosition, surface: str, radius: float, flatness: float, random: np.random.Generator
) -> NoduleShape:
    """An ellipsoid that is nearly round, flattened towards the pleura, with lobes if asked for."""
    first = np.cross(place.outward, random.standard_normal(3))
    first /= np.linalg.norm(first)
    rotation = np.column_stack([first, np.cross(place.outward, first), place.outward])
    ratio = random.uniform(0.72, 1.0, 3) if surface != "smooth" else random.uniform(0.8, 1.0, 3)
    semi_axes = radius * ratio / ratio.mean() * np.array([1.0, 1.0, flatness])
    count = {"smooth": 0, "lobulated": 7, "spiculated": 4}[surface]
    lobes = tuple(
        Lobe(
            tuple(point.tolist()),
            float(random.uniform(0.2, 0.42)) * (1.0 if surface == "lobulated" else 0.6),
            float(random.uniform(7.0, 13.0)),
        )
        for point in _random_directions(count, random)
    )
    # lobes make it larger; the asked-for size is that of the whole
    swell = 1 + 0.35 * sum(lobe.height for lobe in lobes) / max(1, count) * (count > 0)
    return NoduleShape(place.center_mm, semi_axes / swell, rotation, lobes)


def _random_core(shape: NoduleShape, random: np.random.Generator) -> NoduleShape:
    share = float(random.uniform(0.3, 0.65))
    offset = _random_directions(1, random)[0] * (1 - share) * 0.5 * float(shape.semi_axes_mm.min())
    normal = shape.plane_normal
    left = shape.plane_mm if normal is None else shape.plane_mm - float(offset @ normal)
    return replace(
        shape,
        center_mm=shape.center_mm + offset,
        semi_axes_mm=shape.semi_axes_mm * share,
        plane_mm=max(left, 0.05),
    )


def _random_spicules(shape: NoduleShape, random: np.random.Generator) -> Tubes:
    direction = _random_directions(int(random.integers(80, 120)), random)
    if shape.plane_normal is not None:
        direction = direction[direction @ shape.plane_normal < 0.2]
    reach = shape.reach_mm(direction)
    length = random.uniform(0.3, 1.2, len(direction)) * np.clip(reach, 2.0, 8.0)
    start = shape.center_mm + direction * (0.8 * reach)[:, None]
    end = shape.center_mm + direction * (reach + length)[:, None]
    width = np.clip(0.2 * reach, 0.5, 1.6) * random.uniform(0.6, 1.1, len(direction))
    return Tubes(start, end, width, 0.2 * width)


def _random_directions(count: int, random: np.random.Generator) -> FloatArray:
    chosen: list[FloatArray] = []
    while len(chosen) < count:
        tries = random.standard_normal((12, 3))
        tries /= np.linalg.norm(tries, axis=1, keepdims=True)
        nearness = np.zeros(12) if not chosen else np.max(tries @ np.array(chosen).T, axis=1)
        chosen.append(tries[int(np.argmin(nearness))])
    return np.array(chosen).reshape(-1, 3)


FAINT_SHARE = 0.5

FAINT_HU = (70.0, 150.0)
"""How much denser than the lung half of all pure ground glass is; other ground glass is denser."""


def with_random_contrast(chest: Chest, nodule: Nodule, random: np.random.Generator) -> Nodule:
    """The nodule, if it is ground glass, denser than the lung around it: faintly, or more."""
    is_faint, above = random.random() < FAINT_SHARE, float(random.uniform(*FAINT_HU))
    if not nodule.is_see_through:
        return nodule
    if is_faint and nodule.type == "pure_ground_glass":
        return replace(nodule, hu=chest.parenchyma_hu + above)
    return replace(nodule, hu=max(nodule.hu, chest.parenchyma_hu + FAINT_HU[1] + above))
