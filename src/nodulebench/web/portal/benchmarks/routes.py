"""A benchmark and its leaderboard; making and changing benchmarks."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import ValidationError
from sqlalchemy import select
from starlette.datastructures import FormData, UploadFile
from starlette.responses import FileResponse, PlainTextResponse, Response

from nodulebench.core.errors import InputError, NoduleBenchError, Problem
from nodulebench.core.protocols import NAMES
from nodulebench.curation.composition.design import NAMES as DESIGNS
from nodulebench.curation.composition.service import cover_files
from nodulebench.i18n.translator import portal_translator
from nodulebench.io.bundle import is_sealed
from nodulebench.io.csv_files import csv_content
from nodulebench.report.sections.composition import coverage_parts
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
from nodulebench.web.portal.benchmarks.save_rules import kind_of, save_rules, take_away
from nodulebench.web.portal.benchmarks.service import (
    TRACKS,
    BenchmarkRules,
    find_benchmark,
    make_benchmark,
    problem_text,
    rules_of,
    score_again,
    state_of,
    test_sets,
)
from nodulebench.web.portal.database.models import Announcement, Benchmark
from nodulebench.web.portal.guard import AtSite, By, Sent, field
from nodulebench.web.portal.leaderboards.leaderboard import Board, BoardChoice, board_of
from nodulebench.web.portal.page import language_of, rendered, see
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.reviews import scan_folders

router = APIRouter(include_in_schema=False)
Chosen = Annotated[BoardChoice, Depends()]
"""Which leaderboard a request asks for."""


@router.get("/benchmarks/new", name="new_benchmark_page")
def new_benchmark_page(request: Request, site: AtSite) -> Response:
    """The form for a new benchmark."""
    return _form(request, site)


@router.post("/benchmarks/new", name="new_benchmark")
def new_benchmark(request: Request, site: AtSite, by: By, form: Sent) -> Response:
    """Make a benchmark of a test set."""
    given = {name: field(form, name) for name in ("title", "about", "test_set", "protocol")}
    try:
        made = make_benchmark(
            site,
            by,
            **given,
            rules=_rules(form),
            opens_at=_time(form, "opens_at"),
            closes_at=_time(form, "closes_at"),
        )
    except NoduleBenchError as error:
        return _form(request, site, 422, wrong=problem_text(error, site), given=given)
    return see(f"/benchmarks/{made}")


@router.get("/benchmarks/{benchmark_id}", name="benchmark")
def benchmark(
    request: Request,
    site: AtSite,
    by: By,
    benchmark_id: str,
    choice: Chosen,
) -> Response:
    """A benchmark with its leaderboard: a track, under a rule, ordered by a metric."""
    with site.database.reading() as session:
        found = find_benchmark(session, by, benchmark_id)
        board = board_of(site, session, found, by, choice)
    return _page(request, site, found, board)


@router.get("/benchmarks/{benchmark_id}/leaderboard.csv", name="leaderboard_table")
def leaderboard_table(
    site: AtSite,
    by: By,
    benchmark_id: str,
    choice: Chosen,
) -> Response:
    """The leaderboard as a table for a spreadsheet, in which no cell is a formula."""
    with site.database.reading() as session:
        found = find_benchmark(session, by, benchmark_id)
        board = board_of(site, session, found, by, choice)
    headers = {"Content-Disposition": 'attachment; filename="leaderboard.csv"'}
    return Response(csv_content(board.table), headers=headers, media_type="text/csv")


@router.post("/benchmarks/{benchmark_id}/change", name="change_benchmark")
def change_benchmark(site: AtSite, by: By, form: Sent, benchmark_id: str) -> Response:
    """Show or hide a benchmark, and change its dates and rules."""
    with site.acting(by.account, "benchmark_changed", benchmark=benchmark_id) as session:
        found = session.get(Benchmark, benchmark_id)
        if found is None:
            raise DeniedError("not_found", 404)
        found.is_shown = field(form, "shown") == "yes"
        found.about = field(form, "about")
        found.opens_at, found.closes_at = _time(form, "opens_at"), _time(form, "closes_at")
        found.rules = _rules(form, rules_of(found)).model_dump(mode="json")
    return see(f"/benchmarks/{benchmark_id}")


@router.post("/benchmarks/{benchmark_id}/terms", name="lay_down")
def save_rule_files(
    request: Request, site: AtSite, by: By, form: Sent, benchmark_id: str
) -> Response:
    """Lay down candidates, folds or acceptance criteria, or ask for them no longer."""
    kind, file = kind_of(field(form, "kind")), form.get("file")
    if field(form, "end") == "yes":
        take_away(site, by, benchmark_id, kind)
        return see(f"/benchmarks/{benchmark_id}")
    if not isinstance(file, UploadFile) or not file.filename:
        raise DeniedError("file_missing")
    try:
        save_rules(site, by, benchmark_id, kind, file.filename, file.file)
    except InputError as error:
        with site.database.reading() as session:
            found = find_benchmark(session, by, benchmark_id)
            board = board_of(site, session, found, by)
        return _page(request, site, found, board, 422, wrong=error.problems)
    return see(f"/benchmarks/{benchmark_id}")


@router.post("/benchmarks/{benchmark_id}/rescore", name="rescore")
def rescore(site: AtSite, by: By, benchmark_id: str) -> Response:
    """Score every entry anew under a new version, after the test set was corrected."""
    score_again(site, by, benchmark_id)
    return see(f"/benchmarks/{benchmark_id}")


def _form(request: Request, site: Site, status: int = 200, **values: Any) -> Response:
    choices = {"sets": test_sets(site), "protocols": NAMES, "folders": scan_folders(site)}
    return rendered(
        request, "new_benchmark.html", status, **{"wrong": "", "given": {}, **choices, **values}
    )


def _page(
    request: Request,
    site: Site,
    found: Benchmark,
    board: Board,
    status: int = 200,
    wrong: Sequence[Problem] = (),
) -> Response:
    with site.database.reading() as session:
        released = open_releases(session, found.id)
        told = select(Announcement).where(
            Announcement.ended_at.is_(None), Announcement.benchmark_id == found.id
        )
        announced = list(session.scalars(told.order_by(Announcement.created_at.desc())))
    values = {
        "benchmark": found,
        "board": board,
        "state": state_of(found),
        "wrong": wrong,
        "released": released,
        "announced": announced,
        "releasable": releasable(site),
        "kinds": KINDS,
        "folders": scan_folders(site),
    }
    return rendered(request, "benchmark.html", status, rules=rules_of(found), **values)


def _rules(form: FormData, old: BenchmarkRules | None = None) -> BenchmarkRules:
    """What a form says; what was laid down stays."""
    laid = {} if old is None else {kind: getattr(old, kind) for kind in FILES}
    try:
        return BenchmarkRules.model_validate(
            {
                **laid,
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
    """A date and time of a form, in UTC; None: it was left out."""
    text = field(form, name, 40)
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None
    except ValueError as error:
        raise DeniedError("field_form") from error


@router.get("/test-sets/{name}", name="test_set")
def composition(request: Request, site: AtSite, name: str, design: str = "") -> Response:
    """The composition of an open test set, and how far it is what a design asks for."""
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
    return rendered(request, "test_set.html", 422 if wrong else 200, parts=parts, **values)


FROM_THE_BEGINNING = ("", "bytes=0-")
FILE_POLICY = "sandbox; default-src 'none'"
"""Of files of others: nothing in them runs."""


@router.get("/benchmarks/{benchmark_id}/files/SHA256SUMS", name="download_sums")
def download_sums(site: AtSite, by: By, benchmark_id: str) -> Response:
    """The digests of all released files, as ``sha256sum --check`` reads them."""
    with site.database.reading() as session:
        found = open_releases(session, find_benchmark(session, by, benchmark_id).id)
    lines = [f"{one.digest.removeprefix('sha256:')}  {one.file}\n" for one in found if one.digest]
    return PlainTextResponse("".join(lines))


@router.get("/benchmarks/{benchmark_id}/files/{release_id}", name="download")
def download(
    request: Request, site: AtSite, by: By, benchmark_id: str, release_id: str
) -> Response:
    """A released file, or the part of it that is asked for."""
    with site.database.reading() as session:
        find_benchmark(session, by, benchmark_id)
        found = released_file(site, session, benchmark_id, release_id)
    if request.headers.get("range", "") in FROM_THE_BEGINNING:
        with site.acting(by.account, "downloaded", release=found.id, digest=found.digest):
            pass
    path = release_path(site, found)
    return _file(request, path, found.digest, path.name)


@router.get("/benchmarks/{benchmark_id}/terms/{kind}", name="download_terms")
def download_rule_file(
    request: Request, site: AtSite, by: By, benchmark_id: str, kind: str
) -> Response:
    """The candidates or the folds that a benchmark asks for."""
    laid_kind = kind_of(kind)
    with site.database.reading() as session:
        rules = rules_of(find_benchmark(session, by, benchmark_id))
    laid: RuleFile | None = getattr(rules, laid_kind)
    if laid is None or laid_kind == "plan":  # a plan holds digests of the reference
        raise DeniedError("not_found", 404)
    path = rule_file_path(site, benchmark_id, laid_kind, laid.version)
    return _file(request, path, laid.digest, path.name)


@router.post("/benchmarks/{benchmark_id}/releases", name="release")
def release(site: AtSite, by: By, form: Sent, benchmark_id: str) -> Response:
    """Release a file or a folder of the folder of downloads."""
    release_files(site, by, benchmark_id, field(form, "file"), field(form, "kind"))
    return see(f"/benchmarks/{benchmark_id}")


@router.post("/benchmarks/{benchmark_id}/releases/end", name="end_release")
def end(site: AtSite, by: By, form: Sent, benchmark_id: str) -> Response:
    """Give it out no longer."""
    end_release(site, by, benchmark_id, field(form, "file"))
    return see(f"/benchmarks/{benchmark_id}")


def _file(request: Request, path: Path, digest: str, name: str) -> Response:
    """A file under its digest, so that a download that broke off goes on where it was."""
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
