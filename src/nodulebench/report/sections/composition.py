"""coverage.json -> coverage.html: what a test set consists of, and whether that is the plan."""

from dataclasses import dataclass
from typing import Any

from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.numbers import decimals, whole
from nodulebench.i18n.translator import LanguageName, Translator, translator
from nodulebench.report.blocks import Section, Side, Table, count, head, words
from nodulebench.report.charts.bars import Row, Value, row_chart
from nodulebench.report.charts.interactive import Chart
from nodulebench.report.charts.svg import Axis
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.templates import framed

MOST_ROWS = 12
"""A column with more values is shown as a table of the most frequent ones."""
PERCENTS = tuple((n / 5, f"{20 * n}") for n in range(6))

CoverageDocument = JsonObject


@dataclass(frozen=True, slots=True)
class CoverageParts:
    """What a page says of the composition of a test set."""

    lead: str
    facts: list[tuple[str, str]]
    sections: list[Section]


def render_coverage(document: CoverageDocument, name: LanguageName = "en") -> str:
    """The composition of a test set and the rules of its design as one page, in a language."""
    say = translator(name)
    parts = coverage_parts(document, say)
    return framed(
        title=document["name"],
        kind=say("coverage.kind"),
        lead=parts.lead,
        facts=parts.facts,
        sections=parts.sections,
        footer=[say("coverage.footer", version=document["version"])],
        version=document["version"],
        language=say.code,
        contents=say("page.contents"),
        find=say("curated.find"),
    )


def coverage_parts(document: CoverageDocument, say: Translator) -> CoverageParts:
    """The same as parts of a page."""
    blocks: dict[str, list[Any]] = {
        "design": [_input(document, say)],
        "rules": [_rules(document, say)],
        "ranges": [_ranges(document, say)],
        "shares": [Side([_shares(share, say) for share in document["shares"]])],
        "thin": [_thin(document, say), _unknown(document, say)],
        "against": _against(document, say),
        "commission": [_commission(document, say)],
    }
    totals = document["totals"].items()
    return CoverageParts(
        _lead(document, say),
        [(say(f"coverage.total_{key}"), whole(total)) for key, total in totals],
        [
            Section(key, say(f"coverage.section_{key}"), [one for one in found if one is not None])
            for key, found in blocks.items()
            if any(found)
        ],
    )


def _lead(document: CoverageDocument, say: Translator) -> str:
    design, answers = document["design"], [outcome["answer"] for outcome in document["outcomes"]]
    if not design:
        return say("coverage.no_design")
    met, preferred = answers.count("met"), answers.count("preferred, not met")
    told = {"design": design["title"] or design["name"], "met": met, "rules": len(answers)}
    if preferred:
        return say("coverage.lead_preferred", preferred=preferred, **told)
    return say("coverage.lead", **told)


def _input(document: CoverageDocument, say: Translator) -> Table | None:
    """What the design says in words."""
    told = {key: document["design"].get(key) for key in ("purpose", "patients", "identification")}
    rows = [[head(say(f"coverage.{key}")), words(text)] for key, text in told.items() if text]
    return Table("", [], rows) if rows else None


def _unknown(document: CoverageDocument, say: Translator) -> Table | None:
    """Strata of the design that the tables do not tell."""
    rows = [[words(column)] for column in document["unknown_strata"]]
    remark = say("coverage.unknown_remark")
    return Table(say("coverage.unknown"), [], rows, remark=remark) if rows else None


def _rules(document: CoverageDocument, say: Translator) -> Table | None:
    rows = [
        [
            head(outcome["name"]),
            words(outcome["source"]),
            words(say.messages(outcome["required"])),
            words(say.messages(outcome["found"])),
            words(say.word(outcome["answer"]).replace(" ", "\N{NO-BREAK SPACE}", 1)),
            words(say.messages(outcome["missing"])),
        ]
        for outcome in document["outcomes"]
    ]
    heads = _heads(say, "rule", "source", "required", "found", "answer", "missing")
    return Table("", [*map(words, heads)], rows) if rows else None


def _heads(say: Translator, *keys: str) -> list[str]:
    return [say(f"coverage.head_{key}") for key in keys]


