import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save_file

from nodulebench.core.errors import InputError
from nodulebench.detection.networks import NETWORKS, weights
from nodulebench.detection.networks.cards import SCHEMA, ModelCard, recipe_facts
from nodulebench.detection.networks.weights import (
    read_card,
    read_weights,
    write_weights,
)

CARD = ModelCard(
    "m5lcad",
    3,
    2000,
    "phantoms",
    "sha256:00",
    (0, 2, 3),
    {"area": 0.91},
    {0: ("ab", "cd"), 2: ("ef",), -1: ("01",)},
    "sha256:11",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    write_weights(tmp_path / "w.safetensors", NETWORKS["m5lcad"].build(), CARD)
    return tmp_path / "w.safetensors"


def test_weights_come_back_in_half_precision_with_their_card(path: Path) -> None:
    torch.manual_seed(0)
    module = NETWORKS["m5lcad"].build()

    module_read, card = read_weights(path)

    assert card == read_card(path)
    assert replace(card, parameters="") == CARD
    assert card.parameters.startswith("sha256:")
    for stored, given in zip(
        module_read.state_dict().values(), module.state_dict().values(), strict=True
    ):
        assert torch.equal(stored, given.half().float())


def test_small_weights_come_back_within_half_a_step_in_half_the_bytes(
    path: Path, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    module = NETWORKS["m5lcad"].build()
    write_weights(tmp_path / "small", module, CARD, is_small=True)

    module_read, card = read_weights(tmp_path / "small")

    assert replace(card, parameters="") == CARD
    assert (tmp_path / "small").stat().st_size < 0.6 * path.stat().st_size
    given = module.state_dict()
    for name, stored in module_read.state_dict().items():
        if stored.ndim > 1:
            largest = given[name].flatten(1).abs().amax(dim=1)
            apart = (stored - given[name]).flatten(1).abs().amax(dim=1)
            assert (apart <= largest / 127 / 2 * 1.001).all()
        else:
            assert torch.equal(stored, given[name].half().float())


def test_small_weights_by_hand() -> None:
    whole, step = weights._in_steps(torch.tensor([[1.27, -0.634], [0.0, 0.0], [-254.0, 3.0]]))

    assert whole.tolist() == [[127, -63], [0, 0], [-127, 2]]
    assert step.tolist() == pytest.approx([0.01, 1e-12 / 127, 2.0])


def test_steps_of_nothing_are_refused(tmp_path: Path) -> None:
    module = torch.nn.Module()
    module.register_buffer("absent/step", torch.ones(2))
    write_weights(tmp_path / "w", module, CARD)

    with pytest.raises(InputError, match="does not fit the network 'm5lcad'"):
        read_weights(tmp_path / "w")


def test_the_order_of_axes_in_memory_does_not_matter(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = NETWORKS["twoscale"].build()
    card = ModelCard("twoscale", 0, 1, "", "", ())
    write_weights(tmp_path / "plain", module, card)
    write_weights(tmp_path / "turned", module.to(memory_format=torch.channels_last_3d), card)

    assert (tmp_path / "plain").read_bytes() == (tmp_path / "turned").read_bytes()


def test_a_changed_number_is_found(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)

    with pytest.raises(InputError, match="not those of its card"):
        read_weights(path)


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    write_weights(tmp_path / "w", NETWORKS["cadimi"].build(), CARD)

    with pytest.raises(InputError, match="does not fit the network 'm5lcad'"):
        read_weights(tmp_path / "w")


def test_an_unknown_network_is_refused(tmp_path: Path) -> None:
    card = ModelCard("resnet", 0, 1, "", "", ())
    write_weights(tmp_path / "w", NETWORKS["m5lcad"].build(), card)

    with pytest.raises(InputError, match="there is no network 'resnet'"):
        read_weights(tmp_path / "w")


@pytest.mark.parametrize("content", [b"", b"\x80\x04\x95pickle", b"\xff" * 200])
def test_foreign_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(content)

    with pytest.raises(InputError, match="is not a weight file of a network"):
        read_weights(tmp_path / "w")


def test_a_pickle_of_torch_is_not_a_weight_file(tmp_path: Path) -> None:
    torch.save(NETWORKS["m5lcad"].build().state_dict(), tmp_path / "w")

    with pytest.raises(InputError, match="is not a weight file of a network"):
        read_weights(tmp_path / "w")


def test_tensors_without_a_card_are_refused(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2)}, tmp_path / "w")

    with pytest.raises(InputError, match="is not a weight file of a network"):
        read_card(tmp_path / "w")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ([], "it is not a table of names and values"),
        ("text", "it is not a table of names and values"),
        ({"folds": "012"}, "'folds' is not a list of whole numbers"),
        ({"folds": [0, True]}, "'folds' is not a list of whole numbers"),
        ({"figures": {"area": "high"}}, "'figures' is not a table of numbers"),
        ({"figures": {"area": float("nan")}}, "'figures' is not a table of numbers"),
        ({"figures": {"area": 10**400}}, "'figures' is not a table of numbers"),
        ({"figures": ["area"]}, "'figures' is not a table of numbers"),
        ({"network": ["m5lcad"]}, "'network' is not a text"),
        ({"steps": "60"}, "'steps' is not a whole number"),
        ({"series": {"first": ["ab"]}}, "'series' is not a table of folds and lists of digests"),
        ({"series": {"0": "ab"}}, "'series' is not a table of folds and lists of digests"),
        ({"begun_from": None}, "'begun_from' is not a text"),
        ({"held_back": 1}, "'held_back' is not a list of whole numbers"),
        ({"seen_before": {"a": 1}}, "'seen_before' is not a list of digests"),
        ({"recipe": []}, "'recipe' is not a table of names and values"),
        ({"steps_taken": 1.5}, "'steps_taken' is not a whole number"),
        ({"digest": ...}, "'digest' is missing"),
    ],
)
def test_damaged_cards_are_refused(changed: Any, message: str, tmp_path: Path) -> None:
    about: Any = {**asdict(CARD), "schema": SCHEMA}
    if isinstance(changed, dict):
        whole = about | changed
        about = {name: value for name, value in whole.items() if value is not ...}
    else:
        about = changed
    save_file({"a": torch.zeros(2)}, tmp_path / "w", metadata={"card": json.dumps(about)})

    with pytest.raises(InputError, match=rf"w: its card is damaged \({re.escape(message)}\)"):
        read_card(tmp_path / "w")


def test_a_card_of_endless_depth_is_refused(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2)}, tmp_path / "w", metadata={"card": "[" * 100_000})

    with pytest.raises(InputError, match="is not a weight file of a network"):
        read_card(tmp_path / "w")


def test_an_unknown_network_is_refused_before_its_numbers_are_read(path: Path) -> None:
    card = replace(CARD, network="resnet")
    save_file(
        {"a": torch.zeros(2)},
        path,
        metadata={"card": json.dumps({**asdict(card), "schema": SCHEMA})},
    )

    with pytest.raises(InputError, match="there is no network 'resnet'"):
        read_weights(path)


def test_a_card_states_how_it_was_trained_and_what_was_seen(tmp_path: Path) -> None:
    whole = replace(
        CARD,
        held_back=(2,),
        seen_before=("", "ab"),
        recipe=recipe_facts(NETWORKS["m5lcad"].recipe, (2,)),
        steps_taken=900,
        best_step=700,
    )
    write_weights(tmp_path / "w", NETWORKS["m5lcad"].build(), whole)

    assert replace(read_card(tmp_path / "w"), parameters="") == whole
