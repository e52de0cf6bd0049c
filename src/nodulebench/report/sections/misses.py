"""MISSES and FALSE_POSITIVES -> which nodules an algorithm missed, and what it marked instead."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.tables import PLACE
from nodulebench.i18n.numbers import UNDEFINED, decimals, rate, significant
from nodulebench.i18n.translator import Language
from nodulebench.report.beside import Beside
from nodulebench.report.blocks import Paragraphs
from nodulebench.report.cells import Cell, case, count, head, short, words
from nodulebench.report.tables import Table

MOST_MISSES = 10
MOST_FALSE_POSITIVES = 8
"""How many rows a report shows; the files have the others."""


def miss_blocks(
    document: Document, beside: Beside, whose: tuple[str, str], say: Language
) -> list[Any]:
    """What one algorithm missed under one rule: how many at each rate, which, and marked instead.

    Args:
        document: what evaluation.json holds.
        beside: MISSES and FALSE_POSITIVES.
        whose: the algorithm and the rule.
        say: the language.
    """
    blocks: list[Any] = []
    if beside.misses is not None:
        misses = _of(beside.misses, whose)
        if not misses["is_missed"].any():
            blocks.append(Paragraphs([_none(document, say)]))
        blocks += [_by_rate(document, misses, say), _misses(document, misses, say)]
    if beside.false_positives is not None:
        blocks.append(_false_positives(_of(beside.false_positives, whose), say))
    return [one for one in blocks if one is not None]


def _none(document: Document, say: Language) -> str:
    point = document.protocol.operating_point
    return say("misses.none") if point is None else say("misses.none_at", rate=rate(point))


def _of(table: pl.DataFrame, whose: tuple[str, str]) -> pl.DataFrame:
    return table.filter((pl.col("algorithm") == whose[0]) & (pl.col("rule") == whose[1]))


def hardest_first(misses: pl.DataFrame) -> pl.DataFrame:
    """Nodules never found first, then those found with most false positives; large before small."""
    return misses.sort(
        pl.col("is_missed"),
        pl.col("found_from_fp").fill_null(float("inf")),
        pl.col("diameter_mm").fill_null(-1.0),
        descending=True,
        maintain_order=True,
    )


def _by_rate(document: Document, misses: pl.DataFrame, say: Language) -> Table | None:
    """How many nodules are missed at each rate, and at the operating point."""
    if not misses["missed_at"].null_count() < misses.height:
        return None
    missed = [set((one or "").split()) for one in misses["missed_at"]]
    rates = [f"{one:g}" for one in document.protocol.operating_points]
    point = document.protocol.operating_point
    heads = [words(say("misses.at")), *(Cell(rate(float(one))) for one in rates)]
    numbers = [sum(one in at for at in missed) for one in rates]
    if point is None or f"{point:g}" not in rates:
        whole = "misses.declared" if document.has_declared_points else "misses.all_marks"
        heads.append(Cell(say(whole) if point is None else rate(point)))
        numbers.append(int(misses["is_missed"].sum()))
    row = [head(say("misses.count")), *map(count, numbers)]
    return Table(say("misses.by_rate"), heads, [row], is_tight=True)


def _misses(document: Document, misses: pl.DataFrame, say: Language) -> Table | None:
    point = document.protocol.operating_point
    if point is not None or document.has_declared_points:
        misses = misses.filter("is_missed")
    shown = hardest_first(misses).head(MOST_MISSES)
    if not shown.height:
        return None
    has_types = shown["type"].null_count() < shown.height
    has_others = len(document.algorithms) > 1
    rows = []
    for row in shown.iter_rows(named=True):
        cells = [case(row["case_id"]), short(place_words(row)), Cell(_number(row["diameter_mm"]))]
        cells += [short(say.word(row["type"]) if row["type"] else UNDEFINED)] if has_types else []
        cells += [short(found_words(row, say)), short(near_mark_words(row, say))]
        cells += [words(row["also_missed_by"] or UNDEFINED)] if has_others else []
        rows.append(cells)
    heads = [
        *(words(say(key)) for key in ("head.case", "misses.place")),
        Cell(say("head.diameter_mm")),
        *([words(say("head.type"))] if has_types else []),
        *(words(say(key)) for key in ("misses.found", "misses.nearest")),
        *([words(say("misses.also"))] if has_others else []),
    ]
    left = misses.height - shown.height
    caption = say("misses.caption")
    if point is not None:
        caption = say("misses.caption_at", rate=rate(point))
    remark = _remark(say("misses.remark"), left, "misses.csv", say)
    return Table(caption, heads, rows, remark=remark)


def _false_positives(falses: pl.DataFrame, say: Language) -> Table | None:
    shown = falses.head(MOST_FALSE_POSITIVES)
    if not shown.height:
        return None
    has_causes = "cause" in shown.columns and shown["cause"].is_not_null().any()
    rows = [
        [
            case(row["case_id"]),
            short(place_words(row)),
            Cell(_score(row["score"])),
            short(near_nodule_words(row, say)),
            *([words(say.word(row["cause"] or ""))] if has_causes else []),
        ]
        for row in shown.iter_rows(named=True)
    ]
    heads = [
        *(words(say(key)) for key in ("head.case", "misses.place")),
        Cell(say("head.score")),
        words(say("misses.nearest_nodule")),
        *([words(say("causes.cause"))] if has_causes else []),
    ]
    left = falses.height - shown.height
    remark = _remark(say("misses.remark_falses"), left, "false_positives.csv", say)
    return Table(say("misses.false_positives"), heads, rows, remark=remark)


def _remark(remark: str, left: int, file: str, say: Language) -> str:
    more = [say("misses.more", count=left, file=file)] if left else []
    return say("list.sentence").join([remark, *more])


def place_words(row: Mapping[str, Any]) -> str:
    """The place of a row as x, y, z in mm."""
    return ", ".join(decimals(row[axis], 1) for axis in PLACE)


def _number(value: float | None) -> str:
    return UNDEFINED if value is None else decimals(value, 1)


def _score(value: float | None) -> str:
    return UNDEFINED if value is None else significant(value)


def found_words(row: Mapping[str, Any], say: Language) -> str:
    """From which score down it is found, and at how many false positives."""
    if row["found_from_score"] is None:
        return say("misses.never")
    score, falses = significant(row["found_from_score"]), decimals(row["found_from_fp"], 2)
    return say("misses.from", score=score, rate=falses)


def near_mark_words(row: Mapping[str, Any], say: Language) -> str:
    """How far the nearest mark is, and its score."""
    if row["nearest_mark_mm"] is None:
        return say("misses.no_mark")
    distance, score = decimals(row["nearest_mark_mm"], 1), row["nearest_mark_score"]
    if score is None:
        return say("misses.distance", distance=distance)
    return say("misses.distance_score", distance=distance, score=significant(score))


def near_nodule_words(row: Mapping[str, Any], say: Language) -> str:
    """How far the nearest finding is, and whether marks on it count."""
    if row["nearest_nodule_mm"] is None:
        return say("misses.no_nodule")
    distance = say("misses.distance", distance=decimals(row["nearest_nodule_mm"], 1))
    return say("misses.ignored", distance=distance) if row["nearest_is_ignored"] else distance
