"""Document -> the verdict against the criteria of a plan that was frozen before the test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import PRIMARY, CriterionSummary
from nodulebench.i18n.numbers import decimals, interval, p_value, significant
from nodulebench.i18n.translator import Language
from nodulebench.report.cells import Cell, Notes, head, short, undefined, words
from nodulebench.report.pages.templates import Block
from nodulebench.report.tables import Table

SIGNS = {">=": "≥", "<=": "≤"}


@dataclass(frozen=True, slots=True)
class VerdictBlock(Block):
    """The answer that a reader looks for first."""

    macro: ClassVar[str] = "verdict"
    outcome: str
    """passed, failed or undecided; mixed: not the same for every algorithm."""
    answer: str
    sentences: tuple[str, ...]
    table: Table


def verdict(document: Document, say: Language) -> VerdictBlock | None:
    """The verdict of a test under a plan; None for a test without one."""
    plan = document.plan
    if plan is None:
        return None
    primary = [one for one in plan.criteria if one.family == PRIMARY]
    further = [one for one in plan.criteria if one.family != PRIMARY]
    sentences = [
        say("verdict.counted", met=_met(primary), all=len(primary)),
        *([say("verdict.families", met=_met(further), all=len(further))] if further else []),
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
    outcomes = list(plan.verdicts.values())
    is_mixed = plan.matches and len(set(outcomes)) > 1
    several = say("verdict.several", passed=outcomes.count("passed"), all=len(outcomes))
    return VerdictBlock(
        "mixed" if is_mixed else plan.verdict,
        several if is_mixed else say(f"verdict.{plan.verdict}"),
        tuple(sentences),
        _criteria_table(plan.criteria, say),
    )


def _met(criteria: Sequence[CriterionSummary]) -> int:
    return sum(one.met is True for one in criteria)


def _criteria_table(criteria: Sequence[CriterionSummary], say: Language) -> Table:
    notes = Notes(say)
    is_single = len({one.algorithm for one in criteria}) == 1
    has_families = any(one.family != PRIMARY for one in criteria)
    rows = []
    for one in criteria:
        value = (
            undefined(one.reason, notes)
            if one.value is None
            else Cell(decimals(one.value), bounds=interval(one))
        )
        met = {True: "yes", False: "no", None: None}[one.met]
        answer = short(say("verdict.open") if met is None else say(f"verdict.met_{met}"))
        if not one.met and one.reason and one.value is not None:
            why = {
                "not_assessable": say("verdict.not_assessable"),
                "gate_closed": say("verdict.not_tested"),
                "lost_by_adjustment": say("verdict.met_no"),
            }
            told = why.get(one.reason.code, say("verdict.open"))
            answer = Cell(told, kind="name", note=notes.letter(one.reason))
        rows.append(
            [
                *([] if is_single else [head(one.algorithm)]),
                head(_criterion(one, say)) if is_single else words(_criterion(one, say)),
                short(say.word(one.rule)),
                Cell(f"{SIGNS[one.comparison]} {significant(one.limit)}"),
                value,
                *(_family_cells(one, say) if has_families else []),
                answer,
            ]
        )
    keys = ["criterion", "rule", "limit", "value", "met"]
    keys[-1:-1] = ["family", "p_value"] if has_families else []
    heads = [
        *([] if is_single else [words(say("head.algorithm"))]),
        *(
            Cell(say(f"verdict.head_{key}"))
            if key in ("limit", "value", "p_value")
            else words(say(f"verdict.head_{key}"))
            for key in keys
        ),
    ]
    return Table(say("verdict.criteria"), heads, rows, notes.all())


def _family_cells(one: CriterionSummary, say: Language) -> list[Cell]:
    adjusted = one.adjusted_p_value
    both = "" if adjusted is None else f"{p_value(one.p_value)}, {p_value(adjusted)}"
    return [short(say.word(one.family)), Cell(both or "–")]


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
