"""Network: what it sees, how it is built, how it learns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor, nn

from nodulebench.detection.networks.looks import Look

LOWEST_HU, HIGHEST_HU = -1000.0, 400.0


@dataclass(frozen=True)
class Augment:
    """How patches are changed while a network learns; everything is drawn evenly."""

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
    """How a network learns. Defaults are scaled to a few hundred nodules."""

    optimizer: Literal["sgd", "rmsprop", "adam", "adamw"] = "sgd"
    rate: float = 0.01
    momentum: float = 0.9
    decay: float = 0.0
    """L2 penalty of the weights."""
    schedule: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
    """From which share of the steps on the rate is multiplied by what; between two entries of
    ``is_smooth`` it changes along a cosine."""
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
    """Share of the old in a moving average of the weights, which is what is kept; 0: none."""
    longest_gradient: float = 0.0
    """Longer ones are shortened, so that no batch leads it astray; 0: none are."""
    check_every: int = 100
    patience: int = 0
    """Checks without a better one before it stops; 0: it never stops early."""
    tries: int = 1
    """Patches of a candidate that are averaged when it is judged."""


OWN = Recipe(
    "adamw",
    rate=2e-3,
    decay=0.05,
    schedule=((0.0, 0.02), (0.05, 1.0), (1.0, 0.0)),
    is_smooth=True,
    augment=Augment(zoom=(0.85, 1.2), is_turned_freely=True, is_flipped=True),
    average=0.995,
)
"""What the two networks of our own have in common."""


@dataclass(frozen=True)
class Network:
    """A network that judges candidates."""

    name: str
    look: Look
    build: Callable[[], nn.Module]
    """Patches n x shape of the look, scaled to 0..1 -> n x 2: no nodule, nodule."""
    recipe: Recipe
    printed: Recipe | None = None
    """The schedule that its paper prints, where it does; ``recipe`` is scaled to fewer data."""
    family: str = ""
    """What it is a part of: networks of one family that judge together are one judge."""
    share: float = 1.0
    """Its weight beside the others of its family."""
    beside: tuple[Look, ...] = ()
    """Further looks at a candidate that is judged, which are averaged with its own."""
    judged: Augment | None = None
    """How patches are changed when several of a candidate are averaged; None: turned and flipped as
    in learning, hardly moved."""


def scaled(patches: Tensor) -> Tensor:
    """Hounsfield units -> 0..1."""
    return ((patches - LOWEST_HU) / (HIGHEST_HU - LOWEST_HU)).clamp(0.0, 1.0)


def begin_evenly(module: nn.Module, draw: Callable[[Tensor], Tensor]) -> None:
    """Draw the weights of all convolutions and full layers; biases begin at 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Conv3d | nn.Linear):
            draw(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def parameter_count(module: nn.Module) -> int:
    """How many numbers a network learns."""
    return sum(one.numel() for one in module.parameters())
