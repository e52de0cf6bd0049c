"""The name of a system -> its detectors and scoring networks; a scan -> its candidates.

``isicad+etrocad`` are detectors together; ``heatmap`` is a network that finds nodules by itself;
``isicad+etrocad+twoscale`` are detectors whose candidates a network and the reduction score.
Networks and classifiers are those of given weights, or of the package's.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, UnknownNameError, did_you_mean
from nodulebench.core.notices import Notice
from nodulebench.detection.candidates import DETECTORS
from nodulebench.detection.catalogue import SYSTEMS, known_detectors, system_parts
from nodulebench.detection.classifiers.false_positive_reduction import NAME as REDUCTION
from nodulebench.detection.classifiers.false_positive_reduction import candidates_to_score
from nodulebench.detection.detectors import Stage, merge_detectors, propose_each
from nodulebench.detection.held_out import Fold
from nodulebench.detection.networks import DETECTION_NETWORKS, NETWORKS
from nodulebench.detection.networks.cards import packaged_weights
from nodulebench.detection.scan import Candidates, Chest
from nodulebench.detection.trained_networks import network_candidates, read_panel, saw_scan
from nodulebench.detection.weights import (
    WeightFile,
    given_weights,
    held_out_fold,
    own_classifiers,
    require_used,
)
from nodulebench.imaging.volume import Volume
from nodulebench.matching.combine import MERGE_MM, MergedPosition

LEAST = 1e-6
"""No probability is surer than that."""
NOT_SEEN = 0.003
"""Score of a detection network where it finds nothing: less than any score that it reports."""
LIKELY, NOT_PROPOSED = 0.05, 1e-4
"""Least probability of a detection network at a position that no detector proposed, and the score
of the false-positive reduction there, which did not score it."""


@dataclass(frozen=True, slots=True)
class System:
    """The parts that find candidates, and those that score them."""

    names: tuple[str, ...]
    weights: tuple[Path, ...] = ()
    """Of its networks: files, and folders of them."""
    classifiers: tuple[WeightFile, ...] = ()
    """Of its detectors and of the false-positive reduction, instead of the package's."""
    own_name: str = ""
    """The name of the whole system, if it has one."""

    @property
    def name(self) -> str:
        return self.own_name or "+".join(self.names)

    @property
    def detectors(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name in DETECTORS)

    @property
    def detection_networks(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name in DETECTION_NETWORKS)

    @property
    def scoring_networks(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name in NETWORKS)


def system_names(text: str) -> tuple[str, ...]:
    """The parts that ``a+b+c`` names; no weights are looked for."""
    names = system_parts(SYSTEMS.get(text, text))
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError.at(
            f"detector '{text}'", f"names {', '.join(repeated)} twice.", "Name it once."
        )
    for name in names:
        if name not in DETECTORS and name not in DETECTION_NETWORKS and name not in NETWORKS:
            hint = did_you_mean(name, [*known_detectors(), *NETWORKS], most=3)
            raise UnknownNameError(
                f"'{name}' is not a candidate detector.{hint} Known: "
                f"{', '.join(known_detectors())}; networks that score: {', '.join(NETWORKS)}."
            )
    if not any(name in DETECTORS or name in DETECTION_NETWORKS for name in names):
        remedy = f"Name a detector too, such as etrocad+{names[0]}."
        raise InputError.at(f"detector '{text}'", "scores candidates and finds none.", remedy)
    return names


def detector_names(text: str) -> tuple[str, ...]:
    """Detectors and networks that find candidates; scoring networks are refused."""
    names = system_names(text)
    scoring = [name for name in names if name in NETWORKS]
    if scoring:
        raise InputError.at(
            f"detector '{text}'",
            f"{', '.join(scoring)} scores candidates of others.",
            "Name those that find: " + "+".join(name for name in names if name not in scoring),
        )
    return names


def read_system(text: str, weights: Sequence[Path] = ()) -> System:
    """A system with the weights of its networks, given or the package's.

    Networks whose weights are given score too, if they are not named.
    """
    named = system_names(text)
    files = given_weights(weights)
    networks = [file for file in files if not file.is_classifier]
    classifiers = tuple(file for file in files if file.is_classifier)
    require_used(named, classifiers)
    given = [file.part for file in networks]
    names = tuple(dict.fromkeys((*named, *given)))
    packaged = [name for name in names if name not in DETECTORS and name not in given]
    own_name = text if text in SYSTEMS and names == named else ""
    paths = (*(file.path for file in networks), *map(packaged_weights, packaged))
    return System(names, paths, classifiers, own_name)


