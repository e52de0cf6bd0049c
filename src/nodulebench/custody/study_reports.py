"""Comparisons and report folders from stored results, for the laboratory or a developer.

The laboratory's folder is an ordinary result folder without the input tables.
``evaluations.json`` names the sealed set and its evaluations, so that ``verify`` can make the
folder again. A developer's folder has what the policy discloses, also about other algorithms.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import polars as pl

from nodulebench import __version__
from nodulebench.core.algorithm import IntendedUse, intended_use
from nodulebench.core.documents.comparison import DetectionSummary
from nodulebench.core.documents.evaluation import Document, read_evaluation
from nodulebench.core.documents.records import AlgorithmSummary, as_json
from nodulebench.core.errors import InputError, NoduleBenchError, Problem
from nodulebench.core.json_types import JsonObject
from nodulebench.custody.events import Event, Step
from nodulebench.custody.feedback import as_printed
from nodulebench.custody.policy import Reuse
from nodulebench.custody.sealed_set import SealedSet, open_sealed, require_outside
from nodulebench.custody.stored_results import (
    EVALUATIONS,
    StoredResult,
    evaluations_note,
    is_from_stored_results,
    open_stored_result,
    read_evaluations,
    require_not_withdrawn,
)
from nodulebench.custody.study import Study, chosen_evaluations, compared, joined, study_of
from nodulebench.evaluation.comparison.compare import AlgorithmComparison, ComparisonChoice
from nodulebench.evaluation.comparison.service import recompute_comparisons
from nodulebench.evaluation.recompute import renamed_document
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
from nodulebench.evaluation.verify import (
    Difference,
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
from nodulebench.security.events import Fact
from nodulebench.security.keys import PrivateKey

SHOWN_FACTS = ("intended_use", "intended_types")
"""Declared facts of other developers' algorithms that are shown: they equal one's own."""


def evaluations_of_developers(
    opened: SealedSet, algorithm: str | None, wanted: Sequence[str]
) -> tuple[Event, list[Event]]:
    if algorithm is None:
        what = "for a developer needs their algorithm."
        raise InputError.at("report", what, "Give --algorithm ALIAS.")
    events = opened.events
    (own,) = chosen_evaluations(events, [algorithm])
    if not opened.policy.roster.shows_others:
        return own, []
    return own, [
        event for event in chosen_evaluations(events, wanted) if event.number != own.number
    ]


def developers_report(
    results: Sequence[StoredResult],
    reuse: Reuse,
    choice: ReportChoice,
    note: Mapping[str, object],
    out: Path,
    *,
    is_compared: bool,
) -> list[Path]:
    choice = replace(choice, algorithm=None)
    if reuse.feedback in ("verdict", "rounded"):
        return _write_feedback(results[0].about["disclosed"], choice, note, out)
    if reuse.feedback == "cases":
        choice = replace(choice, audience="lab")
    document, tables = developers_result(results, reuse, is_compared=is_compared)

    def write_more(stage: Path) -> None:
        write_json(dict(note), stage / EVALUATIONS)

    written = write_result(document, tables, write_more, out)
    return [*written, *write_report(out, choice)]


def developers_result(
    results: Sequence[StoredResult], reuse: Reuse, *, is_compared: bool
) -> tuple[Document, dict[str, pl.DataFrame]]:
    """Return evaluation.json and the tables of a developer's copy, whose algorithm comes first."""
    results = [results[0], *(result for result in results[1:] if _use(result) == _use(results[0]))]
    name = str(results[0].about["name"])
    own = _called(results[0]) if name in map(_called, results[1:]) else name
    document = joined(
        [_disclosed(result, own if result is results[0] else "", reuse) for result in results]
    )
    study = study_of(results, {_called(results[0]): own})
    if is_compared and len(results) > 1:
        _, comparison = compared(study, ComparisonChoice(own))
        disclosed = replace(
            comparison, detection=_of_many(comparison.detection, study.document, reuse)
        )
        shown = developers_document(
            study.document.with_comparison(disclosed), reuse.minimum_stratum
        )
        content = document.to_json()
        content["comparisons"] = as_printed(shown.to_json()["comparisons"])
        document = read_evaluation(content, "comparison")
    curves = developers_curves(study.curves, document)
    if reuse.feedback != "cases":
        return document, {CURVE_FILE: curves}
    tables = study_of(results[:1], {_called(results[0]): own}).tables()
    others = curves.filter(pl.col("algorithm") != own)
    return document, {**tables, CURVE_FILE: pl.concat([tables[CURVE_FILE], others])}


