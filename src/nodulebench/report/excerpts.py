"""Document and what lies beside it -> those blocks of a report that another page shows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.translator import LanguageName, Translator, translator
from nodulebench.report.blocks import Paragraphs, Section, Table, head, words
from nodulebench.report.charts.interactive import switched
from nodulebench.report.content import Audience, ReportAttachments, for_developers
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.templates import framed
from nodulebench.report.sections.curves import by_curve, froc_charts
from nodulebench.report.sections.errors import miss_blocks
from nodulebench.report.sections.verdict import NOT_ISSUED, Issued, issued_facts


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Blocks of the report of one algorithm."""

    froc: Any
    """The curve, which can be read off; None: it has none."""
    misses: list[Any]
    """Single nodules and marks; nothing for developers."""


def excerpt(
    document: Document,
    curves: pl.DataFrame,
    beside: ReportAttachments,
    *,
    audience: Audience,
    translate: Translator,
    name: str,
    rule: str,
) -> Excerpt:
    """Curve and errors of the only algorithm of a document.

    Args:
        document: what evaluation.json holds.
        curves: the table in curves.parquet.
        beside: what lies beside the document.
        audience: ``developer`` leaves out whatever tells of single cases.
        translate: the translator of the language.
        name: what the algorithm is called here.
        rule: under which its errors are told.
    """
    document = document.soundly
    (algorithm,) = document.algorithms
    document = replace(document, algorithms=(replace(algorithm, name=name),))
    curves = curves.with_columns(algorithm=pl.lit(name))
    if audience != "lab":
        document, curves, beside = for_developers(document, curves, beside)
    charts = froc_charts(document, by_curve(curves), translate)
    misses = miss_blocks(document, beside, (algorithm.name, rule), translate)
    return Excerpt(switched(charts), misses)


def feedback_page(
    told: Mapping[str, Any],
    version: str,
    name: LanguageName = "en",
    issued: Issued = NOT_ISSUED,
) -> str:
    """The page in a language, complete in itself.

    Args:
        told: what feedback.json holds.
        version: of NoduleBench.
        name: the language.
        issued: who issues it, when and under which number.
    """
    translate = translator(name)
    metrics = told.get("metrics", {})
    budget = told["budget"]
    facts = [
        (translate("fact.test_set"), told["test_set"]),
        *([(translate("feedback.alias"), told["alias"])] if "alias" in told else []),
        *([(translate("feedback.plan"), told["plan"])] if "plan" in told else []),
        (
            translate("feedback.evaluation"),
            translate("feedback.evaluation_of", look=budget["used"], allowed=budget["allowed"]),
        ),
        *issued_facts(issued, translate),
    ]
    sections = []
    if metrics:
        sections.append(
            Section("metrics", translate("feedback.metrics"), [_metrics(metrics, translate)])
        )
    if "warning" in budget:
        texts = [translate.message(budget["warning"])]
        sections.append(
            Section("evaluations", translate("feedback.repeated_evaluations"), [Paragraphs(texts)])
        )
    return framed(
        title=told["algorithm"],
        kind=translate("page.kind_developer"),
        lead=_lead(told, translate),
        facts=facts,
        sections=sections,
        footer=[
            translate("feedback.footer"),
            translate("page.identity", version=version, digest=told["protocol"]),
            translate("feedback.submission", digest=told["submission"]),
        ],
        version=version,
        language=translate.code,
        contents=translate("page.contents"),
        find=translate("page.find"),
    )


def _lead(told: Mapping[str, Any], translate: Translator) -> str:
    if "verdict" not in told:
        return translate("feedback.lead_metrics")
    reason = translate.message(told["verdict_reason"]) if "verdict_reason" in told else ""
    return translate(f"feedback.{told['verdict']}", plan=told["plan"], reason=reason)


def _metrics(metrics: Mapping[str, Any], translate: Translator) -> Table:
    heads = [
        words(translate("feedback.metric")),
        words(translate("feedback.rule")),
        Cell(translate("feedback.value")),
        words(translate("feedback.bound")),
    ]
    rows = []
    for name, one in metrics.items():
        rule, _, metric = name.partition(".")
        title = translate.metric(metric.replace("@", "/")).title
        value = translate.message(one["reason"]) if one["value"] is None else f"{one['value']:g}"
        bound = "–"
        if "bound" in one:
            key = "feedback.at_most" if one.get("side") == "upper" else "feedback.at_least"
            bound = translate(key, bound=f"{one['bound']:g}")
        rows.append([head(title), words(translate.word(rule)), Cell(value), words(bound)])
    return Table(translate("feedback.rounded"), heads, rows)
