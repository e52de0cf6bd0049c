"""Kept results -> a comparison, or a folder with the report: for the laboratory or a developer.

The laboratory's folder is the ordinary one of an evaluation, without the tables that were judged:
``looks.json`` says from which looks of which sealed set it was made, so that ``verify`` can make it
again. A developer's has what the policy tells, and of others what it lets be seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.errors import InputError
from nodulebench.custody.audit import Event, Fact, Step
from nodulebench.custody.developer import developers_looks, developers_report
from nodulebench.custody.note import LOOKS, is_from_looks, looks_note
from nodulebench.custody.sealed_set import SealedSet, open_sealed, refuse_inside
from nodulebench.custody.stored_results import KeptResult, open_kept
from nodulebench.custody.study import (
    Study,
    chosen_looks,
    compared,
    study_of,
)
from nodulebench.custody.withdrawal import refuse_withdrawn
from nodulebench.evaluation.comparison.compare import AlgorithmComparison, ComparisonChoice
from nodulebench.evaluation.report import ReportChoice, write_report
from nodulebench.evaluation.result_folder import (
    COMPARISON,
    PLAN,
    refuse_other_result,
    write_document,
    write_result,
)
from nodulebench.io.json_files import write_json
from nodulebench.security.vault import Secret


@dataclass(frozen=True, slots=True)
class StudyOrder:
    """Which kept results somebody wants to see beside each other."""

    sealed: Path
    secret: Secret
    person: str
    looks: tuple[str, ...] = ()
    """Aliases or numbers of looks; none: the last of every algorithm."""


def compare_kept(
    order: StudyOrder, choice: ComparisonChoice, out: Path | None = None
) -> tuple[AlgorithmComparison, list[Path]]:
    """Compare algorithms from what was kept of their looks.

    Returns:
        The comparison, and the files of the laboratory's report, where ``out`` is a folder for it.

    Raises:
        InputError: if the person may not, or kept results are not as the log says.
    """
    opened = _opened(order, out)
    looks = chosen_looks(opened.events, order.looks)
    kept = _recorded(opened, looks, "compared", {"baseline": choice.baseline})
    study = study_of(kept)
    comparison, found = compared(study, choice)
    document = study.document.with_comparison(found)
    if out is None:
        return comparison, []
    written = _write_lab(study, document, looks_note(opened, kept, "lab"), out)
    return comparison, [*written, *write_report(out)]


def report_kept(
    order: StudyOrder,
    choice: ReportChoice,
    out: Path,
    baselines: Sequence[str] = (),
) -> list[Path]:
    """Make the report of kept results: the whole one, or what a developer may have.

    Args:
        order: of which looks.
        choice: for whom and how; for a developer ``algorithm`` is the alias of the own one.
        out: a folder of its own.
        baselines: with which of the algorithms the others are compared; for a developer the own.

    Raises:
        InputError: if the person may not, or kept results are not as the log says.
    """
    if choice.images is not None or choice.sweeps:
        what = "shows neither images nor sweeps: they need the reference on the disk."
        raise InputError.at("report of kept results", what, "Leave out --images and --sweep.")
    opened = _opened(order, out)
    facts = {"audience": choice.audience, "algorithm": choice.algorithm}
    if choice.audience == "developer":
        own, others = developers_looks(opened, choice.algorithm, order.looks)
        kept = _recorded(opened, [own, *others], "reported", facts)
        note = looks_note(opened, kept, choice.audience)
        reuse = opened.policy.reuse
        return developers_report(kept, reuse, choice, note, out, is_compared=bool(baselines))
    kept = _recorded(opened, chosen_looks(opened.events, order.looks), "reported", facts)
    study = study_of(kept)
    document = study.document
    for baseline in baselines:
        _, found = compared(study, ComparisonChoice(baseline))
        document = document.with_comparison(found)
    written = _write_lab(study, document, looks_note(opened, kept, "lab"), out)
    return [*written, *write_report(out, choice)]


def _opened(order: StudyOrder, out: Path | None) -> SealedSet:
    if out is not None:
        refuse_inside(out, order.sealed)
        if not is_from_looks(out):
            refuse_other_result(out)
    return open_sealed(order.sealed, order.secret, order.person, "report")


def _recorded(
    opened: SealedSet, chosen: Sequence[Event], step: Step, facts: Mapping[str, Fact]
) -> list[KeptResult]:
    """The results of these looks, once it stands in the log what is done with them.

    Raises:
        InputError: if one was made with cases that were withdrawn since.
    """
    refuse_withdrawn(opened.events, (one.facts["look"] for one in chosen))
    looks = ", ".join(str(one.facts["look"]) for one in chosen)
    opened.record(step, {"looks": looks, **facts})
    return [open_kept(opened, one) for one in chosen]


def _write_lab(study: Study, document: Document, note: Mapping[str, Any], out: Path) -> list[Path]:
    def write_more(stage: Path) -> None:
        write_json(dict(note), stage / LOOKS)
        if study.plan is not None:
            write_json(study.plan, stage / PLAN)
        if document.comparisons:
            write_document(document.comparisons[-1], stage / COMPARISON)

    return write_result(document, study.tables(), write_more, out)
