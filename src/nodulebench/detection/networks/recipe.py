"""Training recipe of a network: optimiser, schedule and augmentation. Needs no PyTorch."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Augment:
    """Random changes of training patches, all drawn uniformly."""

    zoom: tuple[float, float] = (1.0, 1.0)
    shift_mm: float = 0.0
    """Along each axis, either way."""
    turn_degrees: float = 0.0
    """In the transverse plane, either way."""
    is_quarter_turned: bool = False
    """By 0, 90, 180 or 270 degrees in the transverse plane."""
    is_turned_freely: bool = False
    """By any rotation of space."""
    is_flipped: bool = False
    """Along any of the axes."""


@dataclass(frozen=True)
class Recipe:
    """How a network is trained. Defaults are scaled to a few hundred nodules."""

    optimizer: Literal["sgd", "rmsprop", "adam", "adamw"] = "sgd"
    rate: float = 0.01
    momentum: float = 0.9
    decay: float = 0.0
    """L2 penalty of the weights."""
    schedule: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
    """Pairs: from this share of the steps on, the rate is multiplied by this factor. With
    ``is_smooth`` the rate changes along a cosine between two pairs."""
    is_smooth: bool = False
    batch: int = 128
    steps: int = 2000
    share: float = 0.5
    """Of nodules in a batch."""
    augment: Augment = field(default_factory=Augment)
    smoothing: float = 0.0
    """Of the labels."""
    centre_loss: float = 0.0
    """How much the distance of features to their class's mean counts (Wen 2016)."""
    average: float = 0.0
    """Share of the old in a moving average of the weights, which is the result; 0: none."""
    longest_gradient: float = 0.0
    """Longer ones are shortened, so that no batch leads it astray; 0: none are."""
    check_every: int = 100
    patience: int = 0
    """Checks without a better one before it stops; 0: it never stops early."""
    tries: int = 1
    """Patches of a candidate that are averaged when it is scored."""


OWN = Recipe(
    "adamw",
    rate=2e-3,
    decay=0.05,
    schedule=((0.0, 0.02), (0.05, 1.0), (1.0, 0.0)),
    is_smooth=True,
    augment=Augment(zoom=(0.85, 1.2), is_turned_freely=True, is_flipped=True),
    average=0.995,
)
"""Common to our own two networks."""
