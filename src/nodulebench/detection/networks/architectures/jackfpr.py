"""JackFPR: CUMedVis's three networks side by side, with exponential units and a centre loss."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.architectures.luna16 import SIZES, STEP_MM, features
from nodulebench.detection.networks.looks import cube
from nodulebench.detection.networks.network import Augment, Network, Recipe, begin_evenly

FEATURES = 128


class JackFPR(nn.Module):
    """Three fields of view, joined before the last layers."""

    def __init__(self) -> None:
        super().__init__()
        self.views = nn.ModuleList(features(kind, nn.ELU) for kind in SIZES)
        self.join = nn.Sequential(nn.Linear(150 + 250 + 250, FEATURES), nn.ELU())
        self.judge = nn.Linear(FEATURES, 2)
        begin_evenly(self, nn.init.xavier_uniform_)

    def describe(self, patches: Tensor) -> Tensor:
        """Patches -> the features that a centre loss draws together."""
        parts = [
            view(_middle(patches, size)[:, None])
            for view, size in zip(self.views, SIZES.values(), strict=True)
        ]
        joined: Tensor = self.join(torch.cat(parts, dim=1))
        return joined

    def forward(self, patches: Tensor) -> Tensor:
        """Patches -> no nodule, nodule."""
        found: Tensor = self.judge(self.describe(patches))
        return found


def _middle(patches: Tensor, size: tuple[int, int, int]) -> Tensor:
    for axis, count in enumerate(size, start=1):
        patches = patches.narrow(axis, (patches.shape[axis] - count) // 2, count)
    return patches


RECIPE = Recipe(
    "sgd",
    rate=0.01,
    decay=1e-4,
    schedule=((0.0, 0.5), (5 / 240, 1.0), (80 / 240, 0.1), (160 / 240, 0.01)),
    augment=Augment(shift_mm=1.0, is_quarter_turned=True, is_flipped=True),
    centre_loss=1e-3,
    longest_gradient=5.0,
)
"""The paper shortens no gradient; without that its loss was no number any more in fold 1."""
JACKFPR = Network(
    "jackfpr",
    cube(SIZES["c"], STEP_MM),
    JackFPR,
    RECIPE,
    replace(RECIPE, steps=240 * 1024, check_every=1024, longest_gradient=0.0),
)
"""Printed: 240 epochs of 1,024 iterations; .005 for 5 epochs, then .01, a tenth every 80 epochs."""
