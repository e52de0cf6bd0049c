import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

pytest.importorskip("torch", reason="the extra 'networks' is not installed")
pytestmark = pytest.mark.slow


from builders.commands import run
from nodulebench.cli.train import _duration
from nodulebench.core.errors import InputError
from nodulebench.detection.networks import NETWORKS
from nodulebench.detection.networks.examples import (
    ExampleArrays,
    make_examples,
    read_examples,
    write_examples,
)
from nodulebench.detection.networks.patches import scans_of
from nodulebench.detection.networks.weights import read_card
from nodulebench.detection.train_network import (
    TrainOptions,
    prepare_training,
    recipe_of,
    train_fold,
)

NAME = "m5lcad"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two folds and a scan of none: bright dots are nodules, dark ones are not."""
    out = tmp_path_factory.mktemp("examples") / "dots"
    random = np.random.default_rng(3)
    images, places = [], []
    for scan in range(3):
        image = random.normal(40, 2, (10, 24, 24))
        for number in range(4):
            at = (5, 5 + 4 * number, 5 + 4 * number)
            image[at] = 110 if number < 2 else 10
            places.append((scan, *at))
        images.append(image.astype(np.uint8))
    at = np.array(places)
    is_scored = np.arange(12) % 4 != 3
    scans = scans_of(images, [[1.0, 1.0, 1.0]] * 3, step_hu=16.0, lowest_hu=-1024.0)
    write_examples(
        out,
        make_examples(
            scans,
            ExampleArrays(
                fold=[0, 1, -1],
                which=at[:, 0],
                place=at[:, 1:],
                is_nodule=np.tile([True, True, False, False], 3),
                is_scored=is_scored,
                series=["x", "y", "z"],
            ),
        ),
    )
    rows = [f"s{row[0]},{row[3]},{row[2]},{row[1]},0" for row in at[is_scored]]
    header = "seriesuid,coordX,coordY,coordZ,probability"
    (out / "candidates.csv").write_text("\n".join([header, *rows]) + "\n")
    return out


@pytest.mark.slow
def test_every_fold_gets_weights_and_the_marks_of_what_they_never_saw(folder, tmp_path, capsys):
    given = ["train", NAME, "--examples", folder, "--out", tmp_path / "w"]
    assert run(*given, "--without-folds", "0,1,all", "--steps", 8) == 0
    printed = capsys.readouterr().out
    assert "8 candidates to train on, 4 of them nodules; about " in printed
    assert re.search(r"nodules; about \d+ s for 3 trainings on this machine\n", printed)
    assert re.search(
        r"without fold 0: area under the ROC curve [01]\.\d{4}; \d+ s; wrote ", printed
    )
    of_fold = {
        name: pl.read_csv(tmp_path / "w" / f"{NAME}-{name}.csv") for name in ("0", "1", "all")
    }
    assert {name: table["seriesuid"].unique().to_list() for name, table in of_fold.items()} == {
        "0": ["s0"],
        "1": ["s1"],
        "all": ["s2"],
    }
    # the fourth dot of every scan is not scored
    assert of_fold["1"].select("coordX", "coordY", "coordZ").rows() == [
        (5, 5, 5),
        (9, 9, 5),
        (13, 13, 5),
    ]
    assert of_fold["1"]["probability"].is_between(0, 1).all()
    assert (tmp_path / "w" / f"{NAME}.svg").read_text().startswith("<svg xmlns")
    assert read_card(tmp_path / "w" / f"{NAME}-0.safetensors").series == {
        0: ("x",),
        1: ("y",),
        -1: ("z",),
    }
    # given again, nothing is trained again
    before = (tmp_path / "w" / f"{NAME}-0.safetensors").stat().st_mtime_ns
    assert run(*given, "--without-folds", "each", "--steps", 8) == 0
    assert (tmp_path / "w" / f"{NAME}-0.safetensors").stat().st_mtime_ns == before
    printed = capsys.readouterr().out
    assert "4 of them nodules; all was done before\n" in printed
    assert re.search(
        r"without fold 0: area under the ROC curve [01]\.\d{4}; was done be.*", printed
    )
    assert " 0 s; wrote" not in printed


def test_a_training_given_again_in_another_way_is_refused(folder, tmp_path, capsys):
    given = ["train", NAME, "--examples", folder, "--out", tmp_path / "w", "--steps", 2]
    assert run(*given, "--without-folds", "0") == 0
    assert run(*given, "--without-folds", "0,1") == 0
    assert "for 1 training on this machine; 1 training done before" in capsys.readouterr().out
    assert run(*given, "--without-folds", "each", "--seed", 5) == 1
    errors = capsys.readouterr().err
    for fold in (0, 1):
        assert f"{NAME}-{fold}.safetensors: was trained in another way (seed 0, not 5)" in errors


def test_folds_that_the_start_has_seen_are_refused_before_anything_is_trained(
    folder, tmp_path, capsys
):
    given = ["train", NAME, "--examples", folder, "--steps", 2]
    assert run(*given, "--out", tmp_path / "a", "--without-folds", "0") == 0
    start = tmp_path / "a" / f"{NAME}-0.safetensors"
    assert (
        run(*given, "--out", tmp_path / "b", "--without-folds", "each", "--start-from", start) == 1
    )
    assert "have seen 1 series of fold 1, which shall be left out" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()
    assert run(*given, "--out", tmp_path / "b", "--without-folds", "0", "--start-from", start) == 0


@pytest.mark.slow
def test_a_network_that_learned_nothing_is_reported(folder, tmp_path, capsys, monkeypatch):
    network = NETWORKS["m5lcad"]
    idle = replace(network, recipe=replace(network.recipe, rate=0.0))
    given = ("--examples", folder, "--steps", 100, "--out")

    assert run("train", "m5lcad", *given, tmp_path / "able") == 0
    assert "learned nothing" not in capsys.readouterr().err
    monkeypatch.setitem(NETWORKS._loaded, "m5lcad", idle)
    assert run("train", "m5lcad", *given, tmp_path / "idle") == 0
    errors = capsys.readouterr().err
    assert "trained on all folds, it learned nothing: its loss never fell below" in errors
    assert "Train it again with another --seed, into another folder." in errors


def test_options_that_would_do_nothing_are_refused(folder, tmp_path, capsys):
    given = ["train", NAME, "--examples", folder, "--out", tmp_path / "w", "--steps", 2]
    assert run(*given, "--patience", 3) == 2
    assert "--patience takes --stop-by too" in capsys.readouterr().err
    assert run(*given, "--without-fold", 0, "--without-folds", "1") == 2
    assert "--without-fold and --without-folds mean the same" in capsys.readouterr().err
    assert run(*given, "--stop-by", "all") == 2
    assert "folds are numbers, not 'all'" in capsys.readouterr().err
    finder = ["train", "heatmap", "--examples", folder, "--out", tmp_path / "w"]
    assert run(*finder, "--stop-by", "1") == 1
    assert "no fold can decide when it stops" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(89, "89 s"), (90, "2 min"), (5400, "1.5 h"), (172_799, "48.0 h"), (302_400, "3.5 days")],
)
def test_long_times_are_given_in_days(seconds, expected):
    assert _duration(seconds) == expected


def test_weights_to_begin_with_must_be_of_the_same_network(folder, tmp_path):
    first = prepare_training(NAME, tmp_path / "a", TrainOptions(examples=(folder,), steps=2))
    done = train_fold(first, None)
    wanted = TrainOptions(examples=(folder,), steps=2, start=done.path)
    with pytest.raises(InputError, match="holds weights of 'm5lcad', not of 'cadimi'"):
        prepare_training("cadimi", tmp_path / "b", wanted)
    tuned = train_fold(prepare_training(NAME, tmp_path / "c", wanted), None)
    assert tuned.card.begun_from == done.card.parameters


def test_printed_schedules_are_options():
    jackfpr = recipe_of("jackfpr", TrainOptions(schedule="printed"))
    assert (jackfpr.steps, jackfpr.check_every) == (245_760, 1024)
    stopped = recipe_of("diag_convnet", TrainOptions(schedule="printed", held_back=(1,)))
    assert (stopped.batch, stopped.check_every, stopped.patience) == (64, 1024, 3)
    assert recipe_of("cadimi", TrainOptions(schedule="printed")).steps == 80 * 40_000 // 128
    with pytest.raises(
        InputError, match=r"'twoscale': has no printed schedule\. These have: jackf"
    ):
        recipe_of("twoscale", TrainOptions(schedule="printed"))


def test_patience_needs_folds_that_decide_and_short_trainings_are_checked_too():
    assert recipe_of("twoscale", TrainOptions(patience=4)).patience == 0
    assert recipe_of("twoscale", TrainOptions(patience=4, held_back=(0,))).patience == 4
    assert recipe_of("twoscale", TrainOptions(steps=60)).check_every == 3


def test_candidates_of_other_examples_are_refused(folder, tmp_path):
    copied = tmp_path / "copied"
    write_examples(copied, read_examples(folder))
    lines = (folder / "candidates.csv").read_text().splitlines()
    (copied / "candidates.csv").write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(InputError, match=r"candidates\.csv: does not fit the examples"):
        prepare_training(NAME, tmp_path / "w", TrainOptions(examples=(copied,)))


def test_a_network_wants_examples_and_a_classifier_blocks(folder, tmp_path):
    assert run("train", NAME, "--out", tmp_path / "w") == 2
    assert run("train", "etrocad", "--out", tmp_path / "w") == 2
    wrong = ["--examples", folder, "--out", tmp_path / "w", "--without-folds", "first"]
    assert run("train", NAME, *wrong) == 2
