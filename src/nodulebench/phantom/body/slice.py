"""Plane: one slice while it is drawn: its pixels, their surfaces, and what makes it uneven."""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray
from nodulebench.phantom.body.surfaces import Surfaces
from nodulebench.phantom.canvas import Field
from nodulebench.phantom.texture import Texture, random_texture

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
    """Fine grain for parenchyma, patches for regions, broad waves for layers of muscle."""
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
        """Ready to broadcast along rows."""
        return self.x_mm.astype(np.float32)[None, :]

    @property
    def y(self) -> Field:
        """Ready to broadcast along columns."""
        return self.y_mm.astype(np.float32)[:, None]

    @property
    def pixel_mm(self) -> float:
        """Width of a pixel."""
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
        """The box of this plane that lies within a margin of a surface; None where none does."""
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
    """An empty plane, ready to be drawn."""
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
