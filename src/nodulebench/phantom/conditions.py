"""Condition: what one person of a clinic has, and the chest that comes with it, made by chance."""

from dataclasses import dataclass, replace

import numpy as np

from nodulebench.phantom.body.chest import LEFT, RIGHT, Chest
from nodulebench.phantom.nodules.nodule import Nodule

PARENCHYMA_HU = (-925.0, -785.0)
"""Of lungs after a deep breath, and of those after none; the medians that are measured in them lie
about 20 HU from that."""
AIRY_HU = -910.0
GRAVITY_PER_HU = 0.45
"""How much steeper density rises to the back for each HU that a lung is denser."""
LIFT_MM_PER_HU = 0.18
"""How much higher the diaphragm stands, likewise."""
TEXTURE_HU = 24.0
"""How uneven lung is: less than where vessels are many and short."""
FAINT_SHARE = 0.5
FAINT_HU = (70.0, 150.0)
"""How much denser than the lung half of all pure ground glass is; other ground glass is denser."""


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
        """What a table of cases says of it."""
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


def random_breath(chest: Chest, random: np.random.Generator) -> Chest:
    """The chest after a deeper or a shallower breath: with less air, lungs are denser and lower."""
    parenchyma = float(random.uniform(*PARENCHYMA_HU))
    denser = max(0.0, parenchyma - AIRY_HU)
    lift = LIFT_MM_PER_HU * denser
    return replace(
        chest,
        parenchyma_hu=parenchyma,
        texture_hu=TEXTURE_HU,
        gravity_hu=chest.gravity_hu + GRAVITY_PER_HU * denser,
        right_dome_z=chest.right_dome_z + lift,
        left_dome_z=chest.left_dome_z + lift,
    )


def seen_in(chest: Chest, nodule: Nodule, random: np.random.Generator) -> Nodule:
    """The nodule, if it is ground glass, denser than the lung around it: faintly, or more."""
    is_faint, above = random.random() < FAINT_SHARE, float(random.uniform(*FAINT_HU))
    if not nodule.is_see_through:
        return nodule
    if is_faint and nodule.type == "pure_ground_glass":
        return replace(nodule, hu=chest.parenchyma_hu + above)
    return replace(nodule, hu=max(nodule.hu, chest.parenchyma_hu + FAINT_HU[1] + above))
