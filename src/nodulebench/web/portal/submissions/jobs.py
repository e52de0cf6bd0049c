"""The job queue in the database: one worker claims a job for as long as it sends heartbeats.

The job of a dead worker is claimed by the next one. A result is accepted only under the current
claim, so that nothing is scored twice.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import and_, delete, or_, select
from sqlalchemy.orm import Session as Transaction
from sqlalchemy.orm import joinedload

from nodulebench.core.json_types import JsonObject
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.database.models import Entry, Job, Result, Worker, new_id, now
from nodulebench.web.portal.site import Site

LEASE = timedelta(seconds=60)
BEAT_S = 10.0
MAX_ATTEMPTS = 3
OPEN, ENDED = ("waiting", "running"), ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job that a worker has claimed."""

    job: str
    claim: str
    entry: str
    version: int


@dataclass(frozen=True, slots=True)
class Scored:
    """The result of scoring an entry."""

    folder: str
    digest: str
    metrics: JsonObject


def enqueue(session: Transaction, entry: str, version: int) -> Job:
    job = Job(entry_id=entry, version=version, progress={}, problems={})
    session.add(job)
    return job


def claim(site: Site, worker: str) -> Claimed | None:
    with site.database.writing() as session:
        at = now()
        is_lost = and_(Job.state == "running", Job.lease_until < at)
        waiting = select(Job).where(or_(Job.state == "waiting", is_lost)).order_by(Job.created_at)
        for job in session.scalars(waiting.limit(8).with_for_update(skip_locked=True)):
            if job.is_cancelling or job.attempts >= MAX_ATTEMPTS:
                state = "cancelled" if job.is_cancelling else "failed"
                _end(
                    job,
                    state,
                    {} if job.is_cancelling else {"operator_message": "workers died over it"},
                )
                site.record(session, "", f"job_{state}", job=job.id, entry=job.entry_id)
                continue
            job.state, job.worker, job.claim = "running", worker, new_id()
            job.lease_until, job.attempts = at + LEASE, job.attempts + 1
            job.progress = {}
            attempt, entry = job.attempts, job.entry_id
            site.record(
                session, "", "job_claimed", job=job.id, entry=entry, worker=worker, attempt=attempt
            )
            return Claimed(job.id, job.claim, job.entry_id, job.version)
    return None


def beat(site: Site, claimed: Claimed, progress: JsonObject | None = None) -> bool:
    """Extend the claim and store the progress; return whether to go on."""
    with site.database.writing() as session:
        job = _held(session, claimed)
        if job is None:
            return False
        job.lease_until = now() + LEASE
        if progress is not None:
            job.progress = progress
        return not job.is_cancelling


def is_wanted(site: Site, claimed: Claimed) -> bool:
    with site.database.reading() as session:
        job = session.get(Job, claimed.job)
        return job is not None and job.claim == claimed.claim and not job.is_cancelling


def finish(site: Site, claimed: Claimed, scored: Scored) -> bool:
    with site.database.writing() as session:
        job = _held(session, claimed)
        if job is None or job.is_cancelling:
            return False
        session.add(
            Result(
                entry_id=claimed.entry,
                version=claimed.version,
                folder=scored.folder,
                digest=scored.digest,
                metrics=scored.metrics,
            )
        )
        _end(job, "done", {})
        facts = {"job": job.id, "entry": job.entry_id, "result": scored.digest}
        site.record(session, "", "scored", **facts)
        return True


def fail(site: Site, claimed: Claimed, messages: list[str], operator_message: str) -> bool:
    """End a job as failed or cancelled; False if unclaimed. Submitters see only ``messages``."""
    with site.database.writing() as session:
        job = _held(session, claimed)
        if job is None:
            return False
        state = "cancelled" if job.is_cancelling else "failed"
        _end(job, state, {"messages": messages, "operator_message": operator_message})
        site.record(session, "", f"job_{state}", job=job.id, entry=job.entry_id)
        return True


def cancel(site: Site, by: str, job: str) -> None:
    with site.acting(by, "job_cancel_asked", job=job) as session:
        stored = _locked_job(session, job)
        if stored.state not in OPEN:
            raise DeniedError("job_ended", 409)
        stored.is_cancelling = True
        if stored.state == "waiting":
            _end(stored, "cancelled", {})


def retry(site: Site, by: str, job: str) -> None:
    with site.acting(by, "job_retried", job=job) as session:
        stored = _locked_job(session, job)
        if stored.state not in ("failed", "cancelled"):
            raise DeniedError("job_open", 409)
        stored.state, stored.attempts, stored.is_cancelling = "waiting", 0, False
        stored.claim, stored.ended_at, stored.problems = "", None, {}


def _locked_job(session: Transaction, job: str) -> Job:
    stored = session.scalar(select(Job).where(Job.id == job).with_for_update())
    if stored is None:
        raise DeniedError("not_found", 404)
    return stored


def _held(session: Transaction, claimed: Claimed) -> Job | None:
    mine = select(Job).where(Job.id == claimed.job, Job.claim == claimed.claim)
    return session.scalar(mine.where(Job.state == "running").with_for_update())


def _end(job: Job, state: str, problems: JsonObject) -> None:
    job.state, job.ended_at, job.problems = state, now(), problems
    job.claim, job.lease_until = "", None


HEARTBEAT_S = 10.0
SILENT = timedelta(seconds=60)
"""Workers without a heartbeat for so long are not shown."""
GONE = timedelta(days=1)
"""Workers without a heartbeat for so long are deleted."""


def send_heartbeat(site: Site, name: str, *, opens_sealed: bool) -> None:
    with site.database.writing() as session:
        stored = session.get(Worker, name)
        if stored is None:
            session.add(Worker(name=name, opens_sealed=opens_sealed))
            session.execute(delete(Worker).where(Worker.seen_at < now() - GONE))
        else:
            stored.seen_at = now()


def record_end(site: Site, name: str) -> None:
    with site.database.writing() as session:
        session.execute(delete(Worker).where(Worker.name == name))


def living_workers(session: Transaction) -> list[tuple[Worker, Job | None]]:
    living = select(Worker).where(Worker.seen_at > now() - SILENT).order_by(Worker.started_at)
    running = select(Job).where(Job.state == "running").options(joinedload(Job.entry))
    at_work = {job.worker: job for job in session.scalars(running.join(Entry))}
    return [(worker, at_work.get(worker.name)) for worker in session.scalars(living)]
