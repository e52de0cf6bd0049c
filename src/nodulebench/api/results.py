"""Result: an evaluation that answers questions with tables, and shows itself in a notebook."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Self

import polars as pl

from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.core.errors import InputError, UnknownNameError, did_you_mean
from nodulebench.core.optional_packages import needs
from nodulebench.core.results import Estimate, Evaluation
from nodulebench.core.tables import LABELS
from nodulebench.evaluation.errors import false_positive_table, miss_table
from nodulebench.evaluation.result_folder import cohorts_of, curve_table, write_evaluation
from nodulebench.i18n.translator import in_english, translator
from nodulebench.io.atomic import staged_file
from nodulebench.report.csv_tables import metrics_table
from nodulebench.report.pages.cells import chart_of, html_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, slots=True)
class Picture:
    """A chart: it shows itself in a notebook, and ``save`` writes it as an SVG file."""

    title: str
    svg: str
    """The chart as a complete SVG document."""

    def save(self, path: Path | str) -> Path:
        """Write the chart, all or nothing; returns its path."""
        with staged_file(Path(path)) as stage:
            stage.write_text(self.svg, encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return chart_of(self.title, self.svg)


MOST_METRICS = 3
"""The number of metrics in the short form of a result."""
COUNTS = ("hit", "missed", "false_positive")
HEADS = ("algorithm", "rule", "hit", "missed", "false positives")


@dataclass(frozen=True, repr=False, slots=True)
class Result(Evaluation):
    """The result of ``evaluate``. Tables are polars frames; each number is in one of them."""

    @classmethod
    def of(cls, evaluation: Evaluation) -> Self:
        return cls(**{field.name: getattr(evaluation, field.name) for field in fields(Evaluation)})

    @property
    def document(self) -> Document:
        return evaluation_document(self)

    def metrics(self) -> pl.DataFrame:
        """Every metric with its interval: one row per algorithm, rule, metric and point."""
        return metrics_table(self.document)

    def labels(self) -> pl.DataFrame:
        """The label of each mark under each rule."""
        labels = [algorithm.labels for algorithm in self.algorithms if algorithm.labels.width]
        return pl.concat(labels) if labels else LABELS.empty()

    def misses(self) -> pl.DataFrame:
        """Every missed nodule, with its nearest mark and the other algorithms that missed it.

        Nodules with ``is_missed`` false are hit, but not at every rate of the protocol.
        """
        return miss_table(cohorts_of(self), self.protocol)

    def false_positives(self) -> pl.DataFrame:
        """The false positives with the best scores, with the nodule nearest to each."""
        return false_positive_table(cohorts_of(self))

    def curve(
        self, name: str = "froc", *, algorithm: str | None = None, rule: str | None = None
    ) -> pl.DataFrame:
        """The points of a curve: x, y and threshold, of all algorithms and rules or of one.

        Raises:
            UnknownNameError: if there is no such curve, algorithm or rule.
        """
        table = curve_table(self)
        for column, wanted in (("algorithm", algorithm), ("rule", rule), ("curve", name)):
            if wanted is not None:
                _require(wanted, column, table[column].unique(maintain_order=True))
                table = table.filter(pl.col(column) == wanted)
        return table

    def plot(self, *, rule: str | None = None) -> Picture:
        """The FROC with its band, as in the report, of the first rule or the given one.

        Raises:
            InputError: if there is no FROC to draw.
            UnknownNameError: if there is no such rule.
        """
        from nodulebench.report.charts import with_legend
        from nodulebench.report.curves import FROC, by_curve, curve_charts
        from nodulebench.report.pages.svg import on_paper

        curves = curve_table(self)
        if rule is not None:
            _require(rule, "rule", curves["rule"].unique(maintain_order=True))
            curves = curves.filter(pl.col("rule") == rule)
        charts = curve_charts(self.document, by_curve(curves), FROC, translator())
        if not charts:
            raise InputError.at("plot", "there is no FROC.", "Give marks with scores.")
        return Picture(charts[0].title, on_paper(with_legend(charts[0])))

    def to_pandas(self) -> "pd.DataFrame":
        """``metrics()`` as a frame of pandas, which must be installed."""
        return as_pandas(self.metrics())

    def write(self, out: Path | str) -> list[Path]:
        """Write report.html, evaluation.json and the tables into a folder; the files written."""
        return write_evaluation(self, Path(out))

    def __repr__(self) -> str:
        return text_table(f"<Result: {self._title()}>", self._heads(), self._rows())

    def _repr_html_(self) -> str:
        table = html_table(self._title(), self._heads(), self._rows())
        has_froc = "froc" in curve_table(self)["curve"]
        return table + self.plot()._repr_html_() if has_froc else table

    def _title(self) -> str:
        facts = self.reference
        nodules = facts["findings"] - facts["ignored_findings"]
        counted = f"{facts['cases']} cases, {nodules} nodules"
        return f"{facts['name']}, {counted}; protocol {self.protocol.name}{self._verdict()}"

    def _verdict(self) -> str:
        plan = self.document.plan
        if plan is None:
            return ""
        because = "" if plan.reason is None else f" ({in_english(plan.reason)})"
        return f"; plan {plan.name}: {plan.verdict}{because}"

    def _shown(self) -> list[str]:
        """The metrics of the short form: the first that are one number."""
        names = (
            name
            for algorithm in self.algorithms
            for result in algorithm.rules.values()
            for name, metric in result.metrics.items()
            if isinstance(metric, Estimate)
        )
        return list(dict.fromkeys(names))[:MOST_METRICS]

    def _heads(self) -> list[str]:
        return [*HEADS, *self._shown()]

    def _rows(self) -> list[list[str]]:
        return [
            [
                algorithm.name,
                rule,
                *(str(result.counts.get(name, "–")) for name in COUNTS),
                *(_short(result.metrics.get(name)) for name in self._shown()),
            ]
            for algorithm in self.algorithms
            for rule, result in algorithm.rules.items()
        ]


def _short(metric: object) -> str:
    return str(metric.soundly) if isinstance(metric, Estimate) else "–"


def text_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
    return "\n".join([title, *shown])


def as_pandas(table: pl.DataFrame) -> "pd.DataFrame":
    """A table for pandas; columns become plain values, so that no other package is needed.

    Raises:
        InputError: if pandas is not installed.
    """
    with needs("pandas", "to_pandas"):
        import pandas as pd
    return pd.DataFrame(table.to_dict(as_series=False))


def _require(name: str, kind: str, known: pl.Series) -> None:
    if name not in known:
        listed = ", ".join(known)
        hint = did_you_mean(name, known)
        raise UnknownNameError(f"there is no {kind} '{name}'.{hint} Known: {listed}.")
