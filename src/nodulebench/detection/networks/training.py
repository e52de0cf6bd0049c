"""Examples + network -> batches and their loss -> weights: one loop for all, on a CPU or a GPU.

What a step draws depends only on the seed and the number of the step, so that a run that was
interrupted goes on exactly as it would have gone.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import cos, inf, isfinite, pi, prod
from pathlib import Path
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
from nodulebench.detection.networks.inference import (
    area_under_roc,
    in_channels_last,
    patches_around,
    score_candidates,
)
from nodulebench.detection.networks.network import Network, scaled
from nodulebench.detection.networks.patches import MOST_POINTS
from nodulebench.detection.networks.recipe import Recipe
from nodulebench.detection.networks.weights import read_checkpoint, write_checkpoint

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
    chosen = examples.training_candidates(folds)
    is_nodule = examples.is_nodule[chosen]
    require_both_classes(is_nodule, "are trained on")
    pools = (chosen[~is_nodule], chosen[is_nodule])
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
    """The batches of the first step and of all that follow it, wherever a run begins."""
    random = torch.Generator(device=device)
    begin = first - first % training.at_once
    while True:
        random.manual_seed(seed * 1_000_003 + begin)
        yield from training.draw(random, training.at_once)[max(0, first - begin) :]
        begin += training.at_once


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


MEASURED_STEPS = 96
SAVING_SHARE = 0.05
"""Of the time at most that saving the state takes: a large one takes as long as many steps."""


@dataclass(frozen=True)
class Check:
    """The progress of a training at a step."""

    step: int
    loss: float
    """Mean since the check before."""
    area: float | None
    """Under the ROC curve of candidates held back; None: none were."""


TrainingProgress = Callable[[Check], None]


@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """How a network is trained."""

    recipe: Recipe | None = None
    """None: the network's own."""
    held_back: tuple[int, ...] = ()
    """Folds whose candidates decide when it stops; none: after the last step."""
    seed: int = 0
    """Of everything random."""
    state_file: Path | None = None
    """Where the state is saved, and read again if the file exists."""
    run: Mapping[str, object] = field(default_factory=dict)
    """A description of this training; a saved state of another one is refused."""
    start: nn.Module | None = None
    """A trained network of this kind whose weights it begins with; None: random weights."""


DEFAULT = LearningOptions()


@dataclass(eq=False)
class Learner:
    """The state of a training."""

    module: nn.Module
    average: nn.Module
    """The result: a moving average of the weights, or the weights."""
    optimizer: torch.optim.Optimizer
    step: int = 0
    best: float = -1.0
    best_step: int = 0
    since_best: int = 0
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    """The weights of the best check, where some candidates were held back."""

    def remember_best(self, area: float) -> None:
        self.since_best += 1
        if area > self.best:
            state = self.average.state_dict()
            self.best_weights = {name: values.detach().clone() for name, values in state.items()}
            self.best, self.best_step, self.since_best = area, self.step, 0


def train(
    network: Network | DetectionNetwork,
    examples: Examples,
    folds: list[int],
    options: LearningOptions = DEFAULT,
    progress: TrainingProgress = lambda _: None,
) -> nn.Module:
    return learn(network, examples, folds, options, progress).average


