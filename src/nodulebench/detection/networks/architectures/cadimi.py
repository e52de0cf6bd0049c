"""CADIMI: one network for three views, each with planes 2 mm before and behind as its colours."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.looks import ORTHOGONAL, planes
from nodulebench.detection.networks.network import Augment, Network, Recipe, begin_evenly

SIZE, STEP_MM, ASIDE_MM = 52, 1.0, (-2.0, 0.0, 2.0)


class Cadimi(nn.Module):
    """One view -> no nodule, nodule; views are averaged as probabilities."""

    def __init__(self) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for before, after, kernel in ((3, 24, 5), (24, 32, 3), (32, 48, 3)):
            parts += [nn.Conv2d(before, after, kernel), nn.ReLU()]
            parts += [nn.MaxPool2d(2), nn.BatchNorm2d(after)]
        self.body = nn.Sequential(*parts, nn.Flatten(), nn.Linear(48 * 4 * 4, 512), nn.ReLU())
        self.judge = nn.Linear(512, 2)
        begin_evenly(self, nn.init.kaiming_uniform_)

    def forward(self, patches: Tensor) -> Tensor:
        """Patches n x views x colours x rows x columns -> logarithms of mean probabilities."""
        count, views = patches.shape[:2]
        each = self.judge(self.body(patches.reshape(-1, *patches.shape[2:])))
        return torch.logsumexp(each.float().log_softmax(dim=1).reshape(count, views, 2), dim=1)


RECIPE = Recipe(
    "sgd",
    rate=0.01,
    decay=1e-3,
    augment=Augment(shift_mm=4.0, is_flipped=True),
)
EPOCHS, OTHERS = 80, 20_000
MOVED_MM = 4 * STEP_MM
BESIDE = ((-MOVED_MM, 0.0), (MOVED_MM, 0.0), (0.0, -MOVED_MM), (0.0, MOVED_MM))
"""Along rows and columns of a view; a candidate is judged there, too."""
CADIMI = Network(
    "cadimi",
    planes(ORTHOGONAL, SIZE, STEP_MM, ASIDE_MM),
    Cadimi,
    RECIPE,
    # with as many nodules as other candidates in a batch, an epoch shows every other one once
    replace(RECIPE, steps=EPOCHS * 2 * OTHERS // RECIPE.batch),
    beside=tuple(planes(ORTHOGONAL, SIZE, STEP_MM, ASIDE_MM, moved) for moved in BESIDE),
)
"""Printed: 80 epochs of all nodules and 20,000 other candidates; Nesterov; rate .01, decay .001;
five patches of a view that are averaged, in its middle and 4 pixels off along both axes."""
