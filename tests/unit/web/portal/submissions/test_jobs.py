"""A job is claimed by one worker at a time, survives it, and is finished once."""

import io
from datetime import timedelta
from threading import Thread

import pytest
from sqlalchemy import func, select

from builders.portal import GOOD, make_person, make_tiny_benchmark
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.database.event_log import check_log
from nodulebench.web.portal.database.models import Job, Result, now
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions import jobs
from nodulebench.web.portal.submissions.jobs import (
    MAX_ATTEMPTS,
    Claimed,
    Scored,
    beat,
    claim,
    fail,
    finish,
)
from nodulebench.web.portal.submissions.service import SubmitOptions, store_upload, submit

SCORED = Scored("somewhere", "digest", {})


def submitted(site: Site, count: int = 1) -> list[str]:
    by = make_person(site, "ada", "participant", "organiser")
    benchmark = make_tiny_benchmark(site, by)
    entries = []
    for number in range(count):
        with store_upload(site, "x.csv", io.BytesIO(GOOD.encode())) as sent:
            entries.append(
                submit(site, by, benchmark, sent, SubmitOptions(name=f"entry {number}")).id
            )
    return entries


def claimed(site: Site) -> Claimed:
    job = claim(site, "worker")
    assert job is not None
    return job


def lose(site: Site) -> None:
    """Let the claim expire as if the worker had died."""
    with site.database.writing() as session:
        for job in session.scalars(select(Job).where(Job.state == "running")):
            job.lease_until = now() - timedelta(seconds=1)


def state(site: Site) -> str:
    with site.database.reading() as session:
        return session.scalars(select(Job.state)).one()


def test_many_workers_claim_every_job_once(any_site: Site) -> None:
    entries = submitted(any_site, 12)
    taken: list[str] = []

    def take() -> None:
        while (job := claim(any_site, "worker")) is not None:
            taken.append(job.entry)
            assert finish(any_site, job, SCORED)

    threads = [Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(entries)
    with any_site.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Result)) == 12
        assert check_log(session, any_site.key).problems == []


def test_a_lost_worker_loses_its_claim_and_writes_nothing(any_site: Site) -> None:
    submitted(any_site)
    first = claimed(any_site)
    assert claim(any_site, "other") is None
    lose(any_site)
    second = claimed(any_site)
    assert second.job == first.job
    assert not beat(any_site, first)
    assert not finish(any_site, first, SCORED)
    fail(any_site, first, [], "late")
    assert beat(any_site, second, {"done": 1, "of": 2})
    assert finish(any_site, second, SCORED)
    assert not finish(any_site, second, SCORED)
    assert state(any_site) == "done"


def test_a_heartbeat_extends_the_claim(site: Site) -> None:
    submitted(site)
    job = claimed(site)
    lose(site)
    assert beat(site, job)
    assert claim(site, "other") is None


def test_a_job_that_kills_its_workers_fails(site: Site) -> None:
    submitted(site)
    for _ in range(MAX_ATTEMPTS):
        claimed(site)
        lose(site)
    assert claim(site, "worker") is None
    assert state(site) == "failed"


def test_a_waiting_job_is_cancelled_at_once_and_can_be_retried(site: Site) -> None:
    submitted(site)
    with site.database.reading() as session:
        job = session.scalars(select(Job.id)).one()
    with pytest.raises(DeniedError, match="job_open"):
        jobs.retry(site, "olga", job)
    jobs.cancel(site, "olga", job)
    assert state(site) == "cancelled"
    assert claim(site, "worker") is None
    with pytest.raises(DeniedError, match="job_ended"):
        jobs.cancel(site, "olga", job)
    jobs.retry(site, "olga", job)
    assert finish(site, claimed(site), SCORED)


def test_a_running_job_is_asked_to_stop(site: Site) -> None:
    submitted(site)
    job = claimed(site)
    jobs.cancel(site, "olga", job.job)
    assert not beat(site, job)
    assert not finish(site, job, SCORED)
    fail(site, job, [], "cancelled")
    assert state(site) == "cancelled"


def test_a_guessed_id_is_not_a_job(site: Site) -> None:
    for act in (jobs.cancel, jobs.retry):
        with pytest.raises(DeniedError, match="not_found"):
            act(site, "olga", "guess")
