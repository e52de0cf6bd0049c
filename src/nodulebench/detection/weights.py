"""Files of weights -> the contents of their cards, and whether they are valid."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nodulebench.core.errors import (
    InputError,
    Problem,
    Problems,
    UnknownNameError,
    collect_problems,
)
from nodulebench.core.json_types import JsonObject
from nodulebench.core.optional_packages import needs
from nodulebench.detection.candidates import DETECTORS
from nodulebench.detection.classifiers.false_positive_reduction import NAME as REDUCTION
from nodulebench.detection.classifiers.false_positive_reduction import is_used
from nodulebench.detection.classifiers.weights import (
    TRAINED,
    fold_of_series,
    holds_classifier,
    read_origin,
    read_weights,
)
from nodulebench.detection.held_out import UNKNOWN, Fold, left_out, training_series
from nodulebench.detection.networks import network_named
from nodulebench.detection.networks.cards import networks_with_weights, packaged_weights
from nodulebench.detection.trained_networks import PURPOSE as PURPOSE_FROM_NETWORK_SCORES
from nodulebench.detection.trained_networks import SUFFIX, weight_files

if TYPE_CHECKING:
    from nodulebench.detection.networks.cards import ModelCard


PURPOSE = "weights of networks"
OTHER_LOCATION = ("steps", "check_every")
"""Values of a recipe that are stated elsewhere, or follow from the steps."""


@dataclass(frozen=True)
class WeightsInfo:
    """A file of weights and the contents of its card."""

    path: Path
    network: str
    folds: tuple[int, ...]
    left_out: tuple[int, ...]
    """Folds of the data that made nothing of these weights."""
    held_back: tuple[int, ...]
    """Folds that decided when it stopped."""
    series: int
    """How many were trained on."""
    seen_before: int | None
    """Series seen by the weights that it was tuned from; None: its card lists none."""
    seed: int
    steps: int
    """That were taken; of an older card, those of the schedule."""
    best_step: int | None
    recipe: str
    """How it was trained, compared with the network's own recipe; empty: not on the card."""
    data: str
    digest: str
    """Of the examples."""
    parameters: str
    begun_from: str
    metrics: dict[str, float]

    @property
    def facts(self) -> JsonObject:
        return asdict(self)


def list_weights(paths: Sequence[Path]) -> tuple[list[WeightsInfo], list[Problem]]:
    """The contents of model cards (without paths: the package's), and problems of files."""
    with needs("networks", PURPOSE):
        from nodulebench.detection.networks.weights import read_card
    infos, problems = [], Problems()
    for path in _files(paths or [packaged_weights(name) for name in networks_with_weights()]):
        with collect_problems(problems):
            infos.append(_listed(path, read_card(path)))
    return infos, problems


def weight_problems(paths: Sequence[Path]) -> Iterator[tuple[Path, list[Problem]]]:
    """Each file of weights with its problems; an empty list: it is valid.

    Numbers are those of the card, they fit the network, and nothing that was begun with other
    weights leaves out a series that those had seen; their cards must be available.
    """
    with needs("networks", PURPOSE):
        from nodulebench.detection.networks.weights import read_card, read_weights
    files = _files(paths)
    cards: dict[str, ModelCard] = {}
    for path in files:
        with collect_problems(Problems()):  # reported below
            card = read_card(path)
            cards[card.parameters] = card
    for path in files:
        try:
            _, card = read_weights(path)
        except InputError as error:
            yield path, list(error.problems)
            continue
        yield path, _origin_problems(path, card, cards)


def _files(paths: Sequence[Path]) -> list[Path]:
    return [file for given in paths for file in weight_files(given)]


def _listed(path: Path, card: "ModelCard") -> WeightsInfo:
    return WeightsInfo(
        path,
        card.network,
        card.folds,
        left_out(card),
        card.held_back,
        sum(len(card.series.get(fold, ())) for fold in card.folds),
        len({*card.seen_before} - {UNKNOWN}) or None,
        card.seed,
        card.steps if card.steps_taken is None else card.steps_taken,
        card.best_step,
        _recipe_of(card),
        card.data,
        card.digest,
        card.parameters,
        card.begun_from,
        card.metrics,
    )


def _recipe_of(card: "ModelCard") -> str:
    from nodulebench.detection.networks.cards import differences, recipe_facts

    try:
        recipe = network_named(card.network).recipe
    except UnknownNameError:
        return ""
    if not card.recipe:
        return ""
    own = recipe_facts(recipe, card.held_back)
    pair = (
        {name: of[name] for name in of if name not in OTHER_LOCATION} for of in (card.recipe, own)
    )
    difference = differences(*pair)
    return f"the network's own, but {difference}" if difference else "the network's own"


