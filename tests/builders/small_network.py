"""A network of a few weights, and examples that it can learn from."""

from pathlib import Path

import numpy as np
import torch

from nodulebench.detection.networks.examples import ExampleArrays, make_examples, write_examples
from nodulebench.detection.networks.network import Network, cube
from nodulebench.detection.networks.patches import scans_of
from nodulebench.detection.networks.recipe import Augment, Recipe


class Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv3d(1, 4, 3),
            torch.nn.BatchNorm3d(4),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.2),
            torch.nn.Flatten(),
        )
        self.classify = torch.nn.Linear(4 * 27, 2)

    def describe(self, patches: "torch.Tensor") -> "torch.Tensor":
        return self.body(patches[:, None])

    def forward(self, patches: "torch.Tensor") -> "torch.Tensor":
        return self.classify(self.describe(patches))


RECIPE = Recipe(
    "adamw",
    rate=0.01,
    decay=0.01,
    batch=16,
    steps=40,
    check_every=7,
    average=0.9,
    smoothing=0.05,
    centre_loss=0.001,
    augment=Augment((0.9, 1.1), 0.5, is_turned_freely=True, is_flipped=True),
)
SMALL = Network("small", cube((5, 5, 5), (1.5, 1.5, 1.5)), Small, RECIPE)


def weights(module: "torch.nn.Module") -> list["torch.Tensor"]:
    return list(module.state_dict().values())


def write_balls_and_tubes(where: Path) -> None:
    """Balls (nodules) and tubes in noise, in four scans, each a fold."""
    random = np.random.default_rng(5)
    images, places, is_nodule = [], [], []
    for scan in range(4):
        image = random.normal(30, 3, (24, 40, 40))
        grid = np.stack(np.meshgrid(*map(np.arange, image.shape), indexing="ij"), axis=-1)
        for _ in range(12):
            center = random.uniform(5, [19, 35, 35])
            is_ball = bool(random.random() < 0.5)
            apart = (grid - center)[..., slice(None) if is_ball else slice(1, None)]
            image[np.linalg.norm(apart, axis=-1) < 2.5] = 60
            places.append([scan, *center])
            is_nodule.append(is_ball)
        images.append(np.clip(image, 0, 255).astype(np.uint8))
    scans = scans_of(images, [[1.0, 1.0, 1.0]] * 4, step_hu=16.0, lowest_hu=-1024.0)
    at = np.array(places)
    names = ("s0", "s1", "s2", "s3")
    about = {"data": "balls and tubes"}
    given = make_examples(
        scans,
        ExampleArrays(
            fold=range(4),
            which=at[:, 0],
            place=at[:, 1:],
            is_nodule=is_nodule,
            series=names,
            about=about,
        ),
    )
    write_examples(where, given)
