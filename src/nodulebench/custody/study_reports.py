"""Kept results -> a comparison, or a folder with the report: for the laboratory or a developer.

The laboratory's folder is the ordinary one of an evaluation, without the tables that were judged:
``looks.json`` says from which looks of which sealed set it was made, so that ``verify`` can make it
again. A developer's has what the policy tells, and of others what it lets be seen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench import __version__
from nodulebench.core.algorithm import IntendedUse, intended_use
from nodulebench.core.documents.comparison import DetectionSummary
from nodulebench.core.documents.evaluation import Document, read_evaluation
from nodulebench.core.documents.records import AlgorithmSummary, as_json
from nodulebench.core.errors import InputError, NoduleBenchError, Problem
from nodulebench.core.json_types import JsonObject
from nodulebench.custody.audit import Event, Step
from nodulebench.custody.feedback import as_printed
from nodulebench.custody.policy import Reuse
from nodulebench.custody.sealed_set import SealedSet, open_sealed, require_outside
from nodulebench.custody.stored_results import (
    LOOKS,
    StoredResult,
    evaluations_note,
    is_from_stored_results,
    open_stored_result,
    read_evaluations,
)
from nodulebench.custody.study import (
    Study,
    chosen_evaluations,
    compared,
    joined,
    renamed_document,
    study_of,
)
from nodulebench.custody.withdrawal import require_not_withdrawn
from nodulebench.evaluation.comparison.compare import AlgorithmComparison, ComparisonChoice
from nodulebench.evaluation.comparison.service import recompute_comparisons
from nodulebench.evaluation.report import ReportChoice, write_report
from nodulebench.evaluation.result_folder import (
    COMPARISON,
    CURVE_FILE,
    EVALUATION,
    FEEDBACK,
    PLAN,
    read_document,
    require_same_result,
    write_document,
    write_result,
)
from nodulebench.evaluation.verify.verify import (
    Recomputed,
    Verification,
    comparison_differences,
    count_values,
    document_differences,
    tables_differences,
    verify_folder,
)
from nodulebench.io.json_files import read_json, write_json
from nodulebench.report.developer_copy import developers_curves, developers_document
from nodulebench.security.event_log.events import Fact
from nodulebench.security.vault import Secret

SHOWN_FACTS = ("intended_use", "intended_types")
"""What is shown of another's declarations: it is the same as the own."""


def evaluations_of_developers(
    opened: SealedSet, algorithm: str | None, looks: Sequence[str]
) -> tuple[Event, list[Event]]:
    """The look of a developer's own algorithm, and those of others that the policy lets be seen.

    Raises:
        InputError: if it is not said which is the own, or there is none of that name.
    """
    if algorithm is None:
        raise InputError.at("report", "for which developer?", "Say whose with --algorithm ALIAS.")
    events = opened.events
    (own,) = chosen_evaluations(events, [algorithm])
    if not opened.policy.roster.shows_others:
        return own, []
    return own, [look for look in chosen_evaluations(events, looks) if look.number != own.number]


def developers_report(
    kept: Sequence[StoredResult],
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
    kept: Sequence[StoredResult], reuse: Reuse, *, is_compared: bool
) -> tuple[Document, dict[str, pl.DataFrame]]:
    """What evaluation.json of a developer's copy holds, and the tables beside it.

    The own algorithm comes first, told as after its look.
    """
    kept = [kept[0], *(one for one in kept[1:] if _use(one) == _use(kept[0]))]
    own = _own_name(kept)
    document = joined([_disclosed(one, own if one is kept[0] else "", reuse) for one in kept])
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
    """The document with another's comparisons, their metrics to as many digits as are told."""
    content = document.to_json()
    content["comparisons"] = as_printed(shown.to_json()["comparisons"])
    return read_evaluation(content, "comparison")


def _own_name(kept: Sequence[StoredResult]) -> str:
    """What the developer calls the own algorithm, unless another has that for an alias."""
    name = str(kept[0].about["name"])
    return _called(kept[0]) if name in map(_called, kept[1:]) else name


def _disclosed(kept: StoredResult, own: str, reuse: Reuse) -> Document:
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


def _called(kept: StoredResult) -> str:
    """What an algorithm is called in its kept result."""
    return str(kept.about.get("alias") or kept.about["name"])


def _use(kept: StoredResult) -> IntendedUse:
    (one,) = kept.about["told"]["evaluation"]["algorithms"]
    return intended_use(one["facts"], one["facts"].get("intended_types"))


def _write_feedback(
    told: Mapping[str, Any], choice: ReportChoice, note: Mapping[str, Any], out: Path
) -> list[Path]:
    """What was told, as it was told, and the same as a page.

    Raises:
        InputError: if a PDF is wanted.
    """
    from nodulebench.report.excerpts import feedback_page
    from nodulebench.report.sections.verdict import Issued

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


@dataclass(frozen=True, slots=True)
class StudyOrder:
    """Which kept results somebody wants to see beside each other."""

    sealed: Path
    secret: Secret
    person: str
    looks: tuple[str, ...] = ()
    """Aliases or numbers of looks; none: the last of every algorithm."""


def compare_stored(
    order: StudyOrder, choice: ComparisonChoice, out: Path | None = None
) -> tuple[AlgorithmComparison, list[Path]]:
    """Compare algorithms from what was kept of their looks.

    Returns:
        The comparison, and the files of the laboratory's report, where ``out`` is a folder for it.

    Raises:
        InputError: if the person may not, or kept results are not as the log says.
    """
    opened = _opened(order, out)
    looks = chosen_evaluations(opened.events, order.looks)
    kept = _recorded(opened, looks, "compared", {"baseline": choice.baseline})
    study = study_of(kept)
    comparison, found = compared(study, choice)
    document = study.document.with_comparison(found)
    if out is None:
        return comparison, []
    written = _write_lab(study, document, evaluations_note(opened, kept, "lab"), out)
    return comparison, [*written, *write_report(out)]