def learn(
    network: Network | DetectionNetwork,
    examples: Examples,
    folds: list[int],
    options: LearningOptions = DEFAULT,
    progress: TrainingProgress = lambda _: None,
) -> Learner:
    """Train a network on the candidates of some folds; the learner's average is the result."""
    how, state_file = options.recipe or network.recipe, options.state_file
    device = examples.place.device
    torch.manual_seed(options.seed)
    learner = _begin(network, how, device, options.start)
    if state_file is not None and state_file.is_file():
        read_checkpoint(state_file, learner, options.run)
    training = training_batch(network, examples, folds, how)
    if options.held_back:
        chosen = examples.training_candidates(options.held_back)
        require_both_classes(examples.is_nodule[chosen], "decide when it stops")
    losses: list[Tensor] = []
    saved, saving = -inf, 0.0
    drawn = batches(training, options.seed, learner.step, device)
    while not _is_done(learner, how):
        batch = next(drawn)
        torch.manual_seed(options.seed * 1_000_003 + learner.step)  # of dropout
        losses.append(_learn(learner, training, batch, how, device))
        learner.step += 1
        if learner.step % how.check_every and learner.step < how.steps:
            continue
        area = None
        if options.held_back and isinstance(network, Network):
            held = examples.training_candidates(options.held_back)
            scores = score_candidates(learner.average, network, examples, held)
            area = area_under_roc(scores, examples.is_nodule[held])
        loss = float(torch.stack(losses).mean())
        if not isfinite(loss):
            what = f"the loss is not finite before step {learner.step}."
            remedy = "Train it with another --seed, or with a lower rate."
            raise InputError.at(f"training of '{network.name}'", what, remedy)
        progress(Check(learner.step, loss, area))
        losses = []
        if area is not None:
            learner.remember_best(area)
        begin = time.monotonic()
        is_due = begin - saved >= saving / SAVING_SHARE or _is_done(learner, how)
        if state_file is not None and is_due:
            write_checkpoint(state_file, learner, options.run)
            saved = time.monotonic()
            saving = saved - begin
    if learner.best_weights:
        learner.average.load_state_dict(learner.best_weights)
    learner.average.eval()
    return learner


def patches_a_second(
    network: Network | DetectionNetwork, examples: Examples, how: Recipe, *, is_cut: bool
) -> float:
    """How many patches a network learns from in a second, once all that it needs is compiled.

    ``is_cut``: whether each step has its own batch; if not, all have the first, and the network
    waits for nothing: the highest rate that it can reach.
    """
    device = examples.place.device
    learner = _begin(network, how, device)
    training = training_batch(network, examples, sorted(set(examples.fold.tolist()) - {-1}), how)
    drawn = batches(training, 0, 0, device)
    batch, begin = None, 0.0
    for step in range(-training.at_once, MEASURED_STEPS):
        if step == 0:
            _wait(device)
            begin = time.perf_counter()
        batch = next(drawn) if is_cut or batch is None else batch
        _learn(learner, training, batch, how, device)
    _wait(device)
    return MEASURED_STEPS * how.batch / (time.perf_counter() - begin)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def rate_at(recipe: Recipe, step: int) -> float:
    share = step / recipe.steps
    passed = [entry for entry in recipe.schedule if entry[0] <= share]
    coming = [entry for entry in recipe.schedule if entry[0] > share]
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
    """On a CPU the memory format stays, so that weights do not change."""
    return in_channels_last(module, device) if device.type == "cuda" else module


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
    learner: Learner, training: TrainingBatch, batch: Any, how: Recipe, device: torch.device
) -> Tensor:
    for group in learner.optimizer.param_groups:
        group["lr"] = rate_at(how, learner.step)
    learner.module.train()
    learner.optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        loss = training.loss(learner.module, batch)
    loss.backward()  # type: ignore[no-untyped-call]
    if how.longest_gradient:
        nn.utils.clip_grad_norm_(learner.module.parameters(), how.longest_gradient)
    learner.optimizer.step()
    _follow(learner, how)
    return loss.detach()


def _is_done(learner: Learner, how: Recipe) -> bool:
    has_waited = 0 < how.patience <= learner.since_best
    return has_waited or learner.step >= how.steps


def _follow(learner: Learner, how: Recipe) -> None:
    """Let the moving average follow; it begins faster, so that the first weights are forgotten."""
    if learner.average is learner.module:
        return
    share = min(how.average, (learner.step + 1) / (learner.step + 10))
    with torch.no_grad():
        state = learner.module.state_dict()
        for name, average in learner.average.state_dict().items():
            if average.dtype.is_floating_point:
                average.lerp_(state[name], 1 - share)
            else:
                average.copy_(state[name])
