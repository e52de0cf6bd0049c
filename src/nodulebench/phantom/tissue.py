"""Chest -> slices in HU: air, skin, fat, muscle, organs, lung; tubes and nodules come later."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nodulebench.phantom.bones import paint_scapulae, paint_spine, paint_sternum
from nodulebench.phantom.chest import Chest, fissure_surfaces, oval
from nodulebench.phantom.grid import Field, fill
from nodulebench.phantom.surfaces import Surfaces
from nodulebench.phantom.texture import Texture, random_texture

AIR_HU = -1000.0
FAT_HU = -102.0
SKIN_HU = 15.0
MUSCLE_HU = 56.0
HEART_HU = 45.0
ENHANCED_HEART_HU = 105.0
LIVER_HU = 58.0
SPLEEN_HU = 48.0
STOMACH_HU = 30.0
FISSURE_HU = 80.0
"""How much denser than lung a fissure is, when it fills a voxel."""
FINE_TEXTURE_HU = 28.0
COARSE_TEXTURE_HU = 11.0


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

    x_mm: npt.NDArray[np.float64]
    y_mm: npt.NDArray[np.float64]

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


def draw_slice(
    hu: Field,
    chest: Chest,
    surfaces: Surfaces,
    textures: Textures,
    grid: SliceGrid,
    z_mm: float,
) -> None:
    """Draw one slice over an empty one, without tubes and nodules."""
    patches = textures.coarse.on_slice(grid.x_mm, grid.y_mm, z_mm)
    waves = textures.broad.on_slice(grid.x_mm, grid.y_mm, z_mm)
    _draw_wall(chest, hu, surfaces, grid, z_mm, waves, patches)
    _draw_heart(chest, hu, surfaces, grid, waves)
    if z_mm < max(chest.right_dome_z, chest.left_dome_z) + 6.0:
        _draw_abdomen(chest, hu, surfaces, grid, z_mm)
    for paint in (paint_sternum, paint_spine, paint_scapulae):
        paint(chest, hu, grid.x, grid.y, z_mm, grid.pixel_mm)
    fill(hu, surfaces.pleura, grid.pixel_mm, _parenchyma(chest, textures, patches, grid, z_mm))


def empty_slice(chest: Chest, grid: SliceGrid) -> Field:
    """Air, and the curved table under the patient: two thin shells with foam between."""
    hu = np.full((len(grid.y_mm), len(grid.x_mm)), AIR_HU, dtype=np.float32)
    back = chest.center_y + chest.half_depth + 0.75 * (chest.wall_mm + chest.fat_mm) + 16.0
    depth = grid.y - back + grid.x * grid.x / 900.0
    for below, value in ((0.0, -350.0), (24.0, -250.0)):
        fill(hu, np.abs(depth - below) - 0.9, grid.pixel_mm, value)
    fill(hu, np.abs(depth - 12.0) - 11.0, grid.pixel_mm, -930.0)
    return hu


def _draw_wall(
    chest: Chest,
    hu: Field,
    surfaces: Surfaces,
    grid: SliceGrid,
    z_mm: float,
    waves: Field,
    patches: Field,
) -> None:
    """Skin, fat and muscle, and the fat within the cavity that organs are drawn into."""
    skin, cavity, pixel = surfaces.skin, surfaces.cavity, grid.pixel_mm
    fill(hu, skin, pixel, SKIN_HU)
    fill(hu, skin + 1.8, pixel, FAT_HU)
    shoulder = max(0.0, (z_mm - 35.0) / 60.0)
    # muscle is thick beside the spine and at the shoulders, thin over the ribs in front
    beside_spine = np.exp(-(((np.abs(grid.x) - 24.0) / 26.0) ** 2)) * np.clip(grid.y / 60.0, 0, 1)
    thickness = 16.0 * beside_spine + 5.0 * waves + (chest.wall_mm - 4.0 + 34.0 * shoulder)
    muscle = np.maximum(cavity - thickness, skin + (0.6 * chest.fat_mm + 2.0))
    fill(hu, muscle, pixel, MUSCLE_HU)
    # fat between layers of muscle, where the layers part
    inner = np.abs(cavity - 6.0 * waves - 15.0) - np.clip(2.4 * patches - 0.6, -1, 1.3)
    outer = np.abs(cavity + 8.0 * waves - 29.0) - np.clip(0.4 - 2.4 * patches, -1, 1.5)
    fill(hu, np.maximum(np.minimum(inner, outer), muscle + 1.5), pixel, FAT_HU)
    fill(hu, cavity - 1.5, pixel, FAT_HU)


def _draw_heart(chest: Chest, hu: Field, surfaces: Surfaces, grid: SliceGrid, waves: Field) -> None:
    """Muscle and, with contrast medium, bright chambers within uneven fat."""
    heart = surfaces.heart
    if heart.min() > 0:
        return
    fill(
        hu,
        heart + (4.5 + 3.0 * waves),
        grid.pixel_mm,
        ENHANCED_HEART_HU if chest.is_enhanced else HEART_HU,
    )
    if chest.is_enhanced:
        right = oval(grid.x + 14.0, grid.y + 30.0, 26.0, 34.0)
        left = oval(grid.x - 42.0, grid.y + 22.0, 24.0, 28.0)
        chambers = np.maximum(np.minimum(right, left), heart + 14.0)
        fill(hu, chambers, grid.pixel_mm, chest.blood_hu)


def _draw_abdomen(
    chest: Chest, hu: Field, surfaces: Surfaces, grid: SliceGrid, z_mm: float
) -> None:
    """Liver, stomach and spleen under the diaphragm."""
    x, y, pixel = grid.x, grid.y, grid.pixel_mm
    inside = surfaces.cavity + 4.0
    right = np.maximum(surfaces.right_dome + 3.0, inside)
    left = np.maximum(surfaces.left_dome + 3.0, inside)
    spine = oval(x, y - chest.spine_y, 30.0, 30.0)
    leftness = np.clip((x + 25.0) / 50.0, 0, 1)
    under = np.maximum(right + leftness * (left - right), -spine)
    fill(hu, under, pixel, FAT_HU + 8)
    lobe = oval(x + 62.0, y + 8.0, 112.0, 128.0)
    liver = np.maximum(np.maximum(under, lobe), np.maximum(y - chest.spine_y - 25.0, 6.0 - spine))
    fill(hu, liver, pixel, LIVER_HU)
    scale = chest.half_width / 134.0
    depth = float(np.clip((chest.left_dome_z + 4.0 - z_mm) / 40.0, 0.15, 1)) ** 0.5
    stomach = oval(x - 62.0 * scale, y + 16.0, 38.0 * scale * depth, 42.0 * depth)
    stomach = np.maximum(stomach, left + 5.0)
    fill(hu, stomach, pixel, MUSCLE_HU)
    fill(hu, stomach + 4.0, pixel, STOMACH_HU)
    fill(hu, np.maximum(stomach + 4.0, y + 40.0), pixel, AIR_HU + 10)
    spleen = oval(x - 88.0 * scale, y - 52.0, 32.0 * depth, 36.0 * depth)
    fill(hu, np.maximum(spleen, left + 4.0), pixel, SPLEEN_HU)


def _parenchyma(
    chest: Chest, textures: Textures, patches: Field, grid: SliceGrid, z_mm: float
) -> Field:
    """Lung without visible vessels: denser at the back, uneven, with its fissures."""
    lung = textures.fine.on_slice(grid.x_mm, grid.y_mm, z_mm)
    lung *= np.float32(FINE_TEXTURE_HU)
    lung += COARSE_TEXTURE_HU * patches
    lung += chest.gravity_hu * (grid.y - chest.center_y) / 180.0 + chest.parenchyma_hu
    oblique, horizontal = fissure_surfaces(
        chest, grid.x, grid.y, np.asarray(z_mm, dtype=np.float32)
    )
    line = np.maximum(1.2 - np.abs(oblique), 0)
    beside = np.maximum(1.2 - 0.8 * np.abs(horizontal), 0) * ((oblique > 0) & (grid.x < 0))
    lung += FISSURE_HU * np.maximum(line, beside)
    return lung
