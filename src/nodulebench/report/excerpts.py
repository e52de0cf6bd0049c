"""Document and what lies beside it -> those blocks of a report that another page shows."""

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.i18n.translator import Language
from nodulebench.report.beside import Beside
from nodulebench.report.charts.interactive import switched
from nodulebench.report.content import Audience, for_developers
from nodulebench.report.sections.curves import by_curve, froc_charts
from nodulebench.report.sections.misses import miss_blocks


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
    beside: Beside,
    *,
    audience: Audience,
    say: Language,
    name: str,
    rule: str,
) -> Excerpt:
    """Curve and errors of the only algorithm of a document.

    Args:
        document: what evaluation.json holds.
        curves: the table in curves.parquet.
        beside: what lies beside the document.
        audience: ``developer`` leaves out whatever tells of single cases.
        say: the language.
        name: what the algorithm is called here.
        rule: under which its errors are told.
    """
    document = document.soundly
    (algorithm,) = document.algorithms
    document = replace(document, algorithms=(replace(algorithm, name=name),))
    curves = curves.with_columns(algorithm=pl.lit(name))
    if audience != "lab":
        document, curves, beside = for_developers(document, curves, beside)
    charts = froc_charts(document, by_curve(curves), say)
    misses = miss_blocks(document, beside, (algorithm.name, rule), say)
    return Excerpt(switched(charts), misses)
