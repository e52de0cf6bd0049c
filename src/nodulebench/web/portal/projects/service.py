"""Projects come to the site, made there or on the command line, and leave it as folders again."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

import polars as pl
from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

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
from nodulebench.annotation.reader_view import unread_cases
from nodulebench.annotation.workflow.batch import Batch
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.io.atomic import make_folder, staged_folder
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import case_table_of
from nodulebench.io.json_files import write_json
from nodulebench.io.manifests import bytes_digest
from nodulebench.security.event_log.store import FolderStore
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.benchmarks.service import MOST_TITLE
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
from nodulebench.web.portal.projects.store import Books, books_of, project_folder, tell_step
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.reviews import images_of, voxels_of
from nodulebench.web.viewer.findings import grid_of
from nodulebench.web.viewer.scans import scans_in, scans_of, tiles_of

EXAM = "exam.json"
"""Beside a project that leaves the site: who passed the exam that it asks for."""


def make_project(
    site: Site,
    by: str,
    *,
    title: str,
    images: str,
    roster: bytes,
    cases: bytes = b"",
    workflow: str = "nifdc-2022",
    exam: bytes = b"",
    exam_id: str = "",
) -> str:
    """Make a project of a roster and scans; its id.

    Args:
        site: the site.
        by: the account that makes it.
        title: what it is called.
        images: the folder of its scans.
        roster: TOML of people, teams and rules, as ``annotate review start`` takes it.
        cases: table of cases; nothing: what the folder of scans says of itself.
        workflow: the name of a published workflow.
        exam: ``exam.json``: only who passed can read, review and arbitrate.
        exam_id: an exam of the site, in place of that: only accounts that passed it can.

    Raises:
        DeniedError: if the title or the folder is none.
        InputError: if roster, cases and scans do not go together.
    """
    place = images_of(site, images)
    with TemporaryDirectory() as scratch:
        given = Path(scratch)
        for name, content in (("roster.toml", roster), ("cases.csv", cases), (EXAM, exam)):
            (given / name).write_bytes(content)
        options = StartProjectOptions(
            folder=given / "project",
            roster=given / "roster.toml",
            cases=given / "cases.csv" if cases else _cases(site, place, given / "scans.csv"),
            workflow=workflow,
            exam=given / EXAM if exam else None,
            is_examined_later=bool(exam_id),
        )
        handle = start_project(options)
        return take_project(site, by, handle, title=title, images=images, exam_id=exam_id)


def _cases(site: Site, images: Path, file: Path) -> Path:
    """A table of the scans of a folder: its own, or one that is made by reading them all."""
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
    """Take a project over that was begun elsewhere, with its log; its id.

    Raises:
        DeniedError: if the title, the folder of scans or the exam is none.
        InputError: if its log does not hold, its people sign with keys, a scan is missing, or
            nobody says who passed the exam that it asks for.
    """
    title = title.strip()
    if not title or len(title) > MOST_TITLE or not title.isprintable():
        raise DeniedError("title_form")
    if handle.workflow.roster.keys:
        what = "names keys, which stay with their people: nobody could sign on a site."
        raise InputError.at(str(handle.folder), what, "Leave the keys out, or use 'read' at home.")
    if handle.workflow.rules.requires_exam and handle.passed is None and not exam_id:
        what = "asks for an exam, and does not say who passed it."
        raise InputError.at(str(handle.folder), what, "Make it anew, with an exam of the site.")
    raise_problems(audit_project(handle).problems)
    wanted = (handle.repeats.get(one, one) for one in handle.workflow.cases["case_id"])
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
        for one in store.read():
            session.add(ProjectEvent(project_id=project_id, number=one.number, content=one.content))
            tell_step(site, session, by, project_id, one)
        head = store.read_head()
        if head is not None:
            session.add(ProjectHead(project_id=project_id, content=head))
    return project_id


def write_out(books: Books, folder: Path) -> ProjectHandle:
    """Write a project as the folder that every command of ``annotate review`` takes.

    Raises:
        InputError: if the folder is there, or the log does not hold.
    """
    if folder.exists():
        raise InputError.at(str(folder), "is there already.", "Name a new folder.")
    with books.looking() as session:
        handle = books.on(session)
        raise_problems(project_problems(books, session))
        with staged_folder(folder, last=PROJECT, is_new=True) as stage:
            for name in (PROJECT, CASES):
                copyfile(handle.folder / name, stage / name)
            store, source = FolderStore(stage / EVENTS), handle.log.log.store
            make_folder(stage / EVENTS)
            for one in source.read():
                store.append(one.number, one.content)
            head = source.read_head()
            if head is not None:
                store.write_head(head)
            sheets = _sheets(session, books.project_id)
            if sheets is not None:
                write_json(sheets, stage / EXAM)
    return open_project(folder)


def _sheets(session: Transaction, project_id: str) -> list[JsonObject] | None:
    """The results of an exam of the site by who people are in a project; None: it asks for none."""
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


def project_problems(books: Books, session: Transaction) -> Iterator[Problem]:
    """What is wrong with the log of a project: by itself, and by what the log of the site says."""
    handle = books.on(session)
    yield from audit_project(handle).problems
    told = {
        (event.facts.get("number"), event.facts.get("digest"))
        for event in check_log(session, books.site.key).events
        if event.action == "project_step" and event.facts.get("project") == books.project_id
    }
    for stored in handle.log.log.store.read():
        if (stored.number, bytes_digest(stored.content)) not in told:
            yield Problem(stored.where, "is not what the log of the site tells of it.")


def find_project(session: Transaction, project_id: str) -> AnnotationProject:
    """A project.

    Raises:
        DeniedError: if there is none.
    """
    found = session.scalar(select(AnnotationProject).where(AnnotationProject.id == project_id))
    if found is None:
        raise DeniedError("not_found", 404)
    return found


def open_books(site: Site, project_id: str, account: str) -> Books:
    """A project for an account, whoever that is in it.

    Raises:
        DeniedError: if there is none.
    """
    with site.database.reading() as session:
        find_project(session, project_id)
    return books_of(site, project_id, account)


def state_of(
    books: Books, session: Transaction, handle: ProjectHandle, *, checks: bool
) -> tuple[list[str] | None, list[Batch], int]:
    """What is wrong with the log, batches, and how many cases none has; None: it was not checked.

    Checking it all takes as long as both logs are; what is shown is checked in any case.
    """
    problems = [str(problem) for problem in project_problems(books, session)] if checks else None
    try:
        return problems, list(handle.batches().values()), len(unread_cases(handle))
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
    lines = [line_of(batch, {}) for batch in batches]
    return Progress(
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
    """A batch as the table of a project shows it."""
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
