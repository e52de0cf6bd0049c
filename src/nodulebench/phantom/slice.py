"""Plane: one slice while it is drawn: its pixels, their surfaces, and what makes it uneven."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.phantom.canvas import Field, Texture, random_texture
from nodulebench.phantom.chest import (
    LEFT,
    RIGHT,
    SIDES,
    Chest,
    cavity_surface,
    diaphragm_surface,
    heart_surface,
    lung_surface,
    mediastinum_surface,
    muscle_thickness,
    skin_surface,
)
from nodulebench.phantom.tubes import Tubes

BEND_MM = 7.0
"""Standard deviation of a shift where nothing holds the tissue."""
LARGEST_BENDS = 1.8
"""No shift is longer than so many standard deviations: the skin stays above the table."""
GRAIN_MM = 32.0
"""Over which shifts change: the size of a chamber of the heart, or of a muscle."""
HELD_MM, LOOSE_MM = 2.0, 32.0
"""Nothing moves so near to the pleura, and everything is free so far from it."""
APART_MM = 400.0
"""Shifts along x and y are taken so far apart from one field, which makes them independent."""


@dataclass(frozen=True)
class Bend:
    """The shifts of one person."""

    texture: Texture

    def on_slice(self, x: Field, y: Field, z_mm: float, pleura: Field) -> tuple[Field, Field]:
        """Where in the plain body the tissue of each pixel comes from: its x and y."""
        loose = looseness(pleura) * np.float32(BEND_MM)
        row, column = x[0].astype(np.float64), y[:, 0].astype(np.float64)
        along_x, along_y = (
            _limited(self.texture.on_slice(row + apart, column, z_mm)) for apart in (0.0, APART_MM)
        )
        return x + loose * along_x, y + loose * along_y

    def bent(self, chest: Chest, tubes: Tubes) -> Tubes:
        pieces = tubes.cut()
        return Tubes(
            self._shifted(chest, pieces.start, pieces.start_radius),
            self._shifted(chest, pieces.end, pieces.end_radius),
            pieces.start_radius,
            pieces.end_radius,
        )

    def _shifted(self, chest: Chest, point: FloatArray, radius: FloatArray) -> FloatArray:
        x, y, z = point.T
        pleura = np.minimum(*(lung_surface(chest, x, y, z, side) for side in SIDES))
        loose = looseness(pleura - radius) * BEND_MM
        shifted = point.copy()
        for axis, apart in ((0, 0.0), (1, APART_MM)):
            values = self.texture.at(point + np.array([apart, 0.0, 0.0]))
            shifted[:, axis] -= loose * _limited(values)
        return shifted


def _limited(values: Field) -> Field:
    """Values that approach ``LARGEST_BENDS`` smoothly: a cut would leave corners in the skin."""
    return values / np.sqrt(1 + (values / np.float32(LARGEST_BENDS)) ** 2)


def looseness(pleura: Field) -> Field:
    """How free tissue is to move, by its distance to the pleura: 0 in and at a lung, 1 far away."""
    return np.clip((pleura - HELD_MM) / (LOOSE_MM - HELD_MM), 0, 1)


def random_bend(random: np.random.Generator) -> Bend:
    return Bend(random_texture(random, 8.0, GRAIN_MM))


KEY_MM = 6.0


class Surfaces(NamedTuple):
    """Signed distances in mm on one slice, negative inside."""

    skin: Field
    cavity: Field
    heart: Field
    right_dome: Field
    left_dome: Field
    pleura: Field
    muscle_mm: Field
    """How thick muscle is around the cavity: no distance."""
    x: Field
    """The position of each pixel's tissue in the plain body, see ``bend``."""
    y: Field


def surfaces_at(chest: Chest, bend: Bend, x: Field, y: Field, z_mm: float) -> Surfaces:
    """The exact distances at one height: to the pleura as it is, to all else in bent tissue."""
    z = np.asarray(z_mm, dtype=np.float32)
    between = mediastinum_surface(chest, x, y, z)
    pleura = np.minimum(*(lung_surface(chest, x, y, z, side, between) for side in SIDES))
    bent_x, bent_y = bend.on_slice(x, y, z_mm, pleura)
    return Surfaces(
        skin=skin_surface(chest, bent_x, bent_y, z),
        cavity=cavity_surface(chest, bent_x, bent_y, z),
        heart=heart_surface(chest, bent_x, bent_y, z),
        right_dome=diaphragm_surface(chest, bent_x, bent_y, z, RIGHT),
        left_dome=diaphragm_surface(chest, bent_x, bent_y, z, LEFT),
        pleura=pleura,
        muscle_mm=muscle_thickness(chest, bent_x, bent_y, z),
        x=bent_x,
        y=bent_y,
    )


def surfaces_along(
    chest: Chest, bend: Bend, x: Field, y: Field, z_mm: FloatArray
) -> Iterator[Surfaces]:
    exact: dict[int, Surfaces] = {}
    for z in z_mm.tolist():
        below = int(np.floor(z / KEY_MM))
        above = below + 1
        exact = {
            key: exact[key] if key in exact else surfaces_at(chest, bend, x, y, key * KEY_MM)
            for key in (below, above)
        }
        share = np.float32(z / KEY_MM - below)
        yield Surfaces(
            *(
                low + share * (high - low)
                for low, high in zip(exact[below], exact[above], strict=True)
            )
        )


