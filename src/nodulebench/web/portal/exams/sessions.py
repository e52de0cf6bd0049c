"""The rooms in which accounts sit exams; the sheet of each is a row as soon as all is handed in."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nodulebench.annotation.exam import ExamSheet, sheet_json
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.database.models import ExamEdit, ExamResult, SiteExam
from nodulebench.web.portal.exams.service import KEY, find_exam, rules_of
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.drafts import SqlDrafts
from nodulebench.web.portal.viewer_access.recent import Recent
from nodulebench.web.portal.viewer_access.scans import images_of, voxels_of
from nodulebench.web.portal.viewer_access.steps import Steps
from nodulebench.web.viewer.drafts import Drafts
from nodulebench.web.viewer.exam import Exam, ExamRoom, exam_of
from nodulebench.web.viewer.scans import Scan, scans_of
from nodulebench.web.viewer.session import Voxels
from nodulebench.web.viewer.tiles import Tiles

ROOM = "exam_room"
MOST_ROOMS, MOST_EXAMS = 200, 20
"""That are held open; whoever comes back later gets theirs anew."""


@dataclass(frozen=True)
class Shared:
    """What all rooms of an exam have in common."""

    exam: Exam
    scans: Mapping[str, Scan]
    voxels: Voxels


class SiteExamRoom(ExamRoom):
    """The room of one account in one exam."""

    def __init__(self, folder: Path, shared: Shared, steps: Steps, visitor: Visitor) -> None:
        own = {"exam_id": steps.of, "account_id": visitor.account}
        drafts = SqlDrafts(steps, ExamEdit, **own)
        name = visitor.login
        super().__init__(folder, shared.scans, drafts, name, shared.exam, shared.voxels)
        self._steps = steps
        self._account = visitor.account

    def hand_in(self, number: int, tiles: Tiles, drafts: Drafts) -> None:  # noqa: ARG002
        """Freeze the reading of a sequence; nothing of it leaves the database."""
        drafts.hand_in(self.draft_key(number))

    def keep(self, sheet: ExamSheet) -> None:
        """Write the result down, once, with an event of the site."""
        own = {"exam_id": self._steps.of, "account_id": self._account}
        with self._steps.acting() as session:
            if session.get(ExamResult, own) is None:
                told = sheet_json(sheet)
                session.add(ExamResult(**own, has_passed=sheet.has_passed, sheet=told))
                site, facts = self._steps.site, {"exam": self._steps.of}
                site.record(session, self._account, "exam_sat", **facts, passed=sheet.has_passed)


class ExamRooms:
    """Every account's room in every exam of a site."""

    route = ROOM

    def __init__(self, site: Site) -> None:
        self.site = site
        self._shared: Recent[Shared] = Recent(MOST_EXAMS)
        self._rooms: Recent[SiteExamRoom] = Recent(MOST_ROOMS)

    def of(self, name: str, visitor: Visitor) -> SiteExamRoom:
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

    def _room(self, shared: Shared, exam_id: str, visitor: Visitor) -> SiteExamRoom:
        folder = self.site.exam(exam_id) / visitor.account
        return SiteExamRoom(folder, shared, Steps(self.site, exam_id), visitor)


def may_sit(exam: SiteExam, visitor: Visitor) -> bool:
    """Whether somebody cannot know the key: neither who made it, nor an organiser."""
    return exam.made_by != visitor.account and not visitor.is_organiser
