"""Document -> the verdict against the criteria of a plan that was frozen before the test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from nodulebench.language import Language
from nodulebench.language.numbers import decimals, interval, significant
from nodulebench.model.documents.evaluation import Document
from nodulebench.model.documents.summaries import CriterionSummary
from nodulebench.pages.templates import Block
from nodulebench.report.blocks.cells import Cell, Notes, head, short, undefined, words
from nodulebench.report.blocks.tables import Table

SIGNS = {">=": "≥", "<=": "≤"}


@dataclass(frozen=True, slots=True)
class VerdictBlock(Block):
    """The answer that a reader looks for first."""

    macro: ClassVar[str] = "verdict"
    outcome: str
    """passed, failed or undecided."""
    answer: str
    sentences: tuple[str, ...]
    table: Table


def verdict(document: Document, say: Language) -> VerdictBlock | None:
    """The verdict of a test under a plan; None for a test without one."""
    plan = document.plan
    if plan is None:
        return None
    criteria = plan.criteria
    met = sum(one.met is True for one in criteria)
    sentences = [
        say("verdict.counted", met=met, all=len(criteria)),
        say(
            "verdict.plan",
            name=plan.name,
            author=say("verdict.by", author=plan.author) if plan.author else "",
            when=plan.frozen_at,
            digest=plan.digest,
        ),
    ]
    if not plan.matches:
        sentences.append(say("verdict.other_test"))
        sentences += [say.message(text) for text in plan.differences]
    if len(plan.verdicts) > 1:
        sentences += [
            say("verdict.of_outcome", outcome=say(f"verdict.{outcome}.adjective"), names=names)
            for outcome in ("passed", "failed", "undecided")
            if (names := say.listed(k for k, one in plan.verdicts.items() if one == outcome))
        ]
    return VerdictBlock(
        plan.verdict,
        say(f"verdict.{plan.verdict}"),
        tuple(sentences),
        _criteria_table(criteria, say),
    )


def _criteria_table(criteria: Sequence[CriterionSummary], say: Language) -> Table:
    notes = Notes(say)
    is_single = len({one.algorithm for one in criteria}) == 1
    rows = []
    for one in criteria:
        value = (
            undefined(one.reason, notes)
            if one.value is None
            else Cell(decimals(one.value), bounds=interval(one))
        )
        met = {True: "yes", False: "no", None: None}[one.met]
        answer = short(say("verdict.open") if met is None else say(f"verdict.met_{met}"))
        if one.met is None and one.reason and one.value is not None:
            is_possible = one.reason.code != "not_assessable"
            answer = Cell(
                say("verdict.open") if is_possible else say("verdict.not_assessable"),
                kind="name",
                note=notes.letter(one.reason),
            )
        rows.append(
            [
                *([] if is_single else [head(one.algorithm)]),
                head(_criterion(one, say)) if is_single else words(_criterion(one, say)),
                short(say.word(one.rule)),
                Cell(f"{SIGNS[one.comparison]} {significant(one.limit)}"),
                value,
                answer,
            ]
        )
    keys = ("criterion", "rule", "limit", "value", "met")
    heads = [
        *([] if is_single else [words(say("head.algorithm"))]),
        *(
            Cell(say(f"verdict.head_{key}"))
            if key in ("limit", "value")
            else words(say(f"verdict.head_{key}"))
            for key in keys
        ),
    ]
    return Table(say("verdict.criteria"), heads, rows, notes.all())


def _criterion(one: CriterionSummary, say: Language) -> str:
    """A criterion's figure in words: which bound of which figure in which stratum."""
    named = say.figure(one.figure.replace("@", "/")).title
    if one.stratum:
        division, _, stratum = one.stratum.partition("=")
        named = say(
            "verdict.in_stratum",
            figure=named,
            division=say.stratum(division),
            stratum=say.word(stratum),
        )
    return say(f"verdict.bound_{one.bound}", figure=named)
