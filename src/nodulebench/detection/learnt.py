"""A system and a scan -> what the weights that read it had learnt from, as their cards say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nodulebench.core.errors import InputError
from nodulebench.detection.classifiers.false_positive_reduction import NAME as SECOND_LOOK
from nodulebench.detection.classifiers.false_positive_reduction import is_asked
from nodulebench.detection.classifiers.trained import TRAINED
from nodulebench.detection.held_out import Fold, left_out
from nodulebench.detection.network_scores import trained_network
from nodulebench.detection.networks.packaged import is_packaged
from nodulebench.detection.systems import System
from nodulebench.detection.trained_classifiers import own_classifiers, unseen_fold
from nodulebench.io.lidc.blocks import FOLDS

LUNA16 = "blocks and scans of LUNA16"
"""What all weights of the package learnt from."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """What some of the weights that read a scan had learnt from."""

    data: str
    """In words, with the network or detector whose weights they are, unless the package's."""
    without: tuple[int, ...]
    """Folds of the data that they left out."""
    knew_it: bool = False
    """Whether the scan itself was among the data."""


def refuse_fold(system: System, fold: Fold) -> None:
    """Refuse a fold that given or packaged weights did not leave out, before any scan is read.

    Raises:
        InputError: if there are no weights as they are asked for.
    """
    for name in (*system.finders, *system.judges):
        trained_network(name, system.weights).choose(("",), fold)
    for file in own_classifiers(system.classifiers, fold).values() if isinstance(fold, int) else ():
        if fold in file.folds:
            what = f"the classifier of {file.part} learnt from fold {fold}."
            remedy = f"Train it with --without-fold {fold}, or let --fold be auto."
            raise InputError.at(file.path, what, remedy)


def learnt_by(system: System, fold: Fold, series: Sequence[str]) -> tuple[Learnt, ...]:
    """What the weights that read a scan had learnt from, each kind once.

    Args:
        system: who looks.
        fold: as for ``candidates_in``.
        series: what the scan may be called in the data of the weights.
    """
    found = [*_learnt_by_classifiers(system, unseen_fold(fold, series))]
    for name in (*system.finders, *system.judges):
        network = trained_network(name, system.weights)
        choice = network.choose(series, fold)
        card, path = network.cards[choice.number], network.paths[choice.number]
        data = LUNA16 if is_packaged(path) else f"{name} ({card.data or path.name})"
        found.append(Learnt(data, left_out(card), not choice.is_unseen))
    return tuple(dict.fromkeys(found))


def _learnt_by_classifiers(system: System, fold: int | None) -> Iterator[Learnt]:
    own = own_classifiers(system.classifiers, fold)
    asked = [name for name in system.detectors if name in TRAINED and is_asked(name)]
    if any(name not in own for name in (*asked, *((SECOND_LOOK,) if system.detectors else ()))):
        yield Learnt(LUNA16, () if fold is None else (fold,))
    for file in own.values():
        without = tuple(one for one in FOLDS if one not in file.folds) if file.folds else ()
        yield Learnt(f"{file.part} ({file.path.name})", without, fold in file.folds)
