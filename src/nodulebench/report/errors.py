"""Document and tables -> where an algorithm errs: worst cases, causes of false positives."""

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import RuleSummary
from nodulebench.core.tables import PLACE
from nodulebench.i18n.numbers import UNDEFINED, decimals, rate, significant, whole
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Head, Paragraphs, Side, Table, case, count, head, short, words
from nodulebench.report.charts import Bars, Chart, Value, row_chart
from nodulebench.report.content import ReportAttachments, folded
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.svg import Axis, Fill, whole_ticks
from nodulebench.report.pages.templates import Block
from nodulebench.report.summary import leading_result

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonObject

MOST_MISSES = 10
MOST_FALSE_POSITIVES = 8
"""How many rows a report shows; the files have the others."""


def miss_blocks(
    document: Document,
    attachments: ReportAttachments,
    whose: tuple[str, str],
    translate: Translator,
) -> list[Block]:
    """What an algorithm missed under a rule (``whose``): how many at each rate, and which."""
    is_own = (pl.col("algorithm") == whose[0]) & (pl.col("rule") == whose[1])
    blocks: list[Block | None] = []
    if attachments.misses is not None:
        misses = attachments.misses.filter(is_own)
        if not misses["is_missed"].any():
            point = document.protocol.operating_point
            none = translate("misses.none")
            if point is not None:
                none = translate("misses.none_at", rate=rate(point))
            blocks.append(Paragraphs([none]))
        blocks += [_by_rate(document, misses, translate), _misses(document, misses, translate)]
    if attachments.false_positives is not None:
        falses = attachments.false_positives.filter(is_own)
        blocks.append(_false_positives(falses, translate))
    return [block for block in blocks if block is not None]


def hardest_first(misses: pl.DataFrame) -> pl.DataFrame:
    """Nodules never found first, then those found with most false positives; large before small."""
    return misses.sort(
        pl.col("is_missed"),
        pl.col("found_from_fp").fill_null(float("inf")),
        pl.col("diameter_mm").fill_null(-1.0),
        descending=True,
        maintain_order=True,
    )


def _by_rate(document: Document, misses: pl.DataFrame, translate: Translator) -> Table | None:
    """How many nodules are missed at each rate, and at the operating point."""
    if not misses["missed_at"].null_count() < misses.height:
        return None
    missed = [set((missed_at or "").split()) for missed_at in misses["missed_at"]]
    rates = [f"{operating_point:g}" for operating_point in document.protocol.operating_points]
    point = document.protocol.operating_point
    heads = [words(translate("misses.at")), *(Cell(rate(float(shown))) for shown in rates)]
    numbers = [sum(rate in at for at in missed) for rate in rates]
    if point is None or f"{point:g}" not in rates:
        whole = "misses.declared" if document.has_declared_points else "misses.all_marks"
        heads.append(Cell(translate(whole) if point is None else rate(point)))
        numbers.append(int(misses["is_missed"].sum()))
    row = [head(translate("misses.count")), *map(count, numbers)]
    return Table(translate("misses.by_rate"), heads, [row], is_tight=True)


def _misses(document: Document, misses: pl.DataFrame, translate: Translator) -> Table | None:
    point = document.protocol.operating_point
    if point is not None or document.has_declared_points:
        misses = misses.filter("is_missed")
    shown = hardest_first(misses).head(MOST_MISSES)
    if not shown.height:
        return None
    has_types = shown["type"].null_count() < shown.height
    rows = []
    for row in shown.iter_rows(named=True):
        told = error_words(row, translate)
        diameter = UNDEFINED if row["diameter_mm"] is None else decimals(row["diameter_mm"], 1)
        cells: dict[Head, Cell] = {
            "head.case": case(row["case_id"]),
            "misses.place": short(told["place"]),
            "head.diameter_mm": Cell(diameter),
        }
        if has_types:
            kind = translate.word(row["type"]) if row["type"] else UNDEFINED
            cells["head.type"] = short(kind)
        cells["misses.found"] = short(told["found"])
        cells["misses.nearest"] = short(told["nearest_mark"])
        if len(document.algorithms) > 1:
            cells["misses.also"] = words(row["also_missed_by"] or UNDEFINED)
        rows.append(cells)
    caption = translate("misses.caption")
    if point is not None:
        caption = translate("misses.caption_at", rate=rate(point))
    sentences, left = [translate("misses.remark")], misses.height - shown.height
    sentences += [translate("misses.more", count=left, file="misses.csv")] if left else []
    remark = translate.sentences(sentences)
    return Table.of(caption, rows, translate, remark=remark)


