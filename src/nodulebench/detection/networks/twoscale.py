"""Our own: a residual 3-D network that sees a candidate twice, near and with its surroundings.

A vessel differs from a nodule by where it goes on, a small nodule by its own few voxels; one field
of view serves one of the two. Turned freely in space, a few hundred nodules become enough.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.network import Network, cube, stacked
from nodulebench.detection.networks.recipe import OWN

SIZE = 32
NEAR_MM, FAR_MM = 0.75, 1.5
MAPS = (16, 24, 48, 64)
"""Of the first convolution and of the three residual steps."""


class Residual(nn.Module):
    """Two convolutions next to a short cut, weighted by the mean of the maps."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv3d(before, after, 3, stride, 1, bias=False),
            nn.BatchNorm3d(after),
            nn.SiLU(),
            nn.Conv3d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm3d(after),
        )
        self.weigh = nn.Sequential(
            nn.Linear(after, after // 4), nn.SiLU(), nn.Linear(after // 4, after), nn.Sigmoid()
        )
        self.skip = nn.Sequential(
            nn.AvgPool3d(stride) if stride > 1 else nn.Identity(),
            nn.Conv3d(before, after, 1, bias=False),
            nn.BatchNorm3d(after),
        )
        self.unit = nn.SiLU()

    def forward(self, maps: Tensor) -> Tensor:
        seen = self.body(maps)
        weight = self.weigh(seen.mean(dim=(2, 3, 4)))[:, :, None, None, None]
        output: Tensor = self.unit(torch.addcmul(self.skip(maps), seen, weight))
        return output


class TwoScale(nn.Module):
    """The same convolutions at both scales, pooled by mean and maximum."""

    def __init__(self) -> None:
        super().__init__()
        first, second, third, last = MAPS
        stem = [nn.Conv3d(1, first, 5, 2, 2, bias=False), nn.BatchNorm3d(first), nn.SiLU()]
        steps = [Residual(first, second, 1), Residual(second, third, 2), Residual(third, last, 2)]
        self.see = nn.Sequential(*stem, *steps)
        self.judge = nn.Sequential(  # the name of the layer in the packaged weights
            nn.Dropout(0.3), nn.Linear(4 * last, 64), nn.SiLU(), nn.Linear(64, 2)
        )

    def forward(self, patches: Tensor) -> Tensor:
        maps = self.see(patches.flatten(0, 1)[:, None])
        pooled = torch.cat([maps.mean(dim=(2, 3, 4)), maps.amax(dim=(2, 3, 4))], dim=1)
        logits: Tensor = self.judge(pooled.reshape(len(patches), -1))
        return logits


SAMPLING = stacked(*(cube((SIZE,) * 3, (step_mm,) * 3) for step_mm in (NEAR_MM, FAR_MM)))
AUGMENT = replace(OWN.augment, shift_mm=1.5)
RECIPE = replace(OWN, batch=192, steps=1000, augment=AUGMENT, smoothing=0.05, tries=8)
TWOSCALE = Network("twoscale", SAMPLING, TwoScale, RECIPE)
