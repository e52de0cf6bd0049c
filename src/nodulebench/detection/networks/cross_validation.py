"""A network trained without each of some folds, which then scores the fold that it never saw.

The results of a fold are in a folder, and an interrupted run is continued from there:

    NAME-FOLD.safetensors   weights with their card; FOLD is ``all`` where none was left out
    NAME-FOLD.npz           which candidates were scored, and their probabilities; of a network that
                            finds nodules, its detections
    NAME-FOLD.curve.json    loss and area at every check
    NAME-FOLD.state         only while it learns
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import ceil
from pathlib import Path
from statistics import median

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.detection.held_out import NO_FOLD, UNKNOWN, seen_series, training_series
from nodulebench.detection.networks import network_named
from nodulebench.detection.networks.cards import ModelCard, differences, recipe_facts, run_facts
from nodulebench.detection.networks.detection_network import DetectionNetwork, search
from nodulebench.detection.networks.examples import Examples
from nodulebench.detection.networks.inference import area_under_roc, score_candidates
from nodulebench.detection.networks.network import Network
from nodulebench.detection.networks.recipe import Recipe
from nodulebench.detection.networks.training import Check, LearningOptions, learn, train
from nodulebench.detection.networks.weights import read_card, read_step, write_weights
from nodulebench.io.atomic import replace_whole

STUCK, STUCK_CHECKS = 0.98, 5
"""Share of the loss at the first check: a network that is never below it has not converged."""
WEIGHTS, CURVE, STATE = ".safetensors", ".curve.json", ".state"


@dataclass(frozen=True)
class Trained:
    """The result of one training."""

    fold: int | None
    """That was left out; None: none."""
    path: Path
    """Of the weights."""
    card: ModelCard
    curve: tuple[Check, ...]
    seconds: float
    """Of training in this run; 0: it was done before."""
    was_done: bool = False

    @property
    def is_stuck(self) -> bool:
        """Whether it began with random weights and its loss never fell: its output is constant."""
        losses = [check.loss for check in self.curve]
        is_known = len(losses) >= STUCK_CHECKS and not self.card.begun_from
        return is_known and min(losses[1:]) > STUCK * losses[0]


@dataclass(frozen=True)
class Course:
    """What the trainings of all folds have in common."""

    examples: Examples
    out: Path
    recipe: Recipe | None = None
    """None: the network's own."""
    seed: int = 0
    start: nn.Module | None = None
    """A trained network whose weights it begins with."""
    origin: ModelCard | None = None
    """The card of those weights."""
    held_back: tuple[int, ...] = ()
    """Folds whose candidates decide when it stops."""


def train_without(
    name: str, fold: int | None, course: Course, progress: Callable[[Check], None] = lambda _: None
) -> Trained:
    """Train a network on all folds but one (None: on all), and score the scans not seen."""
    network, examples = network_named(name), course.examples
    card = planned_card(name, fold, course)
    stem = stem_of(name, fold, course)
    left = steps_left(card, stem)
    course.out.mkdir(parents=True, exist_ok=True)
    weights, curve_file, state = (_sibling(stem, end) for end in (WEIGHTS, CURVE, STATE))
    if left is None:
        return Trained(fold, weights, read_card(weights), _curve(curve_file), 0.0, was_done=True)
    curve = list(_curve(curve_file)) if state.is_file() else []

    def tell(check: Check) -> None:
        curve[:] = [earlier for earlier in curve if earlier.step < check.step] + [check]
        text = json.dumps([asdict(entry) for entry in curve])
        replace_whole(curve_file, text.encode())
        progress(check)

    how = course.recipe or network.recipe
    begin = time.perf_counter()
    options = LearningOptions(
        recipe=how,
        held_back=course.held_back,
        seed=course.seed,
        state_file=state,
        run=run_facts(card),
        start=course.start,
    )
    learner = learn(network, examples, list(card.folds), options, tell)
    seconds = time.perf_counter() - begin
    module = learner.average
    if isinstance(network, DetectionNetwork):
        metrics = _detect_held_out(module, network, examples, fold, stem)
    else:
        metrics = _score_held_out(module, network, examples, fold, stem, how.tries)
    whole = replace(
        card,
        metrics=metrics,
        steps_taken=learner.step,
        best_step=learner.best_step if learner.best_weights else None,
    )
    write_weights(weights, module, whole)
    state.unlink(missing_ok=True)
    return Trained(fold, weights, read_card(weights), tuple(curve), seconds)


