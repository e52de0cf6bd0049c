"""Which weights never saw a scan: digests of series by fold, as cards of weights hold them.

A card tells no UID; whoever has the scan can look its digest up. Plain Python, so that a bare
machine can write cards.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

DIGITS = 16

Learnt = Mapping[int, Sequence[str]]
"""Fold -> the digests of its series."""


class Carded(Protocol):
    """What a card of weights says of the scans that were learnt from."""

    @property
    def folds(self) -> Sequence[int]:
        """Folds that were learnt from."""
        ...

    @property
    def series(self) -> Learnt:
        """All folds of the data, those that were left out too."""
        ...


@dataclass(frozen=True)
class Choice:
    """The weights that judge a scan."""

    number: int
    """Which of the given ones."""
    fold: int | None
    """The fold that the scan belongs to; None: it is in none of the data."""
    is_unseen: bool
    """Whether the scan was not learnt from."""


def series_digest(series: str) -> str:
    """What stands on a card for a series UID."""
    return hashlib.sha256(series.strip().encode()).hexdigest()[:DIGITS]


def digests_by_fold(series: Iterable[tuple[str, int]]) -> dict[int, tuple[str, ...]]:
    """Digests and their folds -> fold by fold, in order, each once; those of no fold (-1) too."""
    found: dict[int, set[str]] = {}
    for digest, fold in series:
        found.setdefault(fold, set()).add(digest)
    return {fold: tuple(sorted(found[fold])) for fold in sorted(found)}


def choose_unseen(series: str, cards: Sequence[Carded]) -> Choice:
    """The weights for a scan: those that never saw it, and of these what learnt from most folds.

    Args:
        series: the scan's series UID, or the name that it has in the data.
        cards: of all weights at hand, at least one.
    """
    digest = series_digest(series)
    fold_in = [fold_of(digest, card.series) for card in cards]
    is_unseen = [fold not in card.folds for fold, card in zip(fold_in, cards, strict=True)]
    best = max(range(len(cards)), key=lambda one: (is_unseen[one], len(cards[one].folds), -one))
    known = (fold for fold in fold_in if fold is not None)
    return Choice(best, next(known, None), is_unseen[best])


def fold_of(digest: str, learnt: Learnt) -> int | None:
    """The fold in which a digest is listed; None: in none."""
    return next((fold for fold, digests in learnt.items() if digest in digests), None)