def _false_positives(falses: pl.DataFrame, translate: Translator) -> Table | None:
    shown = falses.head(MOST_FALSE_POSITIVES)
    has_causes = "cause" in shown.columns and shown["cause"].is_not_null().any()
    rows = []
    for row in shown.iter_rows(named=True):
        told = error_words(row, translate)
        cells: dict[Head, Cell] = {
            "head.case": case(row["case_id"]),
            "misses.place": short(told["place"]),
            "head.score": Cell(UNDEFINED if row["score"] is None else significant(row["score"])),
            "misses.nearest_nodule": short(told["nearest_nodule"]),
        }
        if has_causes:
            cells["causes.cause"] = words(translate.word(row["cause"] or ""))
        rows.append(cells)
    sentences, left = [translate("misses.remark_falses")], falses.height - shown.height
    sentences += [translate("misses.more", count=left, file="false_positives.csv")] if left else []
    remark = translate.sentences(sentences)
    return Table.of(translate("misses.false_positives"), rows, translate, remark=remark)


def error_words(row: Mapping[str, Any], translate: Translator) -> dict[str, str]:
    """What a row of MISSES or FALSE_POSITIVES says, in words.

    ``place``, and of a nodule ``found`` (from which score down, and at how many false positives)
    and ``nearest_mark``, of a mark ``nearest_nodule``.
    """
    told = {"place": ", ".join(decimals(row[axis], 1) for axis in PLACE)}
    if "found_from_score" in row:
        told["found"] = translate("misses.never")
        if row["found_from_score"] is not None:
            score, falses = significant(row["found_from_score"]), decimals(row["found_from_fp"], 2)
            told["found"] = translate("misses.from", score=score, rate=falses)
        told["nearest_mark"] = translate("misses.no_mark")
        if row["nearest_mark_mm"] is not None:
            distance, score = decimals(row["nearest_mark_mm"], 1), row["nearest_mark_score"]
            told["nearest_mark"] = (
                translate("misses.distance", distance=distance)
                if score is None
                else translate("misses.distance_score", distance=distance, score=significant(score))
            )
    if "nearest_nodule_mm" in row:
        told["nearest_nodule"] = translate("misses.no_nodule")
        if row["nearest_nodule_mm"] is not None:
            near = translate("misses.distance", distance=decimals(row["nearest_nodule_mm"], 1))
            is_ignored = row["nearest_is_ignored"]
            told["nearest_nodule"] = (
                translate("misses.ignored", distance=near) if is_ignored else near
            )
    return told


MOST_APART = 4
"""With more algorithms the chart of causes shows all of them together."""
CAUSES = ("vessel", "scar", "spine", "mediastinum", "motion", "noise")
"""Causes that readers tag false positives with (LUNA16)."""


def error_blocks(
    document: Document, attachments: ReportAttachments, translate: Translator
) -> list[Block]:
    """Where algorithms err under their leading rules: nodules, marks, cases, patches, causes."""
    by_algorithm: dict[str, list[Block]] = {}
    for algorithm in document.algorithms:
        leading = leading_result(document, algorithm)
        if leading is None:
            continue
        rule, result = leading
        blocks = miss_blocks(document, attachments, (algorithm.name, rule), translate)
        if worst := worst_case_tables(result, translate):
            blocks.append(Side(worst))
        patches = [patch for patch in attachments.patches if patch.algorithm == algorithm.name]
        if patches:
            blocks += galleries(patches, translate, result.counts)
        by_algorithm[algorithm.name] = blocks
    causes = attachments.causes
    found = [] if causes is None else cause_blocks(causes, document, translate)
    return [*folded(by_algorithm), *found]


def worst_case_tables(result: RuleSummary, translate: Translator) -> list[Table]:
    """The cases with most misses and with most false positives, of one result."""
    worst: JsonObject = dict(result.extras.get("worst_cases", {}))
    counted = {
        "nodules": translate("strata.nodules"),
        "missed": translate.count("missed")[0],
        "false_positive": translate.count("false_positive")[0],
    }
    tables = []
    for kind, cases in worst.items():
        rows: list[dict[Head, Cell]] = []
        for row in cases:
            rows.append({"head.case": case(row["case_id"])})
            rows[-1] |= {Cell(title): count(row[name]) for name, title in counted.items()}
        tables.append(Table.of(translate(f"worst.{kind}"), rows, translate))
    return [table for table in tables if table is not None]


def cause_blocks(causes: pl.DataFrame, document: Document, translate: Translator) -> list[Block]:
    """The causes that readers gave false positives, by algorithm: a chart and a table."""
    known = [algorithm.name for algorithm in document.algorithms]
    counted = Counter(
        (str(name), str(cause))
        for name, cause in causes.select("algorithm", "cause").iter_rows()
        if name in known
    )
    if not counted:
        return []
    names = [name for name in known if any(key[0] == name for key in counted)]
    others = sorted({cause for _, cause in counted} - set(CAUSES))
    kinds = [*CAUSES, *others]
    rows = []
    for cause in kinds:
        cells = [head(translate.word(cause))]
        for name in names:
            tagged = sum(number for (algorithm, _), number in counted.items() if algorithm == name)
            share = decimals(100 * counted[name, cause] / tagged, 1)
            cells += [count(counted[name, cause]), Cell(share)]
        rows.append(cells)
    shares = [Cell(translate("causes.count")), Cell(translate("causes.share"))]
    heads = [words(translate("causes.cause")), *shares * len(names)]
    groups = [("", 1), *((name, 2) for name in names)] if len(names) > 1 else []
    remark = translate("causes.remark")
    table = Table(translate("causes.caption"), heads, rows, groups=groups, remark=remark)
    return [_cause_chart(counted, names, kinds, translate), table]


