"""Submissions: looked through as often as one likes without a score, then sent in."""

from fastapi import APIRouter, Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from nodulebench.portal.access.accounts import DeniedError
from nodulebench.portal.access.guard import AtSite, By, Sent, field
from nodulebench.portal.access.visitor import Visitor
from nodulebench.portal.benchmarks import find_benchmark, known_cases, rules_of, state_of
from nodulebench.portal.entries import look_through, received, refuse_closed, submit
from nodulebench.portal.page import rendered, see
from nodulebench.portal.site import Site

router = APIRouter(include_in_schema=False)
DECLARED = ("about", "training", "link")
"""What who submits can say of an algorithm."""


@router.get("/benchmarks/{benchmark_id}/submit", name="submit_page")
def submit_page(request: Request, site: AtSite, by: By, benchmark_id: str) -> Response:
    """The form for a submission."""
    return _form_page(request, site, by, benchmark_id)


@router.post("/benchmarks/{benchmark_id}/validate", name="validate")
def validate(request: Request, site: AtSite, by: By, form: Sent, benchmark_id: str) -> Response:
    """Everything that is wrong with a file, without a score; nothing is kept of it."""
    return _answer(request, site, by, form, benchmark_id, is_sent=False)


@router.post("/benchmarks/{benchmark_id}/submit", name="submit")
def send(request: Request, site: AtSite, by: By, form: Sent, benchmark_id: str) -> Response:
    """Send a file in: it is looked through, kept, and waits for its score."""
    return _answer(request, site, by, form, benchmark_id, is_sent=True)


def _answer(
    request: Request, site: Site, by: Visitor, form: FormData, benchmark_id: str, *, is_sent: bool
) -> Response:
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        return _form_page(request, site, by, benchmark_id, 400, code="file_missing")
    with site.database.reading() as session:
        benchmark = find_benchmark(session, by, benchmark_id)
        if is_sent:
            refuse_closed(session, by, benchmark)
    given = {name: field(form, name) for name in ("name", *DECLARED)}
    with received(site, file.filename, file.file) as sent:
        found = look_through(site, benchmark, sent)
        if not is_sent or found.problems:
            status = 422 if found.problems else 200
            return _form_page(
                request,
                site,
                by,
                benchmark_id,
                status,
                found=found,
                given=given,
                file=file.filename,
            )
        declared = {name: given[name] for name in DECLARED if given[name]}
        try:
            entry = submit(site, by, benchmark_id, sent, name=given["name"], declared=declared)
        except DeniedError as error:
            told = {"found": found, "given": given, "code": error.code}
            return _form_page(request, site, by, benchmark_id, error.status, **told)
    return see(f"/entries/{entry.id}")


def _form_page(
    request: Request, site: Site, by: Visitor, benchmark_id: str, status: int = 200, **told: object
) -> Response:
    with site.database.reading() as session:
        benchmark = find_benchmark(session, by, benchmark_id)
    cases = known_cases(site, benchmark)
    values = {
        "benchmark": benchmark,
        "rules": rules_of(benchmark),
        "state": state_of(benchmark),
        "cases": None if cases is None else cases.height,
        "largest": site.settings.largest_upload,
    }
    empty: dict[str, object] = {"found": None, "given": {}, "code": "", "file": ""}
    return rendered(request, "submit.html", status, **{**empty, **told}, **values)
