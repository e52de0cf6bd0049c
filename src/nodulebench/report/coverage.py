"""coverage.json -> coverage.html: what a test set consists of, and whether that is the plan."""

from collections.abc import Sequence
from dataclasses import dataclass

from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.numbers import decimals, whole
from nodulebench.i18n.translator import LanguageName, Translator, translator
from nodulebench.report.blocks import Row, Section, Side, Table, count, head, words
from nodulebench.report.charts import Bars, Chart, Value, row_chart
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.svg import Axis
from nodulebench.report.pages.templates import Block, PageFrame, framed_page

MOST_ROWS = 12
"""A column with more values is shown as a table of the most frequent ones."""
PERCENTS = tuple((n / 5, f"{20 * n}") for n in range(6))

CoverageDocument = JsonObject
Cells = dict[str, Cell]
"""A row: the ends of the keys of its headings, and its cells."""


@dataclass(frozen=True, slots=True)
class CoverageParts:
    """The composition of a test set as parts of a page."""

    lead: str
    facts: list[tuple[str, str]]
    sections: list[Section]


def render_coverage(document: CoverageDocument, name: LanguageName = "en") -> str:
    """The composition of a test set and the rules of its design as one page, in a language."""
    translate = translator(name)
    parts = coverage_parts(document, translate)
    return framed_page(
        PageFrame(
            title=document["name"],
            kind=translate("coverage.kind"),
            lead=parts.lead,
            facts=parts.facts,
            sections=parts.sections,
            footer=[translate("coverage.footer", version=document["version"])],
            version=document["version"],
            language=translate("language.code"),
            contents=translate("page.contents"),
            find=translate("curated.find"),
        )
    )


def coverage_parts(document: CoverageDocument, translate: Translator) -> CoverageParts:
    """The same as parts of a page."""
    blocks: dict[str, list[Block | None]] = {
        "design": [_input(document, translate)],
        "rules": [_rules(document, translate)],
        "ranges": [_ranges(document, translate)],
        "shares": [Side([_shares(share, translate) for share in document["shares"]])],
        "thin": [_thin(document, translate), _unknown(document, translate)],
        "against": [*_against(document, translate)],
        "commission": [_commission(document, translate)],
    }
    totals = document["totals"].items()
    return CoverageParts(
        _lead(document, translate),
        [(translate(f"coverage.total_{key}"), whole(total)) for key, total in totals],
        [
            Section(
                key,
                translate(f"coverage.section_{key}"),
                [part for part in parts if part is not None],
            )
            for key, parts in blocks.items()
            if any(parts)
        ],
    )


def _lead(document: CoverageDocument, translate: Translator) -> str:
    design, answers = document["design"], [outcome["answer"] for outcome in document["outcomes"]]
    if not design:
        return translate("coverage.no_design")
    met, preferred = answers.count("met"), answers.count("preferred, not met")
    values = {"design": design["title"] or design["name"], "met": met, "rules": len(answers)}
    if preferred:
        return translate("coverage.lead_preferred", preferred=preferred, **values)
    return translate("coverage.lead", **values)


def _input(document: CoverageDocument, translate: Translator) -> Table | None:
    texts = {key: document["design"].get(key) for key in ("purpose", "patients", "identification")}
    rows = [
        [head(translate(f"coverage.{key}")), words(text)] for key, text in texts.items() if text
    ]
    return Table("", [], rows) if rows else None


def _unknown(document: CoverageDocument, translate: Translator) -> Table | None:
    """Strata of the design that the tables do not contain."""
    rows = [[words(column)] for column in document["unknown_strata"]]
    remark = translate("coverage.unknown_remark")
    return Table(translate("coverage.unknown"), [], rows, remark=remark) if rows else None


def _rules(document: CoverageDocument, translate: Translator) -> Table | None:
    rows: list[Cells] = [
        {
            "rule": head(outcome["name"]),
            "source": words(outcome["source"]),
            "required": words(translate.messages(outcome["required"])),
            "found": words(translate.messages(outcome["found"])),
            "answer": words(
                translate.word(outcome["answer"]).replace(" ", "\N{NO-BREAK SPACE}", 1)
            ),
            "missing": words(translate.messages(outcome["missing"])),
        }
        for outcome in document["outcomes"]
    ]
    return _table(rows, translate)


def _table(rows: Sequence[Cells], translate: Translator, remark: str = "") -> Table | None:
    """A table whose headings are among those of this page."""
    keyed: list[Row] = [
        {key and f"coverage.head_{key}": cell for key, cell in row.items()} for row in rows
    ]
    return Table.of("", keyed, translate, remark=remark)


