"""A network trained without each of some folds, which then judges the fold that it never saw.

What came of a fold lies in a folder, and a run that was interrupted is taken up again:

    NAME-FOLD.safetensors   weights with their card; FOLD is ``all`` where none was left out
    NAME-FOLD.npz           which candidates were judged, and their probabilities; of a network that
                            finds nodules, where it found what
    NAME-FOLD.curve.json    loss and area at every check
    NAME-FOLD.state         only while it learns
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from nodulebench.algorithms.networks import network_named
from nodulebench.algorithms.networks.examples import Examples
from nodulebench.algorithms.networks.finders.finder import Finder
from nodulebench.algorithms.networks.finders.search import search
from nodulebench.algorithms.networks.judging import area_under_roc, judge
from nodulebench.algorithms.networks.network import Network, Recipe
from nodulebench.algorithms.networks.training import Check, train
from nodulebench.algorithms.networks.weights import Card, read_card, write_weights
from nodulebench.errors import InputError
from nodulebench.storage.durable import replace_whole

TRIED_STEPS = 4
"""Steps that are timed before a training begins; the first of them does not count."""


@dataclass(frozen=True)
class Trained:
    """What came of one training."""

    fold: int | None
    """That was left out; None: none."""
    path: Path
    """Of the weights."""
    card: Card
    curve: tuple[Check, ...]
    seconds: float
    """That it learnt in this run; 0: it was done before."""


@dataclass(frozen=True)
class Course:
    """How trainings go: what all folds have in common."""

    examples: Examples
    out: Path
    recipe: Recipe | None = None
    """None: the network's own."""
    seed: int = 0
    start: nn.Module | None = None
    """A trained network whose weights it begins with."""
    begun_from: str = ""
    """The digest of those weights."""
    held_back: tuple[int, ...] = ()
    """Folds whose candidates decide when it stops."""


def train_without(
    name: str, fold: int | None, course: Course, told: Callable[[Check], None] = lambda _: None
) -> Trained:
    """Train a network on all folds but one (None: on all), and let it judge what it never saw.

    Raises:
        InputError: if the examples have no such fold, or a kept state is of another run.
    """
    network, examples = network_named(name), course.examples
    how = course.recipe or network.recipe
    known = sorted(set(examples.fold.tolist()) - {-1})
    absent = sorted({*course.held_back, *([] if fold is None else [fold])} - set(known))
    if absent:
        raise InputError.at("examples", f"have no fold {', '.join(map(str, absent))}.")
    learnt = [one for one in known if one != fold and one not in course.held_back]
    stem = course.out / f"{name}-{'all' if fold is None else fold}"
    paths = {end: stem.with_name(f"{stem.name}.{end}") for end in ("safetensors", "curve.json")}
    course.out.mkdir(parents=True, exist_ok=True)
    card = Card(
        name,
        course.seed,
        how.steps,
        str(examples.about.get("data", "")),
        examples.digest,
        tuple(learnt),
        series=examples.series_by_fold,
        begun_from=course.begun_from,
    )
    if paths["safetensors"].is_file():
        kept = read_card(paths["safetensors"])
        if replace(kept, figures={}, parameters="") != card:
            raise InputError.at(
                paths["safetensors"], "was trained in another way.", "Choose another folder."
            )
        return Trained(fold, paths["safetensors"], kept, _curve(paths["curve.json"]), 0.0)
    state = stem.with_name(f"{stem.name}.state")
    curve = list(_curve(paths["curve.json"])) if state.is_file() else []

    def tell(check: Check) -> None:
        curve[:] = [one for one in curve if one.step < check.step] + [check]
        text = json.dumps([asdict(one) for one in curve])
        replace_whole(paths["curve.json"], text.encode())
        told(check)

    begin = time.perf_counter()
    module = train(
        network,
        examples,
        learnt,
        held_back=list(course.held_back) or None,
        recipe=how,
        seed=course.seed,
        keep=state,
        start=course.start,
        told=tell,
    )
    seconds = time.perf_counter() - begin
    if isinstance(network, Finder):
        figures = _find_unseen(module, network, examples, fold, stem)
    else:
        figures = _judge_unseen(module, network, examples, fold, stem, how.tries)
    write_weights(paths["safetensors"], module, replace(card, figures=figures))
    state.unlink(missing_ok=True)
    found = read_card(paths["safetensors"])
    return Trained(fold, paths["safetensors"], found, tuple(curve), seconds)


