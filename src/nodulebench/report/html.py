"""Document, curves and flips -> report.html: one file that needs no network and no server."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, Literal

import jinja2
import polars as pl
from markupsafe import Markup

from nodulebench.report.curves import (
    Curves,
    by_curve,
    froc_charts,
    other_charts,
    tolerance_chart,
)
from nodulebench.report.methods import (
    facts_table,
    identity_table,
    protocol_table,
    rules_table,
    uses_table,
)
from nodulebench.report.narrative import leading_result, paragraphs
from nodulebench.report.numbers import decimals, interval, whole
from nodulebench.report.results import (
    counts_table,
    difference_table,
    figures_table,
    find_figure,
    flip_table,
    key_names,
    key_table,
    pairs,
    readings_table,
)
from nodulebench.report.strata import strata_tables
from nodulebench.report.sweeps import find_sweeps, sweep_charts
from nodulebench.report.tables import Fold, Side, tables_of
from nodulebench.report.words import figure_words, in_words

Audience = Literal["lab", "developer"]
Document = dict[str, Any]

READINGS = ("sensitivity_at_fp_rate", "threshold_at_fp_rate", "pcl_at_fpf")
FIGURES_OF_ALL_MARKS = ("recall", "precision", "fp_per_case")
MOST_OPEN = 3
"""With more algorithms their details start closed."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: what the address bar and the contents call it, and what is in it."""

    name: str
    title: str
    blocks: Sequence[Any]