def _of_many(
    summaries: Sequence[DetectionSummary], document: Document, reuse: Reuse
) -> tuple[DetectionSummary, ...]:
    """Drop counts of nodules found by both or one of two algorithms if any count is small.

    A developer who marks a single nodule could otherwise see whether another algorithm found it.
    """
    fewest = max(reuse.minimum_stratum, document.protocol.minimum_stratum)
    return tuple(
        summary
        for summary in summaries
        if not any(0 < count < fewest for count in asdict(summary.nodules).values())
    )


def _disclosed(result: StoredResult, own: str, reuse: Reuse) -> Document:
    """Return the feedback on an evaluation; of other developers' only anonymous aggregates."""
    where = str(result.where)
    document = read_evaluation(result.about["disclosed"]["evaluation"], where)
    if own:
        return renamed_document(document, own)
    if reuse.feedback == "cases":
        document = developers_document(document, reuse.minimum_stratum)
    return replace(document, algorithms=tuple(map(_hidden, document.algorithms)))


def _hidden(algorithm: AlgorithmSummary) -> AlgorithmSummary:
    facts = {name: fact for name, fact in algorithm.facts.items() if name in SHOWN_FACTS}
    return replace(algorithm, digest="", facts=facts, notices=())


def _called(result: StoredResult) -> str:
    return str(result.about.get("alias") or result.about["name"])


def _use(result: StoredResult) -> IntendedUse:
    (algorithm,) = result.about["disclosed"]["evaluation"]["algorithms"]
    return intended_use(algorithm["facts"], algorithm["facts"].get("intended_types"))


def _write_feedback(
    answer: Mapping[str, object], choice: ReportChoice, note: Mapping[str, object], out: Path
) -> list[Path]:
    from nodulebench.report.excerpts import feedback_page
    from nodulebench.report.verdict import Issued

    if choice.is_pdf:
        what = f"permits only the level '{answer['level']}', which has a page and no PDF."
        raise InputError.at("policy", what, "Leave out --pdf, and print the page.")

    def write_more(stage: Path) -> None:
        write_json(dict(note), stage / EVALUATIONS)
        write_json(dict(answer), stage / FEEDBACK)
        issued = Issued(choice.laboratory, choice.number, choice.operator, choice.date)
        page = feedback_page(answer, __version__, choice.language, issued)
        (stage / f"{choice.name}.html").write_text(page, encoding="utf-8")

    return write_result(None, {}, write_more, out)


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """Which stored results of a sealed set to compare or report, and who asks for it."""

    sealed: Path
    own_key: PrivateKey
    evaluations: tuple[str, ...] = ()
    """Aliases or numbers of evaluations; empty: the last of every algorithm."""


def compare_stored(
    options: StudyOptions, choice: ComparisonChoice, out: Path | None = None
) -> tuple[AlgorithmComparison, list[Path]]:
    opened = _opened(options, out)
    chosen = chosen_evaluations(opened.events, options.evaluations)
    results = _recorded(opened, chosen, "compared", {"baseline": choice.baseline})
    study = study_of(results)
    comparison, summary = compared(study, choice)
    document = study.document.with_comparison(summary)
    if out is None:
        return comparison, []
    written = _write_lab(study, document, evaluations_note(opened, results, "lab"), out)
    return comparison, [*written, *write_report(out)]


def report_stored(
    options: StudyOptions, choice: ReportChoice, out: Path, baselines: Sequence[str] = ()
) -> list[Path]:
    """Make the report of stored results: the complete one, or a developer's.

    For a developer, ``algorithm`` of the choice is the alias of their algorithm, which is the
    baseline.
    """
    if choice.images is not None or choice.sweeps:
        what = "shows neither images nor sweeps: they need the reference on the disk."
        raise InputError.at("report of stored results", what, "Leave out --images and --sweep.")
    opened = _opened(options, out)
    facts = {"audience": choice.audience, "algorithm": choice.algorithm}
    if choice.audience == "developer":
        own, others = evaluations_of_developers(opened, choice.algorithm, options.evaluations)
        results = _recorded(opened, [own, *others], "reported", facts)
        note = evaluations_note(opened, results, choice.audience)
        reuse = opened.policy.reuse
        return developers_report(results, reuse, choice, note, out, is_compared=bool(baselines))
    results = _recorded(
        opened, chosen_evaluations(opened.events, options.evaluations), "reported", facts
    )
    study = study_of(results)
    document = study.document
    for baseline in baselines:
        _, comparison = compared(study, ComparisonChoice(baseline))
        document = document.with_comparison(comparison)
    written = _write_lab(study, document, evaluations_note(opened, results, "lab"), out)
    return [*written, *write_report(out, choice)]


