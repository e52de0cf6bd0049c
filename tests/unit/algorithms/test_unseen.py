import hashlib
from dataclasses import dataclass

import pytest

from nodulebench.algorithms.unseen import Choice, choose_unseen, digests_by_fold, series_digest


@dataclass(frozen=True)
class Card:
    folds: tuple[int, ...]
    series: dict[int, tuple[str, ...]]


SERIES = digests_by_fold((series_digest(f"1.2.{fold}"), fold) for fold in (0, 1, 2, -1))
CARDS = [
    Card((0, 1, 2), SERIES),
    Card((1, 2), SERIES),
    Card((0, 2), SERIES),
]


def test_a_digest_is_the_beginning_of_sha_256() -> None:
    assert series_digest(" 1.2.3\n") == hashlib.sha256(b"1.2.3").hexdigest()[:16]


def test_digests_lie_by_fold_in_order_and_once() -> None:
    given = [("b", 1), ("a", 1), ("c", 0), ("b", 1)]
    assert digests_by_fold(given) == {0: ("c",), 1: ("a", "b")}


@pytest.mark.parametrize(
    ("series", "choice"),
    [
        ("1.2.0", Choice(1, 0, is_unseen=True)),
        ("1.2.1", Choice(2, 1, is_unseen=True)),
        ("1.2.2", Choice(0, 2, is_unseen=False)),  # no weights left fold 2 out
        ("1.2.-1", Choice(0, -1, is_unseen=True)),  # of no fold: the weights of all folds
        ("9.9", Choice(0, None, is_unseen=True)),
    ],
)
def test_a_scan_is_judged_by_weights_that_never_saw_it(series: str, choice: Choice) -> None:
    assert choose_unseen(series, CARDS) == choice


def test_weights_of_other_data_have_not_seen_a_scan_that_ours_saw() -> None:
    other = Card((0,), {0: (series_digest("7.7"),)})

    assert choose_unseen("1.2.0", [CARDS[0], other]) == Choice(1, 0, is_unseen=True)
