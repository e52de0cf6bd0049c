"""Pages of annotation projects: people, progress of batches, and actions of organisers."""

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from nodulebench.annotation.actions import ASPECTS, WORKFLOWS, ApproveBatch, ReleaseBatch
from nodulebench.annotation.project import ProjectHandle
from nodulebench.annotation.release import export_released
from nodulebench.annotation.reviewer_draw import draw_reviewer, open_batch
from nodulebench.annotation.tasks import unread_cases
from nodulebench.core.errors import NoduleBenchError
from nodulebench.core.json_types import JsonObject
from nodulebench.web.portal.accounts.roles import may
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.models import (
    Account,
    AnnotationProject,
    ProjectMember,
    SiteExam,
)
from nodulebench.web.portal.exams.service import passed_accounts
from nodulebench.web.portal.exams.sessions import exams_for
from nodulebench.web.portal.guard import CurrentSite, CurrentUser, SentForm, field
from nodulebench.web.portal.page import redirect, render_page
from nodulebench.web.portal.projects.members import (
    Member,
    assign,
    can_be,
    exam_of_project,
    has_passed,
    is_blind,
    members_of,
    person_of,
    reads,
)
from nodulebench.web.portal.projects.service import (
    ProjectOptions,
    find_project,
    line_of,
    make_project,
    open_project_access,
    state_of,
    write_project,
)
from nodulebench.web.portal.projects.sessions import ROUTE, ProjectSessions
from nodulebench.web.portal.projects.store import ProjectAccess
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.reviews import scan_folders

router = APIRouter(include_in_schema=False)


def _sessions(request: Request) -> ProjectSessions:
    sessions: ProjectSessions = request.app.state.sessions
    return sessions


OpenSessions = Annotated[ProjectSessions, Depends(_sessions)]


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """The project that a request is about, and who asks."""

    request: Request
    site: CurrentSite
    by: CurrentUser
    sessions: OpenSessions
    project_id: str

    def take_step(self, step: Callable[[ProjectHandle, str], object]) -> Response:
        """Take a workflow step as the person of the account; a refusal is shown on the page."""
        access = open_project_access(self.site, self.project_id, self.by.account)
        with self.site.database.reading() as session:
            actor = person_of(session, self.project_id, self.by.account)
        if actor is None:
            raise DeniedError("no_part", 409)
        try:
            with access.handle(acts=True) as handle:
                step(handle, actor)
        except NoduleBenchError as error:
            return _page(self, 422, wrong=str(error))
        return redirect(f"/projects/{self.project_id}")


InProject = Annotated[ProjectContext, Depends()]


@router.get("/projects", name="projects")
def projects(
    request: Request, site: CurrentSite, by: CurrentUser, sessions: OpenSessions
) -> Response:
    with site.database.reading() as session:
        own = select(AnnotationProject).order_by(AnnotationProject.created_at.desc())
        if not _oversees(by):
            mine = select(ProjectMember.project_id).where(ProjectMember.account_id == by.account)
            own = own.where(AnnotationProject.id.in_(mine))
        own_projects = list(session.scalars(own))
        exams = exams_for(session, by)
    lines = [(project, _remaining_cases(sessions, project.id, by)) for project in own_projects]
    return render_page(request, "projects.html", lines=lines, exams=exams)


@router.get("/projects/new", name="new_project_page")
def new_project_page(request: Request, site: CurrentSite) -> Response:
    return _form(request, site)


