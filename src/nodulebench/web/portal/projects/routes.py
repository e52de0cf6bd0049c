"""Annotation projects: who takes part, how far batches are, what an organiser does with them."""

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from nodulebench.annotation.project import ProjectHandle
from nodulebench.annotation.reader_view import unread_cases
from nodulebench.annotation.release import export_released
from nodulebench.annotation.reviewers import draw_reviewer, open_batch
from nodulebench.annotation.workflow.actions import ASPECTS, WORKFLOWS, ApproveBatch, ReleaseBatch
from nodulebench.core.errors import NoduleBenchError
from nodulebench.core.json_types import JsonObject
from nodulebench.web.portal.accounts.roles import may
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.database.models import (
    Account,
    AnnotationProject,
    ProjectMember,
    SiteExam,
)
from nodulebench.web.portal.exams.service import passed_accounts
from nodulebench.web.portal.exams.sessions import exams_for
from nodulebench.web.portal.guard import AtSite, By, Sent, field
from nodulebench.web.portal.page import rendered, see
from nodulebench.web.portal.projects.members import (
    Member,
    assign,
    exam_of_project,
    has_passed,
    is_blind,
    may_be,
    members_of,
    person_of,
    reads,
)
from nodulebench.web.portal.projects.service import (
    find_project,
    line_of,
    make_project,
    open_books,
    state_of,
    write_out,
)
from nodulebench.web.portal.projects.sessions import ROUTE, ProjectSessions
from nodulebench.web.portal.projects.store import Books
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.reviews import scan_folders

router = APIRouter(include_in_schema=False)


def _sessions(request: Request) -> ProjectSessions:
    rooms: ProjectSessions = request.app.state.rooms
    return rooms


OpenSessions = Annotated[ProjectSessions, Depends(_sessions)]


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks what of a project, and where it is found."""

    request: Request
    site: AtSite
    by: By
    rooms: OpenSessions
    project_id: str

    def does(self, step: Callable[[ProjectHandle, str], object]) -> Response:
        """Take a step as the person that an account is; what is refused is told on the page."""
        books = open_books(self.site, self.project_id, self.by.account)
        with self.site.database.reading() as session:
            actor = person_of(session, self.project_id, self.by.account)
        if actor is None:
            raise DeniedError("nobody_here", 409)
        try:
            with books.handle(acts=True) as handle:
                step(handle, actor)
        except NoduleBenchError as error:
            return _page(self, 422, wrong=str(error))
        return see(f"/projects/{self.project_id}")


Asking = Annotated[Asked, Depends()]


@router.get("/projects", name="projects")
def projects(request: Request, site: AtSite, by: By, rooms: OpenSessions) -> Response:
    """The projects in which somebody has a part, and how much is left there; organisers see all."""
    with site.database.reading() as session:
        own = select(AnnotationProject).order_by(AnnotationProject.created_at.desc())
        if not _oversees(by):
            mine = select(ProjectMember.project_id).where(ProjectMember.account_id == by.account)
            own = own.where(AnnotationProject.id.in_(mine))
        found = list(session.scalars(own))
        exams = exams_for(session, by)
    lines = [(one, _stands(rooms, one.id, by)) for one in found]
    return rendered(request, "projects.html", lines=lines, exams=exams)


@router.get("/projects/new", name="new_project_page")
def new_project_page(request: Request, site: AtSite) -> Response:
    """The form for a new project."""
    return _form(request, site)


@router.post("/projects/new", name="new_project")
def new_project(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """Make a project of a roster and a folder of scans."""
    given = {name: field(form, name) for name in ("title", "images", "workflow", "exam_id")}
    try:
        made = make_project(
            site,
            by.account,
            title=given["title"],
            images=given["images"],
            workflow=given["workflow"],
            roster=_sent(form, "roster"),
            cases=_sent(form, "cases"),
            exam=_sent(form, "exam"),
            exam_id=field(form, "exam_id"),
        )
    except NoduleBenchError as error:
        return _form(request, site, 422, wrong=str(error), given=given)
    books = open_books(site, made, by.account)
    people = books.base.workflow.roster.people
    office = next(
        (person for person in people if "organiser" in person.roles and not reads(person)), None
    )
    if office is not None and may_be(office, by.roles):
        assign(books, by.account, office.person_id, by.account)
    return see(f"/projects/{made}")


@router.get("/projects/{project_id}", name="project")
def project(asked: Asking, check: str = "") -> Response:
    """A project: to who takes part what is left, to organisers and auditors how it stands."""
    return _page(asked, checks=check == "yes")


@router.post("/projects/{project_id}/people", name="assign_person")
def assign_person(site: AtSite, by: By, form: Sent, project_id: str) -> Response:
    """Let an account be a person of the project."""
    books = open_books(site, project_id, by.account)
    assign(books, by.account, field(form, "person"), field(form, "account"))
    return see(f"/projects/{project_id}")


@router.post("/projects/{project_id}/batches", name="open_batch")
def open_one(asked: Asking, form: Sent) -> Response:
    """Give cases to a team: those that are named, or all that no batch has."""
    named = field(form, "cases", most=200_000).split()

    def step(handle: ProjectHandle, actor: str) -> None:
        open_batch(
            handle,
            actor,
            field(form, "batch"),
            field(form, "team"),
            named or unread_cases(handle),
            reviewer_id=field(form, "reviewer") or None,
        )

    return asked.does(step)


@router.post("/projects/{project_id}/batches/{batch_id}/draw", name="draw_reviewer")
def draw_one(asked: Asking, batch_id: str) -> Response:
    """Draw who reviews a batch that all have read."""
    return asked.does(lambda handle, actor: draw_reviewer(handle, actor, batch_id))


@router.post("/projects/{project_id}/batches/{batch_id}/approve", name="approve_batch")
def approve_one(asked: Asking, form: Sent, batch_id: str) -> Response:
    """Approve a batch for release, as commission; or say why not."""
    inspected = tuple(aspect for aspect in ASPECTS if aspect in form.getlist("inspected"))
    approves = field(form, "approves") == "yes"
    comment = field(form, "comment")

    def step(handle: ProjectHandle, actor: str) -> None:
        said = {"approves": approves, "inspected": inspected, "comment": comment}
        handle.does(actor, ApproveBatch(batch_id=batch_id, **said))

    return asked.does(step)


@router.post("/projects/{project_id}/batches/{batch_id}/release", name="release_batch")
def release_one(asked: Asking, batch_id: str) -> Response:
    """Release a batch of a workflow in which nobody settles disputes."""
    return asked.does(lambda handle, actor: handle.does(actor, ReleaseBatch(batch_id=batch_id)))


@router.get("/projects/{project_id}/project.zip", name="project_files")
def project_files(site: AtSite, by: By, project_id: str) -> Response:
    """The project as the folder that commands take."""
    return _zipped(site, by, project_id, "project", lambda books, to: write_out(books, to))


@router.get("/projects/{project_id}/reference.zip", name="project_reference")
def project_reference(site: AtSite, by: By, project_id: str) -> Response:
    """What was released, as a bundle that ``evaluate`` takes."""

    def write(books: Books, to: Path) -> None:
        with books.handle() as handle:
            export_released(handle, to)

    return _zipped(site, by, project_id, "reference", write)


def _zipped(site: Site, by: Visitor, project_id: str, name: str, write: Any) -> Response:
    """A folder that is made for somebody who is not blind to what it holds."""
    books = open_books(site, project_id, by.account)
    with site.database.reading() as session:
        if is_blind(session, books, by.account):
            raise DeniedError("not_allowed", 403)
    content = io.BytesIO()
    with TemporaryDirectory() as scratch, zipfile.ZipFile(content, "w") as archive:
        folder = Path(scratch) / name
        write(books, folder)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(scratch), zipfile.ZIP_DEFLATED)
    with site.acting(by.account, "project_taken", project=project_id, what=name):
        pass
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    return Response(content.getvalue(), headers=headers, media_type="application/zip")


def _oversees(by: Visitor) -> bool:
    return bool({"organiser", "auditor"} & by.roles)


def _stands(rooms: ProjectSessions, project_id: str, by: Visitor) -> list[JsonObject] | None:
    """How far somebody's own part is; None: they have none."""
    if not may(by.roles, ROUTE):
        return None
    try:
        return rooms.of(project_id, by).batch_statuses()
    except DeniedError:
        return None


