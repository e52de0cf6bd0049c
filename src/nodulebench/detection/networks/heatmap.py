"""Our own: a small 3-D U-Net whose output is a map of nodules' middles and their sizes.

No anchors: every 2 mm it gives the probability of a nodule's middle there and the nodule's size
(Zhou 2019, "Objects as points"), so that nodules of 3 and of 30 mm need no separate treatment.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from nodulebench.detection.networks.detection_network import ROWS, DetectionNetwork, Tiles
from nodulebench.detection.networks.network import cube
from nodulebench.detection.networks.recipe import OWN

TILE, STRIDE = 48, 2
FINE, MIDDLE, COARSE = 24, 48, 64
"""Maps 2, 4 and 8 mm apart."""
RARE = 0.01
"""The probability of a middle at any voxel before training."""
USUAL_MM = 8.0
CORE_MM, CORE_SHARE = 1.8, 0.25
"""What counts as the middle of a nodule: so far from it, or so much of its diameter."""
EDGE_MM, EDGE_SHARE = 2.0, 1 / 6
"""How fast the map may fall off around it."""
IGNORED_MM = 2.0
SIZE_SHARE = 0.3
LEAST_SCORE = 0.01
APART_MM = 3.0
MOST = 500
"""Peaks of a scan."""


class Step(nn.Module):
    """Two convolutions next to a short cut."""

    def __init__(self, before: int, after: int, stride: int = 1) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv3d(before, after, 3, stride, 1, bias=False),
            nn.BatchNorm3d(after),
            nn.SiLU(),
            nn.Conv3d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm3d(after),
        )
        is_same = stride == 1 and before == after
        short = nn.Sequential(nn.AvgPool3d(stride), nn.Conv3d(before, after, 1, bias=False))
        self.skip = nn.Identity() if is_same else short
        self.unit = nn.SiLU()

    def forward(self, maps: Tensor) -> Tensor:
        output: Tensor = self.unit(self.body(maps) + self.skip(maps))
        return output


class HeatMap(nn.Module):
    """A U-Net from 2 mm down to 8 mm and up again."""

    def __init__(self) -> None:
        super().__init__()
        stem = nn.Conv3d(1, FINE, 4, STRIDE, 1, bias=False)
        self.fine = nn.Sequential(stem, nn.BatchNorm3d(FINE), nn.SiLU(), Step(FINE, FINE))
        self.middle = nn.Sequential(Step(FINE, MIDDLE, 2), Step(MIDDLE, MIDDLE))
        self.coarse = nn.Sequential(Step(MIDDLE, COARSE, 2), Step(COARSE, COARSE))
        self.to_middle, self.to_fine = nn.Conv3d(COARSE, MIDDLE, 1), nn.Conv3d(MIDDLE, FINE, 1)
        self.up_middle, self.up_fine = Step(MIDDLE, MIDDLE), Step(FINE, FINE)
        self.answer = nn.Conv3d(FINE, 2, 1)
        begin = torch.tensor([math.log(RARE / (1 - RARE)), math.log(USUAL_MM)])
        self.answer.bias = nn.Parameter(begin)

    def forward(self, seen: Tensor) -> Tensor:
        """Slabs n x slices x rows x columns -> n x 2: logit of a middle, logarithm of its size."""
        fine = self.fine(seen[:, None])
        middle = self.middle(fine)
        up = functional.interpolate(self.to_middle(self.coarse(middle)), scale_factor=2.0)
        up = functional.interpolate(self.to_fine(self.up_middle(middle + up)), scale_factor=2.0)
        output: Tensor = self.answer(self.up_fine(fine + up))
        return output


def heat_loss(answers: Tensor, tiles: Tiles) -> Tensor:
    """Focal loss of the map, in which every nodule counts the same, and of sizes at the middles."""
    heat, size = answers.float().flatten(2).unbind(dim=1)
    apart, diameter = tiles.apart_mm, tiles.diameter_mm
    reach = (CORE_SHARE * diameter).clamp(min=CORE_MM)
    is_core = (apart <= reach) & tiles.is_nodule & tiles.is_inside[:, :, None]
    cells = is_core.sum(dim=1, keepdim=True)
    share = (is_core / cells.clamp(min=1)).amax(dim=2)
    nodules = (cells > 0).sum().clamp(min=1)
    edge = (EDGE_SHARE * diameter).clamp(min=EDGE_MM)
    near = torch.exp(-((apart - reach).clamp(min=0) / edge).square() / 2) * tiles.is_nodule
    farther = (1 - near.amax(dim=2)) ** 4
    counts = tiles.is_inside & ~tiles.is_ignored(IGNORED_MM)
    likely = heat.sigmoid()
    hit = share * (1 - likely).square() * -functional.logsigmoid(heat)
    false = counts * farther * likely.square() * -functional.logsigmoid(-heat)
    true_size = (is_core * diameter.clamp(min=1).log()).amax(dim=2)
    missized = share * (size - true_size).abs()
    return (hit + false + SIZE_SHARE * missized).sum() / nodules


def peaks(answers: Tensor) -> Tensor:
    """Local maxima of the map, moved to the centre of their weight."""
    heat, size = answers[0, 0].sigmoid(), answers[0, 1]
    highest = functional.max_pool3d(heat[None, None], 3, 1, 1)[0, 0]
    at = torch.nonzero((heat == highest) & (heat > LEAST_SCORE))
    padded = functional.pad(heat, (1,) * 6)
    around = torch.cartesian_prod(*[torch.arange(-1, 2, device=heat.device)] * 3)
    z, y, x = (at[:, None] + around[None] + 1).unbind(dim=2)
    weight = padded[z, y, x]
    shift = (weight[:, :, None] * around[None]).sum(dim=1) / weight.sum(dim=1, keepdim=True)
    z, y, x = at.unbind(dim=1)
    places = (at + shift) * STRIDE + (STRIDE - 1) / 2
    return torch.cat([places, heat[z, y, x, None], size[z, y, x, None].clamp(0, 4.5).exp()], dim=1)


def separate(peaks_found: Tensor, step_mm: float) -> Tensor:
    """Peaks that are not within a stronger one, strongest first."""
    ordered = peaks_found[peaks_found[:, 3].argsort(descending=True, stable=True)][:MOST].cpu()
    separated = torch.zeros(0, ROWS)
    for row in ordered:
        apart = (separated[:, :3] - row[:3]).norm(dim=1) * step_mm
        if not (apart <= (separated[:, 4] / 2).clamp(min=APART_MM)).any():
            separated = torch.cat([separated, row[None]])
    return separated.to(peaks_found.device)


HEATMAP = DetectionNetwork(
    "heatmap",
    cube((TILE, TILE, TILE), (1.0, 1.0, 1.0)),
    1.0,
    STRIDE,
    HeatMap,
    heat_loss,
    slab=64,
    margin=8,
    read=peaks,
    gather=separate,
    recipe=replace(OWN, batch=48, steps=4000),
    shift_mm=(12.0, 12.0, 12.0),
)
