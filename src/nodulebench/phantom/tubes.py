"""Tubes: tapering round segments (vessels, airways, ribs) -> voxels, with soft edges."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import Columns, FloatArray, IntArray
from nodulebench.phantom.canvas import Canvas, Field

LONGEST_MM = 12.0
"""Longer segments are cut, so that the box around an oblique one stays small."""
THIN_SHARE = 0.6
"""A radius below this share of a voxel makes a tube thin."""
LUNG_BELOW_HU = -250.0
IN_LUNG, OUTSIDE_LUNG = (-np.inf, LUNG_BELOW_HU), (LUNG_BELOW_HU, np.inf)


@dataclass(frozen=True)
class Tubes(Columns):
    """Segments from ``start`` to ``end`` (n x 3, mm), with a radius at either end."""

    start: FloatArray
    end: FloatArray
    start_radius: FloatArray
    end_radius: FloatArray

    def thinner(self, by_mm: float) -> "Tubes":
        """The same segments with smaller radii; those that vanish are left out."""
        narrow = Tubes(self.start, self.end, self.start_radius - by_mm, self.end_radius - by_mm)
        return narrow.chosen(np.minimum(narrow.start_radius, narrow.end_radius) > 0)

    def cut(self) -> "Tubes":
        """The same tubes in segments no longer than ``LONGEST_MM``."""
        length = np.linalg.norm(self.end - self.start, axis=1)
        pieces = np.maximum(1, np.ceil(length / LONGEST_MM)).astype(np.int64)
        which = np.repeat(np.arange(len(pieces)), pieces)
        place = np.arange(len(which)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        begin, finish = place / pieces[which], (place + 1) / pieces[which]
        step = (self.end - self.start)[which]
        swell = (self.end_radius - self.start_radius)[which]
        return Tubes(
            self.start[which] + begin[:, None] * step,
            self.start[which] + finish[:, None] * step,
            self.start_radius[which] + begin * swell,
            self.start_radius[which] + finish * swell,
        )


def path(points: npt.ArrayLike, radius: npt.ArrayLike, *, smoothness: int = 1) -> Tubes:
    """A tube through points, smoothed ``smoothness`` times by cutting its corners."""
    line = np.asarray(points, dtype=np.float64)
    wide = np.broadcast_to(np.asarray(radius, dtype=np.float64), len(line))
    for _ in range(smoothness):
        line, wide = _corners_cut(line), _corners_cut(wide)
    return Tubes(line[:-1], line[1:], wide[:-1], wide[1:])


def _corners_cut(line: FloatArray) -> FloatArray:
    """Chaikin's curve: each inner corner becomes two points nearer to each other."""
    quarter, three_quarters = 0.75 * line[:-1] + 0.25 * line[1:], 0.25 * line[:-1] + 0.75 * line[1:]
    inner = np.stack([quarter, three_quarters], axis=1).reshape(-1, *line.shape[1:])
    return np.concatenate([line[:1], inner[1:-1], line[-1:]])


