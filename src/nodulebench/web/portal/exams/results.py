"""Who passed which exam of the site: for pages, for projects that ask for it, and as exam.json."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.web.portal.database.models import ExamResult

TOLD = ("candidate", "has_passed", "failed", "pass_mark", "rule", "counts", "figures")
"""What of a sheet others may see: nothing of it says where a nodule of the key lies."""


def results_of(session: Transaction, exam_id: str) -> list[ExamResult]:
    """Everybody's result of an exam, the newest first."""
    rows = select(ExamResult).where(ExamResult.exam_id == exam_id)
    return list(session.scalars(rows.order_by(ExamResult.created_at.desc())))


def passed_accounts(session: Transaction, exam_id: str | None) -> frozenset[str] | None:
    """The accounts that passed an exam; None: none is asked for."""
    if exam_id is None:
        return None
    return frozenset(one.account_id for one in results_of(session, exam_id) if one.has_passed)


def told_sheet(result: ExamResult, candidate: str = "") -> dict[str, Any]:
    """A result as ``exam.json`` has it, without the nodules that were missed.

    Args:
        result: of an account.
        candidate: who they are where it is used; nothing: as they sign in.
    """
    told = {name: result.sheet[name] for name in TOLD}
    return {**told, "candidate": candidate} if candidate else told
