"""How long trainings will take here: a few steps and candidates are tried before they begin."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from statistics import median

import torch

from nodulebench.detection.held_out import NO_FOLD
from nodulebench.detection.networks import network_named
from nodulebench.detection.networks.cross_validation import (
    Course,
    planned_card,
    stem_of,
    steps_left,
)
from nodulebench.detection.networks.detectors.base import Finder
from nodulebench.detection.networks.detectors.search import search
from nodulebench.detection.networks.examples import Examples
from nodulebench.detection.networks.inference import judge
from nodulebench.detection.networks.network import Network, Recipe
from nodulebench.detection.networks.training import Check, train

WARMING, TIMED = 3, 20
"""Steps that do not count, and those that do: as many, or a tenth of all if that is less."""
LONGEST_S = 20.0
"""That steps are tried; one at least counts."""
TRIED_CANDIDATES = 64


@dataclass(frozen=True)
class Pace:
    """Seconds that things take here."""

    step: float
    candidate: float = 0.0
    """To judge one, once."""
    litre: float = 0.0
    """To look through a litre of a scan."""


class _EnoughError(Exception):
    """No further step is tried."""


def seconds_left(name: str, folds: Sequence[int | None], course: Course) -> float | None:
    """About how long all trainings will take that are not done yet; None: all of them are.

    Folds that decide when training stops may end it sooner.

    Raises:
        InputError: if a training cannot be done, or what is kept of it is of another one.
    """
    left = {fold: _left(name, fold, course) for fold in folds}
    to_do = {fold: steps for fold, steps in left.items() if steps is not None}
    if not to_do:
        return None
    folds_learnt = planned_card(name, next(iter(to_do)), course).folds
    timed = min(TIMED, max(1, sum(to_do.values()) // 10))
    pace = pace_of(name, folds_learnt, course, timed)
    return sum(seconds_of(pace, name, fold, course, steps) for fold, steps in to_do.items())


def pace_of(name: str, folds: Sequence[int], course: Course, timed: int = TIMED) -> Pace:
    """What steps, and judging or looking, take here."""
    network, examples = network_named(name), course.examples
    how = course.recipe or network.recipe
    step = seconds_of_a_step(network, examples, folds, how, timed)
    if isinstance(network, Finder):
        return Pace(step, litre=_seconds_of_a_litre(network, examples))
    return Pace(step, candidate=_seconds_of_a_candidate(network, examples))


def seconds_of_a_step(
    network: Network | Finder,
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
        train(network, examples, list(folds), recipe=how, told=tell)
    return median(after - before for before, after in pairwise(at[WARMING:]))


def seconds_of(pace: Pace, name: str, fold: int | None, course: Course, steps: int) -> float:
    """How long one training takes: its steps, its checks, and judging what it left out."""
    network, examples = network_named(name), course.examples
    how = course.recipe or network.recipe
    left_out = [NO_FOLD] if fold is None else [fold, NO_FOLD]
    checked = ceil(steps / how.check_every) * len(examples.learnt(course.held_back))
    judged = len(examples.judged(left_out)) * how.tries
    own = 0 if fold is None else len(examples.learnt([fold]))
    litres = sum(
        _litres(examples, which)
        for which, of in enumerate(examples.fold.tolist())
        if of in left_out
    )
    candidates = checked + judged + own
    return steps * pace.step + candidates * pace.candidate + litres * pace.litre


def _left(name: str, fold: int | None, course: Course) -> int | None:
    return steps_left(planned_card(name, fold, course), stem_of(name, fold, course))


def _seconds_of_a_candidate(network: Network, examples: Examples) -> float:
    chosen = torch.nonzero(examples.is_judged | examples.is_learnt)[:TRIED_CANDIDATES, 0]
    module = network.build()
    seconds = _seconds_the_second_time(lambda: judge(module, network, examples, chosen).cpu())
    return seconds / max(1, len(chosen))


def _seconds_of_a_litre(finder: Finder, examples: Examples) -> float:
    """By the first slab of a scan of middle size."""
    litres = [_litres(examples, which) for which in range(len(examples.fold))]
    which = sorted(range(len(litres)), key=litres.__getitem__)[len(litres) // 2]
    low, high = examples.seen[which].unbind()
    slices = (
        (finder.slab - 2 * finder.margin) * finder.step_mm / examples.scans.spacing_mm[which, 0]
    )
    part = high.clone()
    part[0] = torch.minimum(high[0], low[0] + int(slices))
    module = finder.build()
    seconds = _seconds_the_second_time(
        lambda: search(module, finder, examples.scans, which, low, part).place.cpu()
    )
    share = float(part[0] - low[0] + 1) / float(high[0] - low[0] + 1)
    return seconds / max(share * litres[which], 1e-9)


def _seconds_the_second_time(work: Callable[[], object]) -> float:
    """How long work takes once everything that it needs is at hand."""
    work()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _litres(examples: Examples, which: int) -> float:
    low, high = examples.seen[which].unbind()
    return float(((high - low + 1) * examples.scans.spacing_mm[which]).prod()) / 1e6
