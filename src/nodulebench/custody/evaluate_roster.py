"""Evaluate a roster of submissions on a sealed test set, each at its developer's expense.

If one submission cannot be scored, the others continue. What a killed run has finished is not
repeated: the log names the feedback by its digest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from nodulebench.core.errors import InputError, NoduleBenchError, raise_problems
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.json_types import JsonObject
from nodulebench.custody.evaluate import (
    CHECKPOINT,
    Chosen,
    SealedEvaluateOptions,
    chosen_test,
    evaluation_facts,
    identified_evaluation,
    open_for_evaluation,
    run_charged_evaluation,
)
from nodulebench.custody.roster import Entry, alias_problems, chosen_entries, read_roster
from nodulebench.custody.sealed_set import SealedSet, require_outside
from nodulebench.custody.withdrawal import withdrawn_since
from nodulebench.evaluation.result_folder import FEEDBACK, require_same_result
from nodulebench.io.json_files import read_json
from nodulebench.io.manifests import file_digest


@dataclass(frozen=True, slots=True)
class RosterEvaluation:
    """Outcome of one roster entry."""

    entry: Entry
    feedback: JsonObject | None = None
    """The developer's feedback; None: the evaluation failed."""
    written: tuple[Path, ...] = ()
    problem: NoduleBenchError | None = None
    """Why there is no feedback."""
    was_done: bool = False
    """Whether an earlier run evaluated it."""


def evaluate_roster(
    roster: Path,
    options: SealedEvaluateOptions,
    files: Sequence[Path] = (),
    progress: Progress = no_progress,
) -> Iterator[RosterEvaluation]:
    """Score the submissions of a roster on a sealed set, each at its developer's expense.

    Args:
        roster: CSV of file, developer and alias.
        options: how to score. ``marks`` and ``developer`` come from the roster, and each feedback
            is written into a folder of ``out`` named by the alias.
        files: files of the roster to score; empty: all.
        progress: receives the alias that is being scored.

    Raises:
        InputError: before anything is charged: if the roster or the set cannot be used, or the
            person has no permission.
    """
    entries = chosen_entries(read_roster(roster), files)
    if options.out is not None:
        require_outside(options.out, options.sealed)
    opened = open_for_evaluation(options)
    chosen = chosen_test(opened, options)
    raise_problems(list(alias_problems(entries, opened.policy, opened.events)))
    jobs = [(entry, _entry_options(entry, options)) for entry in entries]
    earlier = [_disclosed_before(opened, job, chosen) for _, job in jobs]
    for (_, job), known in zip(jobs, earlier, strict=True):
        if job.out is not None and known is None and not job.force:
            require_same_result(job.out)
    return _evaluations(opened, jobs, earlier, chosen, progress)


def _evaluations(
    opened: SealedSet,
    jobs: Sequence[tuple[Entry, SealedEvaluateOptions]],
    earlier: Sequence[JsonObject | None],
    chosen: Chosen,
    progress: Progress,
) -> Iterator[RosterEvaluation]:
    reference = cache(opened.reference)
    for number, ((entry, options), known) in enumerate(zip(jobs, earlier, strict=True)):
        if known is not None and options.out is not None and (options.out / CHECKPOINT).is_file():
            yield RosterEvaluation(entry, known, was_done=True)
            continue
        progress(entry.alias, number, len(jobs))
        try:
            disclosed, written = run_charged_evaluation(opened, options, chosen, reference)
        except NoduleBenchError as error:
            yield RosterEvaluation(entry, problem=error)
        except OSError as error:
            what = InputError.at(entry.file, f"cannot be read: {error.strerror or error}.")
            yield RosterEvaluation(entry, problem=what)
        else:
            yield RosterEvaluation(entry, disclosed, tuple(written))


def _entry_options(entry: Entry, options: SealedEvaluateOptions) -> SealedEvaluateOptions:
    out = None if options.out is None else options.out / entry.alias
    return replace(options, marks=entry.file, developer=entry.developer, out=out, entry=entry)


def _disclosed_before(
    opened: SealedSet, options: SealedEvaluateOptions, chosen: Chosen
) -> JsonObject | None:
    """Return the feedback in the folder, if the log names it for this very evaluation."""
    entry, out = options.entry, options.out
    if entry is None or out is None or not (out / FEEDBACK).is_file():
        return None
    try:
        facts = evaluation_facts(identified_evaluation(options, chosen))
    except (NoduleBenchError, OSError):
        return None
    wanted = {**facts, "alias": entry.alias, "feedback": file_digest(out / FEEDBACK)}
    events = opened.events
    for event in events:
        is_same = all(event.facts.get(name) == fact for name, fact in wanted.items())
        is_current = not withdrawn_since(events, event.number)
        if event.step == "evaluated" and is_same and is_current:
            disclosed: JsonObject = read_json(out / FEEDBACK)
            return disclosed
    return None