def _origin_problems(
    path: Path, card: "ModelCard", cards: "Mapping[str, ModelCard]"
) -> list[Problem]:
    """Series that it leaves out, but that its starting weights had seen."""
    if not card.begun_from:
        return []
    seen = _seen_before(card, cards)
    used = {*card.folds, *card.held_back}
    problems = []
    for fold in sorted(card.series.keys() - used):
        count = len(seen.intersection(card.series[fold]) - {UNKNOWN})
        if count:
            called = f"fold {fold}" if fold >= 0 else "no fold"
            what = f"began with weights that had seen {count} series of {called}, left out here."
            problems.append(Problem(str(path), what, "Begin again in each fold."))
    if UNKNOWN in seen:
        what = "began with weights of which no card tells all series that they had seen."
        remedy = "Give those weights too, or do not call its left-out folds unseen."
        problems.append(Problem(str(path), what, remedy))
    return problems


def _seen_before(
    card: "ModelCard", cards: "Mapping[str, ModelCard]", passed: frozenset[str] = frozenset()
) -> set[str]:
    """Digests from its own card and from those of earlier weights that are given too."""
    seen_before, origin = {*card.seen_before}, cards.get(card.begun_from)
    if not card.begun_from:
        return seen_before
    if origin is None or card.begun_from in passed:
        return seen_before or {UNKNOWN}
    return (
        seen_before
        | training_series(origin)
        | _seen_before(origin, cards, passed | {card.begun_from})
    )


ARCHIVE = ".npz"
"""Of the files of classifiers."""


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A file of weights."""

    path: Path
    part: str
    """The network, or the detector whose classifier it holds, or ``second_look``."""
    is_classifier: bool = False
    folds: tuple[int, ...] = ()
    """Folds that a classifier was trained on; none: the file does not state them."""


def given_weights(weights: Sequence[Path]) -> list[WeightFile]:
    """The weights in files and folders that were given; each must name its part."""
    files = []
    for given in weights:
        if given.is_dir():
            stored = sorted(given.glob(f"*{ARCHIVE}"))
            archives = [path for path in stored if holds_classifier(path)]
            networks = [] if archives and not any(given.glob(f"*{SUFFIX}")) else weight_files(given)
        else:
            is_archive = given.suffix == ARCHIVE or holds_classifier(given)
            archives, networks = ([given], []) if is_archive else ([], [given])
        if networks:
            with needs("networks", PURPOSE_FROM_NETWORK_SCORES):
                from nodulebench.detection.networks.weights import read_card
        files += [WeightFile(path, read_card(path).network) for path in networks]
        files += map(_of_classifier, archives)
    return files


def _of_classifier(path: Path) -> WeightFile:
    origin = read_origin(path)
    name = origin.name or path.stem
    if name not in TRAINED:
        remedy = f"Name the file after it ({', '.join(TRAINED)}), or train it again with `train`."
        raise InputError.at(path, "holds a classifier without the name of its detector.", remedy)
    read_weights(path, TRAINED[name].names)  # refused, if it was trained on other features
    return WeightFile(path, name, is_classifier=True, folds=origin.folds)


def takes(names: Sequence[str], file: WeightFile) -> bool:
    """Whether a file of weights belongs to one of these parts; detectors have the reduction."""
    is_reduction = file.is_classifier and file.part == REDUCTION
    return any(name in DETECTORS for name in names) if is_reduction else file.part in names


def require_used(names: Sequence[str], classifiers: Sequence[WeightFile]) -> None:
    for file in classifiers:
        if not takes(names, file):
            what = f"is the classifier of {file.part}, which {'+'.join(names)} does not have."
            raise InputError.at(file.path, what, "Leave it out, or name the detector: a+b.")
        if not is_used(file.part):
            raise InputError.at(
                file.path,
                f"is the classifier of {file.part}, which reports all that it finds: only the "
                "false-positive reduction gives the scores.",
                f"Train {REDUCTION} in its place.",
            )


def own_classifiers(classifiers: Sequence[WeightFile], fold: int | None) -> dict[str, WeightFile]:
    """The file of each given classifier to score with: one without the fold, if there is one."""
    best_files: dict[str, WeightFile] = {}
    for file in classifiers:
        best = best_files.get(file.part, file)
        rank = (fold not in file.folds, len(file.folds))
        best_files[file.part] = file if rank > (fold not in best.folds, len(best.folds)) else best
    return best_files


def held_out_fold(fold: Fold, series: Sequence[str]) -> int | None:
    """The fold that the packaged classifiers for a scan never saw; None: they saw all."""
    return fold_of_series(*series) if fold == "auto" else fold