def planned_card(name: str, fold: int | None, course: Course) -> ModelCard:
    examples, origin = course.examples, course.origin
    how = course.recipe or network_named(name).recipe
    known = sorted(set(examples.fold.tolist()) - {NO_FOLD})
    absent = sorted({*course.held_back, *([] if fold is None else [fold])} - set(known))
    if absent:
        raise InputError.at("examples", f"have no fold {', '.join(map(str, absent))}.")
    card = ModelCard(
        name,
        course.seed,
        how.steps,
        str(examples.about.get("data", "")),
        examples.digest,
        tuple(own for own in known if own != fold and own not in course.held_back),
        series=examples.series_by_fold,
        begun_from="" if origin is None else origin.parameters,
        held_back=course.held_back,
        seen_before=() if origin is None else tuple(sorted(seen_series(origin))),
        recipe=recipe_facts(how, course.held_back),
    )
    raise_problems(_seen_problems(card, fold))
    return card


def steps_left(card: ModelCard, stem: Path) -> int | None:
    """Steps that a training still has to take; None: it was done before."""
    weights, state = (_sibling(stem, end) for end in (WEIGHTS, STATE))
    if weights.is_file():
        stored, now = read_card(weights), run_facts(card)
        was = run_facts(stored)
        now = {name: fact for name, fact in now.items() if name in was or stored.recipe}
        difference = differences(was, now)
        if difference:
            what = f"was trained in another way ({difference})."
            raise InputError.at(weights, what, "Choose another folder.")
        return None
    return card.steps - (read_step(state, run_facts(card)) if state.is_file() else 0)


def stem_of(name: str, fold: int | None, course: Course) -> Path:
    return course.out / f"{name}-{'all' if fold is None else fold}"


def _sibling(stem: Path, end: str) -> Path:
    return stem.with_name(stem.name + end)


def _seen_problems(card: ModelCard, fold: int | None) -> list[Problem]:
    called = "scans of no fold" if fold is None else f"fold {fold}"
    if fold in card.held_back:
        remedy = "Let others decide, or leave others out."
        return [Problem(called, "is left out, and decides when training stops.", remedy)]
    left_out = set(card.series.get(NO_FOLD if fold is None else fold, ()))
    own = left_out & training_series(card) - {UNKNOWN}
    before = left_out.intersection(card.seen_before) - {UNKNOWN}
    if own:
        what = f"{len(own)} series of {called} are in a fold that is trained on, too."
        return [Problem("examples", what, "Keep a series in one fold.")]
    where, remedy = "weights to begin with", "Begin again, or with weights without the same fold."
    if before:
        what = f"have seen {len(before)} series of {called}, which shall be left out."
        return [Problem(where, what, remedy)]
    if left_out and UNKNOWN in left_out.union(card.seen_before) and card.begun_from:
        what = f"do not tell all series that they have seen, so that {called} may be among them."
        return [Problem(where, what, remedy)]
    return []


def _score_held_out(
    module: nn.Module,
    network: Network,
    examples: Examples,
    fold: int | None,
    stem: Path,
    tries: int,
) -> dict[str, float]:
    chosen = examples.scored_candidates([NO_FOLD] if fold is None else [fold, NO_FOLD])
    score = score_candidates(module, network, examples, chosen, tries=tries)
    path = stem.with_name(f"{stem.name}.npz")
    with path.open("wb") as file:
        np.savez(file, chosen=chosen.cpu().numpy(), score=score.cpu().numpy())
    own = torch.zeros(0) if fold is None else examples.training_candidates([fold])
    if not len(own) or examples.is_nodule[own].float().mean() in (0.0, 1.0):
        return {}
    scores = score_candidates(module, network, examples, own, tries=1)
    return {"area": area_under_roc(scores, examples.is_nodule[own])}


def _detect_held_out(
    module: nn.Module, finder: DetectionNetwork, examples: Examples, fold: int | None, stem: Path
) -> dict[str, float]:
    """Store the detections in all scans that were not trained on, and count those of the fold."""
    folds = examples.fold.tolist()
    unseen = [which for which, of in enumerate(folds) if of in (NO_FOLD, fold)]
    detections = {
        which: search(module, finder, examples.scans, which, *examples.seen[which])
        for which in unseen
    }
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "which": np.repeat(
            np.array(unseen, dtype=np.int64), [len(detected) for detected in detections.values()]
        ),
        "place": _joined([detected.place for detected in detections.values()], 3),
        "score": _joined([detected.score for detected in detections.values()]),
        "diameter_mm": _joined([detected.diameter_mm for detected in detections.values()]),
    }
    with stem.with_name(f"{stem.name}.npz").open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    own = {which: detected for which, detected in detections.items() if folds[which] == fold}
    hits = []
    for row in examples.findings:
        which = int(row[0])
        if which in own and row[5] > 0:
            apart = ((own[which].place - row[1:4]) * examples.scans.spacing_mm[which]).norm(dim=1)
            hits.append(float((apart < row[4] / 2).any()))
    places = sum(map(len, own.values())) / max(1, len(own))
    return {"sensitivity": sum(hits) / len(hits), "places": places} if hits else {}


def _joined(parts: Sequence[Tensor], *shape: int) -> npt.NDArray[np.float32]:
    whole = [part.cpu().numpy() for part in parts]
    return np.concatenate([np.empty((0, *shape), dtype=np.float32), *whole])