def _ranges(document: CoverageDocument, translate: Translator) -> Table | None:
    rows = []
    for range_ in document["ranges"]:
        column, unit = _named(range_, translate), translate.word(range_["unit"])
        row = {"": head(translate("coverage.in_unit", column=column, unit=unit))}
        row |= {key: Cell(decimals(range_[key], 2)) for key in ("low", "mean", "high")}
        rows.append({**row, "stated": count(range_["stated"])})
    return _table(rows, translate)


def _named(row: JsonObject, translate: Translator) -> str:
    """A column's name as words, without its unit."""
    column: str = row["column"]
    for unit in ("_mm", "_kv", "_ma", "_mas", "_msv"):
        column = column.removesuffix(unit)
    return translate.word(column.removeprefix("is_"))


def _shares(shares: JsonObject, translate: Translator) -> Chart | Table:
    column = _named(shares, translate)
    title = translate(f"coverage.of_{shares['table']}", column=column[:1].upper() + column[1:])
    total = sum(shares["counts"].values())
    shares_by_name = [
        (translate.word(name), number, number / total) for name, number in shares["counts"].items()
    ]
    if len(shares_by_name) > MOST_ROWS:
        most = sorted(shares_by_name, key=lambda row: -row[1])[:MOST_ROWS]
        rows = [[head(name), count(number), Cell(f"{share:.1%}")] for name, number, share in most]
        remark = translate("coverage.more", count=len(shares_by_name) - MOST_ROWS)
        return Table(title, [], rows, remark=remark)
    bars = [
        Bars(name, (Value(share, text=f"{whole(number)} ({share:.1%})"),))
        for name, number, share in shares_by_name
    ]
    axis = Axis(translate("coverage.percent"), 0.0, 1.0, PERCENTS)
    return Chart(title, row_chart(bars, axis, title, base=0.0, has_bars=True))


def _thin(document: CoverageDocument, translate: Translator) -> Table | None:
    rows = [
        {
            "column": head(_named(stratum, translate)),
            "stratum": words(translate.word(stratum["value"])),
            "nodules": count(stratum["nodules"]),
            "half_width": Cell(f"± {stratum['half_width']:.2f}"),
        }
        for stratum in document["thin"]
    ]
    return _table(rows, translate, translate("coverage.thin_remark", **document["wanted"]))


def _against(document: CoverageDocument, translate: Translator) -> list[Table]:
    """Another test set next to this one: sizes, difficulty of the nodules, shares of each value."""
    other = document.get("against")
    if other is None:
        return []
    heads = [words(""), Cell(document["name"]), Cell(other["name"])]
    totals = [
        [head(translate(f"coverage.total_{key}")), *map(count, pair)]
        for key, pair in other["totals"].items()
    ]
    hard = []
    for row in other["difficulty"]:
        pair = (row["first"], row["second"])
        if pair != (None, None):
            cells = (Cell("–" if value is None else decimals(value, 2)) for value in pair)
            hard.append([head(translate(f"coverage.hard_{row['name']}")), *cells])
    one_sided = [translate.word(name) for name in other["one_sided"]]
    remark = (
        translate("coverage.one_sided", columns=translate.listed(one_sided)) if one_sided else ""
    )
    return [
        Table(translate("coverage.sizes"), heads, totals),
        Table(translate("coverage.hard"), heads, hard, remark=remark),
        *(_compared_shares(difference, heads, translate) for difference in other["differences"]),
    ]


def _compared_shares(shares: JsonObject, heads: list[Cell], translate: Translator) -> Table:
    column = _named(shares, translate)
    title = translate(f"coverage.of_{shares['table']}", column=column[:1].upper() + column[1:])
    most = list(shares["shares"].items())
    if len(most) > MOST_ROWS:
        most = sorted(most, key=lambda pair: -max(pair[1]))[:MOST_ROWS]
    rows = [
        [head(translate.word(name)), *(Cell(f"{share:.1%}") for share in pair)]
        for name, pair in most
    ]
    return Table(
        title, heads, rows, remark=translate("coverage.distance", distance=shares["distance"])
    )


def _commission(document: CoverageDocument, translate: Translator) -> Table | None:
    rows = [
        {
            "topic": head(translate.message(topic["topic"])),
            "evidence": words(translate.messages(topic["evidence"])),
            "assessed": words(""),
            "by": words(""),
        }
        for topic in document["commission"]
    ]
    return _table(rows, translate)
