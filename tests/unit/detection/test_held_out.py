import hashlib
from dataclasses import dataclass, replace

import pytest

from nodulebench.detection.held_out import (
    UNKNOWN,
    Choice,
    choose_held_out,
    choose_without,
    digests_by_fold,
    left_out,
    seen_series,
    series_digest,
)


@dataclass(frozen=True)
class Card:
    folds: tuple[int, ...]
    series: dict[int, tuple[str, ...]]
    held_back: tuple[int, ...] = ()
    begun_from: str = ""
    seen_before: tuple[str, ...] = ()


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
def test_a_scan_is_scored_by_weights_that_never_saw_it(series: str, choice: Choice) -> None:
    assert choose_held_out(series, CARDS) == choice


def test_weights_of_other_data_have_not_seen_a_scan_that_ours_saw() -> None:
    other = Card((0,), {0: (series_digest("7.7"),)})

    assert choose_held_out("1.2.0", [CARDS[0], other]) == Choice(1, 0, is_unseen=True)


def test_what_decided_when_training_stopped_was_seen() -> None:
    stopped = replace(CARDS[1], folds=(2,), held_back=(1,))

    assert not choose_held_out("1.2.1", [stopped]).is_unseen
    assert choose_held_out("1.2.1", [stopped, CARDS[2]]) == Choice(1, 1, is_unseen=True)


def test_what_the_weights_before_had_seen_was_seen() -> None:
    tuned = replace(CARDS[1], begun_from="x", seen_before=(series_digest("1.2.0"), "b"))

    assert choose_held_out("1.2.0", [tuned]) == Choice(0, 0, is_unseen=False)


def test_weights_that_saw_a_scan_under_any_of_its_names_saw_it() -> None:
    tuned = replace(CARDS[1], begun_from="x", seen_before=(series_digest("case 7"),))

    assert not choose_held_out("7.7", [tuned], ["case 7"]).is_unseen
    assert choose_held_out("case 7", CARDS, ["1.2.1"]) == Choice(2, 1, is_unseen=True)


@pytest.mark.parametrize(
    ("card", "is_complete"),
    [
        (CARDS[0], True),
        (Card((0, 3), SERIES), False),
        (Card((0,), SERIES, (3,)), False),
        (Card((0,), SERIES, begun_from="x"), False),
        (Card((0,), SERIES, begun_from="x", seen_before=("ab",)), True),
        (Card((0,), SERIES, begun_from="x", seen_before=("ab", UNKNOWN)), False),
    ],
)
def test_a_card_tells_all_that_was_seen_or_says_that_it_does_not(
    card: Card, is_complete: bool
) -> None:
    assert (UNKNOWN not in seen_series(card)) == is_complete


def test_a_named_fold_chooses_under_any_name_of_the_scan() -> None:
    assert choose_without(1, ["9.9"], CARDS) == Choice(2, None, is_unseen=True)
    assert choose_without(1, ["1.2.0"], CARDS) == Choice(2, 0, is_unseen=False)
    assert choose_without(2, ["1.2.2"], CARDS) is None
    assert choose_without(None, ["1.2.2"], CARDS) == Choice(0, 2, is_unseen=False)
    assert choose_without(None, ["9.9"], CARDS[1:]) is None


def test_a_fold_that_decided_or_was_seen_by_earlier_weights_was_not_left_out() -> None:
    assert left_out(CARDS[1]) == (0,)
    assert left_out(replace(CARDS[1], held_back=(0,))) == ()
    earlier = replace(CARDS[1], begun_from="sha256:1")
    assert left_out(replace(earlier, seen_before=(series_digest("1.2.0"),))) == ()
    assert left_out(replace(earlier, seen_before=(series_digest("1.2.1"),))) == (0,)
    assert left_out(earlier) == ()  # unknown
