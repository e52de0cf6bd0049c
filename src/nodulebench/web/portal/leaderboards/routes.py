"""Pages of certificates."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import JSONResponse, Response

from nodulebench.core.optional_packages import is_installed
from nodulebench.i18n.translator import portal_translator
from nodulebench.web.portal.guard import CurrentSite, CurrentUser
from nodulebench.web.portal.leaderboards.certificates import (
    certify,
    digests_of,
    facts_of,
    find_certificate,
    print_certificate,
    rank_statement,
)
from nodulebench.web.portal.page import language_of, redirect, render_page

router = APIRouter(include_in_schema=False)
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.post("/entries/{entry_id}/certificate", name="certify")
def ask(site: CurrentSite, by: CurrentUser, entry_id: str) -> Response:
    return redirect(f"/certificates/{certify(site, by, entry_id)}")


@router.get("/certificates/{number}", name="certificate")
def certificate(request: Request, site: CurrentSite, by: CurrentUser, number: Number) -> Response:
    translate = portal_translator(language_of(request))
    with site.database.reading() as session:
        stored, entry, result = find_certificate(session, by, number)
        statement = stored.content["certificate"]
        values = {
            "entry": entry.id,
            "number": number,
            "at": stored.created_at,
            "statement": statement,
            "content": stored.content,
            "standing": rank_statement(entry, result),
            "facts": facts_of(statement, translate),
            "digests": digests_of(statement, translate),
            "has_print": is_installed("typst"),
        }
    return render_page(request, "certificate.html", **values)


@router.get("/certificates/{number}/statement.json", name="certificate_statement")
def certificate_statement(site: CurrentSite, by: CurrentUser, number: Number) -> Response:
    with site.database.reading() as session:
        stored, _, _ = find_certificate(session, by, number)
    name = f'attachment; filename="certificate-{number}.json"'
    return JSONResponse(stored.content, headers={"Content-Disposition": name})


@router.get("/certificates/{number}/certificate.pdf", name="certificate_print")
def certificate_print(
    request: Request, site: CurrentSite, by: CurrentUser, number: Number
) -> Response:
    with site.database.reading() as session:
        stored, _, _ = find_certificate(session, by, number)
    content = print_certificate(site, stored, portal_translator(language_of(request)))
    name = f'attachment; filename="certificate-{number}.pdf"'
    headers = {"Content-Disposition": name}
    return Response(content, headers=headers, media_type="application/pdf")
