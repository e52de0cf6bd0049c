"""Finder: a network that finds nodules in a scan by itself."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.network import SamplingGrid
from nodulebench.detection.networks.recipe import Recipe

if TYPE_CHECKING:
    from nodulebench.detection.networks.detectors.tiles import Tiles

ROWS = 5
"""Of what is found: z, y, x in steps, score, diameter in mm."""


@dataclass(frozen=True, eq=False)
class DetectionNetwork:
    """A network that finds nodules. It learns from tiles and looks through a scan in slabs."""

    name: str
    tile: SamplingGrid
    """A tile that it learns from."""
    step_mm: float
    """Of the voxels that it sees, along all axes."""
    stride: int
    """Steps from one of its answers to the next."""
    build: Callable[[], nn.Module]
    """n x slices x rows x columns, scaled to 0..1 -> n x answers x slices x rows x columns."""
    loss: "Callable[[Tensor, Tiles], Tensor]"
    slab: int
    """Slices that it sees at once in a scan."""
    margin: int
    """Slices at either face of a slab whose answers are left to the next."""
    read: Callable[[Tensor], Tensor]
    """Answers of a slab -> rows of what is found there, from the slab's first voxel."""
    gather: Callable[[Tensor, float], Tensor]
    """What was found in all slabs and the step in mm -> rows of what is one, best first."""
    recipe: Recipe
    shift_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """How far a tile is from a candidate at most, along z, y and x."""
    printed: Recipe | None = None
    """The schedule that its paper prints, where it does."""

    @cached_property
    def points_mm(self) -> Tensor:
        """Where the answers of a tile lie, n x 3 from its middle."""
        points = torch.from_numpy(self.tile.offset_mm)
        for axis, count in enumerate(self.tile.shape):
            if count > 1 and self.stride > 1:
                together = points.unfold(axis, self.stride, self.stride)
                points = together.mean(dim=-1)
        return points.reshape(-1, 3)