def _ranges(document: CoverageDocument, say: Translator) -> Table | None:
    rows = [
        [
            head(
                say("coverage.in_unit", column=_named(range_, say), unit=say.word(range_["unit"]))
            ),
            *(Cell(decimals(range_[key], 2)) for key in ("low", "mean", "high")),
            count(range_["stated"]),
        ]
        for range_ in document["ranges"]
    ]
    heads = [words(""), *map(Cell, _heads(say, "low", "mean", "high", "stated"))]
    return Table("", heads, rows) if rows else None


def _named(one: JsonObject, say: Translator) -> str:
    """A column's name as words, without its unit."""
    column: str = one["column"]
    for unit in ("_mm", "_kv", "_ma", "_mas", "_msv"):
        column = column.removesuffix(unit)
    return say.word(column.removeprefix("is_"))


def _shares(shares: JsonObject, say: Translator) -> Chart | Table:
    column = _named(shares, say)
    title = say(f"coverage.of_{shares['table']}", column=column[:1].upper() + column[1:])
    total = sum(shares["counts"].values())
    told = [(say.word(name), number, number / total) for name, number in shares["counts"].items()]
    if len(told) > MOST_ROWS:
        most = sorted(told, key=lambda one: -one[1])[:MOST_ROWS]
        rows = [[head(name), count(number), Cell(f"{share:.1%}")] for name, number, share in most]
        remark = say("coverage.more", count=len(told) - MOST_ROWS)
        return Table(title, [], rows, remark=remark)
    bars = [
        Row(name, (Value(share, text=f"{whole(number)} ({share:.1%})"),))
        for name, number, share in told
    ]
    axis = Axis(say("coverage.percent"), 0.0, 1.0, PERCENTS)
    return Chart(title, row_chart(bars, axis, title, base=0.0, has_bars=True))


def _thin(document: CoverageDocument, say: Translator) -> Table | None:
    rows = [
        [
            head(_named(one, say)),
            words(say.word(one["value"])),
            count(one["nodules"]),
            Cell(f"± {one['half_width']:.2f}"),
        ]
        for one in document["thin"]
    ]
    named, counted = _heads(say, "column", "stratum"), _heads(say, "nodules", "half_width")
    remark = say("coverage.thin_remark", **document["wanted"])
    return (
        Table("", [*map(words, named), *map(Cell, counted)], rows, remark=remark) if rows else None
    )


def _against(document: CoverageDocument, say: Translator) -> list[Table]:
    """Another test set beside this one: sizes, what makes nodules hard, shares of each value."""
    found = document.get("against")
    if found is None:
        return []
    heads = [words(""), Cell(document["name"]), Cell(found["name"])]
    totals = [
        [head(say(f"coverage.total_{key}")), *map(count, pair)]
        for key, pair in found["totals"].items()
    ]
    hard = [
        [head(say(f"coverage.hard_{one['name']}")), *map(_metric, (one["first"], one["second"]))]
        for one in found["difficulty"]
        if (one["first"], one["second"]) != (None, None)
    ]
    alone = [say.word(name) for name in found["one_sided"]]
    remark = say("coverage.one_sided", columns=say.listed(alone)) if alone else ""
    return [
        Table(say("coverage.sizes"), heads, totals),
        Table(say("coverage.hard"), heads, hard, remark=remark),
        *(_beside(difference, heads, say) for difference in found["differences"]),
    ]


def _beside(shares: JsonObject, heads: list[Cell], say: Translator) -> Table:
    column = _named(shares, say)
    title = say(f"coverage.of_{shares['table']}", column=column[:1].upper() + column[1:])
    most = list(shares["shares"].items())
    if len(most) > MOST_ROWS:
        most = sorted(most, key=lambda pair: -max(pair[1]))[:MOST_ROWS]
    rows = [
        [head(say.word(name)), *(Cell(f"{share:.1%}") for share in pair)] for name, pair in most
    ]
    return Table(title, heads, rows, remark=say("coverage.distance", distance=shares["distance"]))


def _metric(value: float | None) -> Cell:
    return Cell("–" if value is None else decimals(value, 2))


def _commission(document: CoverageDocument, say: Translator) -> Table:
    rows = [
        [
            head(say.message(one["topic"])),
            words(say.messages(one["evidence"])),
            words(""),
            words(""),
        ]
        for one in document["commission"]
    ]
    return Table("", [*map(words, _heads(say, "topic", "evidence", "judged", "by"))], rows)