def report_stored(
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
        own, others = evaluations_of_developers(opened, choice.algorithm, order.looks)
        kept = _recorded(opened, [own, *others], "reported", facts)
        note = evaluations_note(opened, kept, choice.audience)
        reuse = opened.policy.reuse
        return developers_report(kept, reuse, choice, note, out, is_compared=bool(baselines))
    kept = _recorded(opened, chosen_evaluations(opened.events, order.looks), "reported", facts)
    study = study_of(kept)
    document = study.document
    for baseline in baselines:
        _, found = compared(study, ComparisonChoice(baseline))
        document = document.with_comparison(found)
    written = _write_lab(study, document, evaluations_note(opened, kept, "lab"), out)
    return [*written, *write_report(out, choice)]


def _opened(order: StudyOrder, out: Path | None) -> SealedSet:
    if out is not None:
        require_outside(out, order.sealed)
        if not is_from_stored_results(out):
            require_same_result(out)
    return open_sealed(order.sealed, order.secret, order.person, "report")


def _recorded(
    opened: SealedSet, chosen: Sequence[Event], step: Step, facts: Mapping[str, Fact]
) -> list[StoredResult]:
    """The results of these looks, once it stands in the log what is done with them.

    Raises:
        InputError: if one was made with cases that were withdrawn since.
    """
    require_not_withdrawn(opened.events, (one.facts["look"] for one in chosen))
    looks = ", ".join(str(one.facts["look"]) for one in chosen)
    opened.record(step, {"looks": looks, **facts})
    return [open_stored_result(opened, one) for one in chosen]


def _write_lab(study: Study, document: Document, note: Mapping[str, Any], out: Path) -> list[Path]:
    def write_more(stage: Path) -> None:
        write_json(dict(note), stage / LOOKS)
        if study.plan is not None:
            write_json(study.plan, stage / PLAN)
        if document.comparisons:
            write_document(document.comparisons[-1], stage / COMPARISON)

    return write_result(document, study.tables(), write_more, out)


def verify_made(
    folder: Path,
    *,
    public_key: Path | None = None,
    sealed: Path | None = None,
    secret: Secret | None = None,
    person: str = "",
) -> Verification:
    """Check the files and the signature of a folder; with its sealed set, make it again.

    Args:
        folder: what ``report`` or ``compare`` made from kept results.
        public_key: the key of whoever shall have signed.
        sealed: the sealed set; None: numbers are not recomputed.
        secret: opens it.
        person: who may inspect it.
    """
    found = verify_folder(folder, public_key=public_key, is_recomputed=False)
    if sealed is None or secret is None:
        return found
    try:
        opened = open_sealed(sealed, secret, person, "inspect")
        return replace(found, from_originals=_made_again(folder, opened))
    except InputError as error:
        return replace(found, problems=(*found.problems, *error.problems))
    except NoduleBenchError as error:
        told = Problem(str(folder / EVALUATION), str(error))
        return replace(found, problems=(*found.problems, told))


def _made_again(folder: Path, opened: SealedSet) -> Recomputed:
    note = read_evaluations(folder)
    if note.get("bundle") != opened.bundle:
        raise InputError.at(str(folder / LOOKS), f"names another sealed set than {opened.folder}.")
    kept = _stored(opened, note)
    reuse = opened.policy.reuse
    if note["audience"] == "developer" and reuse.feedback in ("verdict", "rounded"):
        written = read_json(folder / FEEDBACK)
        differences = document_differences(written, kept[0].about["told"], FEEDBACK)
        return Recomputed(count_values(written), 0, tuple(differences))
    shown = read_document(folder)
    if note["audience"] == "developer":
        is_compared = bool(shown.comparisons)
        document, tables = developers_result(kept, reuse, is_compared=is_compared)
    else:
        study = study_of(kept)
        whole = replace(study.document, comparisons=shown.comparisons)
        again = recompute_comparisons(replace(study.evaluated, document=whole))
        document, tables = replace(whole, comparisons=tuple(again)), study.tables()
    return _recomputed(folder, document, tables)


def _stored(opened: SealedSet, note: JsonObject) -> list[StoredResult]:
    """The results that a folder says it was made from, if they are still those of the log."""
    events = {
        event.facts.get("look"): event for event in opened.events if event.step == "evaluated"
    }
    looks = note["looks"]
    require_not_withdrawn(opened.events, (look["look"] for look in looks))
    opened.record("inspected", {"looks": ", ".join(str(look["look"]) for look in looks)})
    found = [
        open_stored_result(opened, events[look["look"]]) for look in looks if look["look"] in events
    ]
    if [(one.look, one.digest) for one in found] != [
        (look["look"], look["result"]) for look in looks
    ]:
        raise InputError.at(LOOKS, "names results that the sealed set does not have, or no more.")
    return found


def _recomputed(folder: Path, document: Document, tables: dict[str, pl.DataFrame]) -> Recomputed:
    def differences() -> Iterator[Any]:
        yield from document_differences(written, as_json(document), EVALUATION)
        yield from tables_differences(folder, tables)
        yield from comparison_differences(folder, document.comparisons)

    written = read_json(folder / EVALUATION)
    rows = sum(table.height for table in tables.values())
    return Recomputed(count_values(written), rows, tuple(differences()))