def _opened(options: StudyOptions, out: Path | None) -> SealedSet:
    if out is not None:
        require_outside(out, options.sealed)
        if not is_from_stored_results(out):
            require_same_result(out)
    return open_sealed(options.sealed, options.own_key, "report")


def _recorded(
    opened: SealedSet, chosen: Sequence[Event], step: Step, facts: Mapping[str, Fact]
) -> list[StoredResult]:
    require_not_withdrawn(opened.events, (event.facts["evaluation"] for event in chosen))
    numbers = ", ".join(str(event.facts["evaluation"]) for event in chosen)
    opened.record(step, {"evaluations": numbers, **facts})
    return [open_stored_result(opened, event) for event in chosen]


def _write_lab(
    study: Study, document: Document, note: Mapping[str, object], out: Path
) -> list[Path]:
    def write_more(stage: Path) -> None:
        write_json(dict(note), stage / EVALUATIONS)
        if study.plan is not None:
            write_json(study.plan, stage / PLAN)
        if document.comparisons:
            write_document(document.comparisons[-1], stage / COMPARISON)

    return write_result(document, study.tables(), write_more, out)


def verify_from_stored(
    folder: Path,
    *,
    public_key: Path | None = None,
    sealed: Path | None = None,
    own_key: PrivateKey | None = None,
) -> Verification:
    """Check the files and the signature of a folder; with its sealed set, make it again."""
    verification = verify_folder(folder, public_key=public_key, is_recomputed=False)
    if sealed is None or own_key is None:
        return verification
    try:
        opened = open_sealed(sealed, own_key, "inspect")
        return replace(verification, from_originals=_made_again(folder, opened))
    except InputError as error:
        return replace(verification, problems=(*verification.problems, *error.problems))
    except NoduleBenchError as error:
        problem = Problem(str(folder / EVALUATION), str(error))
        return replace(verification, problems=(*verification.problems, problem))


def _made_again(folder: Path, opened: SealedSet) -> Recomputed:
    note = read_evaluations(folder)
    if note.get("bundle") != opened.bundle:
        raise InputError.at(
            str(folder / EVALUATIONS), f"names another sealed set than {opened.folder}."
        )
    results = _stored(opened, note)
    reuse = opened.policy.reuse
    if note["audience"] == "developer" and reuse.feedback in ("verdict", "rounded"):
        written = read_json(folder / FEEDBACK)
        differences = document_differences(written, results[0].about["disclosed"], FEEDBACK)
        return Recomputed(count_values(written), 0, tuple(differences))
    shown = read_document(folder)
    if note["audience"] == "developer":
        is_compared = bool(shown.comparisons)
        document, tables = developers_result(results, reuse, is_compared=is_compared)
    else:
        study = study_of(results)
        whole = replace(study.document, comparisons=shown.comparisons)
        again = recompute_comparisons(replace(study.evaluated, document=whole))
        document, tables = replace(whole, comparisons=tuple(again)), study.tables()
    return _recomputed(folder, document, tables)


def _stored(opened: SealedSet, note: JsonObject) -> list[StoredResult]:
    events = {
        event.facts.get("evaluation"): event for event in opened.events if event.step == "evaluated"
    }
    evaluations = note["evaluations"]
    require_not_withdrawn(opened.events, (evaluation["evaluation"] for evaluation in evaluations))
    opened.record(
        "inspected",
        {"evaluations": ", ".join(str(evaluation["evaluation"]) for evaluation in evaluations)},
    )
    results = [
        open_stored_result(opened, events[evaluation["evaluation"]])
        for evaluation in evaluations
        if evaluation["evaluation"] in events
    ]
    if [(result.number, result.digest) for result in results] != [
        (evaluation["evaluation"], evaluation["result"]) for evaluation in evaluations
    ]:
        raise InputError.at(EVALUATIONS, "names results that the sealed set does not have.")
    return results


def _recomputed(folder: Path, document: Document, tables: dict[str, pl.DataFrame]) -> Recomputed:
    def differences() -> Iterator[Difference]:
        yield from document_differences(written, as_json(document), EVALUATION)
        yield from tables_differences(folder, tables)
        yield from comparison_differences(folder, document.comparisons)

    written = read_json(folder / EVALUATION)
    rows = sum(table.height for table in tables.values())
    return Recomputed(count_values(written), rows, tuple(differences()))
