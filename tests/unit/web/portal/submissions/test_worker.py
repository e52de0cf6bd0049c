"""A worker scores waiting jobs; failed and cancelled jobs leave nothing behind."""

from datetime import timedelta
from threading import Event

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from builders.portal import GOOD, Browser, work_off
from nodulebench.core.executor import Progress
from nodulebench.evaluation.result_folder import read_document
from nodulebench.web.portal.database.models import Job, Result, now
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions import jobs, worker
from nodulebench.web.portal.submissions.scoring import score, sweep_results


@pytest.mark.slow
def test_a_result_folder_equals_that_of_evaluate(
    site: Site, as_ada: Browser, benchmark: str
) -> None:
    as_ada.send(benchmark, "submit", GOOD)
    assert work_off(site) == 1
    with site.database.reading() as session:
        result = session.scalars(select(Result)).one()
    document = read_document(site.results / result.folder)
    assert [algorithm.name for algorithm in document.algorithms] == ["Mine"]
    cpm = next(reading for reading in result.metrics["readings"] if reading["metric"] == "cpm")
    assert cpm["value"] == document.algorithms[0].rules["luna16"].metrics["cpm"].value
    assert cpm["low"] < cpm["value"] < cpm["high"]


def test_a_job_that_is_cancelled_while_it_runs_leaves_nothing(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_ada.send(benchmark, "submit", GOOD)

    def cancelled_meanwhile(site: Site, claimed: jobs.Claimed, opening: None, progress: Progress):
        scored = score(site, claimed, opening, progress)
        jobs.cancel(site, "olga", claimed.job)
        return scored

    monkeypatch.setattr(worker, "score", cancelled_meanwhile)
    work_off(site)
    with site.database.reading() as session:
        assert session.scalars(select(Job.state)).one() == "cancelled"
        assert session.scalar(select(Result.id)) is None
    assert [path for path in site.results.rglob("*") if path.is_file()] == []


def test_unexpected_errors_are_stored(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_ada.send(benchmark, "submit", GOOD)

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret of the reference")

    monkeypatch.setattr(worker, "score", broken)
    work_off(site)
    with site.database.reading() as session:
        job = session.scalars(select(Job)).one()
    assert (job.state, job.problems["messages"]) == ("failed", [])
    assert job.problems["operator_message"] == "ZeroDivisionError: a secret of the reference"


def test_only_leftovers_of_killed_workers_are_swept(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_ada.send(benchmark, "submit", GOOD)
    work_off(site)
    as_ada.send(benchmark, "submit", GOOD)
    claimed = jobs.claim(site, "elsewhere")
    assert claimed is not None
    (scored,) = site.results.glob("*/*")
    running = site.results / claimed.entry / f"1-{claimed.claim}"
    run = site.results / claimed.entry / "1-run"
    left = site.results / claimed.entry / "1-0123456789abcdef"
    for folder in (running, run, left):
        folder.mkdir(parents=True)
    assert sweep_results(site) == 0  # all of them are recent
    monkeypatch.setattr(
        "nodulebench.web.portal.submissions.scoring.now", lambda: now() + timedelta(hours=25)
    )
    assert sweep_results(site) == 1
    assert [folder.exists() for folder in (scored, running, run, left)] == [True, True, True, False]


def away(*_: object, **__: object) -> None:
    raise OperationalError("SELECT", {}, Exception("server closed the connection"))


def test_a_job_survives_an_unreachable_database(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker continues; the job is claimed again when its lease ends, and scored once."""
    as_ada.send(benchmark, "submit", GOOD)
    monkeypatch.setattr(jobs, "LEASE", timedelta(0))
    monkeypatch.setattr(worker, "IDLE_S", 0.01)
    tried = []

    def once_away(*given: object):
        tried.append(1)
        return away() if len(tried) == 1 else score(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(worker, "score", once_away)
    assert work_off(site) == 1
    with site.database.reading() as session:
        job = session.scalars(select(Job)).one()
        assert (job.state, job.attempts) == ("done", 2)
        assert len(list(session.scalars(select(Result.id)))) == 1


def test_a_worker_waits_for_its_database(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, tried = Event(), []

    def gone(*_: object) -> None:
        tried.append(1)
        if len(tried) == 3:
            stop.set()
        away()

    monkeypatch.setattr(worker, "claim", gone)
    monkeypatch.setattr(worker, "IDLE_S", 0.01)
    assert worker.work(site, None, stop) == 0
    assert len(tried) == 3
