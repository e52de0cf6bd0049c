"""Exams as a list shows them: to readers those that they can sit or have sat, to others all."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session as Transaction

from nodulebench.web.portal.accounts.roles import may
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.database.models import ExamEdit, ExamResult, SiteExam
from nodulebench.web.portal.exams.sessions import ROOM, may_sit

Stand = Literal["open", "begun", "passed", "failed", "ended"]


@dataclass(frozen=True, slots=True)
class Line:
    """An exam, and how somebody stands in it."""

    exam: SiteExam
    stand: Stand | None
    """None: it is not theirs to sit."""


def exams_for(session: Transaction, visitor: Visitor) -> list[Line]:
    """The exams that concern somebody, the newest first."""
    found = session.scalars(select(SiteExam).order_by(SiteExam.created_at.desc()))
    lines = [Line(one, stand_of(session, one, visitor)) for one in found]
    oversees = bool({"organiser", "auditor"} & visitor.roles)
    return [one for one in lines if oversees or one.stand not in (None, "ended")]


def stand_of(session: Transaction, exam: SiteExam, visitor: Visitor) -> Stand | None:
    """How somebody stands in an exam; None: it is not theirs to sit."""
    if not may(visitor.roles, ROOM) or not may_sit(exam, visitor):
        return None
    result = session.get(ExamResult, (exam.id, visitor.account))
    if result is not None:
        return "passed" if result.has_passed else "failed"
    if exam.ended_at is not None:
        return "ended"
    own = {"exam_id": exam.id, "account_id": visitor.account}
    edits = session.scalar(select(func.count()).select_from(ExamEdit).filter_by(**own))
    return "begun" if edits else "open"
