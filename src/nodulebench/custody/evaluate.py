"""Submission + sealed test set -> the feedback that its policy allows.

The reference is decrypted in memory only.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from polars.exceptions import PanicException

from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.core.errors import InputError, NoduleBenchError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.plans import TestPlan
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import Evaluation
from nodulebench.core.tables import Reference, Submission
from nodulebench.custody import audit
from nodulebench.custody.budget import (
    ChargedEvaluation,
    SpentError,
    admit,
    answers_of,
    before,
    same_developer,
)
from nodulebench.custody.feedback import BudgetStatus, corrected_metrics, feedback
from nodulebench.custody.permitted_tests import (
    NotPermittedError,
    require_enough,
    require_known,
    require_permitted,
    require_same_cases,
)
from nodulebench.custody.policy import Reuse
from nodulebench.custody.roster import Entry, alias_problems
from nodulebench.custody.sealed_set import (
    SealedSet,
    open_sealed,
    read_note,
    require_in_use,
    require_outside,
)
from nodulebench.custody.stored_results import stored_result
from nodulebench.custody.submissions import (
    held_copy,
    read_alone,
    read_with,
    submission_digest,
    without_withdrawn,
)
from nodulebench.custody.withdrawal import withdrawn_since
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.result_folder import FEEDBACK, require_same_result, write_evaluation
from nodulebench.evaluation.service import choose_protocol
from nodulebench.i18n.translator import in_english
from nodulebench.io.atomic import staged_folder
from nodulebench.io.manifests import bytes_digest
from nodulebench.matching import targets
from nodulebench.metrics import is_lower_better
from nodulebench.security.event_log.checkpoints import checkpoint_file_problems
from nodulebench.security.event_log.events import Fact
from nodulebench.security.keys import parse_public_key
from nodulebench.security.vault import Secret


@dataclass(frozen=True, slots=True)
class SealedEvaluateOptions:
    """What shall be scored on a sealed set, for whom."""

    marks: Path
    sealed: Path
    secret: Secret
    person: str
    developer: str
    protocol: str | None = None
    plan: Path | None = None
    bootstraps: int | None = None
    seed: int | None = None
    out: Path | None = None
    at: datetime | None = None
    force: bool = False
    """Whether feedback that lies in ``out`` may be replaced."""
    at_fp: float | None = None
    entry: Entry | None = None
    """What the roster says of the algorithm, where there is one."""
    checkpoints: tuple[Path, ...] = ()
    """Statements on the log that were kept elsewhere, which it has to hold."""


Chosen = tuple[TestProtocol, TestPlan | None]
"""Under which protocol a look is taken, and under which plan."""


def open_for_evaluation(order: SealedEvaluateOptions) -> SealedSet:
    """The set, opened by who may score on it, if its log holds what the checkpoints say.

    Raises:
        InputError: if it cannot be opened, or its log was put back to an older state.
    """
    opened = open_sealed(order.sealed, order.secret, order.person, "evaluate")
    links = opened.log.check().links if order.checkpoints else ()
    people = [parse_public_key(person.key) for person in opened.policy.people if person.key]
    for checkpoint in order.checkpoints:
        raise_problems(checkpoint_file_problems(opened.log, links, checkpoint, people=people))
    return opened


def chosen_test(opened: SealedSet, order: SealedEvaluateOptions) -> Chosen:
    """The protocol and the plan of a look, if the policy permits them and the plan fits the set.

    Raises:
        UnaskedError: if not; nothing is charged, and the refusal is in the log.
    """
    protocol, plan = choose_protocol(
        order.protocol,
        order.plan,
        bootstraps=order.bootstraps,
        seed=order.seed,
        at_fp=order.at_fp,
    )
    try:
        require_permitted(protocol, plan, opened.policy.reuse)
        if plan is not None:
            withdrawn = len(withdrawn_since(opened.events, 0))
            cases = read_note(opened.folder)["cases"]
            require_same_cases(plan, cases, withdrawn, opened.policy.reuse)
    except NotPermittedError as error:
        asked = {"protocol": protocol.digest, "plan": "" if plan is None else plan.digest}
        facts = (
            evaluation_facts(ordered_evaluation(order, (protocol, plan)))
            if order.developer
            else asked
        )
        opened.record("refused", {**facts, "reason": short(error)}, order.at)
        raise
    return protocol, plan


def ordered_evaluation(order: SealedEvaluateOptions, chosen: Chosen) -> ChargedEvaluation:
    """What identifies a look."""
    protocol, plan = chosen
    return ChargedEvaluation(
        same_developer(order.developer),
        submission_digest(order.marks),
        protocol.digest,
        "" if plan is None else plan.digest,
    )


def require_known_developer(
    opened: SealedSet, order: SealedEvaluateOptions, look: ChargedEvaluation
) -> None:
    """Refuse a developer whom the policy does not list; it stands in the log."""
    try:
        require_known(order.developer, opened.policy.reuse)
    except NotPermittedError as error:
        opened.record("refused", {**evaluation_facts(look), "reason": short(error)}, order.at)
        raise


def charge(
    opened: SealedSet, order: SealedEvaluateOptions, look: ChargedEvaluation
) -> tuple[int, BudgetStatus]:
    """Admit a look and write it down: its event, and which of the developer's it is."""
    reuse = opened.policy.reuse
    place = 0

    def facts(events: list[audit.Event]) -> dict[str, Fact]:
        nonlocal place
        require_in_use(events, "evaluate")
        place = admit(look, events, reuse)
        entries = () if order.entry is None else (order.entry,)
        raise_problems(alias_problems(entries, opened.policy, events))
        named = {**alias_facts(order), "algorithm": order.marks.stem}
        return {**evaluation_facts(look), **named, "of": reuse.evaluations_per_developer}

    try:
        event = opened.record("look", facts, order.at)
    except SpentError as error:
        opened.record("refused", {**evaluation_facts(look), "reason": short(error)}, order.at)
        raise
    known = before(look, opened.events)
    answers = answers_of(reuse, look.developer, known)
    return event.number, BudgetStatus(place, reuse.evaluations_per_developer, answers)


