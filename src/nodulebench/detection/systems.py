"""The name of a system -> who proposes candidates and who judges them; a scan -> its candidates.

``isicad+etrocad`` are detectors together; ``heatmap`` is a network that finds nodules by itself;
``isicad+etrocad+twoscale`` are detectors whose candidates a network judges with the second look.
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
from nodulebench.detection.catalogue import SYSTEMS, known_detectors, parts_of
from nodulebench.detection.classifiers.false_positive_reduction import NAME as SECOND_LOOK
from nodulebench.detection.classifiers.false_positive_reduction import candidates_to_score
from nodulebench.detection.detectors import Stage, proposed, together
from nodulebench.detection.held_out import Fold
from nodulebench.detection.network_scores import candidates_by, read_jury, saw_scan
from nodulebench.detection.networks import DETECTION_NETWORKS, NETWORKS
from nodulebench.detection.networks.cards import packaged_weights
from nodulebench.detection.scan import Candidates, Chest
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
"""No judge is surer than that."""
NOT_SEEN = 0.003
"""What a finding network says of a place where it sees nothing: less than it tells anywhere."""
LIKELY, NOT_PROPOSED = 0.05, 1e-4
"""How likely a finding network must think a place that no detector proposed; and what the second
look, which was not asked, says of it."""


@dataclass(frozen=True, slots=True)
class System:
    """Who looks for nodules, and who judges them."""

    names: tuple[str, ...]
    """Of all its parts."""
    weights: tuple[Path, ...] = ()
    """Of its networks: files, and folders of them."""
    classifiers: tuple[WeightFile, ...] = ()
    """Of its detectors and of the second look, in place of the package's."""
    own_name: str = ""
    """What it is called, where it has a name of its own."""

    @property
    def name(self) -> str:
        """What its submissions are called."""
        return self.own_name or "+".join(self.names)

    @property
    def detectors(self) -> tuple[str, ...]:
        """Its classical detectors."""
        return tuple(name for name in self.names if name in DETECTORS)

    @property
    def finders(self) -> tuple[str, ...]:
        """Its networks that find nodules by themselves."""
        return tuple(name for name in self.names if name in DETECTION_NETWORKS)

    @property
    def judges(self) -> tuple[str, ...]:
        """Its networks that judge candidates."""
        return tuple(name for name in self.names if name in NETWORKS)


def system_names(text: str) -> tuple[str, ...]:
    """The parts that ``a+b+c`` names; no weights are looked for.

    Raises:
        UnknownNameError: if there is no such detector or network.
        InputError: if one is named twice, or none of them finds anything.
    """
    names = parts_of(SYSTEMS.get(text, text))
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError.at(
            f"detector '{text}'", f"names {', '.join(repeated)} twice.", "Name it once."
        )
    for name in names:
        if name not in DETECTORS and name not in DETECTION_NETWORKS and name not in NETWORKS:
            hint = did_you_mean(name, [*known_detectors(), *NETWORKS], most=3)
            raise UnknownNameError(
                f"there is no candidate detector '{name}'.{hint} Known: "
                f"{', '.join(known_detectors())}; networks that judge: {', '.join(NETWORKS)}."
            )
    if not any(name in DETECTORS or name in DETECTION_NETWORKS for name in names):
        raise InputError.at(
            f"detector '{text}'",
            "judges candidates and finds none.",
            f"Name a detector too, such as etrocad+{names[0]}.",
        )
    return names


def finding_names(text: str) -> tuple[str, ...]:
    """Detectors and networks that look for candidates, none that judges those of others.

    Raises:
        UnknownNameError: if there is no such detector or network.
        InputError: if one is named twice, or judges.
    """
    names = system_names(text)
    judges = [name for name in names if name in NETWORKS]
    if judges:
        raise InputError.at(
            f"detector '{text}'",
            f"{', '.join(judges)} judges what others find.",
            "Name those that find: " + "+".join(name for name in names if name not in judges),
        )
    return names


