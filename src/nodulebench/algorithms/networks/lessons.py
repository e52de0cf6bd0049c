"""Examples + a network -> lessons: batches that are drawn from them, and the loss of each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from nodulebench.algorithms.networks.examples import Examples
from nodulebench.algorithms.networks.finders.finder import Finder
from nodulebench.algorithms.networks.finders.tiles import tiles_around
from nodulebench.algorithms.networks.judging import patches_around
from nodulebench.algorithms.networks.network import Network, Recipe, scaled
from nodulebench.errors import InputError


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a network is taught."""

    draw: Callable[[torch.Generator], Any]
    """A batch, in full precision."""
    loss: Callable[[nn.Module, Any], Tensor]
    """Of the network's answers to a batch."""


def lesson_of(
    network: Network | Finder, examples: Examples, folds: list[int], how: Recipe
) -> Lesson:
    """What a network learns from some folds.

    Raises:
        InputError: if they hold no nodule, or nothing else.
    """
    pools = _pools(examples, folds)
    look = torch.from_numpy(network.look.offset_mm).to(examples.place.device)
    if isinstance(network, Finder):
        finder = network
        return Lesson(
            lambda random: tiles_around(examples, _drawn(pools, how, random), finder, how, random),
            lambda module, tiles: finder.loss(module(tiles.seen), tiles),
        )

    def draw(random: torch.Generator) -> tuple[Tensor, Tensor]:
        drawn = _drawn(pools, how, random)
        patches = patches_around(examples, drawn, look, how.augment, random, is_learning=True)
        return scaled(patches), examples.is_nodule[drawn].long()

    return Lesson(draw, lambda module, batch: _loss(module, batch[0], batch[1], how))


def _pools(examples: Examples, folds: list[int]) -> tuple[Tensor, Tensor]:
    """Candidates that are no nodules, and those that are."""
    chosen = examples.learnt(folds)
    is_nodule = examples.is_nodule[chosen]
    refuse_one_kind(is_nodule, "are learnt from")
    return chosen[~is_nodule], chosen[is_nodule]


def refuse_one_kind(is_nodule: Tensor, what: str) -> None:
    """Candidates of some folds must be of both kinds.

    Raises:
        InputError: if they hold no nodule, or nothing else.
    """
    nodules = int(is_nodule.sum())
    if not 0 < nodules < len(is_nodule):
        raise InputError.at(
            "training",
            f"{nodules} candidates are nodules and {len(is_nodule) - nodules} are not.",
            f"Give examples with both in the folds that {what}.",
        )


def _drawn(pools: tuple[Tensor, Tensor], how: Recipe, random: torch.Generator) -> Tensor:
    """Which candidates are in a batch."""
    nodules = round(how.share * how.batch)
    counts = (how.batch - nodules, nodules)
    return torch.cat(
        [
            pool[torch.randint(len(pool), (count,), generator=random, device=random.device)]
            for pool, count in zip(pools, counts, strict=True)
        ]
    )


def _loss(module: nn.Module, patches: Tensor, target: Tensor, how: Recipe) -> Tensor:
    describe = getattr(module, "describe", None)
    if not how.centre_loss or describe is None:
        answer = module(patches).float()
        return nn.functional.cross_entropy(answer, target, label_smoothing=how.smoothing)
    described = describe(patches)
    answer = module.judge(described).float()  # type: ignore[operator]
    told = nn.functional.cross_entropy(answer, target, label_smoothing=how.smoothing)
    return told + how.centre_loss * _to_centre(described.float(), target)


def _to_centre(described: Tensor, target: Tensor) -> Tensor:
    """Mean squared distance of features to the mean of their class in the batch."""
    found = described.new_zeros(())
    for one in (0, 1):
        same = described[target == one]
        if len(same):
            found = found + (same - same.mean(dim=0).detach()).square().sum(dim=1).mean() / 2
    return found