def evaluation_facts(look: ChargedEvaluation) -> dict[str, Fact]:
    """What the log says of every event of a look."""
    return {
        "developer": look.developer,
        "submission": look.submission,
        "protocol": look.protocol,
        "plan": look.plan or None,
    }


def alias_facts(order: SealedEvaluateOptions) -> dict[str, Fact]:
    """The alias of an algorithm, where a roster gives one."""
    return {} if order.entry is None else {"alias": order.entry.alias}


def short(error: BaseException) -> str:
    """The first line of an error, as the log keeps it."""
    return str(error).partition("\n")[0][:300]


CHECKPOINT = "checkpoint.json"


def evaluate_sealed(order: SealedEvaluateOptions) -> tuple[JsonObject, list[Path]]:
    """Score one submission; the developer's budget is charged before anything is decrypted.

    Returns:
        What the developer is told, and the files written.

    Raises:
        InputError: if the set was changed, the person may not, the budget is spent, or the
            submission cannot be read.
    """
    if order.out is not None:
        require_outside(order.out, order.sealed)
        if not order.force:
            require_same_result(order.out)
    opened = open_for_evaluation(order)
    return run_charged_evaluation(opened, order, chosen_test(opened, order))


def run_charged_evaluation(
    opened: SealedSet,
    order: SealedEvaluateOptions,
    chosen: Chosen,
    reference: Callable[[], Reference] | None = None,
) -> tuple[JsonObject, list[Path]]:
    """Score one submission on an open set, as ``evaluate_sealed`` does.

    Args:
        opened: the set.
        order: what is scored, for whom.
        chosen: under which protocol and plan.
        reference: what decrypts the reference standard, asked once the look is charged; None: the
            set itself.
    """
    with held_copy(order.marks) as copy:
        look = ordered_evaluation(replace(order, marks=copy), chosen)
        require_known_developer(opened, order, look)
        number, standing = charge(opened, order, look)
        try:
            truth = (reference or opened.reference)()
            wanted = read_alone(copy, order.marks)
        except NoduleBenchError as error:
            failed = {**evaluation_facts(look), "look": number, "reason": short(error)}
            opened.record("failed", failed, order.at)
            raise
        try:
            gone = withdrawn_since(opened.events, 0)
            submission = without_withdrawn(read_with(copy, truth.cases, wanted), gone)
            name, evaluation = _scored(truth, submission, order, chosen)
            document = evaluation_document(evaluation)
            if opened.policy.reuse.feedback != "cases":
                _require_enough_nodules(document, evaluation, opened.policy.reuse)
            told = _disclosed(document, evaluation, opened, standing)
        except (Exception, PanicException) as error:
            counts, known = standing.answers.has_failed, _known(error, order.marks)
            reason = known.__cause__ if isinstance(known, ScoringError) else error
            failed = {**evaluation_facts(look), "look": number, "reason": short(reason or known)}
            opened.record("failed", {**failed, "counts": counts}, order.at)
            raise (_with_cost(known) if counts else known) from error
    alias = alias_facts(order)
    if alias:
        told |= {"algorithm": name, **alias}
    about = {
        "developer": look.developer,
        **alias,
        "name": name,
        "told": told,
        "corrected": corrected_metrics(document, standing, is_lower_better),
    }
    content, reason = _json_bytes(told), told.get("verdict_reason")
    with stored_result(opened, number, evaluation, about) as kept:
        opened.record(
            "evaluated",
            {
                **evaluation_facts(look),
                **alias,
                "look": number,
                "result": kept,
                "feedback": bytes_digest(content),
                "level": opened.policy.reuse.feedback,
                "verdict": told.get("verdict"),
                "verdict_reason": in_english(reason) if reason else None,
            },
            order.at,
        )
    return told, _write(order, opened, content, evaluation)