def read_system(text: str, weights: Sequence[Path] = ()) -> System:
    """A system with the weights of its networks.

    Args:
        text: its name, or parts joined by ``+``.
        weights: of networks and classifiers, in place of the package's; networks that are not named
            judge too.

    Raises:
        UnknownNameError: if there is no such detector or network.
        InputError: if a network has no weights, a classifier is of no part, or PyTorch is missing.
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
    """The candidates of a scan, best first, and what is to be known of them.

    Detectors' candidates are judged by the second look, by what finding networks say of the place,
    and by networks that judge, together; candidates of finding networks alone by networks alone.

    Args:
        system: who looks.
        chest: the scan with its lungs.
        volume: the scan.
        fold: weights are those that never saw this fold; ``auto``: the fold of the series, where
            they saw it; None: those of all folds.
        place: where a candidate of several detectors lies.
        series: what the scan may be called in the data of the weights.
        stage: told what is being done.

    Raises:
        InputError: if a network has no weights that left the fold out.
    """
    told: tuple[Notice, ...] = ()
    seen: list[Candidates] = []
    for name in system.finders:
        with stage(name):
            places, saw_it = candidates_by(name, chest, volume, system.weights, series, fold)
        seen.append(places)
        told = told or saw_it
    opinions: list[FloatArray] = []
    if system.detectors:
        unseen = held_out_fold(fold, series)
        own = own_classifiers(system.classifiers, unseen)
        if any(unseen in file.folds for file in own.values()):
            told = told or saw_scan(series[-1])
        candidates = _classical(system.detectors, chest, unseen, place, stage, own)
        for places in seen:
            candidates = with_positions_of(candidates, places)
        opinions = [candidates.score, *(scores_by(places, candidates) for places in seen)]
    else:
        candidates = together(dict(zip(system.finders, seen, strict=True)), place)
        opinions = [] if system.judges else [candidates.score]
    if system.judges:
        with stage("network"):
            jury = read_jury("+".join(system.judges), system.weights)
            judged = jury.judge(volume, series[0], candidates.center_mm, series, fold)
        opinions.append(judged.score)
        told = told if judged.is_unseen else saw_scan(series[-1])
    scored = replace(candidates, score=agreed(opinions))
    return scored.best(len(scored)), told


def found_by_each(
    names: Sequence[str], chest: Chest, fold: int | None, series: str
) -> dict[str, Candidates]:
    """What detectors and finding networks find, each for itself, by weights that never saw it.

    Args:
        names: of detectors and networks.
        chest: the scan with its lungs.
        fold: that the detectors' classifiers never saw; None: those of all folds.
        series: what the scan is called in the data of the networks.

    Raises:
        InputError: if a network learnt from the scan.
    """
    own = [name for name in names if name in DETECTORS]
    found = candidates_to_score(proposed(own, chest, fold), chest, fold) if own else {}
    for name in names:
        if name not in found:
            weights = (packaged_weights(name),)
            found[name], saw_it = candidates_by(name, chest, chest.volume, weights, (series,))
            if saw_it:
                raise InputError.at(
                    f"network '{name}'",
                    f"all its weights learnt from '{series}', where it would find too much.",
                    "Choose folds that its weights left out: `nodulebench weights show`.",
                )
    return {name: found[name] for name in names}


def _classical(
    names: Sequence[str],
    chest: Chest,
    fold: int | None,
    place: MergedPosition,
    stage: Stage,
    own: Mapping[str, WeightFile],
) -> Candidates:
    """The candidates of detectors, by the second look; some classifiers are given ones."""
    weights = {name: file.path for name, file in own.items()}
    found = proposed(names, chest, fold, stage=stage, weights=weights)
    with stage("second look"):
        found = candidates_to_score(found, chest, fold, weights.get(SECOND_LOOK))
    with stage("combining"):
        return together(found, place)


def with_positions_of(candidates: Candidates, others: Candidates) -> Candidates:
    """Likely places of a finding network, and candidates of detectors where it has none.

    A likely place has what the second look says of the candidates there: a network that finds
    nodules marks their middle, a detector what it stumbled over.
    """
    likely = others.chosen(others.score >= LIKELY)
    near = _apart_mm(likely, candidates) < MERGE_MM
    told = np.where(near, candidates.score[None], NOT_PROPOSED)
    score = told.max(axis=1, initial=NOT_PROPOSED)
    alone = candidates.chosen(np.flatnonzero(~near.any(axis=0)))
    return Candidates.joined(replace(likely, score=score), alone)


def scores_by(others: Candidates, candidates: Candidates) -> FloatArray:
    """How likely a network that finds nodules by itself thinks each candidate."""
    near = _apart_mm(candidates, others) < MERGE_MM
    said: FloatArray = np.where(near, others.score[None], NOT_SEEN).max(axis=1, initial=NOT_SEEN)
    return said


def _apart_mm(ones: Candidates, others: Candidates) -> FloatArray:
    """Ones x others."""
    apart: FloatArray = np.linalg.norm(ones.center_mm[:, None] - others.center_mm[None], axis=2)
    return apart


def agreed(opinions: Sequence[FloatArray]) -> FloatArray:
    """Probabilities of several judges -> one, whose log odds are the mean of theirs."""
    if len(opinions) == 1:
        return opinions[0]
    likely = np.clip(np.stack(opinions), LEAST, 1 - LEAST)
    odds = np.log(likely / (1 - likely)).mean(axis=0)
    found: FloatArray = 1 / (1 + np.exp(-odds))
    return found
