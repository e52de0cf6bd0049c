"""What a laboratory puts on its report: at the top, at the end, and in the file's own facts."""

from pathlib import Path

import pypdf
import pytest

from builders.evaluation import algorithm_result, curves_of, evaluation
from builders.report import plan, typed
from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.report.content import ReportAttachments, report_content
from nodulebench.report.html import render_html
from nodulebench.report.verdict import Issued

EVALUATION = evaluation(algorithm_result("Alpha", (90, 66)))
STATED = Issued("Test laboratory", "2026-17", "A. Bo", "2026-11-15")


def document(**changes: str) -> Document:
    return typed(evaluation_document(EVALUATION).to_json() | {"plan": plan(**changes)})


def test_facts_and_signatures_are_on_the_page() -> None:
    html = render_html(
        document(), curves_of(EVALUATION), attachments=ReportAttachments(issued=STATED)
    )
    head = html[: html.index("</header>")]
    for text in ("Test laboratory", "2026-17", "A. Bo", "2026-11-15"):
        assert f"<dd>{text}</dd>" in head
    end = html[html.index('id="signatures"') :]
    for text in ("Tested by", "Checked by", "Released by", "A. Bo"):
        assert text in end


def test_the_laboratory_of_the_plan_is_named_unless_another_is_stated() -> None:
    planned = document(laboratory="Planned laboratory")
    assert ("Laboratory", "Planned laboratory") in report_content(
        planned, curves_of(EVALUATION)
    ).facts
    content = report_content(planned, curves_of(EVALUATION), ReportAttachments(issued=STATED))
    assert ("Laboratory", "Test laboratory") in content.facts


def test_a_report_that_is_not_issued_has_no_signatures() -> None:
    content = report_content(document(), curves_of(EVALUATION))
    assert content.signatures is None
    assert 'id="signatures"' not in render_html(document(), curves_of(EVALUATION))


@pytest.mark.parametrize(("date", "stated"), [("2026-11-15", "D:20261115"), ("", None)])
def test_the_date_in_the_pdf_is_the_day_of_issue(
    tmp_path: Path, date: str, stated: str | None
) -> None:
    pytest.importorskip("typst")
    from nodulebench.report.pdf import render_pdf

    path = tmp_path / "report.pdf"
    attachments = ReportAttachments(issued=Issued("Test laboratory", "7", date=date))
    render_pdf(path, document(), curves_of(EVALUATION), attachments=attachments)
    facts = pypdf.PdfReader(path).metadata
    assert facts is not None
    created = facts.get("/CreationDate")
    assert created is None if stated is None else str(created).startswith(stated)
