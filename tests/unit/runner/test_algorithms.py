"""How users name algorithms, and the errors for invalid names."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the extra 'networks' is not installed")
pytestmark = pytest.mark.slow

from builders.algorithms import algorithm_folder, images_set, needs_bubblewrap
from builders.images import archive, docker, layers, needs_busybox
from nodulebench.core.errors import InputError
from nodulebench.detection.detect import system_named
from nodulebench.detection.networks import NETWORKS
from nodulebench.detection.networks.cards import ModelCard
from nodulebench.detection.networks.weights import write_weights
from nodulebench.io.json_files import read_json
from nodulebench.io.manifests import file_digest
from nodulebench.runner.algorithms import named_algorithm, named_algorithms
from nodulebench.runner.run import RunChoice, run_algorithm


def test_a_folder_an_archive_and_detectors_are_algorithms(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine")
    file = tmp_path / "image.tar"
    file.write_bytes(b"1")
    assert named_algorithm(str(folder)).name == "tested"
    assert named_algorithm(str(file), "native").name == "image"
    assert named_algorithm("isicad+largecad").name == "isicad+largecad"


def test_an_archive_needs_its_layout_and_nothing_else_has_one(tmp_path: Path) -> None:
    file = tmp_path / "image.tar"
    file.write_bytes(b"1")
    with pytest.raises(
        InputError, match=r"the layout of an image archive is needed\. Give --profile"
    ):
        named_algorithm(str(file))
    folder = algorithm_folder(tmp_path / "mine")
    with pytest.raises(InputError, match="is only for an image archive"):
        named_algorithm(str(folder), "native")


def network_weights(folder: Path, *seeds: int, name: str = "m5lcad") -> Path:
    """Weights of a small untrained network."""
    folder.mkdir()
    for seed in seeds:
        torch.manual_seed(seed)
        card = ModelCard(name, seed, 1, "noise", "", (0,))
        write_weights(folder / f"{name}-{seed}.safetensors", NETWORKS[name].build(), card)
    return folder


def test_given_weights_are_seen_inside_and_are_part_of_the_algorithm(tmp_path: Path) -> None:
    weights = network_weights(tmp_path / "w", 0, 1)
    weights_file = weights / "m5lcad-1.safetensors"
    chosen = named_algorithm("largecad+m5lcad", weights=[weights])
    assert [(mount.source, mount.is_writable) for mount in chosen.mounts][-1] == (weights, False)
    assert chosen.mounts[-1].target == chosen.command[-1]
    assert not chosen.command[-1].startswith(str(tmp_path))
    assert chosen.weights == tuple(
        (f"w/m5lcad-{seed}.safetensors", file_digest(weights / f"m5lcad-{seed}.safetensors"))
        for seed in (0, 1)
    )
    other = named_algorithm("largecad+m5lcad", weights=[weights_file])
    assert other.weights == ((weights_file.name, file_digest(weights_file)),)
    assert other.digest != chosen.digest != named_algorithm("largecad").digest
    # a network that is not named classifies too, and the algorithm's name shows it
    assert named_algorithm("largecad", weights=[weights_file]).name == "largecad+m5lcad"


def test_weights_are_for_systems_of_the_package(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine")
    with pytest.raises(InputError, match=r"--weights: are for networks.*run\.model"):
        named_algorithm(str(folder), weights=[network_weights(tmp_path / "w", 0)])


def test_weights_that_are_a_link_or_hold_one_that_leaves_are_refused(tmp_path: Path) -> None:
    weights = network_weights(tmp_path / "w", 0)
    file = weights / "m5lcad-0.safetensors"
    (tmp_path / "folder").symlink_to(weights)
    (tmp_path / "file.safetensors").symlink_to(file)
    for given in (tmp_path / "folder", tmp_path / "file.safetensors"):
        with pytest.raises(InputError, match=r"is a link\. Give the path of its target"):
            named_algorithm("largecad+m5lcad", weights=[given])
        with pytest.raises(InputError, match=r"is a link\. Give the path of its target"):
            named_algorithms(("largecad+m5lcad",), [given])
    (weights / "reference.csv").symlink_to(tmp_path / "reference.csv")
    with pytest.raises(InputError, match=r"reference\.csv: is a link .* which leaves the folder"):
        named_algorithm("largecad+m5lcad", weights=[weights])


def test_algorithms_side_by_side_take_the_weights_that_are_their_own(tmp_path: Path) -> None:
    m5lcad = network_weights(tmp_path / "a", 0)
    cadimi = network_weights(tmp_path / "b", 0, name="cadimi")
    mine = str(algorithm_folder(tmp_path / "mine"))
    algorithms = named_algorithms(("largecad+cadimi", mine, "largecad+m5lcad"), [m5lcad, cadimi])
    assert [result.name for result in algorithms] == [
        "largecad+cadimi",
        "tested",
        "largecad+m5lcad",
    ]
    assert [[file for file, _ in result.weights] for result in algorithms] == [
        ["cadimi-0.safetensors"],
        [],
        ["m5lcad-0.safetensors"],
    ]
    with pytest.raises(InputError, match="is for cadimi, which is not among the algorithms"):
        named_algorithms(("largecad+m5lcad",), [m5lcad, cadimi])


def test_a_detector_computes_in_the_sandbox_as_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Haswell"}
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    given = dict(named_algorithm("isicad").environment)
    assert {name: value for name, value in given.items() if not name.startswith("PYTHON")} == chosen


def test_detect_says_where_programs_of_others_are_run(tmp_path: Path) -> None:
    for given in (str(tmp_path), "my_detector {case} {out}"):
        with pytest.raises(InputError, match=r"is not one of the detectors.*nodulebench run"):
            system_named(given)
    assert system_named("isicad").names == ("isicad",)


@needs_busybox
@needs_bubblewrap
def test_an_archive_by_itself_is_run_and_its_digest_recorded(tmp_path: Path) -> None:
    files, digest = docker(layers())
    file = archive(files, tmp_path / "my-cad.tar")
    chosen = named_algorithm(str(file), "grand-challenge")
    summary = run_algorithm(
        chosen, images_set(tmp_path / "set", 1), tmp_path / "out", RunChoice("bubblewrap")
    )
    assert summary.states == {"ok": 1}
    record = read_json(tmp_path / "out" / "run.json")
    assert record["algorithm"]["name"] == "my-cad"
    assert record["algorithm"]["image_digest"] == digest
