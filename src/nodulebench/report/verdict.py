"""Document -> the verdict against the criteria of a plan that was frozen before the test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import PRIMARY, CriterionSummary
from nodulebench.i18n.numbers import decimals, interval, p_value, significant
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Head, Notes, Table, head, short, undefined, words
from nodulebench.report.pages.cells import Cell
from nodulebench.report.pages.templates import Block

SIGNS = {">=": "≥", "<=": "≤"}


@dataclass(frozen=True, slots=True)
class VerdictBlock(Block):
    """The verdict as a block of the report."""

    macro: ClassVar[str] = "verdict"
    outcome: str
    """passed, failed or undecided; mixed: not the same for every algorithm."""
    answer: str
    sentences: tuple[str, ...]
    table: Table | None


def verdict(document: Document, translate: Translator) -> VerdictBlock | None:
    """The verdict of a test under a plan; None for a test without one."""
    plan = document.plan
    if plan is None:
        return None
    by_family = [[criterion.met for criterion in plan.criteria if criterion.family == PRIMARY]]
    by_family += [[criterion.met for criterion in plan.criteria if criterion.family != PRIMARY]]
    sentences = [
        translate(f"verdict.{key}", met=met.count(True), all=len(met))
        for key, met in zip(("counted", "families"), by_family, strict=True)
        if met or key == "counted"
    ]
    author = translate("verdict.by", author=plan.author) if plan.author else ""
    stated = {"name": plan.name, "author": author, "when": plan.frozen_at, "digest": plan.digest}
    sentences.append(translate("verdict.plan", **stated))
    if not plan.matches:
        sentences.append(translate("verdict.other_test"))
        sentences += [translate.message(text) for text in plan.differences]
    for outcome in ("passed", "failed", "undecided") if len(plan.verdicts) > 1 else ():
        names = [name for name, verdict in plan.verdicts.items() if verdict == outcome]
        if names:
            named = translate(f"verdict.{outcome}.adjective")
            listed = translate.listed(names)
            sentences.append(translate("verdict.of_outcome", outcome=named, names=listed))
    outcomes = list(plan.verdicts.values())
    is_mixed = plan.matches and len(set(outcomes)) > 1
    several = translate("verdict.several", passed=outcomes.count("passed"), all=len(outcomes))
    return VerdictBlock(
        "mixed" if is_mixed else plan.verdict,
        several if is_mixed else translate(f"verdict.{plan.verdict}"),
        tuple(sentences),
        _criteria_table(plan.criteria, translate),
    )


def _criteria_table(criteria: Sequence[CriterionSummary], translate: Translator) -> Table | None:
    notes = Notes(translate)
    is_single = len({criterion.algorithm for criterion in criteria}) == 1
    has_families = any(criterion.family != PRIMARY for criterion in criteria)
    rows = []
    for criterion in criteria:
        metric = _criterion(criterion, translate)
        row: dict[Head, Cell] = {} if is_single else {"head.algorithm": head(criterion.algorithm)}
        row["verdict.head_criterion"] = head(metric) if is_single else words(metric)
        row["verdict.head_rule"] = short(translate.word(criterion.rule))
        limit = f"{SIGNS[criterion.comparison]} {significant(criterion.limit)}"
        row["verdict.head_limit"] = Cell(limit)
        row["verdict.head_value"] = (
            undefined(criterion.reason, notes)
            if criterion.value is None
            else Cell(decimals(criterion.value), bounds=interval(criterion))
        )
        if has_families:
            adjusted = criterion.adjusted_p_value
            both = f"{p_value(criterion.p_value)}, {p_value(adjusted)}"
            row["verdict.head_family"] = short(translate.word(criterion.family))
            row["verdict.head_p_value"] = Cell("–" if adjusted is None else both)
        answer = ANSWERS[criterion.met]
        reason, note = criterion.reason, ""
        if not criterion.met and reason and criterion.value is not None:
            answer, note = WHY_NOT.get(reason.code, "open"), notes.letter(reason)
        row["verdict.head_met"] = Cell(translate(f"verdict.{answer}"), kind="name", note=note)
        rows.append(row)
    return Table.of(translate("verdict.criteria"), rows, translate, notes)


ANSWERS = {True: "met_yes", False: "met_no", None: "open"}
WHY_NOT = {
    "not_assessable": "not_assessable",
    "gate_closed": "not_tested",
    "lost_by_adjustment": "met_no",
}


def _criterion(criterion: CriterionSummary, translate: Translator) -> str:
    """A criterion's metric in words: which bound of which metric in which stratum."""
    named = translate.metric(criterion.metric.replace("@", "/")).title
    if criterion.stratum:
        division, _, stratum = criterion.stratum.partition("=")
        named = translate(
            "verdict.in_stratum",
            metric=named,
            division=translate.stratum(division),
            stratum=translate.word(stratum),
        )
    return translate(f"verdict.bound_{criterion.bound}", metric=named)


