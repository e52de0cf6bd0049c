"""Document and flips -> the tables of a report as rows of plain numbers, for CSV files."""

from collections.abc import Iterable, Iterator

import polars as pl

from nodulebench.core.documents.comparison import ComparisonDocument, Permutation, Significance
from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import as_json
from nodulebench.core.json_types import JsonObject
from nodulebench.core.results import Estimate
from nodulebench.i18n.translator import in_english

Row = JsonObject
WORDS = ("point", "method", "reason", "metric")
"""Columns of text; any other empty column is one of numbers."""


def csv_tables(document: Document, flips: pl.DataFrame | None = None) -> dict[str, pl.DataFrame]:
    """Every table that has rows, by its name."""
    tables = {
        "metrics": list(_metrics(document)),
        "counts": list(_counts(document)),
        "strata": list(_strata(document)),
        "misses_by_type_and_size": list(_crossed(document)),
        "rule_differences": list(_rule_differences(document)),
        "flips": list(_flips(flips)),
        "differences": list(_differences(document.comparisons)),
        "rankings": list(_rankings(document)),
        "rule_effects": list(_rule_effects(document)),
        "criteria": list(_criteria(document)),
    }
    return {name: _table(rows) for name, rows in tables.items() if rows}


def metrics_table(document: Document) -> pl.DataFrame:
    """Every metric of every algorithm under every rule, one row each."""
    return _table(list(_metrics(document)))


def differences_table(comparisons: Iterable[ComparisonDocument]) -> pl.DataFrame:
    """Every difference from a baseline, one row each."""
    return _table(list(_differences(comparisons)))


def _table(rows: list[Row]) -> pl.DataFrame:
    """Rows as a table; a column in which every row is empty has its type nevertheless."""
    table = pl.DataFrame(rows, infer_schema_length=None)
    return table.with_columns(
        pl.col(name).cast(pl.String if name in WORDS else pl.Float64)
        for name, kind in table.schema.items()
        if kind == pl.Null
    )


def _estimate(metric: Estimate) -> Row:
    """An estimate as columns, the same in every row."""
    shown = metric.to_json()
    keys = ("value", "low", "high", "level", "method", "reason")
    sound = metric.soundly
    row = _worded({key: shown.get(key) for key in keys})
    return row | {"sound_low": sound.low, "sound_high": sound.high}


def _worded(row: Row) -> Row:
    """A row with its reason and its method as English text."""
    texts = {name: row[name] for name in ("method", "reason") if name in row}
    return {**row, **{name: in_english(text) if text else None for name, text in texts.items()}}


def _metrics(document: Document) -> Iterator[Row]:
    for algorithm, rule, result in document.results:
        named = {"algorithm": algorithm.name, "rule": rule}
        if result.undefined:
            missing = Estimate(None, reason=result.undefined)
            yield {**named, "metric": None, "point": None, **_estimate(missing)}
        for metric, value in result.metrics.items():
            readings = {None: value} if isinstance(value, Estimate) else value
            for point, reading in readings.items():
                yield {**named, "metric": metric, "point": point, **_estimate(reading)}


def _criteria(document: Document) -> Iterator[Row]:
    for criterion in document.plan.criteria if document.plan else ():
        yield _worded(as_json(criterion))


def _counts(document: Document) -> Iterator[Row]:
    names = list(dict.fromkeys(name for _, _, result in document.results for name in result.counts))
    for algorithm, rule, result in document.results:
        if not result.undefined:
            counts = {name: result.counts.get(name) for name in names}
            yield {"algorithm": algorithm.name, "rule": rule, **counts}


def _strata(document: Document) -> Iterator[Row]:
    for algorithm, rule, result in document.results:
        for division, strata in result.strata.items():
            for name, stratum in strata.items():
                rate = Estimate(None) if stratum.is_too_few else stratum.miss_rate.soundly
                counts = ("cases", "nodules", "missed", "is_too_few")
                yield {
                    **{"algorithm": algorithm.name, "rule": rule},
                    **{"division": division, "stratum": name},
                    **{key: getattr(stratum, key) for key in counts},
                    **{"miss_rate": rate.value, "low": rate.low, "high": rate.high},
                }


def _crossed(document: Document) -> Iterator[Row]:
    for algorithm, rule, result in document.results:
        for row in result.extras.get("misses_by_type_and_size", ()):
            yield {"algorithm": algorithm.name, "rule": rule, **row}


def _rule_differences(document: Document) -> Iterator[Row]:
    for algorithm in document.algorithms:
        for item in algorithm.rule_differences:
            yield _worded({"algorithm": algorithm.name, "reason": None, **item.to_json()})


def _flips(flips: pl.DataFrame | None) -> Iterator[Row]:
    """How many labels change in which way; single nodules and marks are in flips.parquet."""
    if flips is not None:
        keys = ["algorithm", "base_rule", "rule", "kind", "base_label", "label"]
        counted = flips.group_by(keys, maintain_order=True).len("count")
        yield from counted.iter_rows(named=True)


def _differences(comparisons: Iterable[ComparisonDocument]) -> Iterator[Row]:
    for comparison in comparisons:
        for difference in comparison.differences:
            shown, margin = difference.difference, as_json(difference.margin) or {}
            named = ("algorithm", "rule", "metric", "point", "value", "baseline_value")
            adjustments = ("holm", "bonferroni", "benjamini_hochberg")
            answers = ("margin", "is_non_inferior", "is_equivalent", "is_superior")
            row = {
                "baseline": comparison.baseline,
                **{name: getattr(difference, name) for name in named},
                "difference": shown.value,
                **{name: getattr(shown, name) for name in ("low", "high", "level")},
                "standard_error": difference.standard_error,
                "p_value": difference.p_value,
                **{f"p_{name}": difference.adjusted_p_value.get(name) for name in adjustments},
                "p_permutation": _p(difference.permutation),
                "p_delong": _p(difference.delong),
                **{name: margin.get(name) for name in answers},
                "reason": shown.reason or difference.reason,
            }
            yield _worded(row)


def _rankings(document: Document) -> Iterator[Row]:
    for comparison in document.comparisons:
        for ranking in comparison.rankings:
            named = {"rule": ranking.rule, "metric": ranking.metric, "point": ranking.point}
            for line in ranking.lines:
                yield {**named, **as_json(line)}


def _rule_effects(document: Document) -> Iterator[Row]:
    for comparison in document.comparisons:
        for metric in comparison.rule_effects.metrics if comparison.rule_effects else ():
            for pair in metric.pairs:
                sides = {"first": pair.first, "second": pair.second}
                tests = ("unpaired_t", "paired_t", "wilcoxon")
                yield {
                    "metric": metric.metric,
                    "point": metric.point,
                    **{
                        f"{side}{key}": value
                        for side, rule in sides.items()
                        for key, value in (
                            ("", rule),
                            ("_mean", metric.groups[rule].mean),
                            ("_sd", metric.groups[rule].sd),
                        )
                    },
                    "mean_difference": pair.mean_difference,
                    **{f"p_{test}": _p(getattr(pair, test)) for test in tests},
                    "p_paired_t_holm": pair.paired_t_holm,
                    "p_wilcoxon_holm": pair.wilcoxon_holm,
                    "p_one_way": _p(metric.one_way),
                    "p_repeated": _p(metric.repeated.corrected if metric.repeated else None),
                    "p_friedman": _p(metric.friedman),
                }


def _p(test: Significance | Permutation | None) -> float | None:
    return None if test is None else test.p_value
