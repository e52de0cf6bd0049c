"""nodulebench run: from an algorithm's folder to figures, stopped and gone on with, by commands."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from builders.algorithms import MARKS, algorithm_folder, images_set, needs_bubblewrap, needs_engine
from nodulebench.cli import main
from nodulebench.core.tables import CASES, NODULES, Reference
from nodulebench.detection.networks import NETWORKS
from nodulebench.detection.networks.cards import ModelCard
from nodulebench.detection.networks.weights import write_weights
from nodulebench.imaging.volume import make_volume
from nodulebench.io.bundle import write_reference
from nodulebench.io.formats import read_submission
from nodulebench.io.images import metaimage
from nodulebench.io.json_files import read_json
from nodulebench.io.manifests import file_digest

pytestmark = needs_bubblewrap
ENGINES = ("podman", "docker")
FAILING = 'grep -q "$(printf "\\\\001")" "$1/ct.raw" && exit 5\n'
"""On the case whose voxels are 1."""


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """Three cases, each with a nodule where the algorithm puts its mark."""
    names = [f"scan-{number}" for number in range(3)]
    place = {"x_mm": 1.0, "y_mm": 2.0, "z_mm": 3.0, "diameter_mm": 6.0, "is_ignored": False}
    nodules = pl.DataFrame([{"case_id": name, "nodule_id": "1", **place} for name in names])
    table = CASES.conform(pl.DataFrame({"case_id": names}), "c")
    folder = images_set(tmp_path / "set")
    write_reference(Reference("set", table, NODULES.conform(nodules, "n")), folder)
    return folder


def test_an_algorithm_is_run_and_scored_and_its_failure_counts(
    tmp_path: Path, cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = algorithm_folder(tmp_path / "mine", FAILING + MARKS)
    out = tmp_path / "marks"
    assert run("run", folder, cases, "--out", out, "--dry-run") == 0
    assert "all protections and limits hold" in capsys.readouterr().out
    assert not out.exists()
    assert run("run", folder, cases, "--out", out) == 0
    captured = capsys.readouterr()
    assert "3 cases: 2 ok, 1 failed" in captured.out
    assert "scan-1: failed: it ended with exit code 5" in captured.err
    assert run("run", folder, cases, "--out", out) == 0
    assert "3 cases (3 from before): 2 ok, 1 failed" in capsys.readouterr().out
    assert run("evaluate", out, "--reference", cases, "--bootstraps", 0) == 0
    scored = capsys.readouterr()
    assert "3 cases, 3 nodules: 2 hit, 1 missed" in scored.out
    assert "Of 3 runs, 1 failed and 0 ran out of time" in scored.out + scored.err


def test_what_the_machine_spoilt_ends_with_1(
    tmp_path: Path, cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (cases / "images" / "scan-1.zraw").write_bytes(b"damaged")
    folder = algorithm_folder(tmp_path / "mine")
    assert run("run", folder, cases, "--out", tmp_path / "marks") == 1
    captured = capsys.readouterr()
    assert "scan-1: infrastructure: the machine failed, not the algorithm: " in captured.err
    assert "3 cases: 2 ok, 1 infrastructure" in captured.out


def test_a_stopped_run_reports_how_to_continue(
    tmp_path: Path, cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wait = 'grep -q "$(printf "\\\\002")" "$1/ct.raw" && sleep 5\n'
    folder, out = algorithm_folder(tmp_path / "mine", wait + MARKS), tmp_path / "marks"
    words = ["run", folder, cases, "--out", out]
    command = [sys.executable, "-m", "nodulebench", *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        journal = out / "journal.jsonl"
        while process.poll() is None and not (journal.exists() and journal.read_bytes()):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)  # in a case, or before the last, which takes long
        _, output = process.communicate(timeout=600)
    assert process.returncode == 130, output
    assert f"{out} has the results so far; the same command continues from there." in output
    assert run(*words) == 0
    assert ": 3 ok" in capsys.readouterr().out


def test_a_folder_without_a_test_set_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = algorithm_folder(tmp_path / "mine")
    (tmp_path / "empty").mkdir()
    assert run("run", folder, tmp_path / "empty", "--out", tmp_path / "marks") == 1
    assert "has no folder images/ with one image per case." in capsys.readouterr().err


@pytest.fixture
def chest(tmp_path: Path) -> Path:
    """A test set of one scan: two lungs with vessels, and a nodule of 12 mm."""
    hu = np.full((60, 80, 120), -1000, dtype=np.int16)
    hu[:, 10:70, 10:110] = 40
    for first in (18, 66):
        hu[5:55, 20:60, first : first + 36] = -850
        hu[5:55, 23:58:6, first + 3 : first + 34 : 6] = -400
    grid = np.stack(np.meshgrid(*map(np.arange, hu.shape), indexing="ij"), axis=-1)
    hu[np.linalg.norm(grid - (30, 40, 36), axis=-1) <= 3] = 30
    (tmp_path / "chests" / "images").mkdir(parents=True)
    volume = make_volume(hu, spacing_mm=(2.0, 2.0, 2.0))
    metaimage.write_volume(volume, tmp_path / "chests" / "images" / "scan.mhd")
    return tmp_path / "chests"


def network_weights(folder: Path, seed: int) -> Path:
    """Weights of a small untrained network."""
    folder.mkdir()
    torch.manual_seed(seed)
    file, card = folder / "m5lcad-all.safetensors", ModelCard("m5lcad", seed, 1, "noise", "", (0,))
    write_weights(file, NETWORKS["m5lcad"].build(), card)
    return file


@pytest.mark.parametrize(
    "isolation",
    [
        "none",
        "bubblewrap",
        *(pytest.param(engine, marks=needs_engine(engine)) for engine in ENGINES),
    ],
)
def test_a_system_is_run_with_given_weights_in_its_sandbox(
    tmp_path: Path, chest: Path, capsys: pytest.CaptureFixture[str], isolation: str
) -> None:
    weights = network_weights(tmp_path / "weights", 0)
    out, system = tmp_path / "marks", ("largecad+m5lcad", chest)
    walls = ("--isolation", isolation)
    is_folder = isolation != "bubblewrap"
    given = weights.parent if is_folder else weights
    assert run("run", *system, "--out", out, *walls, "--weights", given) == 0
    captured = capsys.readouterr()
    assert "1 cases: 1 ok" in captured.out, captured.err
    submission_read = read_submission(out)
    assert submission_read.name == "largecad+m5lcad"
    plain = tmp_path / "plain"
    assert run("detect", *system, "--out", plain, "--weights", weights) == 0
    # another number of threads, or other instructions, change the last digits
    np.testing.assert_allclose(
        submission_read.marks["score"], read_submission(plain).marks["score"], rtol=0, atol=1e-6
    )
    record = read_json(out / "run.json")["algorithm"]
    name = "weights/m5lcad-all.safetensors" if is_folder else "m5lcad-all.safetensors"
    assert record["weights"] == [{"file": name, "digest": file_digest(weights)}]
    capsys.readouterr()
    if isolation != "none":
        return
    other = network_weights(tmp_path / "other", 1)
    assert run("run", *system, "--out", out, *walls, "--weights", other.parent) == 1
    assert "contains a run that differs in: algorithm, weights." in capsys.readouterr().err


def test_bench_refuses_weights_of_an_algorithm_that_is_not_given(
    tmp_path: Path, chest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = network_weights(tmp_path / "weights", 0)
    given = ("largecad", "isicad", chest, "--out", tmp_path / "bench", "--weights", weights)
    assert run("bench", *given) == 1
    assert "is for m5lcad, which is not among the algorithms" in capsys.readouterr().err
