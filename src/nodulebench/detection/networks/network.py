"""Network: its input, how it is built, how it is trained."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from nodulebench.detection.networks.recipe import Augment, Recipe

Offsets = npt.NDArray[np.float32]
Plane = tuple[tuple[float, float, float], tuple[float, float, float]]
"""The directions of a plane's rows and columns."""

Grid = tuple[Offsets, Offsets, Offsets]
"""Offsets along z, y and x."""

ORTHOGONAL: tuple[Plane, ...] = (
    ((0, 1, 0), (0, 0, 1)),
    ((1, 0, 0), (0, 0, 1)),
    ((1, 0, 0), (0, 1, 0)),
)
"""Axial, coronal, sagittal."""
_HALF = 0.5**0.5
SYMMETRY: tuple[Plane, ...] = (
    *ORTHOGONAL,
    ((1, 0, 0), (0, _HALF, _HALF)),
    ((1, 0, 0), (0, -_HALF, _HALF)),
    ((0, 1, 0), (_HALF, 0, _HALF)),
    ((0, 1, 0), (-_HALF, 0, _HALF)),
    ((0, 0, 1), (_HALF, _HALF, 0)),
    ((0, 0, 1), (-_HALF, _HALF, 0)),
)
"""The nine planes of symmetry of a cube: three along its faces, six along its diagonals."""


@dataclass(frozen=True, eq=False)
class SamplingGrid:
    """The points that a network sees around a place."""

    offset_mm: Offsets
    """shape x 3: how far each point is from the position."""
    grids: tuple[Grid, ...] = ()
    """Where the points are boxes of voxels: the offsets along the axes of each box."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a patch; planes come before rows and columns."""
        return tuple(self.offset_mm.shape[:-1])


def cube(size: tuple[int, int, int], step_mm: tuple[float, float, float]) -> SamplingGrid:
    """A box of voxels: how many and how far apart along z, y and x."""
    z, y, x = (
        _centred(count, step).astype(np.float32) for count, step in zip(size, step_mm, strict=True)
    )
    return SamplingGrid(np.stack(np.meshgrid(z, y, x, indexing="ij"), axis=-1), ((z, y, x),))


def planes(
    chosen: tuple[Plane, ...],
    size: int,
    step_mm: float,
    aside_mm: tuple[float, ...] = (0.0,),
    moved_mm: tuple[float, float] = (0.0, 0.0),
) -> SamplingGrid:
    """Square planes through the position, or next to it along their normal (``aside_mm``).

    ``moved_mm`` is within each plane, along the directions of its rows and columns. With one place
    along the normal the grid has no axis for it.
    """
    along = _centred(size, step_mm)
    rows = np.array([plane[0] for plane in chosen], dtype=np.float64)
    columns = np.array([plane[1] for plane in chosen], dtype=np.float64)
    normal = np.cross(rows, columns)
    flat = (along + moved_mm[0])[None, :, None, None] * rows[:, None, None, :] + (
        along + moved_mm[1]
    )[None, None, :, None] * columns[:, None, None, :]
    aside = np.array(aside_mm)[None, :, None] * normal[:, None, :]
    points = flat[:, None] + aside[:, :, None, None, :]
    return SamplingGrid((points if len(aside_mm) > 1 else points[:, 0]).astype(np.float32))


def stacked(*sampled: SamplingGrid) -> SamplingGrid:
    """Several grids of one shape as one, stacked along a new first axis."""
    grids = tuple(grid for sampling in sampled for grid in sampling.grids)
    is_whole = all(sampling.grids for sampling in sampled)
    offset_mm = np.stack([sampling.offset_mm for sampling in sampled])
    return SamplingGrid(offset_mm, grids if is_whole else ())


def _centred(count: int, step_mm: float) -> npt.NDArray[np.float64]:
    return (np.arange(count, dtype=np.float64) - (count - 1) / 2) * step_mm


LOWEST_HU, HIGHEST_HU = -1000.0, 400.0


@dataclass(frozen=True)
class Network:
    """A network that scores candidates."""

    name: str
    grid: SamplingGrid
    build: Callable[[], nn.Module]
    """Patches n x shape of the grid, scaled to 0..1 -> n x 2: no nodule, nodule."""
    recipe: Recipe
    printed: Recipe | None = None
    """The schedule that its paper prints, where it does; ``recipe`` is scaled to fewer data."""
    family: str = ""
    """Networks of one family that score together count as one network."""
    share: float = 1.0
    """Its weight within its family."""
    extra_grids: tuple[SamplingGrid, ...] = ()
    """Further grids around a candidate that is scored; their scores are averaged with its own."""
    scoring_augment: Augment | None = None
    """How patches are changed when several of a candidate are averaged; None: turned and flipped as
    in learning, hardly moved."""


def scaled(patches: Tensor) -> Tensor:
    return ((patches - LOWEST_HU) / (HIGHEST_HU - LOWEST_HU)).clamp(0.0, 1.0)


def begin_evenly(module: nn.Module, draw: Callable[[Tensor], Tensor]) -> None:
    """Draw the weights of all convolutions and full layers; biases begin at 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Conv3d | nn.Linear):
            draw(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def parameter_count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
