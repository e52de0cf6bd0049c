"""Pages of exams."""

from fastapi import APIRouter, Request
from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, Response

from nodulebench.annotation.exam import PASS_METRICS
from nodulebench.core.errors import NoduleBenchError
from nodulebench.web.portal.accounts.roles import may
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.exams.service import (
    disclosed_sheet,
    end_exam,
    find_exam,
    make_exam,
    results_of,
    rules_of,
)
from nodulebench.web.portal.exams.sessions import exam_status
from nodulebench.web.portal.guard import CurrentSite, CurrentUser, SentForm, field
from nodulebench.web.portal.page import redirect, render_page
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.reviews import scan_folders

router = APIRouter(include_in_schema=False)


@router.get("/exams/new", name="new_exam_page")
def new_exam_page(request: Request, site: CurrentSite) -> Response:
    return _form(request, site, {})


@router.post("/exams/new", name="new_exam")
def new_exam(request: Request, site: CurrentSite, by: CurrentUser, form: SentForm) -> Response:
    given = {name: field(form, name) for name in ("title", "images", "pass_mark")}
    key = form.get("key")
    if not isinstance(key, UploadFile) or not key.filename:
        raise DeniedError("file_missing")
    try:
        made = make_exam(site, by.account, **given, key=key.file)
    except NoduleBenchError as error:
        return _form(request, site, given, 422, wrong=str(error))
    return redirect(f"/exams/{made}")


@router.get("/exams/{exam_id}", name="exam")
def exam_page(request: Request, site: CurrentSite, by: CurrentUser, exam_id: str) -> Response:
    with site.database.reading() as session:
        exam = find_exam(session, exam_id)
        status = exam_status(session, exam, by)
        sees_all = may(by.roles, "exam_sheets") and status is None
        if status is None and not sees_all:
            raise DeniedError("not_found", 404)
        results = (
            [(result.account, result) for result in results_of(session, exam_id)]
            if sees_all
            else []
        )
    values = {"status": status, "sees_all": sees_all, "results": results, "metrics": PASS_METRICS}
    return render_page(request, "exam.html", exam=exam, rules=rules_of(exam), **values)


@router.post("/exams/{exam_id}/end", name="end_exam")
def end(site: CurrentSite, by: CurrentUser, exam_id: str) -> Response:
    end_exam(site, by.account, exam_id)
    return redirect(f"/exams/{exam_id}")


@router.get("/exams/{exam_id}/exam.json", name="exam_sheets")
def exam_sheets(site: CurrentSite, by: CurrentUser, exam_id: str) -> Response:
    """Who passed, as ``annotate review start --exam`` reads it; without positions of nodules."""
    with site.database.reading() as session:
        if exam_status(session, find_exam(session, exam_id), by) is not None:
            raise DeniedError("not_allowed", 403)
        sheets = [disclosed_sheet(result) for result in results_of(session, exam_id)]
    headers = {"Content-Disposition": 'attachment; filename="exam.json"'}
    return JSONResponse(sheets, headers=headers)


def _form(
    request: Request, site: Site, given: dict[str, str], status: int = 200, wrong: str = ""
) -> Response:
    folders = scan_folders(site)
    return render_page(request, "new_exam.html", status, folders=folders, given=given, wrong=wrong)
