"""ZNET's second half: a wide residual network on three planes, whose outputs are averaged."""

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.network import ORTHOGONAL, Network, begin_evenly, planes
from nodulebench.detection.networks.recipe import Augment, Recipe

SIZE, STEP_MM = 64, 0.5
FIRST, SETS, CONVOLUTIONS = 16, (96, 192, 384), 10
SLOPE = 0.01


class Pair(nn.Module):
    """Two convolutions next to a short cut; normalisation and unit come first."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.BatchNorm2d(before), nn.LeakyReLU(SLOPE))
        self.second = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.LeakyReLU(SLOPE),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
        )
        changes = stride != 1 or before != after
        self.skip = nn.Conv2d(before, after, 1, stride, bias=False) if changes else None

    def forward(self, maps: Tensor) -> Tensor:
        ready = self.first(maps)
        output: Tensor = self.second(ready) + (maps if self.skip is None else self.skip(ready))
        return output


class WideResidual(nn.Module):
    """One plane -> no nodule, nodule; planes are averaged as probabilities."""

    def __init__(self) -> None:
        super().__init__()
        parts: list[nn.Module] = [nn.Conv2d(1, FIRST, 3, 1, 1, bias=False)]
        before = FIRST
        for maps in SETS:
            for number in range(CONVOLUTIONS // 2):
                parts.append(Pair(before, maps, 2 if number == 0 else 1))
                before = maps
        parts += [nn.BatchNorm2d(before), nn.LeakyReLU(SLOPE), nn.AdaptiveAvgPool2d(1)]
        self.body = nn.Sequential(*parts, nn.Flatten())
        self.classify = nn.Linear(before, 2)
        begin_evenly(self, nn.init.xavier_uniform_)

    def forward(self, patches: Tensor) -> Tensor:
        """Patches n x planes x rows x columns -> logarithms of the mean probabilities."""
        count, views, rows, columns = patches.shape
        each = self.classify(self.body(patches.reshape(-1, 1, rows, columns)))
        return torch.logsumexp(each.float().log_softmax(dim=1).reshape(count, views, 2), dim=1)


CHANGED = Augment(zoom=(0.9, 1.1), shift_mm=2.0, turn_degrees=180.0, is_flipped=True)
"""In training and in scoring alike, as printed."""
ZNET = Network(
    "znet",
    planes(ORTHOGONAL, SIZE, STEP_MM),
    WideResidual,
    Recipe(
        "adam",
        rate=1e-3,
        schedule=((0.0, 1.0), (80 / 150, 0.1), (125 / 150, 0.01)),
        augment=CHANGED,
        tries=4,
    ),
    scoring_augment=CHANGED,
)
"""Printed: a tenth of the rate after epochs 80 and 125; batch 128. How long an epoch is, and which
is the last, is not, so that no schedule in steps follows; here the last is 150."""
