"""Exam sessions of accounts; a result is stored when everything is submitted."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session as Transaction

from nodulebench.annotation.exam import ExamSheet, sheet_json
from nodulebench.web.portal.accounts.roles import may
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.models import ExamEdit, ExamResult, SiteExam
from nodulebench.web.portal.exams.service import KEY, find_exam, rules_of
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.drafts import SqlDrafts
from nodulebench.web.portal.viewer_access.gateway import LruCache, StepTransactions
from nodulebench.web.portal.viewer_access.reviews import images_of, voxels_of
from nodulebench.web.viewer.drafts import Drafts
from nodulebench.web.viewer.exam import Exam, ExamSession, exam_of
from nodulebench.web.viewer.scans import Scan, Tiles, scans_of
from nodulebench.web.viewer.session import Voxels

ROUTE = "exam_session"
MAX_SESSIONS, MAX_EXAMS = 200, 20
"""Sessions in memory; others are opened again when needed."""


@dataclass(frozen=True)
class SharedExam:
    """What all sessions of an exam share."""

    exam: Exam
    scans: Mapping[str, Scan]
    voxels: Voxels


class SiteExamSession(ExamSession):
    """The session of an account in an exam."""

    def __init__(
        self, folder: Path, shared: SharedExam, transactions: StepTransactions, user: User
    ) -> None:
        own = {"exam_id": transactions.of, "account_id": user.account}
        drafts = SqlDrafts(transactions, ExamEdit, **own)
        name = user.login
        super().__init__(folder, shared.scans, drafts, name, shared.exam, shared.voxels)
        self._transactions = transactions
        self._account = user.account

    def submit(self, number: int, tiles: Tiles, drafts: Drafts) -> None:  # noqa: ARG002
        """Freeze the reading of a sequence; nothing of it leaves the database."""
        drafts.submit(self.draft_key(number))

    def save_sheet(self, sheet: ExamSheet) -> None:
        own = {"exam_id": self._transactions.of, "account_id": self._account}
        with self._transactions.acting() as session:
            if session.get(ExamResult, own) is None:
                content = sheet_json(sheet)
                session.add(ExamResult(**own, has_passed=sheet.has_passed, sheet=content))
                site, facts = self._transactions.site, {"exam": self._transactions.of}
                site.record(session, self._account, "exam_sat", **facts, passed=sheet.has_passed)


class ExamSessions:
    """All exam sessions of a site."""

    route = ROUTE

    def __init__(self, site: Site) -> None:
        self.site = site
        self._shared: LruCache[SharedExam] = LruCache(MAX_EXAMS)
        self._sessions: LruCache[SiteExamSession] = LruCache(MAX_SESSIONS)

    def of(self, name: str, user: User) -> SiteExamSession:
        """The session of a user in an exam that is open and whose key they do not know."""
        with self.site.database.reading() as session:
            exam = find_exam(session, name)
            result = session.get(ExamResult, (name, user.account))
        if not may_sit(exam, user):
            raise DeniedError("exam_known", 403)
        if exam.ended_at is not None and result is None:
            raise DeniedError("exam_ended", 409)
        shared = self._shared.of(name, lambda: self._open(exam))
        return self._sessions.of((name, user.account), lambda: self._session(shared, name, user))

    def _open(self, stored: SiteExam) -> SharedExam:
        exam = exam_of(self.site.exam(stored.id) / KEY, rules_of(stored))
        scans = scans_of(images_of(self.site, stored.images), exam.case_ids)
        return SharedExam(exam, scans, Voxels(voxels_of(self.site)))

    def _session(self, shared: SharedExam, exam_id: str, user: User) -> SiteExamSession:
        folder = self.site.exam(exam_id) / user.account
        return SiteExamSession(folder, shared, StepTransactions(self.site, exam_id), user)


def may_sit(exam: SiteExam, user: User) -> bool:
    """Whether a user cannot know the key: neither its author nor an organiser."""
    return exam.made_by != user.account and not user.is_organiser


ExamStatus = Literal["open", "begun", "passed", "failed", "ended"]


@dataclass(frozen=True, slots=True)
class ExamLine:
    """An exam with the status of a user."""

    exam: SiteExam
    status: ExamStatus | None


def exams_for(session: Transaction, user: User) -> list[ExamLine]:
    exams = session.scalars(select(SiteExam).order_by(SiteExam.created_at.desc()))
    lines = [ExamLine(exam, exam_status(session, exam, user)) for exam in exams]
    oversees = bool({"organiser", "auditor"} & user.roles)
    return [line for line in lines if oversees or line.status not in (None, "ended")]


def exam_status(session: Transaction, exam: SiteExam, user: User) -> ExamStatus | None:
    if not may(user.roles, ROUTE) or not may_sit(exam, user):
        return None
    result = session.get(ExamResult, (exam.id, user.account))
    if result is not None:
        return "passed" if result.has_passed else "failed"
    if exam.ended_at is not None:
        return "ended"
    own = {"exam_id": exam.id, "account_id": user.account}
    edits = session.scalar(select(func.count()).select_from(ExamEdit).filter_by(**own))
    return "begun" if edits else "open"
