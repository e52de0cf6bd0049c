"""Pages of benchmarks: leaderboard, making and changing benchmarks, rule files, downloads."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from sqlalchemy import select
from starlette.datastructures import FormData, UploadFile
from starlette.responses import FileResponse, PlainTextResponse, Response

from nodulebench.core.errors import InputError, NoduleBenchError, Problem
from nodulebench.core.protocol import PROTOCOL_NAMES
from nodulebench.curation.coverage import cover_files
from nodulebench.curation.design import NAMES as DESIGNS
from nodulebench.i18n.translator import portal_translator
from nodulebench.io.bundle import is_sealed
from nodulebench.io.csv_files import csv_content
from nodulebench.report.coverage import coverage_parts
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.benchmarks.releases import (
    KINDS,
    end_release,
    open_releases,
    releasable,
    release_path,
    released_file,
)
from nodulebench.web.portal.benchmarks.releases import release as release_files
from nodulebench.web.portal.benchmarks.rules import FILES, RuleFile, rule_file_path
from nodulebench.web.portal.benchmarks.save_rules import kind_of, remove_rules, save_rules
from nodulebench.web.portal.benchmarks.service import (
    TRACKS,
    BenchmarkOptions,
    BenchmarkRules,
    find_benchmark,
    make_benchmark,
    problem_text,
    rescore_entries,
    rules_of,
    state_of,
    test_sets,
)
from nodulebench.web.portal.database.models import Announcement, Benchmark
from nodulebench.web.portal.guard import CurrentSite, CurrentUser, SentForm, field
from nodulebench.web.portal.leaderboards.leaderboard import Board, BoardChoice, board_of
from nodulebench.web.portal.page import language_of, redirect, render_page
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.reviews import scan_folders

router = APIRouter(include_in_schema=False)
Chosen = Annotated[BoardChoice, Depends()]


@router.get("/benchmarks/new", name="new_benchmark_page")
def new_benchmark_page(request: Request, site: CurrentSite) -> Response:
    return _form(request, site)


@router.post("/benchmarks/new", name="new_benchmark")
def new_benchmark(request: Request, site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    given = {name: field(form, name) for name in ("title", "about", "test_set", "protocol")}
    try:
        options = BenchmarkOptions(
            **given,
            rules=_rules(form),
            opens_at=_time(form, "opens_at"),
            closes_at=_time(form, "closes_at"),
        )
        benchmark_id = make_benchmark(site, by, options)
    except NoduleBenchError as error:
        return _form(request, site, 422, wrong=problem_text(error, site), given=given)
    return redirect(f"/benchmarks/{benchmark_id}")


@router.get("/benchmarks/{benchmark_id}", name="benchmark")
def benchmark_page(
    request: Request, site: CurrentSite, by: CurrentUser, benchmark_id: str, choice: Chosen
) -> Response:
    with site.database.reading() as session:
        benchmark = find_benchmark(session, by, benchmark_id)
        board = board_of(site, session, benchmark, by, choice)
    return _page(request, site, benchmark, board)


@router.get("/benchmarks/{benchmark_id}/leaderboard.csv", name="leaderboard_table")
def leaderboard_table(
    site: CurrentSite, by: CurrentUser, benchmark_id: str, choice: Chosen
) -> Response:
    """The leaderboard as CSV; cells are escaped so that a spreadsheet runs no formula."""
    with site.database.reading() as session:
        benchmark = find_benchmark(session, by, benchmark_id)
        board = board_of(site, session, benchmark, by, choice)
    headers = {"Content-Disposition": 'attachment; filename="leaderboard.csv"'}
    return Response(csv_content(board.table), headers=headers, media_type="text/csv")


@router.post("/benchmarks/{benchmark_id}/change", name="change_benchmark")
def change_benchmark(
    site: CurrentSite, by: CurrentUser, form: SentForm, benchmark_id: str
) -> Response:
    with site.acting(by.account, "benchmark_changed", benchmark=benchmark_id) as session:
        benchmark = session.get(Benchmark, benchmark_id)
        if benchmark is None:
            raise DeniedError("not_found", 404)
        benchmark.is_shown = field(form, "shown") == "yes"
        benchmark.about = field(form, "about")
        benchmark.opens_at, benchmark.closes_at = _time(form, "opens_at"), _time(form, "closes_at")
        benchmark.rules = _rules(form, rules_of(benchmark)).model_dump(mode="json")
    return redirect(f"/benchmarks/{benchmark_id}")


@router.post("/benchmarks/{benchmark_id}/rules", name="save_rules")
def save_rule_files(
    request: Request, site: CurrentSite, by: CurrentUser, form: SentForm, benchmark_id: str
) -> Response:
    kind, file = kind_of(field(form, "kind")), form.get("file")
    if field(form, "end") == "yes":
        remove_rules(site, by, benchmark_id, kind)
        return redirect(f"/benchmarks/{benchmark_id}")
    if not isinstance(file, UploadFile) or not file.filename:
        raise DeniedError("file_missing")
    try:
        save_rules(site, by, benchmark_id, kind, file.filename, file.file)
    except InputError as error:
        with site.database.reading() as session:
            benchmark = find_benchmark(session, by, benchmark_id)
            board = board_of(site, session, benchmark, by)
        return _page(request, site, benchmark, board, 422, wrong=error.problems)
    return redirect(f"/benchmarks/{benchmark_id}")


@router.post("/benchmarks/{benchmark_id}/rescore", name="rescore")
def rescore(site: CurrentSite, by: CurrentUser, benchmark_id: str) -> Response:
    rescore_entries(site, by, benchmark_id)
    return redirect(f"/benchmarks/{benchmark_id}")


def _form(request: Request, site: Site, status: int = 200, **values: object) -> Response:
    choices = {"sets": test_sets(site), "protocols": PROTOCOL_NAMES, "folders": scan_folders(site)}
    return render_page(
        request, "new_benchmark.html", status, **{"wrong": "", "given": {}, **choices, **values}
    )


def _page(
    request: Request,
    site: Site,
    benchmark: Benchmark,
    board: Board,
    status: int = 200,
    wrong: Sequence[Problem] = (),
) -> Response:
    with site.database.reading() as session:
        released = open_releases(session, benchmark.id)
        announcements = select(Announcement).where(
            Announcement.ended_at.is_(None), Announcement.benchmark_id == benchmark.id
        )
        announced = list(session.scalars(announcements.order_by(Announcement.created_at.desc())))
    values = {
        "benchmark": benchmark,
        "board": board,
        "state": state_of(benchmark),
        "wrong": wrong,
        "released": released,
        "announced": announced,
        "releasable": releasable(site),
        "kinds": KINDS,
        "folders": scan_folders(site),
    }
    return render_page(request, "benchmark.html", status, rules=rules_of(benchmark), **values)


def _rules(form: FormData, old: BenchmarkRules | None = None) -> BenchmarkRules:
    rule_files = {} if old is None else {kind: getattr(old, kind) for kind in FILES}
    try:
        return BenchmarkRules.model_validate(
            {
                **rule_files,
                "tracks": [track for track in TRACKS if track in form.getlist("tracks")]
                or TRACKS[:1],
                "cross_validates": field(form, "cross_validates") == "yes",
                "feedback": field(form, "feedback") or "metrics",
                "scans": field(form, "scans"),
                "is_anonymous": field(form, "anonymous") == "yes",
                "takes_algorithms": field(form, "algorithms") == "yes",
                "per_week": field(form, "per_week") or None,
                "in_all": field(form, "in_all") or None,
            }
        )
    except ValidationError as error:
        raise DeniedError("field_form") from error


def _time(form: FormData, name: str) -> datetime | None:
    text = field(form, name, 40)
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None
    except ValueError as error:
        raise DeniedError("field_form") from error


@router.get("/test-sets/{name}", name="test_set")
def composition(request: Request, site: CurrentSite, name: str, design: str = "") -> Response:
    if name not in test_sets(site):
        raise DeniedError("not_found", 404)
    place = site.settings.sets / name
    chosen = design if design in DESIGNS else None
    parts, wrong = None, ""
    if not is_sealed(place):
        try:
            document = cover_files(place, None, chosen)
            parts = coverage_parts(document, portal_translator(language_of(request)))
        except NoduleBenchError as error:
            wrong = problem_text(error, site)
    values = {"name": name, "design": chosen or "", "designs": DESIGNS, "wrong": wrong}
    return render_page(request, "test_set.html", 422 if wrong else 200, parts=parts, **values)


FROM_THE_BEGINNING = ("", "bytes=0-")
FILE_POLICY = "sandbox; default-src 'none'"
"""Nothing in a downloaded file may run in the browser."""


@router.get("/benchmarks/{benchmark_id}/files/SHA256SUMS", name="download_sums")
def download_sums(site: CurrentSite, by: CurrentUser, benchmark_id: str) -> Response:
    with site.database.reading() as session:
        releases = open_releases(session, find_benchmark(session, by, benchmark_id).id)
    lines = [
        f"{release.digest.removeprefix('sha256:')}  {release.file}\n"
        for release in releases
        if release.digest
    ]
    return PlainTextResponse("".join(lines))


@router.get("/benchmarks/{benchmark_id}/files/{release_id}", name="download")
def download(
    request: Request, site: CurrentSite, by: CurrentUser, benchmark_id: str, release_id: str
) -> Response:
    with site.database.reading() as session:
        find_benchmark(session, by, benchmark_id)
        release = released_file(site, session, benchmark_id, release_id)
    if request.headers.get("range", "") in FROM_THE_BEGINNING:
        with site.acting(by.account, "downloaded", release=release.id, digest=release.digest):
            pass
    path = release_path(site, release)
    return _file(request, path, release.digest, path.name)


@router.get("/benchmarks/{benchmark_id}/rules/{kind}", name="download_rules")
def download_rule_file(
    request: Request, site: CurrentSite, by: CurrentUser, benchmark_id: str, kind: str
) -> Response:
    rule_kind = kind_of(kind)
    with site.database.reading() as session:
        rules = rules_of(find_benchmark(session, by, benchmark_id))
    rule_file: RuleFile | None = getattr(rules, rule_kind)
    if rule_file is None or rule_kind == "plan":  # a plan contains digests of the reference
        raise DeniedError("not_found", 404)
    path = rule_file_path(site, benchmark_id, rule_kind, rule_file.version)
    return _file(request, path, rule_file.digest, path.name)


@router.post("/benchmarks/{benchmark_id}/releases", name="release")
def release(site: CurrentSite, by: CurrentUser, form: SentForm, benchmark_id: str) -> Response:
    release_files(site, by, benchmark_id, field(form, "file"), field(form, "kind"))
    return redirect(f"/benchmarks/{benchmark_id}")


@router.post("/benchmarks/{benchmark_id}/releases/end", name="end_release")
def end(site: CurrentSite, by: CurrentUser, form: SentForm, benchmark_id: str) -> Response:
    end_release(site, by, benchmark_id, field(form, "file"))
    return redirect(f"/benchmarks/{benchmark_id}")


def _file(request: Request, path: Path, digest: str, name: str) -> Response:
    """A file with its digest as ETag, so that an interrupted download can continue."""
    tag = f'"{digest}"'
    headers = {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": FILE_POLICY,
    }
    if tag in request.headers.get("if-none-match", "").replace(" ", "").split(","):
        return Response(status_code=304, headers=headers)
    kind = "application/octet-stream"
    return FileResponse(path, headers=headers, filename=name, media_type=kind)
