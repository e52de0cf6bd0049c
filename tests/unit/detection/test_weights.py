import os
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the extra 'networks' is not installed")
pytestmark = pytest.mark.slow


from safetensors.torch import save_file

from builders.commands import run
from nodulebench.core.errors import InputError
from nodulebench.detection.networks import NETWORKS
from nodulebench.detection.networks.cards import ModelCard, recipe_facts
from nodulebench.detection.networks.weights import read_card, write_weights
from nodulebench.detection.weights import given_weights

SERIES = {0: ("aa", "bb"), 1: ("cc",), 2: ("dd",), -1: ("ee",)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    module = NETWORKS["m5lcad"].build()
    card = ModelCard("m5lcad", 0, 500, "dots", "sha256:1", (0, 2), {"area": 0.875}, SERIES)
    write_weights(tmp_path / "m5lcad-1.safetensors", module, card)
    return tmp_path


def test_weights_are_listed_with_what_they_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("weights", "list", folder) == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row == ["m5lcad-1.safetensors", "m5lcad", "1", "3", "500", "0.8750"]


def test_a_card_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("weights", "show", folder / "m5lcad-1.safetensors") == 0
    printed = capsys.readouterr().out
    assert "  folds       0, 2\n" in printed
    assert "  data        dots\n" in printed
    assert "  metrics     area 0.8750\n" in printed
    assert "  seed        0\n" in printed
    assert "begun from" not in printed
    assert "seen before" not in printed
    assert "recipe" not in printed


def test_a_card_shows_in_what_its_recipe_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = NETWORKS["m5lcad"].recipe
    for name, recipe in (("a", replace(own, steps=9)), ("b", replace(own, rate=0.5, patience=7))):
        card = ModelCard(
            "m5lcad",
            5,
            9,
            "",
            "",
            (0,),
            series=SERIES,
            held_back=(1,),
            recipe=recipe_facts(recipe, (1,)),
            steps_taken=6,
            best_step=3,
        )
        write_weights(tmp_path / f"{name}.safetensors", NETWORKS["m5lcad"].build(), card)
    assert run("weights", "show", tmp_path) == 0
    printed = capsys.readouterr().out
    assert "  recipe      the network's own\n" in printed
    assert "  recipe      the network's own, but rate 0.5, not 0.1; patience 7, not 0\n" in printed
    assert "  left out    2\n  held back   1\n" in printed
    assert "  seed        5\n  steps       6\n  best step   3\n" in printed


def test_whole_weights_are_verified_and_damaged_ones_and_pickles_are_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("weights", "verify", folder) == 0
    assert capsys.readouterr().out == f"ok     {folder / 'm5lcad-1.safetensors'}\n"
    content = bytearray((folder / "m5lcad-1.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "m5lcad-2.safetensors").write_bytes(content)
    torch.save({}, folder / "m5lcad-3.safetensors")
    assert run("weights", "verify", folder) == 1
    captured = capsys.readouterr()
    assert captured.out.count("ok ") == 1
    assert "m5lcad-2.safetensors: its numbers are not those of its card" in captured.err
    assert "m5lcad-3.safetensors: is not a weight file of a network" in captured.err


def test_weights_that_saw_the_fold_they_leave_out_before_are_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = read_card(folder / "m5lcad-1.safetensors").parameters
    module = NETWORKS["m5lcad"].build()
    card = ModelCard("m5lcad", 0, 5, "", "", (1, 2), series=SERIES, begun_from=first)
    write_weights(folder / "m5lcad-0.safetensors", module, card)
    assert run("weights", "verify", folder) == 1
    errors = capsys.readouterr().err
    assert "began with weights that had seen 2 series of fold 0, left out here" in errors


def test_weights_are_asked_for_series_and_not_for_the_numbers_of_folds(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = read_card(folder / "m5lcad-1.safetensors").parameters
    module = NETWORKS["m5lcad"].build()
    moved = {0: ("ff",), 1: ("aa", "bb"), 2: ("dd",)}  # fold 0 of the first is fold 1 here
    card = ModelCard("m5lcad", 0, 5, "", "", (1, 2), series=moved, begun_from=first)
    write_weights(folder / "m5lcad-0.safetensors", module, card)
    assert run("weights", "verify", folder) == 0
    # the third generation leaves out what only the first one saw
    second = read_card(folder / "m5lcad-0.safetensors").parameters
    card = ModelCard("m5lcad", 0, 5, "", "", (1,), series=SERIES, begun_from=second)
    write_weights(folder / "m5lcad-02.safetensors", NETWORKS["m5lcad"].build(), card)
    assert run("weights", "verify", folder) == 1
    errors = capsys.readouterr().err
    assert "m5lcad-02.safetensors: began with weights that had seen 2 series of fold 0" in errors
    assert "had seen 1 series of fold 2, left out here" in errors


def test_weights_tell_what_was_seen_before_by_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = NETWORKS["m5lcad"].build()
    card = ModelCard(
        "m5lcad", 0, 5, "", "", (1, 2), series=SERIES, begun_from="x", seen_before=("bb",)
    )
    write_weights(tmp_path / "m5lcad-0.safetensors", module, card)
    assert run("weights", "verify", tmp_path) == 1
    assert "had seen 1 series of fold 0, left out here" in capsys.readouterr().err


def test_an_origin_without_series_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = NETWORKS["m5lcad"].build()
    write_weights(tmp_path / "a.safetensors", module, ModelCard("m5lcad", 0, 5, "", "", (1, 2)))
    first = read_card(tmp_path / "a.safetensors").parameters
    card = ModelCard("m5lcad", 0, 5, "", "", (1, 2), series=SERIES, begun_from=first)
    write_weights(tmp_path / "b.safetensors", module, card)
    assert run("weights", "verify", tmp_path) == 1
    captured = capsys.readouterr()
    assert "a.safetensors" in captured.out
    assert "b.safetensors: began with weights of which no card tells all series" in captured.err
    assert run("weights", "verify", tmp_path / "b.safetensors") == 1


def test_good_weights_are_listed_and_bad_ones_are_reported_at_the_end(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.safetensors").write_bytes(b"nothing")
    save_file({"a": torch.zeros(2)}, folder / "b.safetensors", metadata={"card": "[1]"})
    for command in ("list", "show"):
        assert run("weights", command, folder) == 1
        captured = capsys.readouterr()
        assert "m5lcad-1.safetensors" in captured.out
        assert "a.safetensors: is not a weight file of a network" in captured.err
        assert "b.safetensors: its card is damaged" in captured.err


def test_the_packages_own_weights_are_listed_where_none_are_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("weights", "list") == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[-3:] == ["places", "sensitivity", "area"]
    of_unet = [row.split() for row in rows if "znet_unet-0" in row]
    assert of_unet == [
        ["znet_unet-0.safetensors", "znet_unet", "0", "520", "1500", "12.4", "0.8571", "-"]
    ]


def test_a_folder_without_weights_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("weights", "list", tmp_path) == 1
    assert "holds no weights (*.safetensors)" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["pipe.npz", "pipe.safetensors"])
def test_a_pipe_is_refused_where_it_would_be_waited_for_for_ever(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="it is not a plain file"):
        given_weights([tmp_path / name])
