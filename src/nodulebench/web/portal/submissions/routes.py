"""Submissions: looked through as often as one likes without a score, then sent in."""

import shutil
from dataclasses import replace
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from nodulebench.core.errors import InputError
from nodulebench.evaluation.check.service import Checked
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.benchmarks.folds import ANSWERS, Answer, Training
from nodulebench.web.portal.benchmarks.service import (
    TRACKS,
    find_benchmark,
    known_cases,
    rules_of,
    state_of,
)
from nodulebench.web.portal.benchmarks.taken import Terms
from nodulebench.web.portal.database.models import Benchmark
from nodulebench.web.portal.guard import AtSite, By, Sent, field
from nodulebench.web.portal.page import rendered, see
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.checks import declared_training, look_through
from nodulebench.web.portal.submissions.service import (
    Received,
    file_name,
    received,
    refuse_closed,
    submit,
)

router = APIRouter(include_in_schema=False)
DECLARED = ("about", "training", "link")
"""What who submits can say of an algorithm."""
FOLDS = "folds"
"""The folder beside the marks that keeps a table of folds."""


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
    given = {name: field(form, name) for name in ("name", "track", "trained", *DECLARED)}
    track = given["track"] or next(iter(rules_of(benchmark).open_tracks), TRACKS[0])
    told: dict[str, object] = {"given": given, "file": file.filename}
    with received(site, file.filename, file.file, by.account) as sent:
        try:
            found, training = _looked(site, benchmark, sent, form, track)
            told["found"] = found
            if not is_sent or found.problems:
                status = 422 if found.problems else 200
                return _form_page(request, site, by, benchmark_id, status, **told)
            declared = {name: given[name] for name in DECLARED if given[name]}
            entry = submit(
                site,
                by,
                benchmark_id,
                sent,
                name=given["name"],
                track=track,
                declared=declared,
                terms=Terms(training=training),
            )
        except DeniedError as error:
            told["code"] = error.code
            return _form_page(request, site, by, benchmark_id, error.status, **told)
    return see(f"/entries/{entry.id}")


def _looked(
    site: Site, benchmark: Benchmark, sent: Received, form: FormData, track: str
) -> tuple[Checked, Training]:
    """What is wrong with the marks, and with what is said of training on the test set."""
    found = look_through(site, benchmark, sent, track)
    try:
        return found, declared_training(site, benchmark, _answer_of(form), _folds(form, sent))
    except InputError as error:
        return replace(found, problems=(*found.problems, *error.problems)), Training()


def _answer_of(form: FormData) -> Answer:
    said = field(form, "trained")
    return next((one for one in ANSWERS if one == said), "")


def _folds(form: FormData, sent: Received) -> Path | None:
    """The table of folds that was sent beside the marks, kept with them; None: there is none."""
    file = form.get("folds")
    if not isinstance(file, UploadFile) or not file.filename:
        return None
    path = sent.path.parent / FOLDS / file_name(file.filename)
    path.parent.mkdir()
    with path.open("xb") as kept:
        shutil.copyfileobj(file.file, kept)
    return path


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
        "answers": () if benchmark.is_sealed else ANSWERS,
        "cases": None if cases is None else cases.height,
        "largest": site.settings.largest_upload,
    }
    empty: dict[str, object] = {"found": None, "given": {}, "code": "", "file": ""}
    return rendered(request, "submit.html", status, **{**empty, **told}, **values)