def candidates_in(
    system: System,
    chest: Chest,
    volume: Volume,
    *,
    fold: Fold = "auto",
    place: MergedPosition = "best",
    series: Sequence[str] = ("",),
    stage: Stage = lambda _: nullcontext(),
) -> tuple[Candidates, tuple[Notice, ...]]:
    """The candidates of a scan, best first, and warnings about them.

    Candidates of detectors get the mean log odds of the false-positive reduction, of detection
    networks there, and of scoring networks; without detectors, those of the networks only.
    """
    notices: tuple[Notice, ...] = ()
    seen: list[Candidates] = []
    for name in system.detection_networks:
        with stage(name):
            places, saw_it = network_candidates(name, chest, volume, system.weights, series, fold)
        seen.append(places)
        notices = notices or saw_it
    opinions: list[FloatArray] = []
    if system.detectors:
        unseen = held_out_fold(fold, series)
        own = own_classifiers(system.classifiers, unseen)
        if any(unseen in file.folds for file in own.values()):
            notices = notices or saw_scan(series[-1])
        candidates = _classical(system.detectors, chest, unseen, place, stage, own)
        for places in seen:
            candidates = with_network_positions(candidates, places)
        opinions = [candidates.score, *(scores_by(places, candidates) for places in seen)]
    else:
        candidates = merge_detectors(dict(zip(system.detection_networks, seen, strict=True)), place)
        opinions = [] if system.scoring_networks else [candidates.score]
    if system.scoring_networks:
        with stage("network"):
            panel = read_panel("+".join(system.scoring_networks), system.weights)
            scores = panel.score(volume, series[0], candidates.center_mm, series, fold)
        opinions.append(scores.score)
        notices = notices if scores.is_unseen else saw_scan(series[-1])
    scored = replace(candidates, score=combine_probabilities(opinions))
    return scored.best(len(scored)), notices


def detect_each(
    names: Sequence[str], chest: Chest, fold: int | None, series: str
) -> dict[str, Candidates]:
    """The candidates of each detector and detection network, by weights that never saw the scan."""
    own = [name for name in names if name in DETECTORS]
    detected = candidates_to_score(propose_each(own, chest, fold), chest, fold) if own else {}
    for name in names:
        if name not in detected:
            weights = (packaged_weights(name),)
            detected[name], saw_it = network_candidates(
                name, chest, chest.volume, weights, (series,)
            )
            if saw_it:
                what = f"all its weights were trained on '{series}', where it would find too much."
                remedy = "Choose folds that its weights left out: `nodulebench weights show`."
                raise InputError.at(f"network '{name}'", what, remedy)
    return {name: detected[name] for name in names}


def _classical(
    names: Sequence[str],
    chest: Chest,
    fold: int | None,
    place: MergedPosition,
    stage: Stage,
    own: Mapping[str, WeightFile],
) -> Candidates:
    weights = {name: file.path for name, file in own.items()}
    by_detector = propose_each(names, chest, fold, stage=stage, weights=weights)
    with stage("reduction"):
        by_detector = candidates_to_score(by_detector, chest, fold, weights.get(REDUCTION))
    with stage("combining"):
        return merge_detectors(by_detector, place)


def with_network_positions(candidates: Candidates, others: Candidates) -> Candidates:
    """Likely positions of a detection network, and candidates of detectors elsewhere.

    A likely position gets the reduction's score of the candidates there: a network that finds
    nodules marks their middle, a detector any part of them.
    """
    likely = others.chosen(others.score >= LIKELY)
    near = _apart_mm(likely, candidates) < MERGE_MM
    known_score = np.where(near, candidates.score[None], NOT_PROPOSED)
    score = known_score.max(axis=1, initial=NOT_PROPOSED)
    elsewhere = candidates.chosen(np.flatnonzero(~near.any(axis=0)))
    return Candidates.joined(replace(likely, score=score), elsewhere)


def scores_by(others: Candidates, candidates: Candidates) -> FloatArray:
    near = _apart_mm(candidates, others) < MERGE_MM
    scores: FloatArray = np.where(near, others.score[None], NOT_SEEN).max(axis=1, initial=NOT_SEEN)
    return scores


def _apart_mm(candidates: Candidates, others: Candidates) -> FloatArray:
    apart: FloatArray = np.linalg.norm(
        candidates.center_mm[:, None] - others.center_mm[None], axis=2
    )
    return apart


def combine_probabilities(opinions: Sequence[FloatArray]) -> FloatArray:
    """Several probabilities -> one, whose log odds are the mean of theirs."""
    if len(opinions) == 1:
        return opinions[0]
    likely = np.clip(np.stack(opinions), LEAST, 1 - LEAST)
    odds = np.log(likely / (1 - likely)).mean(axis=0)
    probability: FloatArray = 1 / (1 + np.exp(-odds))
    return probability
