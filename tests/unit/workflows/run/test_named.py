"""What a user calls an algorithm, and what is told where it is none."""

from pathlib import Path

import pytest

from builders.algorithms import algorithm_folder, images_set, needs_bubblewrap
from builders.images import archive, docker, layers, needs_busybox
from nodulebench.errors import InputError
from nodulebench.storage.json_text import read_json
from nodulebench.workflows.detect.detect import system_named
from nodulebench.workflows.run.named import named_algorithm
from nodulebench.workflows.run.run import RunChoice, run_algorithm


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
    with pytest.raises(InputError, match=r"its layout is needed\. Say which with --profile"):
        named_algorithm(str(file))
    folder = algorithm_folder(tmp_path / "mine")
    with pytest.raises(InputError, match="is for an image archive"):
        named_algorithm(str(folder), "native")


def test_detect_says_where_programs_of_others_are_run(tmp_path: Path) -> None:
    for given in (str(tmp_path), "my_detector {case} {out}"):
        with pytest.raises(InputError, match=r"program of others.*nodulebench run"):
            system_named(given)
    assert system_named("isicad").names == ("isicad",)


@needs_busybox
@needs_bubblewrap
def test_an_archive_by_itself_is_run_and_its_digest_recorded(tmp_path: Path) -> None:
    files, digest = docker(layers())
    file = archive(files, tmp_path / "my-cad.tar")
    chosen = named_algorithm(str(file), "grand-challenge")
    found = run_algorithm(
        chosen, images_set(tmp_path / "set", 1), tmp_path / "out", RunChoice("bubblewrap")
    )
    assert found.states == {"ok": 1}
    record = read_json(tmp_path / "out" / "run.json")
    assert record["algorithm"]["name"] == "my-cad"
    assert record["algorithm"]["image_digest"] == digest
