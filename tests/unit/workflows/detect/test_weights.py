from pathlib import Path

import pytest
import torch

from builders.commands import run
from nodulebench.algorithms.networks import NETWORKS
from nodulebench.algorithms.networks.weights import Card, read_card, write_weights

SERIES = {0: ("aa", "bb"), 1: ("cc",), 2: ("dd",), -1: ("ee",)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    module = NETWORKS["m5lcad"].build()
    card = Card("m5lcad", 0, 500, "dots", "sha256:1", (0, 2), {"area": 0.875}, SERIES)
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
    told = capsys.readouterr().out
    assert "  folds       0, 2\n" in told
    assert "  data        dots\n" in told
    assert "  figures     area 0.8750\n" in told
    assert "begun from" not in told


def test_whole_weights_are_verified_and_damaged_ones_and_pickles_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("weights", "verify", folder) == 0
    assert capsys.readouterr().out == f"ok     {folder / 'm5lcad-1.safetensors'}\n"
    content = bytearray((folder / "m5lcad-1.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "m5lcad-2.safetensors").write_bytes(content)
    torch.save({}, folder / "m5lcad-3.safetensors")
    assert run("weights", "verify", folder) == 1
    told = capsys.readouterr()
    assert told.out.count("ok ") == 1
    assert "m5lcad-2.safetensors: its numbers are not those of its card" in told.err
    assert "m5lcad-3.safetensors: is no weight file of a network" in told.err


def test_weights_that_saw_the_fold_they_leave_out_before_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = read_card(folder / "m5lcad-1.safetensors").parameters
    module = NETWORKS["m5lcad"].build()
    card = Card("m5lcad", 0, 5, "", "", (1, 2), series=SERIES, begun_from=first)
    write_weights(folder / "m5lcad-0.safetensors", module, card)
    assert run("weights", "verify", folder) == 1
    told = capsys.readouterr().err
    assert "began with weights that had learnt from fold 0, which it leaves out" in told


def test_a_folder_without_weights_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("weights", "list", tmp_path) == 1
    assert "holds no weights (*.safetensors)" in capsys.readouterr().err
