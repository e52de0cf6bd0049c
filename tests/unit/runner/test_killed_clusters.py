"""Runner, worker or scheduler of a cluster is killed: the same command completes the run."""

from collections.abc import Iterator

import pytest

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

from builders.killed_clusters import VICTIMS, KilledClusters, killed_clusters
from builders.killed_runs import CASES

SEEDS = (3, 4, 5)
"""One of each; fifty are tried by benchmarks/engines.py."""


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KilledClusters]:
    with killed_clusters(tmp_path_factory.mktemp("killed")) as made:
        yield made


def test_an_undisturbed_run_has_every_case(clusters: KilledClusters) -> None:
    states = clusters.whole["runs"]["state"].to_list()
    assert states == ["ok"] * 3 + ["failed"] + ["ok"] * (CASES - 4)
    assert clusters.whole["marks"].height == CASES - 1


@pytest.mark.parametrize("seed", SEEDS)
def test_after_any_kill_the_run_ends_like_an_undisturbed_one(
    clusters: KilledClusters, seed: int
) -> None:
    finished, victim = clusters.kill_one_and_go_on(seed)
    assert victim == VICTIMS[seed % len(VICTIMS)]  # and the run was not at its end
    for name, table in clusters.whole.items():
        assert finished[name].equals(table), name
