"""Projects: made on the site or imported from a folder, and exported to a folder again."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

import polars as pl
from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.annotation.batch import Batch
from nodulebench.annotation.project import (
    CASES,
    EVENTS,
    PROJECT,
    ProjectHandle,
    StartProjectOptions,
    audit_project,
    open_project,
    start_project,
)
from nodulebench.annotation.tasks import unread_cases
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.io.atomic import make_folder, staged_folder
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import case_table_of
from nodulebench.io.json_files import write_json
from nodulebench.io.manifests import bytes_digest
from nodulebench.security.event_log import FolderStore
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.benchmarks.service import MAX_TITLE
from nodulebench.web.portal.database.event_log import check_log
from nodulebench.web.portal.database.models import (
    AnnotationProject,
    ProjectEvent,
    ProjectExam,
    ProjectHead,
    new_id,
)
from nodulebench.web.portal.exams.service import disclosed_sheet, find_exam, results_of
from nodulebench.web.portal.projects.members import Member, exam_of_project, is_blind, members_of
from nodulebench.web.portal.projects.store import (
    ProjectAccess,
    project_access,
    project_folder,
    record_step,
)
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.reviews import images_of, voxels_of
from nodulebench.web.viewer.findings import grid_of
from nodulebench.web.viewer.scans import scans_in, scans_of, tiles_of

EXAM = "exam.json"
"""File of an exported project: who passed the required exam."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectOptions:
    """What an organiser chooses and uploads for a new project."""

    title: str
    images: str
    """The folder of its scans, one of ``scan_folders``."""
    roster: bytes
    """TOML of people, teams and rules, as ``annotate review start`` takes it."""
    cases: bytes = b""
    """Table of cases; empty: the table is made from the scans."""
    workflow: str = "nifdc-2022"
    exam: bytes = b""
    """``exam.json``: only people who passed can read, review and arbitrate."""
    exam_id: str = ""
    """An exam of the site instead: only accounts that passed it can."""


def make_project(site: Site, by: str, options: ProjectOptions) -> str:
    images = images_of(site, options.images)
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = (
            ("roster.toml", options.roster),
            ("cases.csv", options.cases),
            (EXAM, options.exam),
        )
        for name, content in files:
            (folder / name).write_bytes(content)
        start = StartProjectOptions(
            folder=folder / "project",
            roster=folder / "roster.toml",
            cases=folder / "cases.csv"
            if options.cases
            else _cases(site, images, folder / "scans.csv"),
            workflow=options.workflow,
            exam=folder / EXAM if options.exam else None,
            is_examined_later=bool(options.exam_id),
        )
        handle = start_project(start)
        return take_project(
            site, by, handle, title=options.title, images=options.images, exam_id=options.exam_id
        )


def _cases(site: Site, images: Path, file: Path) -> Path:
    if case_table_of(images) is not None:
        return images
    voxels = voxels_of(site)
    grids = {scan.case_id: grid_of(tiles_of(scan, voxels)) for scan in scans_in(images)}
    rows = [{"case_id": name, **geometry_columns(grid)} for name, grid in grids.items()]
    write_csv(pl.DataFrame(rows), file)
    return file


def take_project(
    site: Site, by: str, handle: ProjectHandle, *, title: str, images: str, exam_id: str = ""
) -> str:
    """Import a project with its log; return its id.

    Refused if its log is not valid, its people sign with keys, or a scan or exam result is missing.
    """
    title = title.strip()
    if not title or len(title) > MAX_TITLE or not title.isprintable():
        raise DeniedError("title_form")
    if handle.workflow.roster.keys:
        what = "names personal keys, which cannot sign on a site."
        raise InputError.at(str(handle.folder), what, "Remove the keys, or use 'read' locally.")
    if handle.workflow.rules.requires_exam and handle.passed is None and not exam_id:
        what = "requires an exam, but does not say who passed it."
        raise InputError.at(str(handle.folder), what, "Make it again with an exam of the site.")
    raise_problems(audit_project(handle).problems)
    wanted = (handle.repeats.get(case_id, case_id) for case_id in handle.workflow.cases["case_id"])
    scans_of(images_of(site, images), wanted)
    project_id = new_id()
    folder = project_folder(site, project_id)
    make_folder(folder)
    for name in (PROJECT, CASES):
        copyfile(handle.folder / name, folder / name)
    store = FolderStore(handle.folder / EVENTS)
    root = handle.log.log.root
    with site.acting(by, "project_made", project=project_id, digest=root) as session:
        session.add(AnnotationProject(id=project_id, title=title, images=images))
        session.flush()
        if exam_id:
            exam = find_exam(session, exam_id)
            session.add(ProjectExam(project_id=project_id, exam_id=exam.id))
        for event in store.read():
            session.add(
                ProjectEvent(project_id=project_id, number=event.number, content=event.content)
            )
            record_step(site, session, by, project_id, event)
        head = store.read_head()
        if head is not None:
            session.add(ProjectHead(project_id=project_id, content=head))
    return project_id


