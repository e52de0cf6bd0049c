"""Document and attachments -> the content of a report, the same for page and print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.translator import LanguageName, Translator, translator
from nodulebench.report.blocks import Fold, Section, Side, Table, closed_if_long, tables_of
from nodulebench.report.charts import switched
from nodulebench.report.curves import (
    FROC,
    OTHER_CURVES,
    Curves,
    by_curve,
    curve_charts,
    diameter_chart,
    find_sweeps,
    parameter_charts,
    sweep_charts,
    tolerance_chart,
)
from nodulebench.report.pages.templates import Block
from nodulebench.report.result_tables import (
    counts_table,
    key_table,
    leading_rules,
    literature_table,
    metrics_table,
    readings_table,
    strata_tables,
)
from nodulebench.report.rules import difference_table, flip_table, uses_table
from nodulebench.report.summary import (
    MOST_NAMED,
    about_intervals,
    answer,
    facts,
    headline,
    paragraphs,
)
from nodulebench.report.verdict import (
    NOT_ISSUED,
    Issued,
    VerdictBlock,
    has_warnings,
    issued_facts,
    notices,
    signature_table,
    verdict,
)

if TYPE_CHECKING:
    from nodulebench.report.errors import Patch


@dataclass(frozen=True, slots=True)
class ReportAttachments:
    """What a report may show besides the evaluation; what is absent is left out."""

    flips: pl.DataFrame | None = None
    """Nodules and marks whose label depends on the rule."""
    misses: pl.DataFrame | None = None
    """MISSES: nodules missed."""
    false_positives: pl.DataFrame | None = None
    """FALSE_POSITIVES: those with the best scores."""
    causes: pl.DataFrame | None = None
    """Causes that readers gave false positives: algorithm, cause."""
    patches: Sequence["Patch"] = ()
    """Image patches of nodules and marks."""
    combinations: Sequence[pl.DataFrame] = ()
    """Tables of combined algorithms, as ``nodulebench combine`` writes them."""
    agreement: Sequence[JsonObject] = ()
    """How far readers agree: name, value, low, high."""
    sweeps: Sequence[pl.DataFrame] = ()
    """Counts for each value of a rule's parameter."""
    spreads: Sequence[pl.DataFrame] = ()
    """A metric under other references, as ``nodulebench reference spread`` writes it."""

    def only(self, algorithm: str) -> "ReportAttachments":
        """The same without the single nodules and marks of other algorithms, and their names."""
        is_own = pl.col("algorithm") == algorithm
        misses = self.misses
        if misses is not None:
            no_name = pl.lit(None, pl.String)
            misses = misses.filter(is_own).with_columns(also_missed_by=no_name, found_by=no_name)
        return replace(
            self,
            flips=None if self.flips is None else self.flips.filter(is_own),
            misses=misses,
            false_positives=None
            if self.false_positives is None
            else self.false_positives.filter(is_own),
        )

    issued: Issued = NOT_ISSUED
    """Laboratory, number and day of the report."""


NOTHING = ReportAttachments()


Audience = Literal["lab", "developer"]

READINGS = ("sensitivity_at_fp_rate", "threshold_at_fp_rate", "pcl_at_fpf")
DRAWN_EXTRAS = ("misses_by_type_and_size", "worst_cases")
"""Extras that have their own place in the report."""
MOST_OPEN = 3
"""With more algorithms their details start closed."""
MEASURED_STRATA = ("type", "size", "density")
"""Divisions whose miss rates are drawn for a group of algorithms."""


@dataclass(frozen=True, slots=True)
class Content(Block):
    """The content of a report, from the top."""

    macro: ClassVar[str] = "report"

    translate: Translator
    audience: Audience
    title: str
    answer: str
    """The result in a sentence or two."""
    protocol: str
    version: str
    digests: dict[str, str]
    facts: list[tuple[str, str]]
    verdict: VerdictBlock | None
    date: str
    """The day of issue; empty: not stated."""
    notices: list[tuple[str, str]]
    has_doubts: bool
    """Whether a notice says that a submission may well be wrong; notices are then shown open."""
    headline: list[tuple[str, str, str, str]]
    """Title, value, interval and meaning of the key metrics, where there is one result."""
    key_table: Table | None
    paragraphs: list[str]
    about_intervals: str
    sections: list[Section] = field(default_factory=list)
    details: list[Section] = field(default_factory=list)
    """Sections for reference; they start closed."""
    signatures: Table | None = None
    """The table for signatures; None: the report is not issued by a laboratory."""


Blocks = Sequence[Block | None]


