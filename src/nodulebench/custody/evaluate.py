"""Score a submission on a sealed test set, and return the feedback that its policy allows.

The reference is decrypted in memory only.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path

from polars.exceptions import PanicException

from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.core.errors import InputError, NoduleBenchError, Problem, raise_problems
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.json_types import JsonObject
from nodulebench.core.plans import TestPlan
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import Evaluation
from nodulebench.core.tables import Reference, Submission
from nodulebench.custody.budget import ChargedEvaluation, SpentError, admit, answers_of, before
from nodulebench.custody.developers import same_developer
from nodulebench.custody.events import Event, withdrawn_since
from nodulebench.custody.feedback import BudgetStatus, corrected_metrics, feedback
from nodulebench.custody.permitted_tests import (
    NotPermittedError,
    require_enough,
    require_known,
    require_permitted,
    require_same_cases,
)
from nodulebench.custody.policy import Reuse
from nodulebench.custody.roster import Entry, alias_problems, chosen_entries, read_roster
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
    read_with,
    read_without_set,
    submission_digest,
    without_withdrawn,
)
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.result_folder import FEEDBACK, require_same_result, write_evaluation
from nodulebench.evaluation.service import choose_protocol
from nodulebench.i18n.translator import in_english
from nodulebench.io.atomic import staged_folder
from nodulebench.io.json_files import read_json
from nodulebench.io.manifests import bytes_digest, file_digest
from nodulebench.matching import targets
from nodulebench.metrics import is_lower_better
from nodulebench.security.checkpoints import checkpoint_file_problems
from nodulebench.security.events import Fact
from nodulebench.security.keys import PrivateKey, parse_public_key


@dataclass(frozen=True, slots=True)
class SealedEvaluateOptions:
    """What to score on a sealed set, and for which developer."""

    marks: Path
    sealed: Path
    own_key: PrivateKey
    developer: str
    protocol: str | None = None
    plan: Path | None = None
    bootstraps: int | None = None
    seed: int | None = None
    out: Path | None = None
    at: datetime | None = None
    force: bool = False
    """Whether existing feedback in ``out`` may be replaced."""
    at_fp: float | None = None
    entry: Entry | None = None
    checkpoints: tuple[Path, ...] = ()
    """Checkpoints stored elsewhere; the log must agree with them."""


Chosen = tuple[TestProtocol, TestPlan | None]


def open_for_evaluation(options: SealedEvaluateOptions) -> SealedSet:
    opened = open_sealed(options.sealed, options.own_key, "evaluate")
    links = opened.log.check().links if options.checkpoints else ()
    people = [parse_public_key(person.key) for person in opened.policy.people if person.key]
    for checkpoint in options.checkpoints:
        raise_problems(checkpoint_file_problems(opened.log, links, checkpoint, people=people))
    return opened


def chosen_test(opened: SealedSet, options: SealedEvaluateOptions) -> Chosen:
    """Return the protocol and the plan of an evaluation, if the policy permits them.

    If not, or the plan does not fit the set, the log records the refusal and nothing is charged.
    """
    protocol, plan = choose_protocol(
        options.protocol,
        options.plan,
        bootstraps=options.bootstraps,
        seed=options.seed,
        at_fp=options.at_fp,
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
            evaluation_facts(identified_evaluation(options, (protocol, plan)))
            if options.developer
            else asked
        )
        opened.record("refused", {**facts, "reason": short(error)}, options.at)
        raise
    return protocol, plan


def identified_evaluation(options: SealedEvaluateOptions, chosen: Chosen) -> ChargedEvaluation:
    protocol, plan = chosen
    return ChargedEvaluation(
        same_developer(options.developer),
        submission_digest(options.marks),
        protocol.digest,
        "" if plan is None else plan.digest,
    )


def require_known_developer(
    opened: SealedSet, options: SealedEvaluateOptions, evaluation: ChargedEvaluation
) -> None:
    try:
        require_known(options.developer, opened.policy.reuse)
    except NotPermittedError as error:
        opened.record(
            "refused", {**evaluation_facts(evaluation), "reason": short(error)}, options.at
        )
        raise


def charge(
    opened: SealedSet, options: SealedEvaluateOptions, evaluation: ChargedEvaluation
) -> tuple[int, BudgetStatus]:
    """Charge an evaluation in the log; return its event number and the developer's budget."""
    reuse = opened.policy.reuse
    used = 0

    def facts(events: list[Event]) -> dict[str, Fact]:
        nonlocal used
        require_in_use(events, "evaluate")
        used = admit(evaluation, events, reuse)
        entries = () if options.entry is None else (options.entry,)
        raise_problems(alias_problems(entries, opened.policy, events))
        named = {**alias_facts(options), "algorithm": options.marks.stem}
        return {**evaluation_facts(evaluation), **named, "of": reuse.evaluations_per_developer}

    try:
        event = opened.record("evaluation_charged", facts, options.at)
    except SpentError as error:
        opened.record(
            "refused", {**evaluation_facts(evaluation), "reason": short(error)}, options.at
        )
        raise
    known = before(evaluation, opened.events)
    answers = answers_of(reuse, evaluation.developer, known)
    return event.number, BudgetStatus(used, reuse.evaluations_per_developer, answers)


