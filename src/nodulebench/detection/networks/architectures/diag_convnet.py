"""DIAG_CONVNET (Setio 2016): the nine planes of symmetry of a cube, one stream each.

Streams share their convolutions; each has its own 16 features, joined before the last layer.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.looks import SYMMETRY, planes
from nodulebench.detection.networks.network import Augment, Network, Recipe, begin_evenly

SIZE, WIDTH_MM = 65, 50.0
STREAM_FEATURES = 16


class DiagConvNet(nn.Module):
    """Nine views with shared convolutions."""

    def __init__(self, views: int = len(SYMMETRY)) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for before, after, kernel in ((1, 24, 5), (24, 32, 3), (32, 48, 3)):
            parts += [nn.Conv2d(before, after, kernel), nn.ReLU(), nn.MaxPool2d(2)]
        self.convolutions = nn.Sequential(*parts, nn.Flatten())
        self.streams = nn.ModuleList(nn.Linear(48 * 6 * 6, STREAM_FEATURES) for _ in range(views))
        self.judge = nn.Sequential(nn.ReLU(), nn.Linear(views * STREAM_FEATURES, 2))
        begin_evenly(self, nn.init.xavier_uniform_)

    def forward(self, patches: Tensor) -> Tensor:
        """Patches n x views x rows x columns -> no nodule, nodule."""
        count, views, rows, columns = patches.shape
        seen = self.convolutions(patches.reshape(-1, 1, rows, columns)).reshape(count, views, -1)
        parts = [stream(seen[:, view]) for view, stream in enumerate(self.streams)]
        found: Tensor = self.judge(torch.cat(parts, dim=1))
        return found


RECIPE = Recipe(
    "rmsprop",
    rate=3e-4,
    momentum=0.0,
    batch=64,
    schedule=((0.0, 1.0), (0.7, 0.1)),
    augment=Augment(zoom=(0.9, 1.1), turn_degrees=20.0),
)
DIAG_CONVNET = Network(
    "diag_convnet",
    planes(SYMMETRY, SIZE, WIDTH_MM / SIZE),
    DiagConvNet,
    RECIPE,
    replace(RECIPE, schedule=((0.0, 1.0),), steps=100 * 1024, check_every=1024, patience=3),
)
"""Printed: batches of 64, a check each 1,024; stops after 3 without a better AUC; 3 seeds."""
