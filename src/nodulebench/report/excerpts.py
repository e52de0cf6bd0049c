"""Document and attachments -> those blocks of a report that another page shows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.translator import LanguageName, Translator, translator
from nodulebench.report.blocks import Paragraphs, Row, Section, Table, head, words
from nodulebench.report.charts import switched
from nodulebench.report.content import Audience, ReportAttachments, for_developers
from nodulebench.report.curves import FROC, by_curve, curve_charts
from nodulebench.report.errors import miss_blocks
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.templates import Block, PageFrame, framed_page
from nodulebench.report.verdict import NOT_ISSUED, Issued, issued_facts


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Blocks of the report of one algorithm."""

    froc: Block | None
    """The interactive curve; None without a curve."""
    misses: list[Block]
    """Single nodules and marks; empty for developers."""


def excerpt(
    document: Document,
    curves: pl.DataFrame,
    attachments: ReportAttachments,
    *,
    audience: Audience,
    translate: Translator,
    name: str,
    rule: str,
) -> Excerpt:
    """Curve and errors under a rule of the only algorithm of a document, under another name."""
    document = document.soundly
    (algorithm,) = document.algorithms
    document = replace(document, algorithms=(replace(algorithm, name=name),))
    curves = curves.with_columns(algorithm=pl.lit(name))
    if audience != "lab":
        document, curves, attachments = for_developers(document, curves, attachments)
    charts = curve_charts(document, by_curve(curves), FROC, translate)
    misses = miss_blocks(document, attachments, (algorithm.name, rule), translate)
    return Excerpt(switched(charts), misses)


def feedback_page(
    feedback: Mapping[str, Any],
    version: str,
    name: LanguageName = "en",
    issued: Issued = NOT_ISSUED,
) -> str:
    """The content of feedback.json as one page; ``version`` is that of NoduleBench."""
    translate = translator(name)
    metrics = feedback.get("metrics", {})
    budget = feedback["budget"]
    facts = [
        (translate("fact.test_set"), feedback["test_set"]),
        *([(translate("feedback.alias"), feedback["alias"])] if "alias" in feedback else []),
        *([(translate("feedback.plan"), feedback["plan"])] if "plan" in feedback else []),
        (
            translate("feedback.evaluation"),
            translate("feedback.evaluation_of", used=budget["used"], allowed=budget["allowed"]),
        ),
        *issued_facts(issued, translate),
    ]
    sections = []
    if metrics:
        sections.append(
            Section("metrics", translate("feedback.metrics"), _metrics(metrics, translate))
        )
    if "warning" in budget:
        warning = Paragraphs([translate.message(budget["warning"])])
        title = translate("feedback.repeated_evaluations")
        sections.append(Section("repeated_evaluations", title, [warning]))
    return framed_page(
        PageFrame(
            title=feedback["algorithm"],
            kind=translate("page.kind_developer"),
            lead=_lead(feedback, translate),
            facts=facts,
            sections=sections,
            footer=[
                translate("feedback.footer"),
                translate("page.identity", version=version, digest=feedback["protocol"]),
                translate("feedback.submission", digest=feedback["submission"]),
            ],
            version=version,
            language=translate("language.code"),
            contents=translate("page.contents"),
            find=translate("page.find"),
        )
    )


def _lead(feedback: Mapping[str, Any], translate: Translator) -> str:
    if "verdict" not in feedback:
        return translate("feedback.lead_metrics")
    reason = translate.message(feedback["verdict_reason"]) if "verdict_reason" in feedback else ""
    return translate(f"feedback.{feedback['verdict']}", plan=feedback["plan"], reason=reason)


def _metrics(metrics: Mapping[str, Any], translate: Translator) -> list[Block]:
    rows: list[Row] = []
    for name, estimate in metrics.items():
        rule, _, metric = name.partition(".")
        value, bound = estimate["value"], "–"
        if "bound" in estimate:
            key = "feedback.at_most" if estimate.get("side") == "upper" else "feedback.at_least"
            bound = translate(key, bound=f"{estimate['bound']:g}")
        shown = translate.message(estimate["reason"]) if value is None else f"{value:g}"
        rows.append(
            {
                "feedback.metric": head(translate.metric(metric.replace("@", "/")).title),
                "feedback.rule": words(translate.word(rule)),
                "feedback.value": Cell(shown),
                "feedback.bound": words(bound),
            }
        )
    table = Table.of(translate("feedback.rounded"), rows, translate)
    return [] if table is None else [table]
