"""A template runs as it is, in its sandbox, and marks what it says it marks."""

from pathlib import Path

import pytest

from builders.algorithms import algorithm_folder, needs_bubblewrap
from nodulebench.core.errors import InputError
from nodulebench.runner import check
from nodulebench.runner.algorithms import read_algorithm
from nodulebench.runner.check import check_algorithm
from nodulebench.runner.template import new_algorithm

pytestmark = needs_bubblewrap


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "shell"])
def test_a_template_runs_as_it_is(tmp_path: Path, language: str) -> None:
    new_algorithm(tmp_path / "mine", language)
    algorithm_read = check_algorithm(read_algorithm(tmp_path / "mine"), "auto", 1)
    (case,) = algorithm_read.cases
    assert (case.run.state, case.run.notices) == ("ok", ()), case.run.output
    assert case.run.marks["score"].to_list() == [0.9]
    assert algorithm_read.is_good
    assert algorithm_read.is_repeatable


def test_nothing_is_written_over(tmp_path: Path) -> None:
    new_algorithm(tmp_path / "mine", "shell")
    with pytest.raises(InputError, match="is not empty"):
        new_algorithm(tmp_path / "mine", "python")


@pytest.mark.slow
def test_what_does_not_keep_to_the_contract_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = 'echo "no model"; head -c 3000000 /dev/zero > "$2/marks.csv"; sleep 0.9'
    folder = algorithm_folder(tmp_path / "mine", program, timeout_s=60)
    monkeypatch.setattr(check, "NEAR", 0.01)
    algorithm_read = check_algorithm(read_algorithm(folder), "auto", 1)
    assert not algorithm_read.is_good
    assert algorithm_read.is_repeatable is None
    (case,) = algorithm_read.cases
    assert (case.run.state, case.run.output) == ("output_invalid", "no model\n")
    assert 0.015 <= case.near["timeout_s"] < 1
