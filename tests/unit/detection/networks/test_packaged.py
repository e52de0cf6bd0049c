import pytest

pytest.importorskip("torch")

from nodulebench.core.errors import InputError
from nodulebench.detection.held_out import choose_held_out
from nodulebench.detection.networks.cards import packaged_weights
from nodulebench.detection.networks.weights import read_card, read_weights

FILES = sorted(packaged_weights("twoscale").glob("*.safetensors"))


@pytest.mark.parametrize(
    ("name", "metric", "least"), [("twoscale", "area", 0.97), ("heatmap", "sensitivity", 0.98)]
)
def test_packaged_weights_left_every_fold_out_once(name: str, metric: str, least: float) -> None:
    cards = [read_card(path) for path in sorted(packaged_weights(name).glob("*.safetensors"))]

    left_out = [sorted(set(range(10)) - set(card.folds)) for card in cards]
    assert left_out == [[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], []]
    assert {card.begun_from for card in cards} == {""}
    assert len({tuple(sorted(card.series.items())) for card in cards}) == 1
    assert all(card.metrics[metric] > least for card in cards[:10])


def test_znets_u_net_left_out_the_two_folds_that_its_page_tells_of() -> None:
    cards = [read_card(path) for path in sorted(packaged_weights("znet_unet").iterdir())]

    assert [sorted(set(range(10)) - set(card.folds)) for card in cards] == [[0], [1]]
    assert [card.steps for card in cards] == [1500] * 2
    assert [round(card.metrics["sensitivity"], 3) for card in cards] == [0.857, 0.889]


def test_a_series_of_a_fold_is_scored_by_weights_that_never_saw_it() -> None:
    cards = [read_card(path) for path in FILES]
    series = "1.3.6.1.4.1.14519.5.2.1.6279.6001.179049373636438705059720603192"

    choice = choose_held_out(series, cards)

    assert choice.is_unseen
    assert choice.fold not in cards[choice.number].folds
    assert choose_held_out("unknown", cards).number == len(cards) - 1


def test_packaged_weights_are_those_of_their_cards_and_small() -> None:
    total = 0
    for name, count in (("twoscale", 11), ("heatmap", 11), ("znet_unet", 2)):
        files = sorted(packaged_weights(name).glob("*.safetensors"))
        assert [read_weights(path)[1].network for path in files] == [name] * count
        total += sum(path.stat().st_size for path in files)
    assert total < 15e6


def test_a_network_without_packaged_weights_is_refused() -> None:
    with pytest.raises(InputError, match="network 'znet': has no weights in the package"):
        packaged_weights("znet")
