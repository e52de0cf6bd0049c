"""Pages of submissions: check without a score, submit, and the pages of entries."""

import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from time import monotonic

import anyio
from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.optional_packages import is_installed
from nodulebench.evaluation.check import Checked
from nodulebench.evaluation.report import ReportChoice, write_report
from nodulebench.evaluation.result_folder import EVALUATION
from nodulebench.i18n.translator import portal_translator
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import ANONYMOUS, User
from nodulebench.web.portal.benchmarks.rules import ANSWERS, Answer, Training, accepted_rules
from nodulebench.web.portal.benchmarks.service import (
    TRACKS,
    find_benchmark,
    known_cases,
    rules_of,
    state_of,
)
from nodulebench.web.portal.database.models import Benchmark, Entry, Job, Result
from nodulebench.web.portal.guard import CurrentSite, CurrentUser, SentForm, field
from nodulebench.web.portal.leaderboards.certificates import certificate_of
from nodulebench.web.portal.leaderboards.entry_page import audience_of, history_of, view_of_result
from nodulebench.web.portal.leaderboards.leaderboard import badge_of
from nodulebench.web.portal.leaderboards.rankings import compared, counted_results
from nodulebench.web.portal.page import language_of, redirect, render_page
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions import service as entries
from nodulebench.web.portal.submissions.checks import check_submission, declared_training
from nodulebench.web.portal.submissions.jobs import ENDED
from nodulebench.web.portal.submissions.scoring import disclosed_digests
from nodulebench.web.portal.submissions.service import (
    SubmitOptions,
    Upload,
    file_name,
    find_entry,
    find_own,
    is_nameless,
    require_open,
    result_of,
    shown_account,
    shown_name,
    store_upload,
    submit,
)
from nodulebench.web.portal.viewer_access.reviews import review_place

router = APIRouter(include_in_schema=False)
FREE_TEXTS = ("about", "training", "link")
FOLDS = "folds"
"""Subfolder of an upload with a table of folds."""


@router.get("/benchmarks/{benchmark_id}/submit", name="submit_page")
def submit_page(
    request: Request, site: CurrentSite, by: CurrentUser, benchmark_id: str
) -> Response:
    return _form_page(request, site, by, benchmark_id)


@router.post("/benchmarks/{benchmark_id}/validate", name="validate")
def validate(
    request: Request, site: CurrentSite, by: CurrentUser, form: SentForm, benchmark_id: str
) -> Response:
    return _answer(request, site, by, form, benchmark_id, is_sent=False)


@router.post("/benchmarks/{benchmark_id}/submit", name="submit")
def send(
    request: Request, site: CurrentSite, by: CurrentUser, form: SentForm, benchmark_id: str
) -> Response:
    return _answer(request, site, by, form, benchmark_id, is_sent=True)


def _answer(
    request: Request, site: Site, by: User, form: FormData, benchmark_id: str, *, is_sent: bool
) -> Response:
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        return _form_page(request, site, by, benchmark_id, 400, code="file_missing")
    with site.database.reading() as session:
        benchmark = find_benchmark(session, by, benchmark_id)
        if is_sent:
            require_open(session, by, benchmark)
    given = {name: field(form, name) for name in ("name", "track", *FREE_TEXTS)}
    track = given["track"] or next(iter(rules_of(benchmark).open_tracks), TRACKS[0])
    options = SubmitOptions(**{**given, "track": track}, trained=_answer_of(form))
    given["trained"] = options.trained
    values: dict[str, object] = {"given": given, "file": file.filename}
    with store_upload(site, file.filename, file.file, by.account) as sent:
        try:
            check, training = _check(site, benchmark, sent, options, _folds(form, sent))
            values["check"] = check
            if not is_sent or check.problems:
                status = 422 if check.problems else 200
                return _form_page(request, site, by, benchmark_id, status, **values)
            entry = submit(site, by, benchmark_id, sent, options, training=training)
        except DeniedError as error:
            values["code"] = error.code
            return _form_page(request, site, by, benchmark_id, error.status, **values)
    return redirect(f"/entries/{entry.id}")


def _check(
    site: Site, benchmark: Benchmark, sent: Upload, options: SubmitOptions, folds: Path | None
) -> tuple[Checked, Training]:
    check = check_submission(site, benchmark, sent, options.track)
    try:
        return check, declared_training(site, benchmark, options.trained, folds)
    except InputError as error:
        return replace(check, problems=(*check.problems, *error.problems)), Training()


def _answer_of(form: FormData) -> Answer:
    stated = field(form, "trained")
    return next((answer for answer in ANSWERS if answer == stated), "")


def _folds(form: FormData, sent: Upload) -> Path | None:
    file = form.get("folds")
    if not isinstance(file, UploadFile) or not file.filename:
        return None
    path = sent.path.parent / FOLDS / file_name(file.filename)
    path.parent.mkdir()
    with path.open("xb") as target:
        shutil.copyfileobj(file.file, target)
    return path