def evaluation_facts(evaluation: ChargedEvaluation) -> dict[str, Fact]:
    return {
        "developer": evaluation.developer,
        "submission": evaluation.submission,
        "protocol": evaluation.protocol,
        "plan": evaluation.plan or None,
    }


def alias_facts(options: SealedEvaluateOptions) -> dict[str, Fact]:
    return {} if options.entry is None else {"alias": options.entry.alias}


def short(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]


CHECKPOINT = "checkpoint.json"


def evaluate_sealed(options: SealedEvaluateOptions) -> tuple[JsonObject, list[Path]]:
    """Charge, then decrypt and score a submission; return feedback and files written."""
    if options.out is not None:
        require_outside(options.out, options.sealed)
        if not options.force:
            require_same_result(options.out)
    opened = open_for_evaluation(options)
    return run_charged_evaluation(opened, options, chosen_test(opened, options))


def run_charged_evaluation(
    opened: SealedSet,
    options: SealedEvaluateOptions,
    chosen: Chosen,
    reference: Callable[[], Reference] | None = None,
) -> tuple[JsonObject, list[Path]]:
    """Score one submission on an open set, as ``evaluate_sealed`` does.

    ``reference`` decrypts the reference standard after the evaluation is charged; None: the set
    does.
    """
    with held_copy(options.marks) as copy:
        charged = identified_evaluation(replace(options, marks=copy), chosen)
        require_known_developer(opened, options, charged)
        number, status = charge(opened, options, charged)
        try:
            truth = (reference or opened.reference)()
            wanted = read_without_set(copy, options.marks)
        except NoduleBenchError as error:
            failed = {**evaluation_facts(charged), "evaluation": number, "reason": short(error)}
            opened.record("failed", failed, options.at)
            raise
        try:
            gone = withdrawn_since(opened.events, 0)
            submission = without_withdrawn(read_with(copy, truth.cases, wanted), gone)
            name, evaluation = _scored(truth, submission, options, chosen)
            document = evaluation_document(evaluation)
            if opened.policy.reuse.feedback != "cases":
                _require_enough_nodules(document, evaluation, opened.policy.reuse)
            disclosed = _disclosed(document, evaluation, opened, status)
        except (Exception, PanicException) as error:
            counts, known = status.answers.has_failed, _known(error, options.marks)
            reason = known.__cause__ if isinstance(known, ScoringError) else error
            failed = {
                **evaluation_facts(charged),
                "evaluation": number,
                "reason": short(reason or known),
            }
            opened.record("failed", {**failed, "counts": counts}, options.at)
            raise (_with_cost(known) if counts else known) from error
    alias = alias_facts(options)
    if alias:
        disclosed |= {"algorithm": name, **alias}
    about = {
        "developer": charged.developer,
        **alias,
        "name": name,
        "disclosed": disclosed,
        "corrected": corrected_metrics(document, status, is_lower_better),
    }
    content = (json.dumps(disclosed, indent=1, allow_nan=False) + "\n").encode()
    reason = disclosed.get("verdict_reason")
    with stored_result(opened, number, evaluation, about) as digest:
        opened.record(
            "evaluated",
            {
                **evaluation_facts(charged),
                **alias,
                "evaluation": number,
                "result": digest,
                "feedback": bytes_digest(content),
                "level": opened.policy.reuse.feedback,
                "verdict": disclosed.get("verdict"),
                "verdict_reason": in_english(reason) if reason else None,
            },
            options.at,
        )
    return disclosed, _write(options, opened, content, evaluation)