WARNINGS = ("would_be_hit", "few_hits", "scores_inverted", "names_nearly_match", "marks_repeated")
"""Notices of submissions that are probably wrong."""
About = tuple[str, str]
"""Whom a message concerns, and the message."""


def notices(document: Document, translate: Translator) -> list[About]:
    """What a reader must know before the numbers."""
    reference = translate.word("reference")
    messages = [(reference, "", translate.message(text)) for text in document.notices]
    for algorithm in document.algorithms:
        messages += [(algorithm.name, "", translate.message(text)) for text in algorithm.notices]
    for algorithm, rule, result in document.results:
        if result.undefined:
            reason = translate.message(result.undefined)
            not_applied = translate("notice.not_applied", reason=reason)
            messages.append((algorithm.name, rule, not_applied))
        messages += [(algorithm.name, rule, translate.message(text)) for text in result.notices]
    return _without_repeats(messages, document, translate)


def has_warnings(document: Document) -> bool:
    """Whether a submission may well be wrong, so that its reader must see it at once."""
    for notice in (notice for algorithm in document.algorithms for notice in algorithm.notices):
        values = notice.values
        if notice.code == "cases_without_marks":
            if 2 * values.get("count", 0) > values.get("cases", 0):
                return True
        elif notice.code in WARNINGS:
            return True
    return False


def remarks_table(document: Document, translate: Translator) -> Table | None:
    remarks = [
        (algorithm.name, rule, translate.message(text))
        for algorithm, rule, result in document.results
        for text in result.remarks
    ]
    shown = _without_repeats(remarks, document, translate)
    rows = [[head(about), words(text)] for about, text in shown]
    return Table(translate("remarks.caption"), [], rows) if rows else None


def _without_repeats(
    messages: list[tuple[str, str, str]], document: Document, translate: Translator
) -> list[About]:
    """Messages of an algorithm under a rule (empty: under all), each once with all it concerns."""
    concerned: dict[str, list[tuple[str, str]]] = {}
    for name, rule, text in messages:
        concerned.setdefault(text, []).append((name, rule))
    names = [algorithm.name for algorithm in document.algorithms]
    together = []
    for text, concerns in concerned.items():
        for rule in (*document.rules, "") if len(names) > 1 else ():
            members = {(name, rule) for name in names}
            if members <= set(concerns):  # all algorithms are not listed one by one
                others = [one for one in concerns if one not in members]
                concerns = [(translate("notice.all"), rule), *others]
        abouts = [
            translate("notice.about", name=name, rule=translate.word(rule)) if rule else name
            for name, rule in concerns
        ]
        together.append(("; ".join(abouts), text))
    return together


SIGNING = ("tested", "checked", "released")
"""Who signs: the person who tested, who checked it, and who releases the report."""


@dataclass(frozen=True, slots=True)
class Issued:
    """Facts about the issue of a report; empty ones are left out."""

    laboratory: str = ""
    number: str = ""
    """Number of the report."""
    operator: str = ""
    """Who ran the test."""
    date: str = ""
    """The day of issue, as YYYY-MM-DD."""


NOT_ISSUED = Issued()


def issued_facts(issued: Issued, translate: Translator) -> list[tuple[str, str]]:
    stated = (
        ("laboratory", issued.laboratory),
        ("number", issued.number),
        ("date", issued.date),
        ("operator", issued.operator),
    )
    return [(translate(f"issued.{name}"), text) for name, text in stated if text]


def signature_table(issued: Issued, translate: Translator) -> Table | None:
    """The table for signatures; None for a report without laboratory and number."""
    if not (issued.laboratory or issued.number):
        return None
    names = {"tested": issued.operator}
    rows = [
        [head(translate(f"signature.{step}")), words(names.get(step, "")), words(""), words("")]
        for step in SIGNING
    ]
    heads = [words(""), *(words(translate(f"signature.{key}")) for key in ("name", "day", "sign"))]
    return Table("", heads, rows, kind="signatures")