def _form_page(
    request: Request, site: Site, by: User, benchmark_id: str, status: int = 200, **shown: object
) -> Response:
    with site.database.reading() as session:
        benchmark = find_benchmark(session, by, benchmark_id)
    cases = known_cases(site, benchmark)
    values = {
        "benchmark": benchmark,
        "rules": rules_of(benchmark),
        "state": state_of(benchmark),
        "answers": () if benchmark.is_sealed else ANSWERS,
        "cases": None if cases is None else cases.height,
        "largest": site.settings.largest_upload,
    }
    empty: dict[str, object] = {"check": None, "given": {}, "code": "", "file": ""}
    return render_page(request, "submit.html", status, **{**empty, **shown}, **values)


REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "script-src 'unsafe-inline'"
)
"""For reports, which themselves name the only script that may run."""
EVERY_S = 0.5
LONGEST_S, SILENT_S = 600, 20.0
"""After this time the browser connects again."""


@router.get("/entries", name="own_entries")
def own_entries(request: Request, site: CurrentSite, by: CurrentUser) -> Response:
    with site.database.reading() as session:
        own = select(Entry).where(Entry.account_id == by.account).order_by(Entry.created_at.desc())
        lines = [(entry, entry.benchmark, job_of(session, entry)) for entry in session.scalars(own)]
        translate = portal_translator(language_of(request))
        benchmarks = {benchmark.id: benchmark for _, benchmark, _ in lines}.values()
        drawn = [
            (benchmark, history_of(site, session, benchmark, by, by.account, translate))
            for benchmark in benchmarks
        ]
    histories = [(benchmark, chart) for benchmark, chart in drawn if chart is not None]
    return render_page(request, "entries.html", lines=lines, histories=histories)


@router.get("/entries/{entry_id}", name="entry")
def entry_page(
    request: Request,
    site: CurrentSite,
    by: CurrentUser,
    entry_id: str,
    rule: str = "",
    stratum: str = "",
) -> Response:
    translate = portal_translator(language_of(request))
    with site.database.reading() as session:
        entry = find_entry(session, by, entry_id)
        is_own = by.is_organiser or by.account == entry.account_id
        values: JsonObject = {
            "entry": entry,
            "benchmark": entry.benchmark,
            "name": shown_name(entry, by),
            "who": shown_account(entry, by),
            "declared": {} if is_nameless(entry, by) else entry.declared,
            "accepted_rules": accepted_rules(entry),
            "job": job_of(session, entry) if is_own else None,
            "result": None if entry.withdrawn_at else result_of(session, entry),
            "others": _comparable(session, entry, by),
            "versions": versions_of(session, entry) if is_own else [],
        }
        result = values["result"]
        values["has_report"] = _has_report(site, entry, result, by)
        values["has_view"] = review_place(site, entry, result, by) is not None
        values["history"] = (
            None
            if result is None
            else history_of(site, session, entry.benchmark, by, entry.account_id, translate)
        )
        values["certificate"] = None if result is None else certificate_of(session, result)
        values["has_certificate"] = values["certificate"] is not None and not is_nameless(entry, by)
        values["has_print"] = is_installed("typst")
        values["is_public"] = result is not None and entry.benchmark.is_shown
        values["digests"] = {} if result is None else disclosed_digests(result.metrics)
        choice = {"rule": rule, "stratum": stratum}
        values["shown"] = (
            None if result is None else view_of_result(site, entry, result, by, translate, **choice)
        )
    return render_page(request, "entry.html", is_own=is_own, ended=ENDED, **values)


