"""Roster of submissions + sealed test set -> a look of its own for each, and its feedback.

A submission that cannot be scored fails alone. What a run that was killed has finished is not done
again: the log knows the feedback by its digest.
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
    open_for_evaluation,
    ordered_evaluation,
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
    """What came of one entry of a roster."""

    entry: Entry
    told: JsonObject | None = None
    """What its developer is told; None: there is nothing."""
    written: tuple[Path, ...] = ()
    problem: NoduleBenchError | None = None
    """Why there is nothing."""
    was_done: bool = False
    """Whether an earlier run had done it."""


def evaluate_roster(
    roster: Path,
    order: SealedEvaluateOptions,
    files: Sequence[Path] = (),
    progress: Progress = no_progress,
) -> Iterator[RosterEvaluation]:
    """Score the submissions of a roster on a sealed set, each at its own developer's expense.

    Args:
        roster: CSV of file, developer and alias.
        order: how; its ``marks`` and ``developer`` are those of the roster, and the feedback of
            each goes into a folder of ``out`` that has its alias.
        files: those of the roster that are scored; none: all.
        progress: told which is worked on.

    Raises:
        InputError: before anything is charged: if the roster or the set cannot be used, or the
            person may not.
    """
    entries = chosen_entries(read_roster(roster), files)
    if order.out is not None:
        require_outside(order.out, order.sealed)
    opened = open_for_evaluation(order)
    chosen = chosen_test(opened, order)
    raise_problems(list(alias_problems(entries, opened.policy, opened.events)))
    orders = [(entry, _order_of(entry, order)) for entry in entries]
    told = [_disclosed_before(opened, one, chosen) for _, one in orders]
    for (_, one), known in zip(orders, told, strict=True):
        if one.out is not None and known is None and not one.force:
            require_same_result(one.out)
    return _evaluations(opened, orders, told, chosen, progress)


def _evaluations(
    opened: SealedSet,
    orders: Sequence[tuple[Entry, SealedEvaluateOptions]],
    told_before: Sequence[JsonObject | None],
    chosen: Chosen,
    progress: Progress,
) -> Iterator[RosterEvaluation]:
    reference = cache(opened.reference)
    for number, ((entry, order), known) in enumerate(zip(orders, told_before, strict=True)):
        if known is not None and order.out is not None and (order.out / CHECKPOINT).is_file():
            yield RosterEvaluation(entry, known, was_done=True)
            continue
        progress(entry.alias, number, len(orders))
        try:
            told, written = run_charged_evaluation(opened, order, chosen, reference)
        except NoduleBenchError as error:
            yield RosterEvaluation(entry, problem=error)
        except OSError as error:
            what = InputError.at(entry.file, f"cannot be read: {error.strerror or error}.")
            yield RosterEvaluation(entry, problem=what)
        else:
            yield RosterEvaluation(entry, told, tuple(written))


def _order_of(entry: Entry, order: SealedEvaluateOptions) -> SealedEvaluateOptions:
    out = None if order.out is None else order.out / entry.alias
    return replace(order, marks=entry.file, developer=entry.developer, out=out, entry=entry)


def _disclosed_before(
    opened: SealedSet, order: SealedEvaluateOptions, chosen: Chosen
) -> JsonObject | None:
    """The feedback that lies in its folder, if the log says that it is of this very look."""
    entry, out = order.entry, order.out
    if entry is None or out is None or not (out / FEEDBACK).is_file():
        return None
    try:
        look = evaluation_facts(ordered_evaluation(order, chosen))
    except (NoduleBenchError, OSError):
        return None
    wanted = {**look, "alias": entry.alias, "feedback": file_digest(out / FEEDBACK)}
    events = opened.events
    for event in events:
        is_same = all(event.facts.get(name) == fact for name, fact in wanted.items())
        is_current = not withdrawn_since(events, event.number)
        if event.step == "evaluated" and is_same and is_current:
            found: JsonObject = read_json(out / FEEDBACK)
            return found
    return None