def report_content(
    document: Document,
    curves: pl.DataFrame,
    attachments: ReportAttachments = NOTHING,
    *,
    audience: Audience = "lab",
    language_name: LanguageName = "en",
) -> Content:
    """The content of a report for an audience, in a language."""
    from nodulebench.report.checklist import checklist_table
    from nodulebench.report.errors import error_blocks
    from nodulebench.report.methods import (
        agreement_chart,
        method_blocks,
        sources_table,
        spread_tables,
        traceability_table,
        uncertainty_table,
    )

    translate = translator(language_name)
    document, is_lab = document.soundly, audience == "lab"
    if not is_lab:
        document, curves, attachments = for_developers(document, curves, attachments)
    drawn, compared = by_curve(curves), []
    if document.comparisons or attachments.combinations:
        from nodulebench.report.comparison import combination_tables, comparison_blocks

        compared = [
            *comparison_blocks(document, translate),
            *combination_tables(attachments.combinations, translate),
        ]
    read = dict.fromkeys(READINGS)  # metrics that are read at several points
    for _, _, result in document.results:
        read |= {name: None for name in result.metrics if result.readings(name)}
    sections: dict[str, Blocks] = {
        "compared": compared,
        "curves": [
            switched(curve_charts(document, drawn, FROC, translate)),
            *(closed_if_long(readings_table(document, name, translate)) for name in read),
            switched(curve_charts(document, drawn, OTHER_CURVES, translate)),
        ],
        "strata": _strata(document, translate),
        "errors": error_blocks(document, attachments, translate),
    }
    details: dict[str, Blocks] = {
        "rules": _rules(document, attachments, translate),
        "test_set": side_by_side(
            [diameter_chart(document, translate), agreement_chart(attachments.agreement, translate)]
        ),
        "extras": _extras(document, drawn, translate),
        "literature": [literature_table(document, translate)],
        "metrics": folded(
            {
                algorithm.name: [metrics_table(algorithm, translate)]
                for algorithm in document.algorithms
            }
        ),
        "methods": method_blocks(document, translate),
        "uncertainty": [
            uncertainty_table(document, translate),
            sources_table(document, translate),
            *spread_tables(attachments.spreads, translate),
            traceability_table(document, translate),
        ],
        "checklist": [checklist_table(document, translate)],
    }
    shown = [
        [
            Section(name.replace("_", "-"), translate(f"section.{name}"), having, part is sections)
            for name, blocks in part.items()
            if (having := [block for block in blocks if block is not None])
        ]
        for part in (sections, details)
    ]
    issued, plan = attachments.issued, document.plan
    if plan is not None and not issued.laboratory:
        issued = replace(issued, laboratory=plan.laboratory)
    names = [algorithm.name for algorithm in document.algorithms]
    is_named = len(names) <= MOST_NAMED
    title = translate.joined(names) if is_named else translate("page.algorithms", count=len(names))
    return Content(
        translate=translate,
        audience=audience,
        title=title,
        answer=translate.sentences(answer(document, translate)),
        protocol=document.protocol.name,
        version=document.version,
        digests=document.digests,
        facts=[*facts(document, translate), *issued_facts(issued, translate)],
        verdict=verdict(document, translate),
        date=issued.date,
        notices=notices(document, translate),
        has_doubts=has_warnings(document),
        headline=headline(document, translate),
        key_table=key_table(leading_rules(document), translate),
        paragraphs=paragraphs(document, translate),
        about_intervals=about_intervals(document, translate),
        sections=shown[0],
        details=shown[1],
        signatures=signature_table(issued, translate),
    )


def folded(parts: Mapping[str, Blocks]) -> list[Block]:
    """A single part as it is; several parts each under its name; empty ones are left out."""
    having = {name: [block for block in part if block is not None] for name, part in parts.items()}
    having = {name: blocks for name, blocks in having.items() if blocks}
    if len(having) == 1:
        return next(iter(having.values()))
    return [Fold(name, blocks, len(having) <= MOST_OPEN) for name, blocks in having.items()]


def side_by_side(blocks: Blocks, remark: str = "") -> list[Block]:
    """The blocks of these that there are, side by side."""
    shown = [block for block in blocks if block is not None]
    return [Side(shown, remark)] if shown else []


def for_developers(
    document: Document, curves: pl.DataFrame, attachments: ReportAttachments
) -> tuple[Document, pl.DataFrame, ReportAttachments]:
    """Document, curves and attachments as the developer of an algorithm may see them."""
    from nodulebench.report.developer_copy import developers_curves, developers_document

    shown = ReportAttachments(combinations=attachments.combinations, issued=attachments.issued)
    aggregates = developers_document(document)
    return aggregates, developers_curves(curves, aggregates), shown


def _rules(document: Document, attachments: ReportAttachments, translate: Translator) -> Blocks:
    charts, effects = [], []
    if len(document.algorithms) > 1:
        from nodulebench.report.groups import difference_chart, mean_chart
        from nodulebench.report.rules import rule_effect_blocks

        charts = [mean_chart(document, translate), difference_chart(document, translate)]
        if len(document.protocol.rules) > 1:
            effects = rule_effect_blocks(document, translate)
    return [
        *side_by_side(charts),
        None if leading_rules(document) is document else key_table(document, translate),
        *effects,
        closed_if_long(counts_table(document, translate)),
        closed_if_long(difference_table(document, translate)),
        uses_table(document, translate),
        flip_table(attachments.flips, translate),
        *(Side(parameter_charts(table, translate)) for table in attachments.sweeps),
    ]


def _strata(document: Document, translate: Translator) -> Blocks:
    charts: list[Block | None] = []
    if len(document.algorithms) > 1:
        from nodulebench.report.groups import hardest_chart, miss_rate_chart

        charts += [miss_rate_chart(document, name, translate) for name in MEASURED_STRATA]
        charts.append(hardest_chart(document, translate))
    minimum = document.protocol.minimum_stratum
    tables = {
        algorithm.name: side_by_side(strata_tables(algorithm, minimum, translate))
        for algorithm in document.algorithms
    }
    return [*side_by_side(charts), *folded(tables)]


def _extras(document: Document, curves: Curves, translate: Translator) -> Blocks:
    """Further tables of each result, with charts for the sweep over the size tolerance."""
    shown: dict[str, dict[str, list[Block]]] = {}
    for algorithm, rule, result in document.results:
        charts: list[Block] = []
        tables: list[Block] = []
        for name, value in result.extras.items():
            if name in DRAWN_EXTRAS:
                continue
            for rows in find_sweeps(value):
                charts += sweep_charts(rows, result.counts, translate)
            tables += tables_of(name, value, translate)
        if tables:
            tolerances = tolerance_chart(document, curves, algorithm.name, rule, translate)
            blocks = [*tolerances, *side_by_side(charts), Side(tables)]
            shown.setdefault(algorithm.name, {})[translate.word(rule)] = blocks
    return folded({name: folded(parts) for name, parts in shown.items()})
