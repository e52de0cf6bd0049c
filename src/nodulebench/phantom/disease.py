"""What one person of a clinic has besides nodules, made by chance, and its look in the lungs."""

from dataclasses import dataclass

import numpy as np

from nodulebench.phantom.canvas import Field, Texture, random_texture
from nodulebench.phantom.chest import LEFT, RIGHT, Chest
from nodulebench.phantom.slice import Plane


@dataclass(frozen=True, slots=True)
class Condition:
    """What is there, and how much: shares are 0 (nothing) to 1, motion is in mm."""

    emphysema: float = 0.0
    fibrosis: float = 0.0
    ground_glass: float = 0.0
    heart_mm: float = 0.0
    """How far the heart's surface moves while a slice is made."""
    breath_mm: float = 0.0
    """How far the diaphragm moves meanwhile."""
    arm: int | None = None
    """The side of the vein that dense contrast medium still fills, where it does."""

    def columns(self) -> dict[str, float | bool]:
        return {
            "emphysema": round(self.emphysema, 2),
            "fibrosis": round(self.fibrosis, 2),
            "ground_glass": round(self.ground_glass, 2),
            "breath_mm": round(self.breath_mm, 1),
            "has_streaks": self.arm is not None,
        }


def random_condition(chest: Chest, random: np.random.Generator) -> Condition:
    """What a person has: a third has each disease, most hearts beat, some people breathe."""
    has_emphysema, has_fibrosis, has_glass, breathes = random.random(4) < (0.3, 0.2, 0.25, 0.25)
    emphysema, fibrosis, glass = random.uniform(0.2, 1.0, 3)
    heart, breath = random.uniform((0.5, 1.5), (3.0, 6.0))
    has_streaks = chest.is_enhanced and bool(random.random() < 0.6)
    arm = int(random.choice((RIGHT, LEFT)))
    return Condition(
        emphysema=float(emphysema * has_emphysema),
        fibrosis=float(fibrosis * has_fibrosis),
        ground_glass=float(glass * has_glass),
        heart_mm=float(heart),
        breath_mm=float(breath * breathes),
        arm=arm if has_streaks else None,
    )


HOLE_HU = -985.0
"""In emphysema."""
HAZE_HU = 90.0
"""How much denser the densest ground glass is than the lung around."""
NET_HU, SCAR_HU = 500.0, 90.0
"""How much denser the net of fibrosis is, and the lung between its strands."""
NET_SHARPNESS = 2.6
SUBPLEURAL_MM = 14.0
"""How deep fibrosis reaches."""
SEPTAL_MM = 7.0
"""How deep bullae at the pleura reach."""


@dataclass(frozen=True)
class DiseaseTextures:
    """The positions of disease: fields of standard deviation 1."""

    holes: Texture
    net: Texture
    haze: Texture


def random_disease(random: np.random.Generator) -> DiseaseTextures:
    """Holes of some millimetres, a net as fine, and patches of some centimetres."""
    return DiseaseTextures(
        holes=random_texture(random, 1.9, 3.2),
        net=random_texture(random, 1.5, 2.3),
        haze=random_texture(random, 5.3, 13.0),
    )


def draw_disease(chest: Chest, plane: Plane, condition: Condition, where: DiseaseTextures) -> None:
    """Change the lung of a slice, before vessels are drawn."""
    lung = plane.around(plane.surfaces.pleura, 0.0)
    if lung is None:
        return
    x_mm, y_mm = lung.x[0].astype(np.float64), lung.y[:, 0].astype(np.float64)
    depth = -lung.surfaces.pleura
    inside = np.clip(depth / lung.pixel_mm + np.float32(0.5), 0, 1)
    height = float(np.clip((plane.z_mm - chest.right_dome_z) / 150.0, 0, 1))
    if condition.ground_glass:
        patches = where.haze.on_slice(x_mm, y_mm, plane.z_mm) + 0.35 * lung.patches
        patches += 0.2 * lung.fine
        cover = _above(patches, 1.7 - condition.ground_glass, 1.2)
        lung.hu[:] += inside * cover * np.float32(HAZE_HU * (0.4 + 0.6 * condition.ground_glass))
    if condition.fibrosis:
        near = np.exp(-np.maximum(depth, 0) / np.float32(SUBPLEURAL_MM))
        share = near * np.float32(condition.fibrosis * (1 - 0.8 * height))
        net = where.net.on_slice(x_mm, y_mm, plane.z_mm)
        lines = np.maximum(1 - NET_SHARPNESS * np.abs(net), 0)
        lung.hu[:] += inside * share * (NET_HU * lines + SCAR_HU)
    if condition.emphysema:
        rim = np.exp(-((depth / np.float32(SEPTAL_MM)) ** 2))
        least = 2.1 - 1.5 * condition.emphysema * (0.4 + 0.6 * height)
        field = where.holes.on_slice(x_mm, y_mm, plane.z_mm) + 0.5 * rim * height
        holes = _above(field, least, 0.5)
        lung.hu[:] += inside * holes * np.float32(0.9) * np.minimum(HOLE_HU - lung.hu, 0)


def _above(values: Field, least: float, edge: float) -> Field:
    """0 below a level, 1 from a little above it on."""
    share: Field = np.clip((values - np.float32(least)) * np.float32(1 / edge), 0, 1)
    return share
