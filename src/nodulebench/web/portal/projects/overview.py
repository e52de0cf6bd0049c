"""How a project stands, for those who oversee it: its log, its batches, what no batch has yet."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.annotation.project import Desk
from nodulebench.annotation.questions import unread_cases
from nodulebench.annotation.workflow.batch import Batch
from nodulebench.core.errors import InputError
from nodulebench.web.portal.database.models import AnnotationProject
from nodulebench.web.portal.projects.members import Member, is_blind
from nodulebench.web.portal.projects.service import project_problems
from nodulebench.web.portal.projects.store import Books, books_of
from nodulebench.web.portal.site import Site


def state_of(
    books: Books, session: Transaction, desk: Desk, *, checks: bool
) -> tuple[list[str] | None, list[Batch], int]:
    """What is wrong with the log, batches, and how many cases none has; None: it was not checked.

    Checking it all takes as long as both logs are; what is shown is checked in any case.
    """
    problems = [str(one) for one in project_problems(books, session)] if checks else None
    try:
        return problems, list(desk.batches().values()), len(unread_cases(desk))
    except InputError as error:
        return problems or [str(error)], [], 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a project is, as the desk shows it."""

    project: AnnotationProject
    is_told: bool
    """Not to who reads in it, or where its log does not hold."""
    batches: int = 0
    released: int = 0
    read: int = 0
    to_read: int = 0
    disputes: int = 0
    unread: int = 0
    """Cases that no batch has."""


def all_progress(site: Site, session: Transaction, account: str) -> list[Progress]:
    """How far each project is, the newest first; nothing of those in which the account reads."""
    found = select(AnnotationProject).order_by(AnnotationProject.created_at.desc())
    return [_progress(site, session, one, account) for one in session.scalars(found)]


def _progress(
    site: Site, session: Transaction, project: AnnotationProject, account: str
) -> Progress:
    try:
        books = books_of(site, project.id, account)
    except InputError:  # its page says what is wrong
        return Progress(project, is_told=False)
    if is_blind(session, books, account):
        return Progress(project, is_told=False)
    problems, batches, unread = state_of(books, session, books.on(session), checks=False)
    lines = [line_of(one, {}) for one in batches]
    return Progress(
        project,
        not problems,
        len(lines),
        sum(one["state"] == "released" for one in lines),
        sum(one["read"] for one in lines),
        sum(one["to_read"] for one in lines),
        sum(one["disputes"] or 0 for one in lines),
        unread,
    )


def line_of(batch: Batch, members: dict[str, Member]) -> dict[str, Any]:
    """A batch as the table of a project shows it."""
    order = batch.order
    absent = [one for one in batch.reader_ids if one not in members]
    return {
        "id": order.batch_id,
        "team": order.team_id,
        "state": batch.state,
        "cases": len(order.case_ids),
        "read": len(batch.readings),
        "to_read": len(order.case_ids) * len(batch.reader_ids),
        "disputes": len(batch.open_disputes) if batch.checks is not None else None,
        "reviewer": order.reviewer_id,
        "waits_for_draw": batch.waits_for_draw,
        "may_release": batch.state == "arbitration" and not batch.rules.has_arbitration,
        "may_be_approved": batch.state == "arbitration" and not batch.is_approved,
        "absent": absent,
    }
