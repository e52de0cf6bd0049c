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
"""Columns of a detection: z, y, x in steps, score, diameter in mm."""


@dataclass(frozen=True, eq=False)
class DetectionNetwork:
    """A network that finds nodules: trained on tiles, it searches a scan in slabs."""

    name: str
    tile: SamplingGrid
    """A tile that it learns from."""
    step_mm: float
    """Of the voxels that it sees, along all axes."""
    stride: int
    """Steps from one of its outputs to the next."""
    build: Callable[[], nn.Module]
    """n x slices x rows x columns, scaled to 0..1 -> n x outputs x slices x rows x columns."""
    loss: "Callable[[Tensor, Tiles], Tensor]"
    slab: int
    """Slices that it sees at once in a scan."""
    margin: int
    """Slices at either face of a slab whose outputs are left to the next."""
    read: Callable[[Tensor], Tensor]
    """Outputs of a slab -> rows of detections, from the slab's first voxel."""
    gather: Callable[[Tensor, float], Tensor]
    """Detections of all slabs and the step in mm -> merged detections, best first."""
    recipe: Recipe
    shift_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """How far a tile is from a candidate at most, along z, y and x."""
    printed: Recipe | None = None
    """The schedule that its paper prints, where it does."""

    @cached_property
    def points_mm(self) -> Tensor:
        """The positions of a tile's answers, n x 3 from its middle."""
        points = torch.from_numpy(self.tile.offset_mm)
        for axis, count in enumerate(self.tile.shape):
            if count > 1 and self.stride > 1:
                together = points.unfold(axis, self.stride, self.stride)
                points = together.mean(dim=-1)
        return points.reshape(-1, 3)
