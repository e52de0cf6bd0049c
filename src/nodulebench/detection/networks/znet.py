"""ZNET: a U-Net on every axial slice, then a wide residual network on three planes.

The U-Net's likely pixels are eroded by their four neighbours, and each remaining component is a
candidate at its centre of mass. The paper gives neither maps nor threshold: 16 maps at first,
doubled at every one of three halvings, and a half: pixels of nodules and all others weigh the same.
The residual network scores candidates; its outputs for the planes are averaged.
"""

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from nodulebench.detection.networks.detection_network import ROWS, DetectionNetwork, Tiles
from nodulebench.detection.networks.network import ORTHOGONAL, Network, begin_evenly, cube, planes
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


TILE = 160
MAPS = (16, 32, 64, 128)
THRESHOLD = 0.5

Indices = npt.NDArray[np.int64]


def _twice(before: int, after: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for maps in (before, after):
        layers += [nn.Conv2d(maps, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
    return nn.Sequential(*layers)


class SliceUNet(nn.Module):
    """Slices -> logits of their pixels."""

    def __init__(self) -> None:
        super().__init__()
        pairs = list(zip((1, *MAPS), MAPS, strict=False))
        self.down = nn.ModuleList([_twice(before, after) for before, after in pairs])
        wide = list(zip(MAPS[:0:-1], MAPS[-2::-1], strict=True))
        self.widen = nn.ModuleList([nn.ConvTranspose2d(a, b, 2, 2) for a, b in wide])
        self.up = nn.ModuleList([_twice(2 * after, after) for _, after in wide])
        self.answer = nn.Conv2d(MAPS[0], 1, 1)

    def forward(self, seen: Tensor) -> Tensor:
        """Slabs n x slices x rows x columns -> n x 1 x slices x rows x columns."""
        maps = seen.flatten(0, 1)[:, None]
        levels: list[Tensor] = []
        for step in self.down:
            maps = step(functional.max_pool2d(maps, 2) if levels else maps)
            levels.append(maps)
        for widen, step, before in zip(self.widen, self.up, levels[-2::-1], strict=True):
            maps = step(torch.cat([before, widen(maps)], dim=1))
        output: Tensor = self.answer(maps)
        return output[:, 0].reshape(seen.shape)[:, None]


def overlap_loss(answers: Tensor, tiles: Tiles) -> Tensor:
    """Cross-entropy of pixels, plus one minus the overlap of probabilities and nodules (Dice).

    Pixels of nodules are rare: together they count as much as all others, or nothing is likely.
    """
    logit = answers.float().flatten(1)
    on_nodule = (tiles.apart_mm <= tiles.diameter_mm / 2) & tiles.is_nodule
    truth = on_nodule.any(dim=2).float()
    counts = (tiles.is_inside & ~tiles.is_ignored()).float()
    each = functional.binary_cross_entropy_with_logits(logit, truth, reduction="none")
    likely = logit.sigmoid() * counts
    truth = truth * counts
    overlap = 2 * (likely * truth).sum() / (likely.sum() + truth.sum() + 1)
    parts = [
        (each * weight).sum() / weight.sum().clamp(min=1) for weight in (truth, counts - truth)
    ]
    return (parts[0] + parts[1]) / 2 + 1 - overlap


def likely_pixels(answers: Tensor) -> Tensor:
    """Pixels above the threshold whose four neighbours are, too."""
    likely = answers[0, 0].sigmoid()
    is_on = functional.pad(likely > THRESHOLD, (1, 1, 1, 1))
    middle = is_on[:, 1:-1, 1:-1]
    neighbours = is_on[:, :-2, 1:-1] & is_on[:, 2:, 1:-1] & is_on[:, 1:-1, :-2] & is_on[:, 1:-1, 2:]
    at = torch.nonzero(middle & neighbours)
    score = likely[at[:, 0], at[:, 1], at[:, 2], None]
    return torch.cat([at.float(), score, torch.zeros_like(score)], dim=1)


def components(pixels: Tensor, step_mm: float) -> Tensor:
    """Pixels connected by their faces -> centre of mass, highest score and size."""
    if not len(pixels):
        return pixels
    at = np.rint(pixels[:, :3].cpu().numpy()).astype(np.int64)
    label = _labels(at)
    count = int(label.max()) + 1
    voxels = np.bincount(label, minlength=count)
    rows = np.zeros((count, ROWS))
    for axis in range(3):
        rows[:, axis] = np.bincount(label, at[:, axis], count) / voxels
    np.maximum.at(rows[:, 3], label, pixels[:, 3].cpu().numpy())
    # the diameter before the erosion
    rows[:, 4] = (2 * (3 * voxels / (4 * math.pi)) ** (1 / 3) + 2) * step_mm
    ordered = rows[np.argsort(-rows[:, 3], kind="stable")]
    return torch.from_numpy(ordered).to(pixels)


def _labels(at: Indices) -> Indices:
    size = at.max(axis=0) + 2
    key = (at[:, 0] * size[1] + at[:, 1]) * size[2] + at[:, 2]
    order = np.argsort(key, kind="stable")
    ordered, label = key[order], np.arange(len(key))
    pairs = []
    for away in (1, size[2], size[1] * size[2]):
        place = np.minimum(np.searchsorted(ordered, ordered + away), len(key) - 1)
        first = np.flatnonzero(ordered[place] == ordered + away)
        pairs.append(np.stack([first, place[first]]))
    first_pixel, other = np.concatenate(pairs, axis=1)
    while True:
        lowest = np.minimum(label[first_pixel], label[other])
        after = label.copy()
        np.minimum.at(after, first_pixel, lowest)
        np.minimum.at(after, other, lowest)
        after = after[after]
        if np.array_equal(after, label):
            break
        label = after
    numbered = np.empty_like(label)
    numbered[order] = np.unique(label, return_inverse=True)[1]
    return numbered


ZNET_UNET = DetectionNetwork(
    "znet_unet",
    cube((1, TILE, TILE), (STEP_MM, STEP_MM, STEP_MM)),
    STEP_MM,
    1,
    SliceUNet,
    overlap_loss,
    slab=8,
    margin=0,
    read=likely_pixels,
    gather=components,
    recipe=Recipe(
        "adam",
        rate=1e-3,
        schedule=((0.0, 0.05), (0.05, 1.0), (1.0, 0.0)),
        is_smooth=True,
        batch=48,
        steps=1500,
        augment=Augment(zoom=(0.9, 1.1), turn_degrees=180.0, is_flipped=True),
        average=0.995,
    ),
    shift_mm=(3.0, 24.0, 24.0),
)
