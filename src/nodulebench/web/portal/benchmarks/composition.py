"""Test sets of the machine, for those who organise: what they consist of, how they were used."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from nodulebench.core.errors import NoduleBenchError
from nodulebench.curation.composition.design import NAMES as DESIGNS
from nodulebench.curation.composition.service import cover_files
from nodulebench.i18n.translator import portal_language
from nodulebench.io.bundle import is_sealed
from nodulebench.report.sections.composition import coverage_parts
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.benchmarks.service import problem_text, test_sets
from nodulebench.web.portal.guard import AtSite
from nodulebench.web.portal.page import language_of, rendered

router = APIRouter(include_in_schema=False)


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
            parts = coverage_parts(document, portal_language(language_of(request)))
        except NoduleBenchError as error:
            wrong = problem_text(error, site)
    values = {"name": name, "design": chosen or "", "designs": DESIGNS, "wrong": wrong}
    return rendered(request, "test_set.html", 422 if wrong else 200, parts=parts, **values)