def render_html(
    document: Document,
    curves: pl.DataFrame,
    flips: pl.DataFrame | None = None,
    *,
    audience: Audience = "lab",
) -> str:
    """The report as one page.

    Args:
        document: what evaluation.json holds.
        curves: the table in curves.parquet: algorithm, rule, curve, x, y, threshold.
        flips: the table in flips.parquet, where there is more than one rule.
        audience: ``developer`` leaves out whatever reveals the reference standard: the list of
            single nodules and marks, and the remarks made on reading the reference.
    """
    is_lab, drawn = audience == "lab", by_curve(curves)
    script = _asset("report.js")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    sections = [
        Section("curves", "Curves and operating points", _curves(document, drawn)),
        Section("rules", "Rules and counts", _rules(document, flips if is_lab else None)),
        Section("strata", "Where nodules are missed", _strata(document)),
        Section("extras", "Further analyses", _extras(document, drawn)),
        Section("figures", "All figures", [figures_table(one) for one in document["algorithms"]]),
        Section("methods", "Methods", _methods(document)),
    ]
    shown = [
        replace(one, blocks=[block for block in one.blocks if block is not None])
        for one in sections
    ]
    page = environment.from_string(_asset("report.html.jinja")).render(
        document=document,
        title=_title(document),
        facts=_facts(document),
        notices=_notices(document, is_lab=is_lab),
        is_lab=is_lab,
        headline=_headline(document),
        key_table=key_table(document),
        paragraphs=paragraphs(document),
        sections=[one for one in shown if one.blocks],
        style=Markup(_asset("report.css")),  # noqa: S704 - our own files
        script=Markup(script),  # noqa: S704
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return page + "\n"


def _curves(document: Document, curves: Curves) -> list[Any]:
    return [
        *froc_charts(document, curves),
        *(readings_table(document, name) for name in READINGS),
        *other_charts(document, curves),
    ]


def _rules(document: Document, flips: pl.DataFrame | None) -> list[Any]:
    return [
        counts_table(document),
        difference_table(document),
        uses_table(document),
        flip_table(flips),
    ]


def _methods(document: Document) -> list[Any]:
    return [
        rules_table(document),
        protocol_table(document),
        facts_table(document),
        identity_table(document),
    ]


def _asset(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _title(document: Document) -> str:
    names = [one["name"] for one in document["algorithms"]]
    return str(names[0]) if len(names) == 1 else f"{len(names)} algorithms"


def _facts(document: Document) -> list[tuple[str, str]]:
    """What was tested, on what and how, for the top of the page."""
    reference = document["reference"]
    patients = reference.get("patients")
    counts = [result["counts"] for _, _, result in pairs(document) if "counts" in result]
    nodules = [one["nodules"] for one in counts] or [0]
    rules = [in_words(rule["name"]) for rule in document["protocol"]["rules"]]
    facts = [
        ("Test set", str(reference.get("name", ""))),
        ("Cases", _counted(reference.get("cases"))),
        ("Patients", _counted(patients if patients != reference.get("cases") else None)),
        ("Nodules to find", _span(min(nodules), max(nodules))),
        ("Rule" if len(rules) == 1 else "Rules", ", ".join(rules)),
        ("Protocol", document["protocol"]["name"]),
    ]  # fmt: skip
    return [(name, fact) for name, fact in facts if fact]


def _span(low: int, high: int) -> str:
    return whole(low) if low == high else f"{whole(low)} to {whole(high)}"


def _counted(value: int | None) -> str:
    return "" if value is None else whole(value)


def _notices(document: Document, *, is_lab: bool) -> list[tuple[str, str]]:
    """Everything a reader must know before the numbers: whom it concerns, and what.

    A notice that several results share is said once.
    """
    found = [("reference", text) for text in document["notices"]] if is_lab else []
    for algorithm in document["algorithms"]:
        found += [(algorithm["name"], text) for text in algorithm["notices"]]
    for algorithm, rule, result in pairs(document):
        about = f"{algorithm['name']}, {in_words(rule)}"
        if "undefined" in result:
            found.append((about, f"This rule could not be applied: {result['undefined']}."))
        found += [(about, text) for text in result.get("notices", ())]
    concerned: dict[str, list[str]] = {}
    for about, text in found:
        concerned.setdefault(text, []).append(about)
    return [("; ".join(abouts), text) for text, abouts in concerned.items()]


def _headline(document: Document) -> list[tuple[str, str, str, str]]:
    """Title, value, interval and meaning of the key figures, for one algorithm under one rule."""
    if len(list(pairs(document))) != 1:
        return []
    found = leading_result(document, document["algorithms"][0])
    if found is None:
        return []
    names = key_names(document)
    remark = ", all marks counted" if "cpm" in names else ""
    return [
        (
            figure_words(name).title,
            decimals(figure["value"]),
            interval(figure),
            figure_words(name).meaning + (remark if name in FIGURES_OF_ALL_MARKS else ""),
        )
        for name in names
        if (figure := find_figure(found[1]["figures"], name)) and figure["value"] is not None
    ]


def _strata(document: Document) -> list[Any]:
    minimum = document["protocol"]["minimum_stratum"]
    found = [(one["name"], strata_tables(one, minimum)) for one in document["algorithms"]]
    return _folded([(name, [Side(tables)]) for name, tables in found if tables])


def _extras(document: Document, curves: Curves) -> list[Any]:
    """Further tables of each result, with charts for the sweep over the size tolerance."""
    shown = []
    for algorithm, rule, result in pairs(document):
        charts: list[Any] = []
        tables: list[Any] = []
        for name, value in result.get("extras", {}).items():
            for rows in find_sweeps(value):
                charts += sweep_charts(rows, result["counts"])
            tables += tables_of(name, value)
        if tables:
            tolerances = tolerance_chart(document, curves, algorithm["name"], rule)
            blocks = [*tolerances, *([Side(charts)] if charts else []), Side(tables)]
            shown.append((f"{algorithm['name']}, {in_words(rule)}", blocks))
    return _folded(shown)


def _folded(parts: list[tuple[str, list[Any]]]) -> list[Any]:
    """One part as it is; several each under its name."""
    if len(parts) == 1:
        return parts[0][1]
    return [Fold(name, blocks, is_open=len(parts) <= MOST_OPEN) for name, blocks in parts]
