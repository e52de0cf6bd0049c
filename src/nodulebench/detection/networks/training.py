"""Examples + Network -> weights: one loop for every network, on a CPU or a GPU.

What a step draws follows from the seed and the number of the step alone, so that a run that was
interrupted goes on exactly as it would have gone.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import cos, inf, isfinite, pi
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nodulebench.core.errors import InputError
from nodulebench.detection.networks.batches import (
    TrainingBatch,
    batches,
    require_both_classes,
    training_batch,
)
from nodulebench.detection.networks.detectors.base import DetectionNetwork
from nodulebench.detection.networks.examples import Examples
from nodulebench.detection.networks.inference import area_under_roc, laid_out, score_candidates
from nodulebench.detection.networks.network import Network
from nodulebench.detection.networks.recipe import Recipe
from nodulebench.detection.networks.weights import read_checkpoint, write_checkpoint

MEASURED_STEPS = 96
SAVING_SHARE = 0.05
"""Of the time at most that saving the state takes: a large one takes as long as many steps."""


@dataclass(frozen=True)
class Check:
    """How far a network was at a step."""

    step: int
    loss: float
    """Mean since the check before."""
    area: float | None
    """Under the ROC curve of candidates held back; None: none were."""


TrainingProgress = Callable[[Check], None]


def no_training_progress(check: Check) -> None:
    """Nobody wants to know."""


@dataclass(eq=False)
class Learner:
    """A network while it learns."""

    module: nn.Module
    average: nn.Module
    """What is kept: a moving average of the weights, or the weights."""
    optimizer: torch.optim.Optimizer
    step: int = 0
    best: float = -1.0
    best_step: int = 0
    since_best: int = 0
    kept: dict[str, Tensor] = field(default_factory=dict)
    """The weights of the best check, where some candidates were held back."""


def train(
    network: Network | DetectionNetwork, examples: Examples, folds: list[int], **how: Any
) -> nn.Module:
    """A trained network, ready to judge; ``how`` is what ``learn`` takes."""
    return learn(network, examples, folds, **how).average


def learn(
    network: Network | DetectionNetwork,
    examples: Examples,
    folds: list[int],
    *,
    held_back: list[int] | None = None,
    recipe: Recipe | None = None,
    seed: int = 0,
    keep: Path | None = None,
    run: Mapping[str, Any] | None = None,
    start: nn.Module | None = None,
    told: TrainingProgress = no_training_progress,
) -> Learner:
    """Train a network.

    Args:
        network: which one.
        examples: scans and candidates, on the device that shall be used.
        folds: whose candidates are learnt from.
        held_back: folds whose candidates decide when it stops; None: the last step is kept.
        recipe: how; None: the network's own.
        seed: of everything random.
        keep: where the state is kept, and taken up again if it is there.
        run: what this training is; a kept state of another one is refused.
        start: a trained network of this kind whose weights it begins with; None: drawn anew.
        told: what a check found.

    Returns:
        The learner at its end; its average is the trained network, ready to judge.

    Raises:
        InputError: if the folds hold no nodule or nothing else, the state is of another run, or
            the loss is no number any more.
    """
    how = recipe or network.recipe
    device = examples.place.device
    torch.manual_seed(seed)
    learner = _begin(network, how, device, start)
    if keep is not None and keep.is_file():
        read_checkpoint(keep, learner, run or {})
    lesson = training_batch(network, examples, folds, how)
    if held_back:
        require_both_classes(examples.is_nodule[examples.learnt(held_back)], "decide when it stops")
    lost: list[Tensor] = []
    saved, saving = -inf, 0.0
    drawn = batches(lesson, seed, learner.step, device)
    while not _is_done(learner, how):
        batch = next(drawn)
        torch.manual_seed(seed * 1_000_003 + learner.step)  # of dropout
        lost.append(_learn(learner, lesson, batch, how, device))
        learner.step += 1
        if learner.step % how.check_every and learner.step < how.steps:
            continue
        area = None
        if held_back and isinstance(network, Network):
            area = _area_of(learner, network, examples, held_back)
        loss = float(torch.stack(lost).mean())
        if not isfinite(loss):
            raise InputError.at(
                f"training of '{network.name}'",
                f"went astray before step {learner.step}: its loss is no number any more.",
                "Train it with another --seed, or with a lower rate.",
            )
        told(Check(learner.step, loss, area))
        lost = []
        _remember_best(learner, area)
        begin = time.monotonic()
        is_due = begin - saved >= saving / SAVING_SHARE or _is_done(learner, how)
        if keep is not None and is_due:
            write_checkpoint(keep, learner, run or {})
            saved = time.monotonic()
            saving = saved - begin
    if learner.kept:
        learner.average.load_state_dict(learner.kept)
    learner.average.eval()
    return learner


def patches_a_second(
    network: Network | DetectionNetwork, examples: Examples, how: Recipe, *, is_cut: bool
) -> float:
    """How many patches a network learns from in a second, once all that it needs is compiled.

    Args:
        network: which one.
        examples: what it learns from, on the device that is measured.
        how: its recipe.
        is_cut: whether each step has a batch of its own; if not, all have the first, and the
            network has nothing to wait for: what it can do at most.
    """
    device = examples.place.device
    learner = _begin(network, how, device)
    lesson = training_batch(network, examples, sorted(set(examples.fold.tolist()) - {-1}), how)
    drawn = batches(lesson, 0, 0, device)
    batch, begin = None, 0.0
    for step in range(-lesson.at_once, MEASURED_STEPS):
        if step == 0:
            _wait(device)
            begin = time.perf_counter()
        batch = next(drawn) if is_cut or batch is None else batch
        _learn(learner, lesson, batch, how, device)
    _wait(device)
    return MEASURED_STEPS * how.batch / (time.perf_counter() - begin)


def _wait(device: torch.device) -> None:
    """Until a GPU has done all that it was told to."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def rate_at(recipe: Recipe, step: int) -> float:
    """The learning rate of a step."""
    share = step / recipe.steps
    passed = [one for one in recipe.schedule if one[0] <= share]
    coming = [one for one in recipe.schedule if one[0] > share]
    factor = passed[-1][1]
    if recipe.is_smooth and coming:
        (start, before), (end, after) = passed[-1], coming[0]
        factor = after + (before - after) * (1 + cos(pi * (share - start) / (end - start))) / 2
    return recipe.rate * factor


