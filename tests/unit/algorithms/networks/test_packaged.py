import pytest

pytest.importorskip("torch")

from nodulebench.algorithms.networks.packaged import packaged_weights
from nodulebench.algorithms.networks.weights import read_card, read_weights
from nodulebench.algorithms.unseen import choose_unseen
from nodulebench.errors import InputError

FILES = sorted(packaged_weights("twoscale").glob("*.safetensors"))


def test_every_fold_of_the_packaged_network_was_left_out_once_by_weights_that_began_anew() -> None:
    cards = [read_card(path) for path in FILES]

    left_out = [sorted(set(range(10)) - set(card.folds)) for card in cards]
    assert left_out == [[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], []]
    assert {card.begun_from for card in cards} == {""}
    assert len({card.digest for card in cards}) == 1
    assert all(card.figures["area"] > 0.97 for card in cards[:10])


def test_a_series_of_a_fold_is_judged_by_weights_that_never_saw_it() -> None:
    cards = [read_card(path) for path in FILES]
    series = "1.3.6.1.4.1.14519.5.2.1.6279.6001.179049373636438705059720603192"

    choice = choose_unseen(series, cards)

    assert choice.is_unseen
    assert choice.fold not in cards[choice.number].folds
    assert choose_unseen("of nobody", cards).number == len(cards) - 1


def test_packaged_weights_are_those_of_their_cards_and_small() -> None:
    for name in ("twoscale", "heatmap"):
        files = sorted(packaged_weights(name).glob("*.safetensors"))
        assert read_weights(files[-1])[1].network == name
        assert sum(path.stat().st_size for path in files) < 11e6


def test_the_heat_map_left_out_five_folds() -> None:
    cards = [read_card(path) for path in sorted(packaged_weights("heatmap").glob("*.safetensors"))]

    left_out = [sorted(set(range(10)) - set(card.folds)) for card in cards]
    assert left_out == [[0], [1], [2], [3], [4], []]
    assert all(card.figures["sensitivity"] > 0.98 for card in cards[:5])


def test_a_network_without_packaged_weights_is_told() -> None:
    with pytest.raises(InputError, match="network 'znet': has no weights in the package"):
        packaged_weights("znet")
