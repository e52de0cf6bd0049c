"""Which weights never saw a scan: digests of series by fold, as cards of weights hold them.

A card holds digests of UIDs, which a person who has the scan can compute. Plain Python, so that a
bare machine can write cards.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from nodulebench.detection.networks.cards import ModelCard

DIGITS = 16
NO_FOLD = -1
"""The fold of scans that are in none: they are scored, and never trained on."""
UNKNOWN = ""
"""In place of digests: series that are on no card."""

Fold = int | Literal["auto"] | None
"""Weights that never saw this fold; ``auto``: the fold of the scan; None: weights of all folds."""

SeriesByFold = Mapping[int, Sequence[str]]
"""Fold -> the digests of its series."""


@dataclass(frozen=True)
class Choice:
    """The weights chosen for a scan."""

    number: int
    """Which of the given ones."""
    fold: int | None
    """The fold that the scan belongs to; None: it is in none of the data."""
    is_unseen: bool
    """Whether the scan was not trained on."""


def series_digest(series: str) -> str:
    return hashlib.sha256(series.strip().encode()).hexdigest()[:DIGITS]


def digests_by_fold(series: Iterable[tuple[str, int]]) -> dict[int, tuple[str, ...]]:
    """Digests and their folds -> fold by fold, in order, each once; those of no fold too."""
    by_fold: dict[int, set[str]] = {}
    for digest, fold in series:
        by_fold.setdefault(fold, set()).add(digest)
    return {fold: tuple(sorted(by_fold[fold])) for fold in sorted(by_fold)}


def seen_series(card: "ModelCard") -> frozenset[str]:
    """Digests of all series that influenced weights, in every generation.

    They were trained on, or decided when training stopped. ``UNKNOWN`` is among them where a card
    does not list all.
    """
    before = card.seen_before or ((UNKNOWN,) if card.begun_from else ())
    return training_series(card).union(before)


def training_series(card: "ModelCard") -> frozenset[str]:
    folds = (*card.folds, *card.held_back)
    return frozenset[str]().union(*(card.series.get(fold, (UNKNOWN,)) for fold in folds))


def choose_held_out(
    series: str, cards: "Sequence[ModelCard]", others: Sequence[str] = ()
) -> Choice:
    """The weights for a scan: those that never saw it, and of these the ones with most folds.

    ``others``: further names that it may have there; weights that saw one of them saw the scan.
    """
    digests = [series_digest(name) for name in (series, *others)]
    is_unseen = [seen_series(card).isdisjoint(digests) for card in cards]
    best = max(
        range(len(cards)), key=lambda index: (is_unseen[index], len(cards[index].folds), -index)
    )
    folds = (fold_of(digest, card.series) for digest in digests for card in cards)
    return Choice(best, next((fold for fold in folds if fold is not None), None), is_unseen[best])


def choose_without(
    fold: int | None, names: Sequence[str], cards: "Sequence[ModelCard]"
) -> Choice | None:
    """The weights without a fold (None: of all folds), of several those with most folds, if any."""
    fits = [
        number
        for number, card in enumerate(cards)
        if (set(_folds(card)) <= set(card.folds) if fold is None else fold in left_out(card))
    ]
    if not fits:
        return None
    best = max(fits, key=lambda fit: (len(cards[fit].folds), -fit))
    card, digests = cards[best], [series_digest(name) for name in names]
    known = (fold_of(digest, card.series) for digest in digests)
    own = next((known_fold for known_fold in known if known_fold is not None), None)
    return Choice(best, own, seen_series(card).isdisjoint(digests))


def left_out(card: "ModelCard") -> tuple[int, ...]:
    """The folds of the data that neither the weights nor those before them ever saw."""
    seen = seen_series(card)
    used = {*card.folds, *card.held_back}
    return tuple(
        fold
        for fold in _folds(card)
        if fold not in used and seen.isdisjoint((UNKNOWN, *card.series[fold]))
    )


def _folds(card: "ModelCard") -> list[int]:
    """All folds of the data; ``NO_FOLD`` is not one of them."""
    return [fold for fold in sorted(card.series) if fold != NO_FOLD]


def fold_of(digest: str, series: SeriesByFold) -> int | None:
    return next((fold for fold, digests in series.items() if digest in digests), None)