def _scored(
    reference: Reference, submission: Submission, options: SealedEvaluateOptions, chosen: Chosen
) -> tuple[str, Evaluation]:
    protocol, plan = chosen
    _require_same_cases(submission, reference, protocol)
    name, entry = submission.name, options.entry
    if entry is not None:
        name = entry.name or name
        facts = {**submission.facts, **entry.facts}
        submission = replace(submission, name=entry.alias, facts=facts)
    try:
        evaluation = evaluate(reference, [submission], protocol)
        if plan is not None:
            from nodulebench.evaluation.plans import evaluated_under

            evaluation = evaluated_under(plan, evaluation)
    except NoduleBenchError as error:
        raise ScoringError.at(
            f"protocol '{protocol.name}'",
            "cannot be applied to this test set and submission.",
            "The log of the set names the reason; the laboratory reads it with: nodulebench audit.",
        ) from error
    return name, evaluation


class ScoringError(InputError):
    """Scoring failed because of the set's content; the message discloses nothing about it."""


def _require_enough_nodules(document: Document, evaluation: Evaluation, reuse: Reuse) -> None:
    reference, submission = evaluation.test_set, evaluation.algorithms[0].submission
    if reference is None or submission is None:
        return
    nodules = int((~reference.nodules["is_ignored"]).sum())
    undeclared = replace(submission, intended_types=None)
    is_target = targets(reference, undeclared, evaluation.protocol)
    require_enough(document, nodules, int(is_target.sum()), reuse)


def _known(error: BaseException, marks: Path) -> NoduleBenchError:
    """Return the error to report: any unexpected failure is reported as the submission's fault."""
    if isinstance(error, NoduleBenchError):
        return error
    what = f"cannot be scored ({type(error).__name__})."
    return InputError.at(marks, what, "Check it with: nodulebench check.")


def _with_cost(error: NoduleBenchError) -> InputError:
    """Add to a failure because of the set's content that it was charged."""
    where = "evaluation"
    problems = error.problems if isinstance(error, InputError) else [Problem(where, str(error))]
    what = "was charged: a failure because of the set's content is an answer, and only one is free."
    return InputError([*problems, Problem(where, what)])


def _require_same_cases(
    submission: Submission, reference: Reference, protocol: TestProtocol
) -> None:
    """Refuse marks on cases of another set, without disclosing which cases this set has."""
    named, is_listed = submission.marks["case_id"], submission.rows_in(reference) >= 0
    what = ""
    if len(named) and not is_listed.any():
        what = f"has no marks on cases of this test set, but on '{named[0]}' and others."
    elif protocol.unlisted_cases == "error" and not is_listed.all():
        what = "has marks on cases that are not in this test set."
    if what:
        raise InputError.at(submission.name, what, "Is it for another set?")


def _disclosed(
    document: Document, evaluation: Evaluation, opened: SealedSet, status: BudgetStatus
) -> JsonObject:
    from nodulebench.custody.feedback import disclosed_result

    answer = feedback(document, opened.policy.reuse, status, is_lower_better)
    whole = disclosed_result(document, evaluation, opened.policy.reuse)
    return answer if whole is None else {**answer, "evaluation": whole}


def _write(
    options: SealedEvaluateOptions, opened: SealedSet, content: bytes, evaluation: Evaluation
) -> list[Path]:
    """Write the feedback and a checkpoint of the log; at level ``cases``, the evaluation too."""
    if options.out is None:
        return []
    if opened.policy.reuse.feedback == "cases":
        write_evaluation(evaluation, options.out / "evaluation")
    events = opened.events
    checkpoint = opened.log.checkpoint(events, events[-1].at)
    with staged_folder(options.out) as stage:
        (stage / FEEDBACK).write_bytes(content)
        (stage / CHECKPOINT).write_bytes(checkpoint.to_bytes())
    return [options.out / FEEDBACK, options.out / CHECKPOINT]


@dataclass(frozen=True, slots=True)
class RosterEvaluation:
    """Outcome of one roster entry."""

    entry: Entry
    feedback: JsonObject | None = None
    """The developer's feedback; None: the evaluation failed."""
    written: tuple[Path, ...] = ()
    problem: NoduleBenchError | None = None
    was_done: bool = False
    """Whether an earlier run evaluated it."""


def evaluate_roster(
    roster: Path,
    options: SealedEvaluateOptions,
    files: Sequence[Path] = (),
    progress: Progress = no_progress,
) -> Iterator[RosterEvaluation]:
    """Score the submissions of a roster on a sealed set, each at its developer's expense.

    ``marks`` and ``developer`` of the options come from the roster; each feedback is written into a
    folder of ``out`` named by the alias. Only ``files`` are scored, if given. Nothing is charged if
    the roster or the set cannot be used, or the person has no permission.
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
