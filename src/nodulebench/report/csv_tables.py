"""Document and flips -> the tables of a report as rows of plain numbers, for CSV files."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from nodulebench.report.reading_document import Document, pairs

Row = dict[str, Any]


def csv_tables(document: Document, flips: pl.DataFrame | None = None) -> dict[str, pl.DataFrame]:
    """Every table that has rows, by its name."""
    tables = {
        "figures": list(_figures(document)),
        "counts": list(_counts(document)),
        "strata": list(_strata(document)),
        "misses_by_type_and_size": list(_crossed(document)),
        "rule_differences": list(_rule_differences(document)),
        "flips": list(_flips(flips)),
        "differences": list(_differences(document)),
        "rankings": list(_rankings(document)),
        "rule_effects": list(_rule_effects(document)),
        "criteria": document.get("plan", {}).get("criteria", []),
    }
    return {
        name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in tables.items() if rows
    }


def _estimate(figure: Row | None) -> Row:
    """An estimate as columns; every column is there, so that all rows are alike."""
    found = figure or {"value": None, "reason": "not computed under this rule"}
    keys = ("value", "low", "high", "level", "method", "reason")
    return {key: found.get(key) for key in keys}


def _figures(document: Document) -> Iterator[Row]:
    for algorithm, rule, result in pairs(document):
        named = {"algorithm": algorithm["name"], "rule": rule}
        if "undefined" in result:
            missing = {"value": None, "reason": result["undefined"]}
            yield {**named, "figure": None, "point": None, **_estimate(missing)}
        for figure, found in result.get("figures", {}).items():
            readings = {None: found} if "value" in found else found
            for point, one in readings.items():
                yield {**named, "figure": figure, "point": point, **_estimate(one)}


def _counts(document: Document) -> Iterator[Row]:
    names = list(
        dict.fromkeys(name for _, _, result in pairs(document) for name in result.get("counts", {}))
    )
    for algorithm, rule, result in pairs(document):
        if "counts" in result:
            counts = {name: result["counts"].get(name) for name in names}
            yield {"algorithm": algorithm["name"], "rule": rule, **counts}


def _strata(document: Document) -> Iterator[Row]:
    for algorithm, rule, result in pairs(document):
        for division, strata in result.get("strata", {}).items():
            for name, one in strata.items():
                rate = _estimate(one["miss_rate"])
                yield {
                    "algorithm": algorithm["name"],
                    "rule": rule,
                    "division": division,
                    "stratum": name,
                    "cases": one.get("cases"),
                    "nodules": one["nodules"],
                    "missed": one["missed"],
                    "is_too_few": one["too_few"],
                    "miss_rate": None if one["too_few"] else rate["value"],
                    "low": None if one["too_few"] else rate["low"],
                    "high": None if one["too_few"] else rate["high"],
                }


def _crossed(document: Document) -> Iterator[Row]:
    for algorithm, rule, result in pairs(document):
        for row in result.get("extras", {}).get("misses_by_type_and_size", ()):
            yield {"algorithm": algorithm["name"], "rule": rule, **row}


def _rule_differences(document: Document) -> Iterator[Row]:
    for algorithm in document["algorithms"]:
        for item in algorithm["rule_differences"]:
            yield {"algorithm": algorithm["name"], "reason": None, **item}


def _flips(flips: pl.DataFrame | None) -> Iterator[Row]:
    """How many labels change in which way; single nodules and marks are in flips.parquet."""
    if flips is not None:
        keys = ["algorithm", "base_rule", "rule", "kind", "base_label", "label"]
        counted = flips.group_by(keys, maintain_order=True).len("count")
        yield from counted.iter_rows(named=True)


def _differences(document: Document) -> Iterator[Row]:
    for found in document["comparisons"]:
        for one in found["differences"]:
            shown, adjusted = one["difference"], one.get("adjusted_p_value", {})
            permutation, margin = one.get("permutation") or {}, one.get("margin") or {}
            yield {
                "baseline": found["baseline"],
                "algorithm": one["algorithm"],
                "rule": one["rule"],
                "figure": one["figure"],
                "point": one["point"],
                "value": one.get("value"),
                "baseline_value": one.get("baseline_value"),
                "difference": shown["value"],
                "low": shown.get("low"),
                "high": shown.get("high"),
                "level": shown.get("level"),
                "standard_error": one.get("standard_error"),
                "p_value": one.get("p_value"),
                "p_holm": adjusted.get("holm"),
                "p_bonferroni": adjusted.get("bonferroni"),
                "p_benjamini_hochberg": adjusted.get("benjamini_hochberg"),
                "p_permutation": permutation.get("p_value"),
                "margin": margin.get("margin"),
                "is_non_inferior": margin.get("is_non_inferior"),
                "is_equivalent": margin.get("is_equivalent"),
                "is_superior": margin.get("is_superior"),
                "reason": shown.get("reason") or one.get("reason"),
            }


def _rankings(document: Document) -> Iterator[Row]:
    for found in document["comparisons"]:
        for ranking in found["rankings"]:
            named = {key: ranking[key] for key in ("rule", "figure", "point")}
            for line in ranking["lines"]:
                yield {**named, **line}


def _rule_effects(document: Document) -> Iterator[Row]:
    for found in document["comparisons"]:
        for one in (found["rule_effects"] or {}).get("figures", ()):
            for pair in one.get("pairs", ()):
                groups = [one["groups"][pair[side]] for side in ("first", "second")]
                yield {
                    "figure": one["figure"],
                    "point": one["point"],
                    "first": pair["first"],
                    "first_mean": groups[0]["mean"],
                    "first_sd": groups[0]["sd"],
                    "second": pair["second"],
                    "second_mean": groups[1]["mean"],
                    "second_sd": groups[1]["sd"],
                    "mean_difference": pair["mean_difference"],
                    **{
                        f"p_{test}": (pair[test] or {}).get("p_value")
                        for test in ("unpaired_t", "paired_t", "wilcoxon")
                    },
                    "p_paired_t_holm": pair["paired_t_holm"],
                    "p_wilcoxon_holm": pair["wilcoxon_holm"],
                    "p_one_way": (one["one_way"] or {}).get("p_value"),
                    "p_repeated": ((one["repeated"] or {}).get("corrected") or {}).get("p_value"),
                    "p_friedman": (one["friedman"] or {}).get("p_value"),
                }
