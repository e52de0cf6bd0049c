"""Kills at seeded moments lose no submission and score none twice; 30 are benchmarks/portal_kills.

SQLite lives in the server and the worker, which are killed with it.
"""

from pathlib import Path

import pytest

from builders.killed_portal import trial
from builders.postgres import Server, postgres_server, programs
from builders.running_portal import RunningPortal

pytestmark = pytest.mark.slow


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Server | None:
    if request.param == "sqlite":
        yield None
        return
    if programs() is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    with postgres_server(is_durable=True) as started:  # kill only our own processes
        yield started


@pytest.mark.parametrize("server", ["sqlite", "postgresql"], indirect=True)
def test_kills_lose_nothing_and_score_nothing_twice(tmp_path: Path, server: Server | None) -> None:
    portal = RunningPortal(tmp_path, server)
    try:
        left = trial(portal, seed=16, submissions=3, targets=("database",))
    finally:
        portal.end()
    assert left.wrong == []
    assert (left.receipts, left.kills.total()) == (3, 1)
