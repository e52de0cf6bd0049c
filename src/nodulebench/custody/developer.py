"""Kept results + policy -> the copy that a developer gets: the own results, of others little.

The own algorithm stands under its name. Others are shown where the policy says so and they have
the same intended use: under their aliases, in aggregates, without anything that they declare.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench import __version__
from nodulebench.core.algorithm import IntendedUse, intended_use
from nodulebench.core.documents.comparison import DetectionSummary
from nodulebench.core.documents.evaluation import Document, read_evaluation
from nodulebench.core.documents.records import AlgorithmSummary
from nodulebench.core.errors import InputError
from nodulebench.custody.audit import Event
from nodulebench.custody.note import LOOKS
from nodulebench.custody.policy import Reuse
from nodulebench.custody.sealed_set import SealedSet
from nodulebench.custody.stored_results import KeptResult
from nodulebench.custody.study import (
    chosen_looks,
    compared,
    joined,
    renamed_document,
    study_of,
)
from nodulebench.custody.telling import as_printed
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.report import ReportChoice, write_report
from nodulebench.evaluation.result_folder import CURVE_FILE, FEEDBACK, write_result
from nodulebench.io.json_files import write_json
from nodulebench.report.developer_copy import developers_curves, developers_document

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
    reuse: Reuse,
    choice: ReportChoice,
    note: Mapping[str, Any],
    out: Path,
    *,
    is_compared: bool,
) -> list[Path]:
    """Write the folder for a developer, at the level of the policy.

    Args:
        kept: the own result, and those of others that may be seen.
        reuse: the policy's word on what is told.
        choice: language, print and who issues it.
        note: what looks.json says.
        out: the folder.
        is_compared: whether the own algorithm is compared with the others.
    """
    choice = replace(choice, algorithm=None)
    if reuse.feedback in ("verdict", "rounded"):
        return _write_feedback(kept[0].about["told"], choice, note, out)
    if reuse.feedback == "cases":
        choice = replace(choice, audience="lab")
    document, tables = developers_result(kept, reuse, is_compared=is_compared)

    def write_more(stage: Path) -> None:
        write_json(dict(note), stage / LOOKS)

    written = write_result(document, tables, write_more, out)
    return [*written, *write_report(out, choice)]


def developers_result(
    kept: Sequence[KeptResult], reuse: Reuse, *, is_compared: bool
) -> tuple[Document, dict[str, pl.DataFrame]]:
    """What evaluation.json of a developer's copy holds, and the tables beside it.

    The own algorithm comes first, told as after its look.
    """
    kept = [kept[0], *(one for one in kept[1:] if _use(one) == _use(kept[0]))]
    own = _own_name(kept)
    document = joined([_told(one, own if one is kept[0] else "", reuse) for one in kept])
    study = study_of(kept, {_called(kept[0]): own})
    if is_compared and len(kept) > 1:
        _, found = compared(study, ComparisonChoice(own))
        told = replace(found, detection=_of_many(found.detection, study.document, reuse))
        shown = developers_document(study.document.with_comparison(told), reuse.minimum_stratum)
        document = _with_printed(document, shown)
    curves = developers_curves(study.curves, document)
    if reuse.feedback != "cases":
        return document, {CURVE_FILE: curves}
    tables = study_of(kept[:1], {_called(kept[0]): own}).tables()
    others = curves.filter(pl.col("algorithm") != own)
    return document, {**tables, CURVE_FILE: pl.concat([tables[CURVE_FILE], others])}


def _of_many(
    found: Sequence[DetectionSummary], document: Document, reuse: Reuse
) -> tuple[DetectionSummary, ...]:
    """Of counts of nodules that both or one of two algorithms found, those without small ones.

    Who marks one nodule alone would learn from them whether another's algorithm found it.
    """
    fewest = max(reuse.minimum_stratum, document.protocol.minimum_stratum)
    return tuple(
        one
        for one in found
        if not any(0 < count < fewest for count in asdict(one.nodules).values())
    )


def _with_printed(document: Document, shown: Document) -> Document:
    """The document with another's comparisons, their figures to as many digits as are told."""
    content = document.to_json()
    content["comparisons"] = as_printed(shown.to_json()["comparisons"])
    return read_evaluation(content, "comparison")


def _own_name(kept: Sequence[KeptResult]) -> str:
    """What the developer calls the own algorithm, unless another has that for an alias."""
    name = str(kept[0].about["name"])
    return _called(kept[0]) if name in map(_called, kept[1:]) else name


def _told(kept: KeptResult, own: str, reuse: Reuse) -> Document:
    """What was told after a look; of another's nothing but aggregates, and not whose it is."""
    where = str(kept.where)
    document = read_evaluation(kept.about["told"]["evaluation"], where)
    if own:
        return renamed_document(document, own)
    if reuse.feedback == "cases":
        document = developers_document(document, reuse.minimum_stratum)
    return replace(document, algorithms=tuple(map(_hidden, document.algorithms)))


def _hidden(one: AlgorithmSummary) -> AlgorithmSummary:
    """Another's algorithm without what would tell whose it is."""
    facts = {name: fact for name, fact in one.facts.items() if name in SHOWN_FACTS}
    return replace(one, digest="", facts=facts, notices=())


def _called(kept: KeptResult) -> str:
    """What an algorithm is called in its kept result."""
    return str(kept.about.get("alias") or kept.about["name"])


def _use(kept: KeptResult) -> IntendedUse:
    (one,) = kept.about["told"]["evaluation"]["algorithms"]
    return intended_use(one["facts"], one["facts"].get("intended_types"))


def _write_feedback(
    told: Mapping[str, Any], choice: ReportChoice, note: Mapping[str, Any], out: Path
) -> list[Path]:
    """What was told, as it was told, and the same as a page.

    Raises:
        InputError: if a PDF is wanted.
    """
    from nodulebench.report.feedback import feedback_page
    from nodulebench.report.sections.issued import Issued

    if choice.is_pdf:
        what = f"tells a developer as little as '{told['level']}': a page, and no PDF."
        raise InputError.at("policy", what, "Leave out --pdf, and print the page.")

    def write_more(stage: Path) -> None:
        write_json(dict(note), stage / LOOKS)
        write_json(dict(told), stage / FEEDBACK)
        issued = Issued(choice.laboratory, choice.number, choice.operator, choice.date)
        page = feedback_page(told, __version__, choice.language, issued)
        (stage / f"{choice.name}.html").write_text(page, encoding="utf-8")

    return write_result(None, {}, write_more, out)