FAT_HU = -102.0
SEPTUM_HU = 48.0
"""How much denser than fat the fine septa in it appear."""
SEPTUM_SHARPNESS = 8.0
BUNDLE_SCALE = (0.34, 0.42, 0.12)
"""Bundles of muscle are patches that are wide, less deep and long from head to feet."""
BUNDLE_APART_MM = 190.0


@dataclass(frozen=True)
class Textures:
    """What makes tissue uneven."""

    fine: Texture
    coarse: Texture
    broad: Texture


def random_textures(random: np.random.Generator) -> Textures:
    return Textures(
        fine=random_texture(random, 1.1, 0.75, roughness=0.3),
        coarse=random_texture(random, 3.1, 7.0),
        broad=random_texture(random, 7.3, 24.0),
    )


@dataclass(frozen=True)
class SliceGrid:
    """Where the pixels of a slice are: x as a row, y as a column."""

    x_mm: FloatArray
    y_mm: FloatArray

    @property
    def x(self) -> Field:
        return self.x_mm.astype(np.float32)[None, :]

    @property
    def y(self) -> Field:
        return self.y_mm.astype(np.float32)[:, None]

    @property
    def pixel_mm(self) -> float:
        return float(self.x_mm[1] - self.x_mm[0])


@dataclass(frozen=True)
class Plane:
    """Pixels in HU, and random fields of standard deviation 1 on them."""

    hu: Field
    surfaces: Surfaces
    x: Field
    """Of the pixels, as a row; the bent x of their tissue is ``surfaces.x``."""
    y: Field
    z_mm: float
    pixel_mm: float
    fine: Field
    patches: Field
    waves: Field
    bundles: Field
    """Changes its sign from one bundle of muscle to the next."""
    fat: Field
    """What fat looks like, in HU: uneven, with fine septa."""

    def around(self, distance: Field, margin_mm: float) -> "Plane | None":
        """The box of this plane within a margin of a surface; None if there is none."""
        nearest = distance.min(axis=1), distance.min(axis=0)
        return self._cut(nearest[0] < margin_mm, nearest[1] < margin_mm)

    def box(self, x_mm: tuple[float, float], y_mm: tuple[float, float]) -> "Plane | None":
        """The part of this plane between two x and two y; None where it has none."""
        across, down = self.x[0], self.y[:, 0]
        return self._cut(
            (down > y_mm[0]) & (down < y_mm[1]), (across > x_mm[0]) & (across < x_mm[1])
        )

    def _cut(self, is_row: BoolArray, is_column: BoolArray) -> "Plane | None":
        rows, columns = np.flatnonzero(is_row), np.flatnonzero(is_column)
        if not len(rows) or not len(columns):
            return None
        down, across = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        box = down, across
        fields = (self.fine, self.patches, self.waves, self.bundles, self.fat)
        return Plane(
            self.hu[box],
            Surfaces(*(surface[box] for surface in self.surfaces)),
            self.x[:, across],
            self.y[down],
            self.z_mm,
            self.pixel_mm,
            *(field[box] for field in fields),
        )


def make_plane(
    hu: Field, surfaces: Surfaces, textures: Textures, grid: SliceGrid, z_mm: float
) -> Plane:
    patches = textures.coarse.on_slice(grid.x_mm, grid.y_mm, z_mm)
    fine = textures.fine.on_slice(grid.x_mm, grid.y_mm, z_mm)
    across, down, up = BUNDLE_SCALE
    bundles = textures.coarse.on_slice(
        grid.x_mm * across + BUNDLE_APART_MM, grid.y_mm * down, z_mm * up + BUNDLE_APART_MM
    )
    septa = np.maximum(1 - np.float32(SEPTUM_SHARPNESS) * np.abs(patches + 0.25 * fine), 0)
    return Plane(
        hu,
        surfaces,
        grid.x,
        grid.y,
        z_mm,
        grid.pixel_mm,
        fine=fine,
        patches=patches,
        waves=textures.broad.on_slice(grid.x_mm, grid.y_mm, z_mm),
        bundles=bundles,
        fat=septa * np.float32(SEPTUM_HU) + 6.0 * fine + 4.0 * patches + FAT_HU,
    )


@dataclass(frozen=True, slots=True)
class Enhancement:
    """HU of what contrast medium reaches at different times."""

    lung_vessels: float
    upper_cava: float
    """The vein through which contrast medium arrives."""
    right_heart: float
    left_heart: float
    """With the aorta and its branches."""
    late_veins: float
    """Azygos vein and lower vena cava, which it reaches last."""
    heart_muscle: float
    muscle: float
    liver: float
    liver_vessels: float
    spleen: float
    thyroid: float


def random_enhancement(chest: Chest, random: np.random.Generator) -> Enhancement:
    """The phase of a scan: contrast medium still in the veins, or already in the liver."""
    blood = chest.blood_hu
    late = float(random.uniform(0, 1))
    if not chest.is_enhanced:
        liver = float(random.uniform(48, 66))
        return Enhancement(blood, blood, blood, blood, blood, 53.0, 54.0, liver, 40.0, 48.0, 105.0)
    return Enhancement(
        lung_vessels=blood,
        upper_cava=blood * (1.9 - 0.8 * late),
        right_heart=blood * (1.2 - 0.2 * late),
        left_heart=blood * (0.9 + 0.3 * late),
        late_veins=60.0 + (0.6 * blood - 60.0) * late,
        heart_muscle=80.0 + 35.0 * late,
        muscle=60.0,
        liver=68.0 + 40.0 * late,
        liver_vessels=62.0 + 110.0 * late,
        spleen=100.0 + 25.0 * late,
        thyroid=160.0,
    )
