"""A worker scores what waits; what fails or is cancelled leaves nothing behind."""

import pytest
from sqlalchemy import select

from builders.portal import GOOD, Browser, work_off
from nodulebench.model.progress import Progress
from nodulebench.portal import jobs, worker
from nodulebench.portal.scoring import score
from nodulebench.portal.site import Site
from nodulebench.portal.store.tables import Job, Result
from nodulebench.workflows.evaluate.result_folder import read_document


def test_a_result_folder_is_that_of_evaluate(site: Site, as_ada: Browser, benchmark: str) -> None:
    as_ada.send(benchmark, "submit", GOOD)
    assert work_off(site) == 1
    with site.database.reading() as session:
        result = session.scalars(select(Result)).one()
    document = read_document(site.results / result.folder)
    assert [one.name for one in document.algorithms] == ["Mine"]
    cpm = next(one for one in result.figures["readings"] if one["figure"] == "cpm")
    assert cpm["value"] == document.algorithms[0].rules["luna16"].figures["cpm"].value
    assert cpm["low"] < cpm["value"] < cpm["high"]


def test_a_job_that_is_cancelled_while_it_runs_leaves_nothing(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_ada.send(benchmark, "submit", GOOD)

    def cancelled_meanwhile(site: Site, claimed: jobs.Claimed, opening: None, progress: Progress):
        found = score(site, claimed, opening, progress)
        jobs.cancel(site, "olga", claimed.job)
        return found

    monkeypatch.setattr(worker, "score", cancelled_meanwhile)
    work_off(site)
    with site.database.reading() as session:
        assert session.scalars(select(Job.state)).one() == "cancelled"
        assert session.scalar(select(Result.id)) is None
    assert [one for one in site.results.rglob("*") if one.is_file()] == []


def test_whatever_breaks_down_is_written_down(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_ada.send(benchmark, "submit", GOOD)

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret of the reference")

    monkeypatch.setattr(worker, "score", broken)
    work_off(site)
    with site.database.reading() as session:
        job = session.scalars(select(Job)).one()
    assert (job.state, job.problems["told"]) == ("failed", [])
    assert job.problems["kept"] == "ZeroDivisionError: a secret of the reference"