def _cause_chart(
    counted: Counter[tuple[str, str]], names: list[str], kinds: list[str], translate: Translator
) -> Chart:
    """Bars by cause: one for each algorithm, or with many algorithms one for all together."""
    is_apart = 1 < len(names) <= MOST_APART
    groups = [[name] for name in names] if is_apart else [names]
    numbers = {
        cause: [sum(counted[name, cause] for name in group) for group in groups] for cause in kinds
    }
    top = 1.05 * max(max(line) for line in numbers.values())
    rows = [
        Bars(
            translate.word(cause),
            tuple(Value(number, text=whole(number), kind=kind) for kind, number in enumerate(line)),
        )
        for cause, line in numbers.items()
    ]
    axis = Axis(translate.count("false_positive")[0], 0.0, top, whole_ticks(top))
    title = translate("causes.chart")
    legend = tuple((name, Fill(number)) for number, name in enumerate(names)) if is_apart else ()
    return Chart(title, row_chart(rows, axis, title, base=0.0, has_bars=True), legend)


VIEWS = ("axial", "coronal", "sagittal")
SIDE_MM = 50
"""Patches show 50 x 50 mm with the lesion in the middle (LUNA16, figure 2)."""
KINDS = ("missed", "false_positive", "hit")


@dataclass(frozen=True, slots=True)
class Patch:
    """Three views of one nodule or mark, as PNG files."""

    algorithm: str
    kind: str
    """missed, hit or false_positive."""
    case_id: str
    name: str
    """The nodule or the mark."""
    views: tuple[bytes, bytes, bytes]
    """Axial, coronal and sagittal."""
    type: str = ""
    diameter_mm: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The row of MISSES or FALSE_POSITIVES, or nothing."""

    def caption(self, translate: Translator) -> str:
        """What it shows: type and size, which nodule or mark of which case."""
        facts = [translate.word(self.type)] if self.type else []
        facts += [] if self.diameter_mm is None else [f"{decimals(self.diameter_mm, 1)} mm"]
        return translate.listed([*facts, f"{self.case_id} / {self.name}"])

    def details(self, translate: Translator) -> list[str]:
        """Its place, how it was found or missed, and what is nearest to it."""
        if not self.facts:
            return []
        told = error_words(self.facts, translate)
        lines = [translate("gallery.place", place=told["place"])]
        if self.kind == "missed":
            lines += [
                translate("gallery.found", found=told["found"]),
                translate("gallery.nearest_mark", nearest=told["nearest_mark"]),
            ]
        else:
            score = self.facts.get("score")
            lines += [] if score is None else [translate("gallery.score", score=significant(score))]
        if self.kind == "false_positive":
            lines.append(translate("gallery.nearest", nearest=told["nearest_nodule"]))
        return lines


@dataclass(frozen=True, slots=True)
class Gallery(Block):
    """Patches of one algorithm and kind, under a heading."""

    macro: ClassVar[str] = "gallery"
    title: str
    patches: Sequence[Patch]
    translate: Translator
    left_out: int = 0
    """How many more there are, in the files next to the report."""

    @property
    def remark(self) -> str:
        """What the patches are, and how many are not shown."""
        sentences = [self.translate("gallery.remark")]
        sentences += [self.translate("gallery.more", count=self.left_out)] if self.left_out else []
        return self.translate.sentences(sentences)

    def views(self, patch: Patch) -> list[tuple[str, str]]:
        """For each view of a patch its name and its image as a data address."""
        return [
            (self.translate.word(view), f"data:image/png;base64,{base64.b64encode(png).decode()}")
            for view, png in zip(VIEWS, patch.views, strict=True)
        ]


def galleries(
    patches: Sequence[Patch], translate: Translator, counts: Mapping[str, int] | None = None
) -> list[Gallery]:
    """The patches by algorithm and kind, missed nodules first; ``counts`` are all there are."""
    names = dict.fromkeys(patch.algorithm for patch in patches)
    groups = [
        (name, kind, [patch for patch in patches if patch.algorithm == name and patch.kind == kind])
        for name in names
        for kind in KINDS
    ]
    return [
        Gallery(
            translate(f"gallery.{kind}", name=name),
            having,
            translate,
            left_out=0 if kind == "hit" else max(0, (counts or {}).get(kind, 0) - len(having)),
        )
        for name, kind, having in groups
        if having
    ]