def paint_tubes(
    canvas: Canvas,
    tubes: Tubes,
    hu: float,
    within_hu: tuple[float, float] | None = None,
    *,
    flattening: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> None:
    """Draw tubes over what is there.

    ``within_hu``: only what has a density in this range is drawn over, such as one organ.
    ``flattening``: multiplies distances along x, y, z before they are compared with the radius, so
    that a tube's section becomes an ellipse.
    """
    for part, cover in _covers(canvas, tubes, np.array(flattening)):
        if within_hu is not None:
            cover *= (part > within_hu[0]) & (part < within_hu[1])
        part += cover * (hu - part)


def paint_in_lung(
    canvas: Canvas, tubes: Tubes, hu: float, lung_hu: float, *, is_even: bool = True
) -> None:
    """Draw tubes into lung only, where the brighter of both stays.

    Tubes thinner than a voxel add to it what they take of its volume.

    ``is_even``: whether the lung is about equally dense, and nothing less dense stays next to a
    tube; otherwise a voxel is mixed of the tube and of its content before.
    """
    radius = np.maximum(tubes.start_radius, tubes.end_radius)
    is_thin = radius < THIN_SHARE * canvas.voxel_mm
    for part, cover in _covers(canvas, tubes.chosen(~is_thin), np.ones(3)):
        mixed = (
            lung_hu + cover * np.float32(hu - lung_hu)
            if is_even
            else part + cover * (np.float32(hu) - part)
        )
        brighter = np.maximum(part, mixed)
        np.copyto(part, brighter, where=part < LUNG_BELOW_HU)
    _add_thin(canvas, tubes.chosen(is_thin), hu - lung_hu)


def _covers(canvas: Canvas, tubes: Tubes, metric: FloatArray) -> Iterator[tuple[Field, Field]]:
    pieces = tubes.cut()
    edge = canvas.voxel_mm
    for start, end, *radii in zip(
        pieces.start, pieces.end, pieces.start_radius, pieces.end_radius, strict=True
    ):
        reach = (max(radii) + edge) / metric
        box = canvas.box(np.minimum(start, end) - reach, np.maximum(start, end) + reach)
        if box is not None:
            part, *places = box
            x, y, z = (
                (place - first) * scale
                for place, first, scale in zip(places, start, metric, strict=True)
            )
            yield part, _cover(x, y, z, (end - start) * metric, (radii[0], radii[1]), edge)


def _add_thin(canvas: Canvas, tubes: Tubes, contrast_hu: float) -> None:
    """Spread beads along thin tubes over the eight voxels around each."""
    steps = np.array(canvas.steps_mm)
    length = np.linalg.norm(tubes.end - tubes.start, axis=1)
    beads = np.maximum(1, np.ceil(length / (0.6 * steps.min()))).astype(np.int64)
    which = np.repeat(np.arange(len(beads)), beads)
    number = np.arange(len(which)) - np.repeat(np.cumsum(beads) - beads, beads)
    place = (number + 0.5) / beads[which]
    point = tubes.start[which] + place[:, None] * (tubes.end - tubes.start)[which]
    radius = tubes.start_radius[which] + place * (tubes.end_radius - tubes.start_radius)[which]
    share = np.pi * radius**2 * (length / beads)[which] / np.prod(steps)
    origin = np.array([canvas.z_mm[0], canvas.y_mm[0], canvas.x_mm[0]])
    index = (point[:, ::-1] - origin) / steps
    low = np.floor(index).astype(np.int64)
    is_inside = np.all((low >= 0) & (low < np.array(canvas.hu.shape) - 1), axis=1)
    low, rest, share = low[is_inside], (index - low)[is_inside], share[is_inside]
    flat = canvas.hu.reshape(-1)
    first = np.ravel_multi_index(tuple(low.T), canvas.hu.shape)
    strides = np.array(canvas.hu.strides) // canvas.hu.itemsize
    nearness = (1 - rest.T, rest.T)
    for corner in product((0, 1), repeat=3):
        z, y, x = (nearness[far][axis] for axis, far in enumerate(corner))
        weight = z * y * x * share * contrast_hu
        at = first + strides @ corner
        is_lung = flat[at] < LUNG_BELOW_HU
        np.add.at(flat, at[is_lung], weight[is_lung].astype(np.float32))


def _cover(
    x: Field, y: Field, z: Field, along: FloatArray, radii: tuple[float, float], edge: float
) -> Field:
    ax, ay, az = (np.float32(value) for value in along)
    square = np.float32(max(float(along @ along), 1e-9))
    place = np.clip((x * ax + y * ay + z * az) / square, 0, 1)
    distance = (x - place * ax) ** 2 + (y - place * ay) ** 2
    distance += (z - place * az) ** 2
    np.sqrt(distance, out=distance)
    radius = np.float32(radii[0]) + place * np.float32(radii[1] - radii[0])
    np.subtract(radius, distance, out=distance)
    distance *= np.float32(1 / edge)
    distance += np.float32(0.5)
    return np.clip(distance, 0, 1, out=distance)


STRETCH = 0.42
"""How far towards the middle of its points a branch runs before it divides."""
FLARE = 1.15
"""How much wider a branch begins than it goes on."""
TAPER = 2.6
"""A parent's radius to this power is the sum of its daughters' (Murray's law has 3)."""
UNEVENNESS = 0.22
LAST_POINTS = 2


@dataclass(frozen=True)
class Tree:
    """Branches with the number of ends that each serves."""

    tubes: Tubes
    ends: IntArray


def grow_tree(
    root: FloatArray,
    points: FloatArray,
    end_radius_mm: float,
    random: np.random.Generator,
    *,
    stretch: float = STRETCH,
    flare: float = FLARE,
) -> Tree:
    starts: list[FloatArray] = []
    stops: list[FloatArray] = []
    counts: list[int] = []
    parents: list[int] = []
    waiting = [(root, points, -1)]
    while waiting:
        start, served, parent = waiting.pop()
        count = len(served)
        middle = served.mean(axis=0)
        stop = served[0] if count == 1 else start + stretch * (middle - start)
        if count > LAST_POINTS:
            length = float(np.linalg.norm(stop - start))
            stop = stop + random.normal(0, 0.07 * length, 3)
        number = len(counts)
        starts.append(start)
        stops.append(stop)
        counts.append(count)
        parents.append(parent)
        if count > 1:
            for half in _halves(served, middle - start, random):
                waiting.append((stop, half, number))
    ends = np.array(counts, dtype=np.int64)
    radius = end_radius_mm * ends.astype(np.float64) ** (1 / TAPER)
    parent_radius = np.where(np.array(parents) >= 0, radius[np.array(parents)], radius)
    # a daughter is never wider than its parent
    tubes = Tubes(
        np.array(starts), np.array(stops), np.minimum(parent_radius, flare * radius), radius
    )
    return Tree(tubes, ends)


def _halves(
    points: FloatArray, heading: FloatArray, random: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Divide points across the widest extent that is not along the heading."""
    offsets = points - points.mean(axis=0)
    along = heading / max(float(np.linalg.norm(heading)), 1e-9)
    sideways = offsets - 0.6 * np.outer(offsets @ along, along)
    if len(points) > LAST_POINTS:
        _, vectors = np.linalg.eigh(sideways.T @ sideways)
        place = offsets @ vectors[:, -1]
    else:
        place = sideways @ sideways[0]
    order = np.argsort(place)
    share = 0.5 + random.uniform(-UNEVENNESS, UNEVENNESS)
    cut = min(max(1, round(share * len(points))), len(points) - 1)
    return points[order[:cut]], points[order[cut:]]
