"""Document -> the verdict against the criteria of a plan that was frozen before the test."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import PRIMARY, CriterionSummary
from nodulebench.core.notices import Notice
from nodulebench.i18n.numbers import decimals, interval, p_value, significant
from nodulebench.i18n.translator import Translator
from nodulebench.report.blocks import Notes, Table, head, short, undefined, words
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
    table: Table


def verdict(document: Document, translate: Translator) -> VerdictBlock | None:
    """The verdict of a test under a plan; None for a test without one."""
    plan = document.plan
    if plan is None:
        return None
    primary = [criterion for criterion in plan.criteria if criterion.family == PRIMARY]
    further = [criterion for criterion in plan.criteria if criterion.family != PRIMARY]
    sentences = [
        translate("verdict.counted", met=_met(primary), all=len(primary)),
        *([translate("verdict.families", met=_met(further), all=len(further))] if further else []),
        translate(
            "verdict.plan",
            name=plan.name,
            author=translate("verdict.by", author=plan.author) if plan.author else "",
            when=plan.frozen_at,
            digest=plan.digest,
        ),
    ]
    if not plan.matches:
        sentences.append(translate("verdict.other_test"))
        sentences += [translate.message(text) for text in plan.differences]
    if len(plan.verdicts) > 1:
        sentences += [
            translate(
                "verdict.of_outcome", outcome=translate(f"verdict.{outcome}.adjective"), names=names
            )
            for outcome in ("passed", "failed", "undecided")
            if (
                names := translate.listed(
                    k for k, verdict in plan.verdicts.items() if verdict == outcome
                )
            )
        ]
    outcomes = list(plan.verdicts.values())
    is_mixed = plan.matches and len(set(outcomes)) > 1
    several = translate("verdict.several", passed=outcomes.count("passed"), all=len(outcomes))
    return VerdictBlock(
        "mixed" if is_mixed else plan.verdict,
        several if is_mixed else translate(f"verdict.{plan.verdict}"),
        tuple(sentences),
        _criteria_table(plan.criteria, translate),
    )


def _met(criteria: Sequence[CriterionSummary]) -> int:
    return sum(criterion.met is True for criterion in criteria)


def _criteria_table(criteria: Sequence[CriterionSummary], translate: Translator) -> Table:
    notes = Notes(translate)
    is_single = len({criterion.algorithm for criterion in criteria}) == 1
    has_families = any(criterion.family != PRIMARY for criterion in criteria)
    rows = []
    for criterion in criteria:
        value = (
            undefined(criterion.reason, notes)
            if criterion.value is None
            else Cell(decimals(criterion.value), bounds=interval(criterion))
        )
        met = {True: "yes", False: "no", None: None}[criterion.met]
        answer = short(
            translate("verdict.open") if met is None else translate(f"verdict.met_{met}")
        )
        if not criterion.met and criterion.reason and criterion.value is not None:
            why = {
                "not_assessable": translate("verdict.not_assessable"),
                "gate_closed": translate("verdict.not_tested"),
                "lost_by_adjustment": translate("verdict.met_no"),
            }
            text = why.get(criterion.reason.code, translate("verdict.open"))
            answer = Cell(text, kind="name", note=notes.letter(criterion.reason))
        rows.append(
            [
                *([] if is_single else [head(criterion.algorithm)]),
                head(_criterion(criterion, translate))
                if is_single
                else words(_criterion(criterion, translate)),
                short(translate.word(criterion.rule)),
                Cell(f"{SIGNS[criterion.comparison]} {significant(criterion.limit)}"),
                value,
                *(_family_cells(criterion, translate) if has_families else []),
                answer,
            ]
        )
    keys = ["criterion", "rule", "limit", "value", "met"]
    keys[-1:-1] = ["family", "p_value"] if has_families else []
    heads = [
        *([] if is_single else [words(translate("head.algorithm"))]),
        *(
            Cell(translate(f"verdict.head_{key}"))
            if key in ("limit", "value", "p_value")
            else words(translate(f"verdict.head_{key}"))
            for key in keys
        ),
    ]
    return Table(translate("verdict.criteria"), heads, rows, notes.all())


def _family_cells(criterion: CriterionSummary, translate: Translator) -> list[Cell]:
    adjusted = criterion.adjusted_p_value
    both = "" if adjusted is None else f"{p_value(criterion.p_value)}, {p_value(adjusted)}"
    return [short(translate.word(criterion.family)), Cell(both or "–")]


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
    noticed = [(translate.word("reference"), text) for text in document.notices]
    for algorithm in document.algorithms:
        noticed += [(algorithm.name, text) for text in algorithm.notices]
    messages = [(about, translate.message(text)) for about, text in noticed]
    for algorithm, rule, result in document.results:
        about = _about(algorithm.name, rule, translate)
        if result.undefined:
            reason = translate.message(result.undefined)
            messages.append((about, translate("notice.not_applied", reason=reason)))
        messages += [(about, translate.message(text)) for text in result.notices]
    return _without_repeats(messages, document, translate)


def has_warnings(document: Document) -> bool:
    """Whether a submission may well be wrong, so that its reader must see it at once."""
    return any(
        _is_warning(notice) for algorithm in document.algorithms for notice in algorithm.notices
    )


def _is_warning(notice: Notice) -> bool:
    if notice.code == "cases_without_marks":
        return bool(2 * notice.values.get("count", 0) > notice.values.get("cases", 0))
    return notice.code in WARNINGS


def remarks_table(document: Document, translate: Translator) -> Table | None:
    """How the rules were applied."""
    remarks = _without_repeats(list(_remarks(document, translate)), document, translate)
    if not remarks:
        return None
    rows = [[head(about), words(text)] for about, text in remarks]
    return Table(translate("remarks.caption"), [], rows)


def _remarks(document: Document, translate: Translator) -> Iterator[About]:
    for algorithm, rule, result in document.results:
        for text in result.remarks:
            yield _about(algorithm.name, rule, translate), translate.message(text)


def _about(name: str, rule: str, translate: Translator) -> str:
    return translate("notice.about", name=name, rule=translate.word(rule))


def _without_repeats(
    messages: list[About], document: Document, translate: Translator
) -> list[About]:
    concerned: dict[str, list[str]] = {}
    for about, text in messages:
        concerned.setdefault(text, []).append(about)
    names = [algorithm.name for algorithm in document.algorithms]
    everyone = {
        _about(translate("notice.all"), rule, translate): {
            _about(name, rule, translate) for name in names
        }
        for rule in document.rules
    } | {translate("notice.all"): set(names)}
    return [
        (_together(abouts, everyone if len(names) > 1 else {}), text)
        for text, abouts in concerned.items()
    ]


def _together(abouts: list[str], everyone: dict[str, set[str]]) -> str:
    """Whom a notice concerns; all algorithms are not listed one by one."""
    for name, members in everyone.items():
        if members <= set(abouts):
            abouts = [name, *(about for about in abouts if about not in members)]
    return "; ".join(abouts)


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


def issued_by(document: Document, stated: Issued) -> Issued:
    """The stated facts; the laboratory is that of the plan if none is stated."""
    planned = "" if document.plan is None else document.plan.laboratory
    return replace(stated, laboratory=stated.laboratory or planned)


def issued_facts(issued: Issued, translate: Translator) -> list[tuple[str, str]]:
    """The facts for the top of the report."""
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
