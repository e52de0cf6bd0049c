"""Examples + a network -> batches that are drawn from them, and the loss of each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from nodulebench.core.errors import InputError
from nodulebench.detection.networks.detection_network import (
    DetectionNetwork,
    Tiles,
    tile_sampling,
    tiles_around,
)
from nodulebench.detection.networks.examples import Examples
from nodulebench.detection.networks.inference import patches_around
from nodulebench.detection.networks.network import Network, scaled
from nodulebench.detection.networks.patches import MOST_POINTS
from nodulebench.detection.networks.recipe import Recipe

MOST_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class TrainingBatch:
    """How batches are drawn and what their loss is."""

    draw: Callable[[torch.Generator, int], list[Any]]
    """Batches of so many steps, in full precision."""
    loss: Callable[[nn.Module, Any], Tensor]
    """Of the network's outputs for a batch."""
    at_once: int = 1
    """Steps whose batches are drawn together: a GPU waits for its orders where they are small."""


def training_batch(
    network: Network | DetectionNetwork, examples: Examples, folds: list[int], how: Recipe
) -> TrainingBatch:
    pools = _pools(examples, folds)
    device = examples.place.device
    if isinstance(network, DetectionNetwork):
        detector, sampling = network, tile_sampling(network, device)

        def draw_tiles(random: torch.Generator, steps: int) -> list[Tiles]:
            drawn = _drawn(pools, how, random, steps)
            return [tiles_around(examples, chosen, sampling, how, random) for chosen in drawn]

        return TrainingBatch(
            draw_tiles, lambda module, tiles: detector.loss(module(tiles.seen), tiles)
        )
    offset_mm = torch.from_numpy(network.grid.offset_mm).to(device)

    def draw(random: torch.Generator, steps: int) -> list[tuple[Tensor, Tensor]]:
        drawn = _drawn(pools, how, random, steps)
        patches = scaled(
            patches_around(
                examples, drawn.flatten(), offset_mm, how.augment, random, is_learning=True
            )
        )
        is_nodule = examples.is_nodule[drawn].long()
        return list(zip(torch.split(patches, drawn.shape[1]), is_nodule, strict=True))

    def loss(module: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return _loss(module, batch[0], batch[1], how)

    points = how.batch * prod(network.grid.shape)
    at_once = max(1, min(MOST_AT_ONCE, MOST_POINTS // points))
    return TrainingBatch(draw, loss, at_once if device.type == "cuda" else 1)


def batches(training: TrainingBatch, seed: int, first: int, device: torch.device) -> Iterator[Any]:
    """The batches of the first step and of all that follow it.

    The batch of a step depends only on the seed and its number, wherever a run begins.
    """
    random = torch.Generator(device=device)
    begin = first - first % training.at_once
    while True:
        random.manual_seed(seed * 1_000_003 + begin)
        yield from training.draw(random, training.at_once)[max(0, first - begin) :]
        begin += training.at_once


def _pools(examples: Examples, folds: list[int]) -> tuple[Tensor, Tensor]:
    chosen = examples.training_candidates(folds)
    is_nodule = examples.is_nodule[chosen]
    require_both_classes(is_nodule, "are trained on")
    return chosen[~is_nodule], chosen[is_nodule]


def require_both_classes(is_nodule: Tensor, what: str) -> None:
    nodules = int(is_nodule.sum())
    if not 0 < nodules < len(is_nodule):
        raise InputError.at(
            "training",
            f"{nodules} candidates are nodules and {len(is_nodule) - nodules} are not.",
            f"Give examples with both in the folds that {what}.",
        )


def _drawn(
    pools: tuple[Tensor, Tensor], how: Recipe, random: torch.Generator, steps: int
) -> Tensor:
    """Random candidates for the batches of so many steps: steps x batch."""
    nodules = round(how.share * how.batch)
    counts = (how.batch - nodules, nodules)
    return torch.cat(
        [
            pool[torch.randint(len(pool), (steps, count), generator=random, device=random.device)]
            for pool, count in zip(pools, counts, strict=True)
        ],
        dim=1,
    )


def _loss(module: nn.Module, patches: Tensor, target: Tensor, how: Recipe) -> Tensor:
    describe = getattr(module, "describe", None)
    if not how.centre_loss or describe is None:
        answer = module(patches).float()
        return nn.functional.cross_entropy(answer, target, label_smoothing=how.smoothing)
    described = describe(patches)
    answer = module.classify(described).float()  # type: ignore[operator]
    cross_entropy = nn.functional.cross_entropy(answer, target, label_smoothing=how.smoothing)
    return cross_entropy + how.centre_loss * _to_centre(described.float(), target)


def _to_centre(described: Tensor, target: Tensor) -> Tensor:
    """Mean squared distance of features to the mean of their class in the batch."""
    distance = described.new_zeros(())
    for label in (0, 1):
        same = described[target == label]
        if len(same):
            distance = distance + (same - same.mean(dim=0).detach()).square().sum(dim=1).mean() / 2
    return distance
