"""An algorithm of a folder is tested for robustness through the contract of ``run``."""

from pathlib import Path

import pytest

from builders.algorithms import algorithm_folder, needs_bubblewrap, small_volume
from nodulebench.errors import InputError
from nodulebench.workflows.detect.any_algorithm import find_algorithm

pytestmark = needs_bubblewrap


def test_a_folder_is_run_in_its_sandbox(tmp_path: Path) -> None:
    found = find_algorithm(str(algorithm_folder(tmp_path / "mine")))(small_volume())
    assert (found.center_mm.tolist(), found.score.tolist()) == ([[1.0, 2.0, 3.0]], [0.9])


def test_why_it_failed_is_told(tmp_path: Path) -> None:
    algorithm = find_algorithm(str(algorithm_folder(tmp_path / "mine", "exit 3")))
    with pytest.raises(InputError, match="tested: failed: it ended with exit code 3"):
        algorithm(small_volume())
