"""CUMedVis (Dou 2016): three 3-D networks that see more and more around a candidate.

Voxel size, rates, dropout and the weights of their fusion are not in LUNA16's paper: 1 mm in plane
and 1.5 mm across, so that the largest is about a cube; the middle one counts a little more.
"""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.network import (
    ORTHOGONAL,
    SYMMETRY,
    Network,
    begin_evenly,
    cube,
    planes,
)
from nodulebench.detection.networks.recipe import Augment, Recipe

STEP_MM = (1.5, 1.0, 1.0)
MAPS = 64
SIZES = {"a": (6, 20, 20), "b": (10, 30, 30), "c": (26, 40, 40)}
FUSION = {"a": 0.3, "b": 0.4, "c": 0.3}
"""Weights of their probabilities where all three score."""
AUGMENT = Augment(shift_mm=1.0, is_quarter_turned=True)
RECIPE = Recipe("sgd", rate=0.01, schedule=((0.0, 1.0), (0.6, 0.1), (0.85, 0.01)), augment=AUGMENT)


def features(kind: str, unit: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Everything before the last layer; the output has 150 or 250 numbers."""
    deep, wide, last, count = (3, 5, 5), (1, 5, 5), (8, 5, 5), 250
    first = [nn.Conv3d(1, MAPS, deep), unit()]
    then = [nn.Conv3d(MAPS, MAPS, deep), unit()]
    if kind == "a":
        parts, last, count = [*first, *then, nn.Conv3d(MAPS, MAPS, wide), unit()], (2, 8, 8), 150
    else:
        pool = (1, 2, 2) if kind == "b" else (2, 2, 2)
        again = [nn.Conv3d(MAPS, MAPS, deep), unit()]
        parts = [*first, nn.MaxPool3d(pool), *then, *again]
        last = (4, 5, 5) if kind == "b" else (8, 10, 10)
    full = nn.Linear(MAPS * last[0] * last[1] * last[2], count)
    return nn.Sequential(*parts, nn.Flatten(), full, unit(), nn.Dropout(0.5))


class CUMedVis(nn.Module):
    """One of the three networks."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.features = features(kind)
        self.classify = nn.Linear(150 if kind == "a" else 250, 2)
        begin_evenly(self, nn.init.kaiming_normal_)

    def forward(self, patches: Tensor) -> Tensor:
        logits: Tensor = self.classify(self.features(patches[:, None]))
        return logits


CUMEDVIS_A, CUMEDVIS_B, CUMEDVIS_C = (
    Network(
        f"cumedvis_{kind}",
        cube(size, STEP_MM),
        partial(CUMedVis, kind),
        RECIPE,
        family="cumedvis",
        share=FUSION[kind],
    )
    for kind, size in SIZES.items()
)

FEATURES = 128


class JackFPR(nn.Module):
    """Three fields of view, joined before the last layers."""

    def __init__(self) -> None:
        super().__init__()
        self.views = nn.ModuleList(features(kind, nn.ELU) for kind in SIZES)
        self.join = nn.Sequential(nn.Linear(150 + 250 + 250, FEATURES), nn.ELU())
        self.classify = nn.Linear(FEATURES, 2)
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
        logits: Tensor = self.classify(self.describe(patches))
        return logits


def _middle(patches: Tensor, size: tuple[int, int, int]) -> Tensor:
    for axis, count in enumerate(size, start=1):
        patches = patches.narrow(axis, (patches.shape[axis] - count) // 2, count)
    return patches


JACKFPR_RECIPE = Recipe(
    "sgd",
    rate=0.01,
    decay=1e-4,
    schedule=((0.0, 0.5), (5 / 240, 1.0), (80 / 240, 0.1), (160 / 240, 0.01)),
    augment=Augment(shift_mm=1.0, is_quarter_turned=True, is_flipped=True),
    centre_loss=1e-3,
    longest_gradient=5.0,
)
"""The paper limits no gradient; without a limit the loss became NaN in fold 1."""
JACKFPR = Network(
    "jackfpr",
    cube(SIZES["c"], STEP_MM),
    JackFPR,
    JACKFPR_RECIPE,
    replace(JACKFPR_RECIPE, steps=240 * 1024, check_every=1024, longest_gradient=0.0),
)
"""Printed: 240 epochs of 1,024 iterations; .005 for 5 epochs, then .01, a tenth every 80 epochs."""


DIAG_CONVNET_SIZE, WIDTH_MM = 65, 50.0
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
        self.classify = nn.Sequential(nn.ReLU(), nn.Linear(views * STREAM_FEATURES, 2))
        begin_evenly(self, nn.init.xavier_uniform_)

    def forward(self, patches: Tensor) -> Tensor:
        """Patches n x views x rows x columns -> no nodule, nodule."""
        count, views, rows, columns = patches.shape
        seen = self.convolutions(patches.reshape(-1, 1, rows, columns)).reshape(count, views, -1)
        parts = [stream(seen[:, view]) for view, stream in enumerate(self.streams)]
        logits: Tensor = self.classify(torch.cat(parts, dim=1))
        return logits


DIAG_CONVNET_RECIPE = Recipe(
    "rmsprop",
    rate=3e-4,
    momentum=0.0,
    batch=64,
    schedule=((0.0, 1.0), (0.7, 0.1)),
    augment=Augment(zoom=(0.9, 1.1), turn_degrees=20.0),
)
DIAG_CONVNET = Network(
    "diag_convnet",
    planes(SYMMETRY, DIAG_CONVNET_SIZE, WIDTH_MM / DIAG_CONVNET_SIZE),
    DiagConvNet,
    DIAG_CONVNET_RECIPE,
    replace(
        DIAG_CONVNET_RECIPE, schedule=((0.0, 1.0),), steps=100 * 1024, check_every=1024, patience=3
    ),
)
"""Printed: batches of 64, a check each 1,024; stops after 3 without a better AUC; 3 seeds."""


CADIMI_SIZE, CADIMI_STEP_MM, ASIDE_MM = 52, 1.0, (-2.0, 0.0, 2.0)


class Cadimi(nn.Module):
    """One view -> no nodule, nodule; views are averaged as probabilities."""

    def __init__(self) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for before, after, kernel in ((3, 24, 5), (24, 32, 3), (32, 48, 3)):
            parts += [nn.Conv2d(before, after, kernel), nn.ReLU()]
            parts += [nn.MaxPool2d(2), nn.BatchNorm2d(after)]
        self.body = nn.Sequential(*parts, nn.Flatten(), nn.Linear(48 * 4 * 4, 512), nn.ReLU())
        self.classify = nn.Linear(512, 2)
        begin_evenly(self, nn.init.kaiming_uniform_)

    def forward(self, patches: Tensor) -> Tensor:
        """Patches n x views x colours x rows x columns -> logarithms of mean probabilities."""
        count, views = patches.shape[:2]
        each = self.classify(self.body(patches.reshape(-1, *patches.shape[2:])))
        return torch.logsumexp(each.float().log_softmax(dim=1).reshape(count, views, 2), dim=1)


CADIMI_RECIPE = Recipe("sgd", rate=0.01, decay=1e-3, augment=Augment(shift_mm=4.0, is_flipped=True))
EPOCHS, OTHERS = 80, 20_000
MOVED_MM = 4 * CADIMI_STEP_MM
PLANE_OFFSET_MM = ((-MOVED_MM, 0.0), (MOVED_MM, 0.0), (0.0, -MOVED_MM), (0.0, MOVED_MM))
"""Along rows and columns of a view; a candidate is scored there, too."""
CADIMI = Network(
    "cadimi",
    planes(ORTHOGONAL, CADIMI_SIZE, CADIMI_STEP_MM, ASIDE_MM),
    Cadimi,
    CADIMI_RECIPE,
    # with as many nodules as other candidates in a batch, an epoch shows every other one once
    replace(CADIMI_RECIPE, steps=EPOCHS * 2 * OTHERS // CADIMI_RECIPE.batch),
    extra_grids=tuple(
        planes(ORTHOGONAL, CADIMI_SIZE, CADIMI_STEP_MM, ASIDE_MM, moved)
        for moved in PLANE_OFFSET_MM
    ),
)
"""Printed: 80 epochs of all nodules and 20,000 other candidates; Nesterov; rate .01, decay .001;
five patches of a view that are averaged, in its middle and 4 pixels off along both axes."""


M5LCAD_SIZE, HIDDEN = 11, 25


class RawVoxels(nn.Module):
    """Voxels -> hidden units -> no nodule, nodule."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(M5LCAD_SIZE**3, HIDDEN), nn.Sigmoid(), nn.Linear(HIDDEN, 2)
        )

    def forward(self, patches: Tensor) -> Tensor:
        logits: Tensor = self.layers(patches)
        return logits


M5LCAD = Network(
    "m5lcad",
    cube((M5LCAD_SIZE, M5LCAD_SIZE, M5LCAD_SIZE), (1.0, 1.0, 1.0)),
    RawVoxels,
    Recipe(
        "sgd",
        rate=0.1,
        decay=1e-4,
        schedule=((0.0, 1.0), (0.7, 0.1)),
        augment=Augment(is_flipped=True, is_quarter_turned=True),
    ),
)
