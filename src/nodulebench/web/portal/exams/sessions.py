"""The rooms in which accounts sit exams; the sheet of each is a row as soon as all is handed in."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session as Transaction

from nodulebench.annotation.exam import ExamSheet, sheet_json
from nodulebench.web.portal.accounts.roles import may
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.database.models import ExamEdit, ExamResult, SiteExam
from nodulebench.web.portal.exams.service import KEY, find_exam, rules_of
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.drafts import SqlDrafts
from nodulebench.web.portal.viewer_access.gateway import Recent, Steps
from nodulebench.web.portal.viewer_access.reviews import images_of, voxels_of
from nodulebench.web.viewer.drafts import Drafts
from nodulebench.web.viewer.exam import Exam, ExamSession, exam_of
from nodulebench.web.viewer.scans import Scan, Tiles, scans_of
from nodulebench.web.viewer.session import Voxels

ROUTE = "exam_room"
MOST_ROOMS, MOST_EXAMS = 200, 20
"""That are held open; whoever comes back later gets theirs anew."""


@dataclass(frozen=True)
class Shared:
    """What all rooms of an exam have in common."""

    exam: Exam
    scans: Mapping[str, Scan]
    voxels: Voxels


class SiteExamSession(ExamSession):
    """The room of one account in one exam."""

    def __init__(self, folder: Path, shared: Shared, steps: Steps, visitor: Visitor) -> None:
        own = {"exam_id": steps.of, "account_id": visitor.account}
        drafts = SqlDrafts(steps, ExamEdit, **own)
        name = visitor.login
        super().__init__(folder, shared.scans, drafts, name, shared.exam, shared.voxels)
        self._steps = steps
        self._account = visitor.account

    def submit(self, number: int, tiles: Tiles, drafts: Drafts) -> None:  # noqa: ARG002
        """Freeze the reading of a sequence; nothing of it leaves the database."""
        drafts.submit(self.draft_key(number))

    def save_sheet(self, sheet: ExamSheet) -> None:
        """Write the result down, once, with an event of the site."""
        own = {"exam_id": self._steps.of, "account_id": self._account}
        with self._steps.acting() as session:
            if session.get(ExamResult, own) is None:
                told = sheet_json(sheet)
                session.add(ExamResult(**own, has_passed=sheet.has_passed, sheet=told))
                site, facts = self._steps.site, {"exam": self._steps.of}
                site.record(session, self._account, "exam_sat", **facts, passed=sheet.has_passed)


class ExamSessions:
    """Every account's room in every exam of a site."""

    route = ROUTE

    def __init__(self, site: Site) -> None:
        self.site = site
        self._shared: Recent[Shared] = Recent(MOST_EXAMS)
        self._rooms: Recent[SiteExamSession] = Recent(MOST_ROOMS)

    def of(self, name: str, visitor: Visitor) -> SiteExamSession:
        """The room of somebody in an exam.

        Raises:
            DeniedError: if there is no such exam, it has ended, or they know its key.
        """
        with self.site.database.reading() as session:
            found = find_exam(session, name)
            result = session.get(ExamResult, (name, visitor.account))
        if not may_sit(found, visitor):
            raise DeniedError("exam_known", 403)
        if found.ended_at is not None and result is None:
            raise DeniedError("exam_ended", 409)
        shared = self._shared.of(name, lambda: self._open(found))
        return self._rooms.of((name, visitor.account), lambda: self._room(shared, name, visitor))

    def _open(self, found: SiteExam) -> Shared:
        exam = exam_of(self.site.exam(found.id) / KEY, rules_of(found))
        scans = scans_of(images_of(self.site, found.images), exam.case_ids)
        return Shared(exam, scans, Voxels(voxels_of(self.site)))

    def _room(self, shared: Shared, exam_id: str, visitor: Visitor) -> SiteExamSession:
        folder = self.site.exam(exam_id) / visitor.account
        return SiteExamSession(folder, shared, Steps(self.site, exam_id), visitor)


def may_sit(exam: SiteExam, visitor: Visitor) -> bool:
    """Whether somebody cannot know the key: neither who made it, nor an organiser."""
    return exam.made_by != visitor.account and not visitor.is_organiser


ExamStatus = Literal["open", "begun", "passed", "failed", "ended"]


@dataclass(frozen=True, slots=True)
class Line:
    """An exam, and how somebody stands in it."""

    exam: SiteExam
    stand: ExamStatus | None
    """None: it is not theirs to sit."""


def exams_for(session: Transaction, visitor: Visitor) -> list[Line]:
    """The exams that concern somebody, the newest first."""
    found = session.scalars(select(SiteExam).order_by(SiteExam.created_at.desc()))
    lines = [Line(one, exam_status(session, one, visitor)) for one in found]
    oversees = bool({"organiser", "auditor"} & visitor.roles)
    return [line for line in lines if oversees or line.stand not in (None, "ended")]


def exam_status(session: Transaction, exam: SiteExam, visitor: Visitor) -> ExamStatus | None:
    """How somebody stands in an exam; None: it is not theirs to sit."""
    if not may(visitor.roles, ROUTE) or not may_sit(exam, visitor):
        return None
    result = session.get(ExamResult, (exam.id, visitor.account))
    if result is not None:
        return "passed" if result.has_passed else "failed"
    if exam.ended_at is not None:
        return "ended"
    own = {"exam_id": exam.id, "account_id": visitor.account}
    edits = session.scalar(select(func.count()).select_from(ExamEdit).filter_by(**own))
    return "begun" if edits else "open"
