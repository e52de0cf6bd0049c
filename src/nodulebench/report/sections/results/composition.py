"""coverage.json -> coverage.html: what a test set consists of, and whether that is the plan."""

from typing import Any

from nodulebench.language.numbers import decimals, whole
from nodulebench.pages.frame import framed
from nodulebench.report.blocks.blocks import Section, Side
from nodulebench.report.blocks.cells import Cell, count, head, words
from nodulebench.report.blocks.charts import Chart
from nodulebench.report.blocks.tables import Table
from nodulebench.report.drawing.axes import Axis
from nodulebench.report.drawing.pictures.rows import Row, Value, row_chart

MOST_ROWS = 12
"""A column with more values is shown as a table of the most frequent ones."""
PERCENTS = tuple((n / 5, f"{20 * n}") for n in range(6))

CoverageDocument = dict[str, Any]


def render_coverage(document: CoverageDocument) -> str:
    """The composition of a test set and the rules of its design as one page."""
    design, outcomes = document["design"], document["outcomes"]
    sections = [
        Section("design", "Design input", [_input(design)]),
        Section("rules", "Rules of the design", [_rules(outcomes)] if outcomes else []),
        Section("ranges", "Ranges", [_ranges(document)]),
        Section("shares", "Shares", [Side([_shares(one) for one in document["shares"]])]),
        Section("thin", "Thin strata", [_thin(document), _unknown(document)]),
        Section("commission", "For the arbitration commission", [_commission(document)]),
    ]
    shown = [
        Section(one.name, one.title, [block for block in one.blocks if block is not None])
        for one in sections
    ]
    return framed(
        title=document["name"],
        kind="NoduleBench · composition of a test set",
        lead=_lead(design, outcomes),
        facts=[(name, whole(number)) for name, number in document["totals"].items()],
        sections=[one for one in shown if one.blocks],
        footer=[f"NoduleBench {document['version']}. Every number stands in coverage.json."],
        version=document["version"],
    )


def _lead(design: dict[str, str], outcomes: list[dict[str, Any]]) -> str:
    if not design:
        return "No design was given."
    met = sum(one["answer"] == "met" for one in outcomes)
    preferred = sum(one["answer"] == "preferred, not met" for one in outcomes)
    told = f"{design['title'] or design['name']}: {met} of {len(outcomes)} rules are met"
    return told + (f"; {preferred} of the others are preferences." if preferred else ".")


def _input(design: dict[str, str]) -> Table | None:
    """What the design says in words."""
    names = {
        "purpose": "Purpose",
        "patients": "Patients",
        "identification": "Names of cases and series",
    }
    rows = [[head(told), words(design[name])] for name, told in names.items() if design.get(name)]
    return Table("", [], rows) if rows else None


def _unknown(document: CoverageDocument) -> Table | None:
    """Strata of the design that the tables do not tell."""
    rows = [[words(name)] for name in document["unknown_strata"]]
    remark = "Strata of the design whose column neither cases nor nodules have."
    return Table("Not told", [], rows, remark=remark) if rows else None


def _rules(outcomes: list[dict[str, Any]]) -> Table:
    rows = [
        [
            head(one["name"]),
            words(one["source"]),
            words(one["required"]),
            words(one["found"]),
            words(one["answer"].replace(" ", "\N{NO-BREAK SPACE}", 1)),
            words("; ".join(one["missing"])),
        ]
        for one in outcomes
    ]
    heads = [words(text) for text in ("Rule", "Asked by", "Required", "Found", "Answer", "Missing")]
    return Table("", heads, rows)


def _ranges(document: CoverageDocument) -> Table | None:
    rows = [
        [
            head(f"{_named(one['column'])}, {one['unit']}"),
            *(Cell(decimals(one[name], 2)) for name in ("low", "mean", "high")),
            count(one["stated"]),
        ]
        for one in document["ranges"]
    ]
    heads = [words(""), *(Cell(text) for text in ("Smallest", "Mean", "Largest", "Cases stated"))]
    return Table("", heads, rows) if rows else None


def _named(column: str) -> str:
    """A column's name as words, without its unit."""
    for unit in ("_mm", "_kv", "_ma", "_mas", "_msv"):
        column = column.removesuffix(unit)
    return column.removeprefix("is_").replace("_", " ")


def _shares(shares: dict[str, Any]) -> Chart | Table:
    title = f"{_named(shares['column']).capitalize()} of the {shares['table']}"
    total = sum(shares["counts"].values())
    told = [
        (name.replace("_", " "), number, number / total)
        for name, number in shares["counts"].items()
    ]
    if len(told) > MOST_ROWS:
        most = sorted(told, key=lambda one: -one[1])[:MOST_ROWS]
        rows = [[head(name), count(number), Cell(f"{share:.1%}")] for name, number, share in most]
        return Table(title, [], rows, remark=f"{len(told) - MOST_ROWS} more in coverage.json.")
    bars = [
        Row(name, (Value(share, text=f"{whole(number)} ({share:.1%})"),))
        for name, number, share in told
    ]
    axis = Axis("percent", 0.0, 1.0, PERCENTS)
    return Chart(title, row_chart(bars, axis, title, base=0.0, has_bars=True))


def _thin(document: CoverageDocument) -> Table | None:
    rows = [
        [
            head(_named(one["column"])),
            words(one["value"].replace("_", " ")),
            count(one["nodules"]),
            Cell(f"± {one['half_width']:.2f}"),
        ]
        for one in document["thin"]
    ]
    if not rows:
        return None
    wanted = document["wanted"]
    remark = (
        f"At a sensitivity of {wanted['sensitivity']:g} the 95 % interval (Wilson, independent "
        f"nodules) would reach further than {wanted['half_width']:g} to one side. Nodules of one "
        "patient correlate, so the true width is larger."
    )
    heads = [words("Column"), words("Stratum"), Cell("Nodules"), Cell("Half width")]
    return Table("", heads, rows, remark=remark)


def _commission(document: CoverageDocument) -> Table:
    rows = [
        [head(one["topic"]), words(one["evidence"]), words(""), words("")]
        for one in document["commission"]
    ]
    heads = [words(text) for text in ("To inspect", "Evidence in the data", "Judged", "By, on")]
    return Table("", heads, rows)
