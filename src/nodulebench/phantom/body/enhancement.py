"""Chest -> how bright blood and organs are: about as muscle, or raised by contrast medium."""

from dataclasses import dataclass

import numpy as np

from nodulebench.phantom.body.chest import Chest


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
