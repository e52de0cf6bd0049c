"""An algorithm of a folder is tested for robustness through the contract of ``run``."""

from pathlib import Path

import pytest

from builders.algorithms import CALLS, MARKS, algorithm_folder, needs_bubblewrap, small_volume
from nodulebench.core.errors import InputError
from nodulebench.runner import cases as lab
from nodulebench.runner.algorithms import Algorithm
from nodulebench.runner.command import open_algorithm

pytestmark = needs_bubblewrap


def test_a_folder_is_run_in_its_sandbox(tmp_path: Path) -> None:
    with open_algorithm(str(algorithm_folder(tmp_path / "mine"))) as algorithm:
        marks = algorithm(small_volume())
    assert (marks.center_mm.tolist(), marks.score.tolist()) == (
        [[1.0, 2.0, 3.0]],
        [0.9],
    )


def test_why_it_failed_is_reported(tmp_path: Path) -> None:
    folder = algorithm_folder(tmp_path / "mine", "exit 3")
    with (
        open_algorithm(str(folder)) as algorithm,
        pytest.raises(InputError, match="tested: failed: it ended with exit code 3"),
    ):
        algorithm(small_volume())


def test_weights_are_those_of_built_in_networks(tmp_path: Path) -> None:
    for given in (str(algorithm_folder(tmp_path / "mine")), "mine {case} {out}"):
        with (
            pytest.raises(InputError, match="--weights: are for networks"),
            open_algorithm(given, weights=[tmp_path]),
        ):
            pass
    with (
        pytest.raises(InputError, match="mine: holds no weights"),
        open_algorithm("largecad+m5lcad", weights=[tmp_path / "mine"]),
    ):
        pass


def test_it_is_made_ready_once_for_all_scans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Path] = []

    def counted(chosen: Algorithm, place: Path) -> Algorithm:
        calls.append(place)
        return chosen

    monkeypatch.setattr(lab, "unpacked", counted)
    folder = algorithm_folder(tmp_path / "mine", CALLS % MARKS, run='mode = "invoke"')
    with open_algorithm(str(folder)) as algorithm:
        first, second = algorithm(small_volume()), algorithm(small_volume(1))
        assert calls[0].exists()
    assert first.center_mm.tolist() == second.center_mm.tolist()
    assert len(calls) == 1
    assert not calls[0].exists()
