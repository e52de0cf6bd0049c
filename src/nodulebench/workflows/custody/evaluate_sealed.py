"""Submission + sealed test set -> the feedback that its policy allows.

The reference is decrypted in memory only.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from polars.exceptions import PanicException

from nodulebench.custody import audit, layout
from nodulebench.custody.asking import UnaskedError, refuse_unasked
from nodulebench.custody.budget import (
    Look,
    SpentError,
    admit,
    answers_of,
    before,
    has_passed,
    looks_of,
    same_developer,
)
from nodulebench.custody.feedback import Standing, corrected_figures, feedback, is_passed
from nodulebench.errors import InputError, NoduleBenchError
from nodulebench.formats import read_submission
from nodulebench.metrics import FIGURES, facts_of
from nodulebench.model.documents.evaluation import Document, evaluation_document
from nodulebench.model.plan import TestPlan
from nodulebench.model.protocol import TestProtocol
from nodulebench.model.results import Evaluation
from nodulebench.model.tables import Reference, Submission
from nodulebench.storage.digest import bytes_digest, file_digest
from nodulebench.storage.durable import create_once
from nodulebench.storage.staging import staged_folder
from nodulebench.storage.vault import Secret
from nodulebench.workflows.custody.sealed_set import SealedSet, open_sealed, refuse_inside
from nodulebench.workflows.evaluate.evaluate import evaluate
from nodulebench.workflows.evaluate.files import choose_protocol
from nodulebench.workflows.evaluate.result_folder import (
    FEEDBACK,
    refuse_other_result,
    write_evaluation,
)

ANCHOR = "anchor.json"


@dataclass(frozen=True, slots=True)
class LookOrder:
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


def evaluate_sealed(order: LookOrder) -> tuple[dict[str, Any], list[Path]]:
    """Score one submission; the developer's budget is charged before anything is decrypted.

    Returns:
        What the developer is told, and the files written.

    Raises:
        InputError: if the set was changed, the person may not, the budget is spent, or the
            submission cannot be read.
    """
    if order.out is not None:
        refuse_inside(order.out, order.sealed)
        if not order.force:
            refuse_other_result(order.out)
    opened = open_sealed(order.sealed, order.secret, order.person, "evaluate")
    reuse = opened.policy.reuse
    protocol, plan = choose_protocol(
        order.protocol,
        order.plan,
        bootstraps=order.bootstraps,
        seed=order.seed,
        at_fp=order.at_fp,
    )
    look = _look(order, protocol, plan)
    try:
        refuse_unasked(protocol, plan, reuse)
    except UnaskedError as error:
        opened.record("refused", {**_facts(look), "reason": _short(error)}, order.at)
        raise
    number, standing = _charge(opened, order, look)
    try:
        document, evaluation = _scored(opened, order, protocol, plan)
        told = _told(document, opened, standing)
    except NoduleBenchError as error:
        opened.record("failed", {**_facts(look), "look": number, "reason": _short(error)}, order.at)
        raise
    bounds = corrected_figures(document, standing, is_lower_better)
    kept = {"evaluation": document.to_json(), "corrected": bounds}
    sealed = opened.vault.seal(_json_bytes(kept), f"{layout.RESULTS}/{number:08d}.json")
    create_once(opened.folder / layout.result_file(number), sealed)
    content = _json_bytes(told)
    opened.record(
        "evaluated",
        {
            **_facts(look),
            "look": number,
            "result": bytes_digest(sealed),
            "feedback": bytes_digest(content),
            "level": reuse.feedback,
            "passed": is_passed(document) if plan is not None else None,
        },
        order.at,
    )
    return told, _write(order, opened, content, evaluation)


def is_lower_better(figure: str) -> bool:
    """Whether lower values of a figure, as results name it, are better."""
    return figure in FIGURES and facts_of(figure).is_higher_better is False


def _look(order: LookOrder, protocol: TestProtocol, plan: TestPlan | None) -> Look:
    developer = same_developer(order.developer)
    if not developer:
        raise InputError.at("developer", "has no name.", "Looks are counted by developer.")
    plan_digest = "" if plan is None else plan.digest
    return Look(developer, file_digest(order.marks), protocol.digest, plan_digest)


def _charge(opened: SealedSet, order: LookOrder, look: Look) -> tuple[int, Standing]:
    """Admit a look and write it down: its event, and which of the developer's it is."""
    reuse = opened.policy.reuse
    place = 0

    def facts(events: list[audit.Event]) -> dict[str, audit.Fact]:
        nonlocal place
        place = admit(look, events, reuse)
        return {**_facts(look), "algorithm": order.marks.stem, "of": reuse.looks_per_developer}

    try:
        event = opened.record("look", facts, order.at)
    except SpentError as error:
        opened.record("refused", {**_facts(look), "reason": _short(error)}, order.at)
        raise
    known = before(look, opened.events)
    answers = answers_of(
        reuse,
        has_passed_before=has_passed(look.developer, known),
        is_judged=any(one.plan for one in looks_of(known) if one.developer == look.developer),
    )
    return event.number, Standing(place, reuse.looks_per_developer, answers)


def _scored(
    opened: SealedSet, order: LookOrder, protocol: TestProtocol, plan: TestPlan | None
) -> tuple[Document, Evaluation]:
    reference = opened.reference()
    submission = _read(order.marks, reference)
    _refuse_other_cases(submission, reference, protocol)
    evaluation = evaluate(reference, [submission], protocol)
    if plan is not None:
        from nodulebench.workflows.plan.judge import evaluated_under

        evaluation = evaluated_under(plan, evaluation)
    return evaluation_document(evaluation), evaluation


def _read(marks: Path, reference: Reference) -> Submission:
    """A submission; whatever breaks down over it is told as its fault, and nothing of the set."""
    try:
        return read_submission(marks, reference.cases)
    except NoduleBenchError:
        raise
    except (Exception, PanicException) as error:
        raise InputError.at(
            marks,
            f"cannot be read ({type(error).__name__}), and cost no look.",
            "Look at it with: nodulebench check. What can be read: nodulebench formats.",
        ) from error


def _refuse_other_cases(
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


def _told(document: Document, opened: SealedSet, standing: Standing) -> dict[str, Any]:
    from nodulebench.report.audience import developers_document

    told = feedback(document, opened.policy.reuse, standing, is_lower_better)
    if opened.policy.reuse.feedback == "figures":
        told["evaluation"] = developers_document(document).to_json()
    elif opened.policy.reuse.feedback == "cases":
        told["evaluation"] = document.to_json()
    return told


def _write(
    order: LookOrder, opened: SealedSet, content: bytes, evaluation: Evaluation
) -> list[Path]:
    """Write the feedback with an anchor of the log; the whole evaluation only at level cases."""
    if order.out is None:
        return []
    if opened.policy.reuse.feedback == "cases":
        write_evaluation(evaluation, order.out / "evaluation")
    events = opened.events
    anchor = opened.log.anchor(events, events[-1].at)
    with staged_folder(order.out) as stage:
        (stage / FEEDBACK).write_bytes(content)
        (stage / ANCHOR).write_bytes(anchor.to_bytes())
    return [order.out / FEEDBACK, order.out / ANCHOR]


def _facts(look: Look) -> dict[str, audit.Fact]:
    return {
        "developer": look.developer,
        "submission": look.submission,
        "protocol": look.protocol,
        "plan": look.plan or None,
    }


def _short(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]


def _json_bytes(value: Any) -> bytes:
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()
