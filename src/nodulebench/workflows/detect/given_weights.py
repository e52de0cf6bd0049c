"""What a user gives as weights -> files, and the network that each is of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench.optional_package import needs
from nodulebench.workflows.detect.network_judge import PURPOSE, weight_files


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A file of weights."""

    path: Path
    part: str
    """The network that it is of."""


def given_weights(weights: Sequence[Path]) -> list[WeightFile]:
    """The files of weights that were given.

    Args:
        weights: files, and folders of them.

    Raises:
        InputError: if a file holds no weights, a folder has no such file, or PyTorch is missing.
    """
    return [_of_network(file) for given in weights for file in weight_files(given)]


def _of_network(path: Path) -> WeightFile:
    with needs("networks", PURPOSE):
        from nodulebench.algorithms.networks.weights import read_card
    return WeightFile(path, read_card(path).network)
