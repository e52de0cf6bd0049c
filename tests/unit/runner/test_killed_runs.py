"""A killed run is completed by the next: nothing is lost, counted twice or left behind."""

import pytest

from builders.algorithms import needs_bubblewrap
from builders.killed_runs import CASES, KilledRuns
from nodulebench.io.folders import is_alive

pytestmark = [needs_bubblewrap, pytest.mark.slow]
SEEDS = (1, 2, 3)
"""Fifty are tried by benchmarks/run_isolated.py."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> KilledRuns:
    return KilledRuns(tmp_path_factory.mktemp("killed"))


def test_an_undisturbed_run_has_every_case(runs: KilledRuns) -> None:
    assert runs.whole["runs"]["state"].to_list() == ["ok"] * 3 + ["failed"] + ["ok"] * (CASES - 4)
    assert runs.whole["marks"].height == CASES - 1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_run_ends_like_an_undisturbed_one(runs: KilledRuns, seed: int) -> None:
    finished, _ = runs.kill_and_go_on(seed)
    for name, table in runs.whole.items():
        assert finished[name].equals(table), name
    left = runs.scratch.glob("nodulebench-*/.owner")
    assert [path for path in left if not is_alive(path.read_text())] == []
