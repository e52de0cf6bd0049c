"""What a user gives as weights -> files, and the network or the classifier that each is of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.core.optional_packages import needs
from nodulebench.detection.classifiers.trained import TRAINED
from nodulebench.detection.classifiers.weights import holds_classifier, read_origin, read_weights
from nodulebench.detection.network_scores import PURPOSE, SUFFIX, weight_files

ARCHIVE = ".npz"
"""Of the files of classifiers."""


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A file of weights."""

    path: Path
    part: str
    """The network that it is of, or the detector whose classifier it holds, or the second look."""
    is_classifier: bool = False
    folds: tuple[int, ...] = ()
    """Folds that a classifier learnt from; none: the file does not say."""


def given_weights(weights: Sequence[Path]) -> list[WeightFile]:
    """The files of weights that were given.

    Args:
        weights: files, and folders of them.

    Raises:
        InputError: if a file holds no weights or does not say whose, a folder has no such file, or
            PyTorch is missing for a network.
    """
    return [file for given in weights for file in _files_of(given)]


def _files_of(given: Path) -> Iterator[WeightFile]:
    if given.is_dir():
        archives = [one for one in sorted(given.glob(f"*{ARCHIVE}")) if holds_classifier(one)]
        networks = [] if archives and not any(given.glob(f"*{SUFFIX}")) else weight_files(given)
    else:
        is_archive = given.suffix == ARCHIVE or holds_classifier(given)
        archives, networks = ([given], []) if is_archive else ([], [given])
    yield from map(_of_network, networks)
    yield from map(_of_classifier, archives)


def _of_network(path: Path) -> WeightFile:
    with needs("networks", PURPOSE):
        from nodulebench.detection.networks.weights import read_card
    return WeightFile(path, read_card(path).network)


def _of_classifier(path: Path) -> WeightFile:
    """By what the file says; of one that says nothing, by its name."""
    origin = read_origin(path)
    name = origin.name or path.stem
    if name not in TRAINED:
        raise InputError.at(
            path,
            "holds a classifier, and does not say of which detector.",
            f"Name the file after it ({', '.join(TRAINED)}), or train it anew with `train`.",
        )
    read_weights(path, TRAINED[name].names)  # refused, if it was trained on other features
    return WeightFile(path, name, is_classifier=True, folds=origin.folds)