def _scored(
    reference: Reference, submission: Submission, order: SealedEvaluateOptions, chosen: Chosen
) -> tuple[str, Evaluation]:
    """The algorithm's own name, and its evaluation; where it has an alias, under that alone."""
    protocol, plan = chosen
    _require_same_cases(submission, reference, protocol)
    name, entry = submission.name, order.entry
    if entry is not None:
        name = entry.name or name
        facts = {**submission.facts, **entry.facts}
        submission = replace(submission, name=entry.alias, facts=facts)
    try:
        evaluation = evaluate(reference, [submission], protocol)
        if plan is not None:
            from nodulebench.evaluation.plans.verdict import evaluated_under

            evaluation = evaluated_under(plan, evaluation)
    except NoduleBenchError as error:
        raise ScoringError.at(
            f"protocol '{protocol.name}'",
            "cannot be applied to this test set and submission.",
            "Why stands in the log of the set, for the laboratory: nodulebench audit.",
        ) from error
    return name, evaluation


class ScoringError(InputError):
    """Scoring failed over what is in the set, in words that say nothing of it."""


def _require_enough_nodules(document: Document, evaluation: Evaluation, reuse: Reuse) -> None:
    reference, submission = evaluation.test_set, evaluation.algorithms[0].submission
    if reference is None or submission is None:
        return
    nodules = int((~reference.nodules["is_ignored"]).sum())
    undeclared = replace(submission, intended_types=None)
    is_target = targets(reference, undeclared, evaluation.protocol)
    require_enough(document, nodules, int(is_target.sum()), reuse)


def _known(error: BaseException, marks: Path) -> NoduleBenchError:
    """An error as we tell it: whatever breaks down over a submission is told as its fault."""
    if isinstance(error, NoduleBenchError):
        return error
    what = f"cannot be scored ({type(error).__name__})."
    return InputError.at(marks, what, "ChargedEvaluation at it with: nodulebench check.")


def _with_cost(error: NoduleBenchError) -> InputError:
    """A failure over what is in the set, with the word that it costs a look."""
    problems = error.problems if isinstance(error, InputError) else [Problem("look", str(error))]
    what = "counts: that a look fails over what is in the set is an answer, free only once."
    return InputError([*problems, Problem("look", what)])


def _require_same_cases(
    submission: Submission, reference: Reference, protocol: TestProtocol
) -> None:
    """Refuse marks on another set's cases, without a word on which cases this one has."""
    named, is_listed = submission.marks["case_id"], submission.rows_in(reference) >= 0
    what = ""
    if len(named) and not is_listed.any():
        what = f"marks no case of this test set, but '{named[0]}' and others."
    elif protocol.unlisted_cases == "error" and not is_listed.all():
        what = "has marks on cases that are not in this test set."
    if what:
        raise InputError.at(submission.name, what, "Is it for another set?")


def _disclosed(
    document: Document, evaluation: Evaluation, opened: SealedSet, standing: BudgetStatus
) -> JsonObject:
    from nodulebench.custody.feedback import disclosed_result

    told = feedback(document, opened.policy.reuse, standing, is_lower_better)
    whole = disclosed_result(document, evaluation, opened.policy.reuse)
    return told if whole is None else {**told, "evaluation": whole}


def _write(
    order: SealedEvaluateOptions, opened: SealedSet, content: bytes, evaluation: Evaluation
) -> list[Path]:
    """Write the feedback with a checkpoint of the log; the whole evaluation only at level cases."""
    if order.out is None:
        return []
    if opened.policy.reuse.feedback == "cases":
        write_evaluation(evaluation, order.out / "evaluation")
    events = opened.events
    checkpoint = opened.log.checkpoint(events, events[-1].at)
    with staged_folder(order.out) as stage:
        (stage / FEEDBACK).write_bytes(content)
        (stage / CHECKPOINT).write_bytes(checkpoint.to_bytes())
    return [order.out / FEEDBACK, order.out / CHECKPOINT]


def _json_bytes(value: Any) -> bytes:
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()