def _page(asked: Asked, status: int = 200, *, wrong: str = "", checks: bool = False) -> Response:
    site, by, project_id = asked.site, asked.by, asked.project_id
    books = open_books(site, project_id, by.account)
    roster = books.base.workflow.roster
    with site.database.reading() as session:
        found = find_project(session, project_id)
        person = person_of(session, project_id, by.account)
        oversees = _oversees(by) and not is_blind(session, books, by.account)
        if person is None and not oversees:
            raise DeniedError("not_found", 404)
        values: JsonObject = {"batches": [], "people": [], "problems": None, "fitting": {}}
        if oversees:
            handle = books.on(session)
            members = members_of(session, project_id)
            problems, batches, unread = state_of(books, session, handle, checks=checks)
            accounts = list(session.scalars(select(Account).where(Account.closed_at.is_(None))))
            exam_id = exam_of_project(session, project_id)
            passed = passed_accounts(session, exam_id)
            values = {
                "batches": [line_of(batch, members) for batch in batches],
                "people": [(one, members.get(one.person_id)) for one in roster.people],
                "problems": problems,
                "fitting": {
                    one.person_id: [
                        account
                        for account in accounts
                        if may_be(one, frozenset(account.roles))
                        and has_passed(one, account.id, passed)
                    ]
                    for one in roster.people
                },
                "unread": unread,
                "exam_id": exam_id,
                "passed": _passed(books, members, passed),
            }
    return rendered(
        asked.request,
        "project.html",
        status,
        project=found,
        person=person,
        oversees=oversees,
        stands=_stands(asked.rooms, project_id, by),
        roster=roster,
        rules=books.base.workflow.rules,
        aspects=ASPECTS,
        wrong=wrong,
        **values,
    )


def _passed(
    books: Books, members: dict[str, Member], accounts: frozenset[str] | None
) -> frozenset[str] | None:
    """The people who passed the exam of a project, here or elsewhere; None: it asks for none."""
    if accounts is None:
        return None if books.base.passed is None else frozenset(books.base.passed)
    return frozenset(name for name, member in members.items() if member.account in accounts)


def _form(request: Request, site: Site, status: int = 200, **values: Any) -> Response:
    with site.database.reading() as session:
        exams = list(session.scalars(select(SiteExam).order_by(SiteExam.created_at.desc())))
    choices = {"folders": scan_folders(site), "workflows": tuple(WORKFLOWS), "exams": exams}
    return rendered(
        request, "new_project.html", status, **{"wrong": "", "given": {}, **choices, **values}
    )


def _sent(form: FormData, name: str) -> bytes:
    """The bytes of a file of a form; nothing where none was chosen."""
    found = form.get(name)
    return found.file.read() if isinstance(found, UploadFile) else b""