def _begin(
    network: Network | DetectionNetwork,
    how: Recipe,
    device: torch.device,
    start: nn.Module | None = None,
) -> Learner:
    module = _placed(network.build(), device)
    if start is not None:
        module.load_state_dict(start.state_dict())
    average = module
    if how.average:
        average = _placed(network.build(), device)
        average.load_state_dict(module.state_dict())
    return Learner(module, average, _optimizer(module, how))


def _placed(module: nn.Module, device: torch.device) -> nn.Module:
    """On a CPU the order of its numbers stays, so that weights are the same as ever."""
    return laid_out(module, device) if device.type == "cuda" else module


def _optimizer(module: nn.Module, how: Recipe) -> torch.optim.Optimizer:
    weights, rate, decay = list(module.parameters()), how.rate, how.decay
    if how.optimizer == "sgd":
        return torch.optim.SGD(
            weights, rate, momentum=how.momentum, weight_decay=decay, nesterov=how.momentum > 0
        )
    if how.optimizer == "rmsprop":
        return torch.optim.RMSprop(weights, rate, momentum=how.momentum, weight_decay=decay)
    if how.optimizer == "adam":
        return torch.optim.Adam(weights, rate, weight_decay=decay)
    return torch.optim.AdamW(weights, rate, weight_decay=decay)


def _learn(
    learner: Learner, lesson: TrainingBatch, batch: Any, how: Recipe, device: torch.device
) -> Tensor:
    """Change the weights for a batch; its loss."""
    for group in learner.optimizer.param_groups:
        group["lr"] = rate_at(how, learner.step)
    learner.module.train()
    learner.optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        loss = lesson.loss(learner.module, batch)
    loss.backward()  # type: ignore[no-untyped-call]
    if how.longest_gradient:
        nn.utils.clip_grad_norm_(learner.module.parameters(), how.longest_gradient)
    learner.optimizer.step()
    _follow(learner, how)
    return loss.detach()


def _is_done(learner: Learner, how: Recipe) -> bool:
    has_waited = 0 < how.patience <= learner.since_best
    return has_waited or learner.step >= how.steps


def _remember_best(learner: Learner, area: float | None) -> None:
    if area is None:
        return
    learner.since_best += 1
    if area > learner.best:
        state = learner.average.state_dict()
        learner.kept = {name: one.detach().clone() for name, one in state.items()}
        learner.best, learner.best_step, learner.since_best = area, learner.step, 0


def _follow(learner: Learner, how: Recipe) -> None:
    """Let the moving average follow; it begins faster, so that the first weights are forgotten."""
    if learner.average is learner.module:
        return
    share = min(how.average, (learner.step + 1) / (learner.step + 10))
    with torch.no_grad():
        for kept, now in _pairs(learner):
            if kept.dtype.is_floating_point:
                kept.lerp_(now, 1 - share)
            else:
                kept.copy_(now)


def _pairs(learner: Learner) -> Iterator[tuple[Tensor, Tensor]]:
    now = learner.module.state_dict()
    for name, kept in learner.average.state_dict().items():
        yield kept, now[name]


def _area_of(learner: Learner, network: Network, examples: Examples, held_back: list[int]) -> float:
    chosen = examples.learnt(held_back)
    return area_under_roc(
        score_candidates(learner.average, network, examples, chosen), examples.is_nodule[chosen]
    )