def write_project(access: ProjectAccess, folder: Path) -> ProjectHandle:
    if folder.exists():
        raise InputError.at(str(folder), "exists already.", "Name a new folder.")
    with access.reading() as session:
        handle = access.on(session)
        raise_problems(project_problems(access, session))
        with staged_folder(folder, last=PROJECT, is_new=True) as stage:
            for name in (PROJECT, CASES):
                copyfile(handle.folder / name, stage / name)
            store, source = FolderStore(stage / EVENTS), handle.log.log.store
            make_folder(stage / EVENTS)
            for event in source.read():
                store.append(event.number, event.content)
            head = source.read_head()
            if head is not None:
                store.write_head(head)
            sheets = _sheets(session, access.project_id)
            if sheets is not None:
                write_json(sheets, stage / EXAM)
    return open_project(folder)


def _sheets(session: Transaction, project_id: str) -> list[JsonObject] | None:
    exam_id = exam_of_project(session, project_id)
    if exam_id is None:
        return None
    members = members_of(session, project_id).values()
    results = {result.account_id: result for result in results_of(session, exam_id)}
    return [
        disclosed_sheet(results[member.account], member.person)
        for member in members
        if member.account in results
    ]


def project_problems(access: ProjectAccess, session: Transaction) -> Iterator[Problem]:
    """Problems of the log of a project, in itself and compared with the log of the site."""
    handle = access.on(session)
    yield from audit_project(handle).problems
    problems = {
        (event.facts.get("number"), event.facts.get("digest"))
        for event in check_log(session, access.site.key).events
        if event.action == "project_step" and event.facts.get("project") == access.project_id
    }
    for stored in handle.log.log.store.read():
        if (stored.number, bytes_digest(stored.content)) not in problems:
            yield Problem(stored.where, "differs from the log of the site.")


def find_project(session: Transaction, project_id: str) -> AnnotationProject:
    project = session.scalar(select(AnnotationProject).where(AnnotationProject.id == project_id))
    if project is None:
        raise DeniedError("not_found", 404)
    return project


def open_project_access(site: Site, project_id: str, account: str) -> ProjectAccess:
    with site.database.reading() as session:
        find_project(session, project_id)
    return project_access(site, project_id, account)


def state_of(
    access: ProjectAccess, session: Transaction, handle: ProjectHandle, *, checks: bool
) -> tuple[list[str] | None, list[Batch], int]:
    """Problems of the log (None: not checked, as it takes long), batches, cases in no batch."""
    problems = [str(problem) for problem in project_problems(access, session)] if checks else None
    try:
        return problems, list(handle.batches().values()), len(unread_cases(handle))
    except InputError as error:
        return problems or [str(error)], [], 0


@dataclass(frozen=True, slots=True)
class ProjectProgress:
    """The progress of a project, for the dashboard."""

    project: AnnotationProject
    is_visible: bool
    """Hidden from readers of the project, and if its log is not valid."""
    batches: int = 0
    released: int = 0
    read: int = 0
    to_read: int = 0
    disputes: int = 0
    unread: int = 0


def all_progress(site: Site, session: Transaction, account: str) -> list[ProjectProgress]:
    query = select(AnnotationProject).order_by(AnnotationProject.created_at.desc())
    return [_progress(site, session, project, account) for project in session.scalars(query)]


def _progress(
    site: Site, session: Transaction, project: AnnotationProject, account: str
) -> ProjectProgress:
    try:
        access = project_access(site, project.id, account)
    except InputError:  # the page of the project shows the problems
        return ProjectProgress(project, is_visible=False)
    if is_blind(session, access, account):
        return ProjectProgress(project, is_visible=False)
    problems, batches, unread = state_of(access, session, access.on(session), checks=False)
    lines = [line_of(batch, {}) for batch in batches]
    return ProjectProgress(
        project,
        not problems,
        len(lines),
        sum(line["state"] == "released" for line in lines),
        sum(line["read"] for line in lines),
        sum(line["to_read"] for line in lines),
        sum(line["disputes"] or 0 for line in lines),
        unread,
    )


def line_of(batch: Batch, members: dict[str, Member]) -> JsonObject:
    order = batch.order
    absent = [reader_id for reader_id in batch.reader_ids if reader_id not in members]
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
