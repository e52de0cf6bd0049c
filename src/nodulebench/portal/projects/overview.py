"""How a project stands, for those who oversee it: its log, its batches, what no batch has yet."""

from typing import Any

from sqlalchemy.orm import Session as Transaction

from nodulebench.annotate.process.batch import Batch
from nodulebench.errors import InputError
from nodulebench.portal.projects.making import project_problems
from nodulebench.portal.projects.people import Member
from nodulebench.portal.projects.store import Books
from nodulebench.workflows.annotate.desk import Desk
from nodulebench.workflows.annotate.questions import unread_cases


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
