"""Files of weights -> what their cards say, and whether they hold."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nodulebench.errors import InputError, Problem
from nodulebench.optional_package import needs
from nodulebench.workflows.detect.network_judge import weight_files

PURPOSE = "weights of networks"


@dataclass(frozen=True)
class Listed:
    """A file of weights and what its card says."""

    path: Path
    network: str
    folds: tuple[int, ...]
    left_out: tuple[int, ...]
    """Folds of the data that were not learnt from."""
    series: int
    """How many were learnt from."""
    steps: int
    data: str
    digest: str
    """Of the examples."""
    parameters: str
    begun_from: str
    figures: dict[str, float]

    @property
    def facts(self) -> dict[str, Any]:
        """Everything, by name."""
        return asdict(self)


def list_weights(paths: Sequence[Path]) -> list[Listed]:
    """What the cards of weights say.

    Args:
        paths: files, and folders of them.

    Raises:
        InputError: if a file is no weight file.
    """
    with needs("networks", PURPOSE):
        from nodulebench.algorithms.networks.weights import read_card
    found = []
    for path in (file for given in paths for file in weight_files(given)):
        card = read_card(path)
        known = [fold for fold in sorted(card.series) if fold >= 0]
        found.append(
            Listed(
                path,
                card.network,
                card.folds,
                tuple(fold for fold in known if fold not in card.folds),
                sum(len(card.series.get(fold, ())) for fold in card.folds),
                card.steps,
                card.data,
                card.digest,
                card.parameters,
                card.begun_from,
                card.figures,
            )
        )
    return found


def weight_problems(paths: Sequence[Path]) -> Iterator[tuple[Path, list[Problem]]]:
    """Each file of weights with what is wrong with it; an empty list: nothing.

    Numbers are those of the card, they fit the network, and nothing that was begun with other
    weights leaves out a fold that those had learnt from, as far as they are given too.
    """
    with needs("networks", PURPOSE):
        from nodulebench.algorithms.networks.weights import read_card, read_weights
    files = [file for given in paths for file in weight_files(given)]
    cards = {}
    for path in files:
        try:
            cards[path] = read_card(path)
        except InputError:
            continue  # told below
    learnt = {card.parameters: card.folds for card in cards.values()}
    for path in files:
        try:
            _, card = read_weights(path)
        except InputError as error:
            yield path, list(error.problems)
            continue
        known = set(learnt.get(card.begun_from, ())) - set(card.folds)
        yield (
            path,
            [
                Problem(
                    str(path),
                    f"began with weights that had learnt from fold {fold}, which it leaves out.",
                    "Begin anew in each fold.",
                )
                for fold in sorted(known)
            ],
        )
