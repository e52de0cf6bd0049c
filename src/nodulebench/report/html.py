"""Content of a report -> report.html: one file that needs no network and no server."""

from dataclasses import replace

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.translator import LanguageName
from nodulebench.report.content import (
    NOTHING,
    Audience,
    Content,
    ReportAttachments,
    report_content,
)
from nodulebench.report.pages.templates import PageFrame, framed_page

__all__ = ["Audience", "render_html"]


def render_html(
    document: Document,
    curves: pl.DataFrame,
    flips: pl.DataFrame | None = None,
    *,
    audience: Audience = "lab",
    language: LanguageName = "en",
    attachments: ReportAttachments = NOTHING,
) -> str:
    """The report as one page.

    Args:
        document: the content of evaluation.json.
        curves: the table in curves.parquet: algorithm, rule, curve, x, y, threshold.
        flips: the table in flips.parquet, where there is more than one rule.
        audience: ``developer`` leaves out what reveals the reference standard: single cases,
            nodules and marks, the digests of the test set, and curves in full detail.
        language: the language of every text that does not come from the data or the algorithms.
        attachments: what else is reported of the evaluation.
    """
    if flips is not None:
        attachments = replace(attachments, flips=flips)
    content = report_content(
        document, curves, attachments, audience=audience, language_name=language
    )
    return page(content)


def page(content: Content) -> str:
    """Content as one page."""
    translate = content.translate
    links = [(section.name, section.title) for section in content.sections]
    names = ["key"] if content.verdict is None else ["verdict", "key"]
    links = [(name, translate(f"section.{name}")) for name in names] + links
    if content.details:
        links.append(("details", translate("section.details")))
    return framed_page(
        PageFrame(
            title=content.title,
            about=content.protocol,
            kind=translate("page.kind" if content.audience == "lab" else "page.kind_developer"),
            lead=content.answer,
            facts=content.facts,
            sections=[content],
            links=links,
            contents=translate("page.contents"),
            find=translate("page.find"),
            footer=(
                translate("page.footer"),
                translate(
                    "page.identity", version=content.version, digest=content.digests["protocol"]
                ),
            ),
            version=content.version,
            language=translate("language.code"),
        )
    )