@router.get("/entries/{entry_id}/badge.svg", name="badge")
def badge(site: CurrentSite, entry_id: str) -> Response:
    with site.database.reading() as session:
        entry = find_entry(session, ANONYMOUS, entry_id)
        result = None if entry.withdrawn_at else result_of(session, entry)
    headers = {
        "Cache-Control": "public, max-age=300",
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
    return Response(badge_of(result), headers=headers, media_type="image/svg+xml")


@router.get("/entries/{entry_id}/report", name="report")
def report(request: Request, site: CurrentSite, by: CurrentUser, entry_id: str) -> Response:
    path = _report(request, site, by, entry_id)
    # the sandbox policy separates the report and its script from the site
    return FileResponse(path, headers={"Content-Security-Policy": REPORT_POLICY})


@router.get("/entries/{entry_id}/report.pdf", name="report_print")
def report_print(request: Request, site: CurrentSite, by: CurrentUser, entry_id: str) -> Response:
    path = _report(request, site, by, entry_id, is_print=True)
    return FileResponse(path, filename=f"report-{entry_id}.pdf")


def _report(
    request: Request, site: Site, by: User, entry_id: str, *, is_print: bool = False
) -> Path:
    with site.database.reading() as session:
        entry = find_entry(session, by, entry_id)
        result = None if entry.withdrawn_at else result_of(session, entry)
        audience = audience_of(entry, by)
        has_report = _has_report(site, entry, result, by)
    if result is None or not has_report:
        raise DeniedError("not_found", 404)
    choice = ReportChoice(audience=audience, language=language_of(request), is_pdf=is_print)
    ending = "pdf" if is_print else "html"
    out = site.settings.storage / "reports" / result.id / f"{choice.name}-{ending}"
    if not (out / f"{choice.name}.{ending}").is_file():
        write_report(site.results / result.folder, choice, out)
    return out / f"{choice.name}.{ending}"


@router.get("/compare", name="compare")
def compare(request: Request, site: CurrentSite, by: CurrentUser, one: str, other: str) -> Response:
    with site.database.reading() as session:
        entries = [find_entry(session, by, entry_id) for entry_id in (one, other)]
        results = [None if each.withdrawn_at else result_of(session, each) for each in entries]
        benchmark = entries[0].benchmark
        names = [shown_name(each, by) for each in entries]
    first, second = results
    if first is None or second is None or entries[1].benchmark_id != benchmark.id or one == other:
        raise DeniedError("not_comparable", 409)
    differences = compared(site, first, second)
    values = {"benchmark": benchmark, "entries": (one, other), "names": names}
    return render_page(request, "compare.html", differences=differences, **values)


@router.get("/entries/{entry_id}/receipt", name="receipt")
def receipt(site: CurrentSite, by: CurrentUser, entry_id: str) -> Response:
    with site.database.reading() as session:
        signed = find_own(session, by, entry_id).receipt
    headers = {"Content-Disposition": f'attachment; filename="receipt-{entry_id}.json"'}
    return JSONResponse(signed, headers=headers)


@router.post("/entries/{entry_id}/withdraw", name="withdraw")
def withdraw(site: CurrentSite, by: CurrentUser, entry_id: str) -> Response:
    entries.withdraw(site, by, entry_id)
    return redirect(f"/entries/{entry_id}")


@router.post("/entries/{entry_id}/baseline", name="mark_baseline")
def mark_baseline(site: CurrentSite, by: CurrentUser, form: SentForm, entry_id: str) -> Response:
    """Mark the user's own entry as a baseline, or remove the mark.

    Not for entries of others: the name of a baseline is public, but theirs may be hidden.
    """
    is_baseline = field(form, "baseline") == "yes"
    with site.acting(
        by.account, "baseline_marked", entry=entry_id, baseline=is_baseline
    ) as session:
        entry = find_own(session, by, entry_id)
        if entry.account_id != by.account:
            raise DeniedError("not_allowed", 403)
        entry.is_baseline = is_baseline
    return redirect(f"/entries/{entry_id}")


@router.get("/entries/{entry_id}/progress", name="progress")
async def progress(site: CurrentSite, by: CurrentUser, entry_id: str) -> Response:
    first = await run_in_threadpool(_job_progress, site, by, entry_id)
    events = _progress_events(site, by, entry_id, first)
    headers = {"X-Accel-Buffering": "no"}  # a proxy must not buffer the events
    return StreamingResponse(events, headers=headers, media_type="text/event-stream")


def job_of(session: Transaction, entry: Entry) -> Job | None:
    jobs = select(Job).where(Job.entry_id == entry.id).order_by(Job.version.desc())
    return session.scalar(jobs.limit(1))


def versions_of(session: Transaction, entry: Entry) -> list[Result]:
    query = select(Result).where(Result.entry_id == entry.id).order_by(Result.version)
    return list(session.scalars(query))


def _has_report(site: Site, entry: Entry, result: Result | None, by: User) -> bool:
    """Whether a user may see a report, which names its algorithm on every page."""
    has_folder = result is not None and (site.results / result.folder / EVALUATION).is_file()
    return has_folder and not is_nameless(entry, by)


def _comparable(session: Transaction, entry: Entry, by: User) -> list[tuple[str, str]]:
    counted = counted_results(session, entry.benchmark)
    others = [result.entry for result in counted if result.entry_id != entry.id]
    return sorted(
        ((other.id, shown_name(other, by)) for other in others), key=lambda named: named[1]
    )


async def _progress_events(
    site: Site, by: User, entry_id: str, first: JsonObject
) -> AsyncIterator[str]:
    """Yield an event for each change until the job ends, and keep the connection alive."""
    before: JsonObject | None = None
    current, sent_at = first, monotonic()
    for _ in range(int(LONGEST_S / EVERY_S)):
        if current != before or monotonic() - sent_at > SILENT_S:
            yield f"data: {json.dumps(current)}\n\n" if current != before else ": \n\n"
            before, sent_at = current, monotonic()
        if current["state"] in ENDED:
            return
        await anyio.sleep(EVERY_S)
        current = await run_in_threadpool(_job_progress, site, by, entry_id)


def _job_progress(site: Site, by: User, entry_id: str) -> JsonObject:
    with site.database.reading() as session:
        job = job_of(session, find_own(session, by, entry_id))
        if job is None:
            return {"state": "done"}
        done, of = job.progress.get("done", 0), job.progress.get("of", 0)
        return {"state": job.state, "done": done, "of": of}