@router.post("/projects/new", name="new_project")
def new_project(request: Request, site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    given = {name: field(form, name) for name in ("title", "images", "workflow", "exam_id")}
    try:
        options = ProjectOptions(
            title=given["title"],
            images=given["images"],
            roster=_file_of(form, "roster"),
            cases=_file_of(form, "cases"),
            workflow=given["workflow"],
            exam=_file_of(form, "exam"),
            exam_id=given["exam_id"],
        )
        project_id = make_project(site, by.account, options)
    except NoduleBenchError as error:
        return _form(request, site, 422, wrong=str(error), given=given)
    access = open_project_access(site, project_id, by.account)
    people = access.base.workflow.roster.people
    office = next(
        (person for person in people if "organiser" in person.roles and not reads(person)), None
    )
    if office is not None and can_be(office, by.roles):
        assign(access, by.account, office.person_id, by.account)
    return redirect(f"/projects/{project_id}")


@router.get("/projects/{project_id}", name="project")
def project(context: InProject, check: str = "") -> Response:
    return _page(context, checks=check == "yes")


@router.post("/projects/{project_id}/people", name="assign_person")
def assign_person(site: CurrentSite, by: CurrentUser, form: SentForm, project_id: str) -> Response:
    access = open_project_access(site, project_id, by.account)
    assign(access, by.account, field(form, "person"), field(form, "account"))
    return redirect(f"/projects/{project_id}")


@router.post("/projects/{project_id}/batches", name="open_batch")
def open_project_batch(context: InProject, form: SentForm) -> Response:
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

    return context.take_step(step)


@router.post("/projects/{project_id}/batches/{batch_id}/draw", name="draw_reviewer")
def draw_batch_reviewer(context: InProject, batch_id: str) -> Response:
    return context.take_step(lambda handle, actor: draw_reviewer(handle, actor, batch_id))


@router.post("/projects/{project_id}/batches/{batch_id}/approve", name="approve_batch")
def approve_project_batch(context: InProject, form: SentForm, batch_id: str) -> Response:
    inspected = tuple(aspect for aspect in ASPECTS if aspect in form.getlist("inspected"))
    approves = field(form, "approves") == "yes"
    comment = field(form, "comment")

    def step(handle: ProjectHandle, actor: str) -> None:
        statement = {"approves": approves, "inspected": inspected, "comment": comment}
        handle.act(actor, ApproveBatch(batch_id=batch_id, **statement))

    return context.take_step(step)


@router.post("/projects/{project_id}/batches/{batch_id}/release", name="release_batch")
def release_project_batch(context: InProject, batch_id: str) -> Response:
    return context.take_step(
        lambda handle, actor: handle.act(actor, ReleaseBatch(batch_id=batch_id))
    )


@router.get("/projects/{project_id}/project.zip", name="project_files")
def project_files(site: CurrentSite, by: CurrentUser, project_id: str) -> Response:
    return _zipped(site, by, project_id, "project", lambda access, to: write_project(access, to))


@router.get("/projects/{project_id}/reference.zip", name="project_reference")
def project_reference(site: CurrentSite, by: CurrentUser, project_id: str) -> Response:
    def write(access: ProjectAccess, to: Path) -> None:
        with access.handle() as handle:
            export_released(handle, to)

    return _zipped(site, by, project_id, "reference", write)


def _zipped(
    site: Site, by: User, project_id: str, name: str, write: Callable[[ProjectAccess, Path], object]
) -> Response:
    """A zip file of a folder, for users who are not blind to its content."""
    access = open_project_access(site, project_id, by.account)
    with site.database.reading() as session:
        if is_blind(session, access, by.account):
            raise DeniedError("not_allowed", 403)
    content = io.BytesIO()
    with TemporaryDirectory() as scratch, zipfile.ZipFile(content, "w") as archive:
        folder = Path(scratch) / name
        write(access, folder)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(scratch), zipfile.ZIP_DEFLATED)
    with site.acting(by.account, "project_taken", project=project_id, what=name):
        pass
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    return Response(content.getvalue(), headers=headers, media_type="application/zip")


def _oversees(by: User) -> bool:
    return bool({"organiser", "auditor"} & by.roles)


def _remaining_cases(
    sessions: ProjectSessions, project_id: str, by: User
) -> list[JsonObject] | None:
    if not may(by.roles, ROUTE):
        return None
    try:
        return sessions.of(project_id, by).batch_statuses()
    except DeniedError:
        return None


def _page(
    context: ProjectContext, status: int = 200, *, wrong: str = "", checks: bool = False
) -> Response:
    site, by, project_id = context.site, context.by, context.project_id
    access = open_project_access(site, project_id, by.account)
    roster = access.base.workflow.roster
    with site.database.reading() as session:
        project = find_project(session, project_id)
        person = person_of(session, project_id, by.account)
        oversees = _oversees(by) and not is_blind(session, access, by.account)
        if person is None and not oversees:
            raise DeniedError("not_found", 404)
        values: JsonObject = {"batches": [], "people": [], "problems": None, "fitting": {}}
        if oversees:
            handle = access.on(session)
            members = members_of(session, project_id)
            problems, batches, unread = state_of(access, session, handle, checks=checks)
            accounts = list(session.scalars(select(Account).where(Account.closed_at.is_(None))))
            exam_id = exam_of_project(session, project_id)
            passed = passed_accounts(session, exam_id)
            values = {
                "batches": [line_of(batch, members) for batch in batches],
                "people": [(person, members.get(person.person_id)) for person in roster.people],
                "problems": problems,
                "fitting": {
                    person.person_id: [
                        account
                        for account in accounts
                        if can_be(person, frozenset(account.roles))
                        and has_passed(person, account.id, passed)
                    ]
                    for person in roster.people
                },
                "unread": unread,
                "exam_id": exam_id,
                "passed": _passed(access, members, passed),
            }
    return render_page(
        context.request,
        "project.html",
        status,
        project=project,
        person=person,
        oversees=oversees,
        remaining=_remaining_cases(context.sessions, project_id, by),
        roster=roster,
        rules=access.base.workflow.rules,
        aspects=ASPECTS,
        wrong=wrong,
        **values,
    )


def _passed(
    access: ProjectAccess, members: dict[str, Member], accounts: frozenset[str] | None
) -> frozenset[str] | None:
    if accounts is None:
        return None if access.base.passed is None else frozenset(access.base.passed)
    return frozenset(name for name, member in members.items() if member.account in accounts)


def _form(request: Request, site: Site, status: int = 200, **values: object) -> Response:
    with site.database.reading() as session:
        exams = list(session.scalars(select(SiteExam).order_by(SiteExam.created_at.desc())))
    choices = {"folders": scan_folders(site), "workflows": tuple(WORKFLOWS), "exams": exams}
    return render_page(
        request, "new_project.html", status, **{"wrong": "", "given": {}, **choices, **values}
    )


def _file_of(form: FormData, name: str) -> bytes:
    file = form.get(name)
    return file.file.read() if isinstance(file, UploadFile) else b""