def _curve(path: Path) -> tuple[Check, ...]:
    try:
        return tuple(Check(**load) for load in json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return ()


WARMING, TIMED = 3, 20
"""Steps that do not count, and those that do: as many, or a tenth of all if that is less."""
LONGEST_S = 20.0
"""That steps are tried; one at least counts."""
TRIED_CANDIDATES = 64


@dataclass(frozen=True)
class Pace:
    """Seconds that the parts of a training take on this machine."""

    step: float
    candidate: float = 0.0
    """To score one, once."""
    litre: float = 0.0
    """To look through a litre of a scan."""


class _EnoughError(Exception):
    """No further step is tried."""


def seconds_left(name: str, folds: Sequence[int | None], course: Course) -> float | None:
    """About how long all trainings will take that are not done yet; None: all of them are.

    Folds that decide when training stops may end it sooner.
    """
    left = {
        fold: steps_left(planned_card(name, fold, course), stem_of(name, fold, course))
        for fold in folds
    }
    to_do = {fold: steps for fold, steps in left.items() if steps is not None}
    if not to_do:
        return None
    training_folds = planned_card(name, next(iter(to_do)), course).folds
    timed = min(TIMED, max(1, sum(to_do.values()) // 10))
    pace = pace_of(name, training_folds, course, timed)
    return sum(seconds_of(pace, name, fold, course, steps) for fold, steps in to_do.items())


def pace_of(name: str, folds: Sequence[int], course: Course, timed: int = TIMED) -> Pace:
    network, examples = network_named(name), course.examples
    how = course.recipe or network.recipe
    step = seconds_of_a_step(network, examples, folds, how, timed)
    if isinstance(network, DetectionNetwork):
        return Pace(step, litre=_seconds_of_a_litre(network, examples))
    chosen = torch.nonzero(examples.is_scored | examples.is_trained_on)[:TRIED_CANDIDATES, 0]
    scorer, module = network, network.build()
    seconds = _seconds_the_second_time(
        lambda: score_candidates(module, scorer, examples, chosen).cpu()
    )
    return Pace(step, candidate=seconds / max(1, len(chosen)))


def seconds_of_a_step(
    network: Network | DetectionNetwork,
    examples: Examples,
    folds: Sequence[int],
    recipe: Recipe,
    timed: int = TIMED,
) -> float:
    """The median of some steps; the first ones, which are slow, do not count."""
    at: list[float] = []

    def tell(_: Check) -> None:
        at.append(time.perf_counter())
        if len(at) > WARMING + 1 and at[-1] - at[0] > LONGEST_S:
            raise _EnoughError

    how = replace(recipe, check_every=1, patience=0, steps=WARMING + 1 + timed)
    with suppress(_EnoughError):
        train(network, examples, list(folds), LearningOptions(recipe=how), tell)
    return median(after - before for before, after in pairwise(at[WARMING:]))


def seconds_of(pace: Pace, name: str, fold: int | None, course: Course, steps: int) -> float:
    """How long one training takes: its steps, its checks, and scoring what it left out."""
    network, examples = network_named(name), course.examples
    how = course.recipe or network.recipe
    left_out = [NO_FOLD] if fold is None else [fold, NO_FOLD]
    checked = ceil(steps / how.check_every) * len(examples.training_candidates(course.held_back))
    scored = len(examples.scored_candidates(left_out)) * how.tries
    own = 0 if fold is None else len(examples.training_candidates([fold]))
    folds = examples.fold.tolist()
    litres = sum(_litres(examples, which) for which, of in enumerate(folds) if of in left_out)
    candidates = checked + scored + own
    return steps * pace.step + candidates * pace.candidate + litres * pace.litre


def _seconds_of_a_litre(finder: DetectionNetwork, examples: Examples) -> float:
    """Measured on the first slab of a scan of middle size."""
    litres = [_litres(examples, which) for which in range(len(examples.fold))]
    which = sorted(range(len(litres)), key=litres.__getitem__)[len(litres) // 2]
    low, high = examples.seen[which].unbind()
    depth_mm = (finder.slab - 2 * finder.margin) * finder.step_mm
    slices = depth_mm / examples.scans.spacing_mm[which, 0]
    part = high.clone()
    part[0] = torch.minimum(high[0], low[0] + int(slices))
    module = finder.build()
    seconds = _seconds_the_second_time(
        lambda: search(module, finder, examples.scans, which, low, part).place.cpu()
    )
    share = float(part[0] - low[0] + 1) / float(high[0] - low[0] + 1)
    return seconds / max(share * litres[which], 1e-9)


def _seconds_the_second_time(work: Callable[[], object]) -> float:
    """How long work takes the second time, when caches are filled."""
    work()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _litres(examples: Examples, which: int) -> float:
    low, high = examples.seen[which].unbind()
    return float(((high - low + 1) * examples.scans.spacing_mm[which]).prod()) / 1e6
