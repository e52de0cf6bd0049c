"""Kept results + policy -> the copy that a developer gets: the own results, of others little.

The own algorithm stands under its name. Others are shown where the policy says so and they have
the same intended use: under their aliases, in aggregates, without anything that they declare.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.custody.audit import Event
from nodulebench.custody.policy import FeedbackLevel
from nodulebench.errors import InputError
from nodulebench.model.algorithm import IntendedUse, intended_use
from nodulebench.model.documents.evaluation import Document
from nodulebench.model.documents.summaries import AlgorithmSummary
from nodulebench.report.audience import developers_curves, developers_document
from nodulebench.storage.json_text import write_json
from nodulebench.workflows.compare.compare import ComparisonChoice
from nodulebench.workflows.custody.kept.note import LOOKS
from nodulebench.workflows.custody.kept.results import KeptResult
from nodulebench.workflows.custody.kept.study import Study, chosen_looks, compared, study_of
from nodulebench.workflows.custody.sealed_set import SealedSet
from nodulebench.workflows.evaluate.result_folder import CURVE_FILE, FEEDBACK, write_result
from nodulebench.workflows.evaluate.write_report import ReportChoice, write_report

SHOWN_FACTS = ("intended_use", "intended_types")
"""What is shown of another's declarations: it is the same as the own."""


def developers_looks(
    opened: SealedSet, algorithm: str | None, looks: Sequence[str]
) -> tuple[Event, list[Event]]:
    """The look of a developer's own algorithm, and those of others that the policy lets be seen.

    Raises:
        InputError: if it is not said which is the own, or there is none of that name.
    """
    if algorithm is None:
        raise InputError.at("report", "for which developer?", "Say whose with --algorithm ALIAS.")
    events = opened.events
    (own,) = chosen_looks(events, [algorithm])
    if not opened.policy.roster.shows_others:
        return own, []
    return own, [one for one in chosen_looks(events, looks) if one.number != own.number]


def developers_report(
    kept: Sequence[KeptResult],
    level: FeedbackLevel,
    choice: ReportChoice,
    note: Mapping[str, Any],
    out: Path,
    *,
    is_compared: bool,
) -> list[Path]:
    """Write the folder for a developer, at the level of the policy.

    Args:
        kept: the own result, and those of others that may be seen.
        level: what the policy tells.
        choice: language, print and who issues it.
        note: what looks.json says.
        out: the folder.
        is_compared: whether the own algorithm is compared with the others.
    """
    choice = replace(choice, algorithm=None)
    if level in ("verdict", "rounded"):
        return _write_feedback(kept[0].about["told"], choice, note, out)
    study = developers_study(kept)
    document = developers_view(study, level, is_compared=is_compared)
    own = study.document.algorithms[0].name
    curves, tables = developers_curves(study.curves), {}
    if level == "cases":
        of_own = study_of(kept[:1], {_called(kept[0]): own})
        tables = of_own.tables()
        curves = pl.concat([tables[CURVE_FILE], curves.filter(pl.col("algorithm") != own)])
        choice = replace(choice, audience="lab")

    def write_more(stage: Path) -> None:
        write_json(dict(note), stage / LOOKS)

    written = write_result(document, {**tables, CURVE_FILE: curves}, write_more, out)
    return [*written, *write_report(out, choice)]


def developers_study(kept: Sequence[KeptResult]) -> Study:
    """The own algorithm by its name, and beside it those others that have the same use."""
    own, *others = kept
    aliases = {_called(one) for one in others}
    name = str(own.about["name"])
    whole = study_of(kept, {_called(own): _called(own) if name in aliases else name})
    uses = [_use(one) for one in whole.document.algorithms]
    same = [one for one, use in zip(kept, uses, strict=True) if use == uses[0]]
    return whole if len(same) == len(kept) else developers_study(same)


def developers_view(study: Study, level: FeedbackLevel, *, is_compared: bool) -> Document:
    """The document as the developer may see it."""
    document = study.document
    own = document.algorithms[0]
    if is_compared and len(document.algorithms) > 1:
        _, found = compared(study, ComparisonChoice(own.name))
        document = document.with_comparison(found)
    hidden = replace(document, algorithms=(own, *(_hidden(one) for one in document.algorithms[1:])))
    shown = developers_document(hidden)
    if level != "cases":
        return shown
    whole = replace(shown, reference=document.reference, digests=document.digests)
    return replace(whole, notices=document.notices, algorithms=(own, *shown.algorithms[1:]))


def _hidden(one: AlgorithmSummary) -> AlgorithmSummary:
    """Another's algorithm without what would tell whose it is."""
    facts = {name: fact for name, fact in one.facts.items() if name in SHOWN_FACTS}
    return replace(one, digest="", facts=facts, notices=())


def _called(kept: KeptResult) -> str:
    """What an algorithm is called in its kept result."""
    return str(kept.about.get("alias") or kept.about["name"])


def _use(one: AlgorithmSummary) -> IntendedUse:
    return intended_use(one.facts, one.facts.get("intended_types"))


def _write_feedback(
    told: Mapping[str, Any], choice: ReportChoice, note: Mapping[str, Any], out: Path
) -> list[Path]:
    """What was told, as it was told, and the same as a page."""
    from nodulebench.report.feedback import feedback_page

    def write_more(stage: Path) -> None:
        write_json(dict(note), stage / LOOKS)
        write_json(dict(told), stage / FEEDBACK)
        page = feedback_page(told, choice.language)
        (stage / f"{choice.name}.html").write_text(page, encoding="utf-8")

    return write_result(None, {}, write_more, out)
