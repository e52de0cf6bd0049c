"""Workers that live: each says so every few seconds, and is not shown when it no longer does."""

from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session as Transaction
from sqlalchemy.orm import joinedload

from nodulebench.web.portal.database.models import Entry, Job, Worker, now
from nodulebench.web.portal.site import Site

SAY_S = 10.0
SILENT = timedelta(seconds=60)
"""Who has said nothing for so long is not shown."""
GONE = timedelta(days=1)
"""Who has said nothing for so long is forgotten."""


def say_alive(site: Site, name: str, *, opens_sealed: bool) -> None:
    """Write down that a worker lives, and forget those who are long gone."""
    with site.database.writing() as session:
        found = session.get(Worker, name)
        if found is None:
            session.add(Worker(name=name, opens_sealed=opens_sealed))
            session.execute(delete(Worker).where(Worker.seen_at < now() - GONE))
        else:
            found.seen_at = now()


def say_ended(site: Site, name: str) -> None:
    """Write down that a worker has ended."""
    with site.database.writing() as session:
        session.execute(delete(Worker).where(Worker.name == name))


def living_workers(session: Transaction) -> list[tuple[Worker, Job | None]]:
    """The workers that live, each with the job that it has."""
    living = select(Worker).where(Worker.seen_at > now() - SILENT).order_by(Worker.started_at)
    running = select(Job).where(Job.state == "running").options(joinedload(Job.entry))
    at_work = {one.worker: one for one in session.scalars(running.join(Entry))}
    return [(one, at_work.get(one.name)) for one in session.scalars(living)]
