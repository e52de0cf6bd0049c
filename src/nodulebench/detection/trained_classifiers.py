"""Classifiers that were given to detectors -> those that read a scan."""

from collections.abc import Sequence

from nodulebench.core.errors import InputError
from nodulebench.detection.candidates import DETECTORS
from nodulebench.detection.classifiers.false_positive_reduction import NAME as SECOND_LOOK
from nodulebench.detection.classifiers.false_positive_reduction import is_asked
from nodulebench.detection.classifiers.weights import fold_of_series
from nodulebench.detection.given import WeightFile
from nodulebench.detection.held_out import Fold


def takes(names: Sequence[str], file: WeightFile) -> bool:
    """Whether a file of weights is of one of these parts; detectors have a second look."""
    is_second_look = file.is_classifier and file.part == SECOND_LOOK
    return any(name in DETECTORS for name in names) if is_second_look else file.part in names


def refuse_idle(names: Sequence[str], classifiers: Sequence[WeightFile]) -> None:
    """Refuse classifiers that would change nothing.

    Args:
        names: of the parts of a system.
        classifiers: that were given.

    Raises:
        InputError: if a detector is not among the parts, or does not ask its classifier.
    """
    for file in classifiers:
        if not takes(names, file):
            what = f"is the classifier of {file.part}, which {'+'.join(names)} does not have."
            raise InputError.at(file.path, what, "Leave it out, or name the detector: a+b.")
        if not is_asked(file.part):
            raise InputError.at(
                file.path,
                f"is the classifier of {file.part}, which reports all that it finds: the second "
                "look alone gives the scores.",
                f"Train {SECOND_LOOK} in its place.",
            )


def own_classifiers(classifiers: Sequence[WeightFile], fold: int | None) -> dict[str, WeightFile]:
    """Of each given classifier the file that judges: one that left the fold out, where one did."""
    found: dict[str, WeightFile] = {}
    for file in classifiers:
        best = found.get(file.part, file)
        rank = (fold not in file.folds, len(file.folds))
        found[file.part] = file if rank > (fold not in best.folds, len(best.folds)) else best
    return found


def unseen_fold(fold: Fold, series: Sequence[str]) -> int | None:
    """The fold that the packaged classifiers which judge a scan never saw; None: they saw all."""
    return fold_of_series(*series) if fold == "auto" else fold