def estimated_seconds(
    name: str, examples: Examples, folds: Sequence[int], recipe: Recipe | None = None
) -> float:
    """About how long one training will take here: a few steps are tried."""
    network = network_named(name)
    how = replace(recipe or network.recipe, check_every=1, patience=0)
    at: list[float] = []
    train(
        network,
        examples,
        list(folds),
        recipe=replace(how, steps=TRIED_STEPS),
        told=lambda _: at.append(time.perf_counter()),
    )
    return (at[-1] - at[0]) / (len(at) - 1) * how.steps


def _judge_unseen(
    module: nn.Module,
    network: Network,
    examples: Examples,
    fold: int | None,
    stem: Path,
    tries: int,
) -> dict[str, float]:
    """Keep the probabilities of all candidates of scans that were not learnt from."""
    chosen = examples.judged([-1] if fold is None else [fold, -1])
    score = judge(module, network, examples, chosen, tries=tries)
    path = stem.with_name(f"{stem.name}.npz")
    with path.open("wb") as file:
        np.savez(file, chosen=chosen.cpu().numpy(), score=score.cpu().numpy())
    own = torch.zeros(0) if fold is None else examples.learnt([fold])
    if not len(own) or examples.is_nodule[own].float().mean() in (0.0, 1.0):
        return {}
    answer = judge(module, network, examples, own, tries=1)
    return {"area": area_under_roc(answer, examples.is_nodule[own])}


def _find_unseen(
    module: nn.Module, finder: Finder, examples: Examples, fold: int | None, stem: Path
) -> dict[str, float]:
    """Keep what is found in all scans that were not learnt from.

    Returns:
        The share of the fold's nodules that were found, and places in a scan; nothing if it has no
        nodule.
    """
    folds = examples.fold.tolist()
    unseen = [one for one, of in enumerate(folds) if of == -1 or of == fold]
    found = {
        which: search(module, finder, examples.scans, which, *examples.seen[which])
        for which in unseen
    }
    kept: dict[str, npt.NDArray[Any]] = {
        "which": np.repeat(np.array(unseen, dtype=np.int64), [len(one) for one in found.values()]),
        "place": _joined([one.place for one in found.values()], 3),
        "score": _joined([one.score for one in found.values()]),
        "diameter_mm": _joined([one.diameter_mm for one in found.values()]),
    }
    with stem.with_name(f"{stem.name}.npz").open("wb") as file:
        np.savez(file, allow_pickle=False, **kept)
    own = {which: one for which, one in found.items() if folds[which] == fold}
    hits = [
        float(_is_found(row, own[int(row[0])].place, examples.scans.spacing_mm[int(row[0])]))
        for row in examples.findings
        if int(row[0]) in own and row[5] > 0
    ]
    places = sum(map(len, own.values())) / max(1, len(own))
    return {"sensitivity": sum(hits) / len(hits), "places": places} if hits else {}


def _is_found(nodule: Tensor, place: Tensor, spacing_mm: Tensor) -> bool:
    apart = ((place - nodule[1:4]) * spacing_mm).norm(dim=1)
    return bool((apart < nodule[4] / 2).any())


def _joined(parts: Sequence[Tensor], *shape: int) -> npt.NDArray[np.float32]:
    whole = [one.cpu().numpy() for one in parts]
    return np.concatenate([np.empty((0, *shape), dtype=np.float32), *whole])


def _curve(path: Path) -> tuple[Check, ...]:
    try:
        return tuple(Check(**one) for one in json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return ()
