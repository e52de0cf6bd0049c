"""An action that was allowed -> its event, with what changed in words; and back to its steps."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from nodulebench.annotation.people import PROGRAM
from nodulebench.annotation.workflow import actions
from nodulebench.annotation.workflow.events import Event, json_digest
from nodulebench.security.event_log.signers import Seal
from nodulebench.security.keys import parse_public_key


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an event, which may hold several."""

    actor_id: str
    step: str
    case_id: str | None
    change: str


def event_of(
    number: int,
    previous: str,
    actor_id: str,
    action: actions.Action,
    at: datetime,
    seal: Seal | None = None,
) -> Event:
    """The event that an allowed action becomes.

    Args:
        number: of the event.
        previous: digest of the event before.
        actor_id: who acts.
        action: what was allowed.
        at: when.
        seal: makes its code; None: it has none.
    """
    case_id, change = _words(action)
    payload = action.model_dump(mode="json")
    event = Event(
        number=number,
        at=at,
        actor_id=actor_id,
        step=action.step,
        batch_id=action.batch_id,
        case_id=case_id,
        change=change,
        payload=payload,
        payload_digest=json_digest(payload),
        previous=previous,
    )
    if seal is None:
        return event
    return event.model_copy(update={"code": seal.make(event.unsigned_bytes, actor_id)})


def steps_of(event: Event) -> Iterator[Step]:
    """The steps that were taken with an event, in their order."""
    if event.step != "several":
        yield Step(event.actor_id, event.step, event.case_id, event.change)
        return
    for one in actions.Several.model_validate(event.payload).steps:
        yield Step(taken_by(event.actor_id, one), one.step, *_words(one))


def taken_by(actor_id: str, action: actions.Action) -> str:
    """Who takes a step of an event: the program what nobody takes by hand."""
    return PROGRAM if isinstance(action, actions.CheckBatch) else actor_id


def _words(action: actions.Action) -> tuple[str | None, str]:
    """The case that an action is about, and what it changes."""
    match action:
        case actions.OpenBatch():
            return None, f"{len(action.case_ids)} cases for {action.team_id}"
        case actions.SubmitReading(reading=reading):
            return reading.case_id, f"{len(reading.findings)} findings"
        case actions.ReviseReading(reading=reading):
            return reading.case_id, f"{len(reading.findings)} findings after seeing all"
        case actions.CheckBatch(checks=checks):
            count = sum(len(one.inconsistent_slices) for one in checks)
            found = sum(len(one.candidates) for one in checks)
            return None, f"{found} candidates, {count} inconsistent slices"
        case actions.DrawReviewer():
            anew = f" anew{_quoted(action.anew)}" if action.anew else ""
            return None, f"{action.reviewer_id} was drawn to review{anew}"
        case actions.TypeNodule():
            return action.case_id, f"{action.candidate_id} is {action.type}"
        case actions.ReviewNodule():
            verdict = "agreed" if action.agrees else "objected"
            return action.case_id, f"{action.candidate_id} {verdict}{_quoted(action.comment)}"
        case actions.AddNodule(finding=finding):
            kind = f", {finding.type}" if finding.type else ""
            words = f"{action.candidate_id} added{kind}, on {len(finding.slices)} slices"
            return action.case_id, words + _quoted(action.comment)
        case actions.CorrectOutline():
            words = f"{action.candidate_id} drawn anew on {len(action.slices)} slices"
            return action.case_id, words + _quoted(action.comment)
        case actions.FinishCase():
            return action.case_id, "review finished"
        case actions.ArbitrateNodule():
            ruling = f"a nodule, {action.type}" if action.is_nodule else "no nodule"
            return action.case_id, f"{action.candidate_id} is {ruling}{_quoted(action.comment)}"
        case actions.ApproveBatch(approves=approves):
            verdict = "approved" if approves else "not approved"
            return None, f"{verdict}{_quoted(action.comment)}"
        case actions.ReleaseBatch():
            return None, "released"
        case actions.ChangeKey():
            new = parse_public_key(action.key).fingerprint if action.key else "no key any more"
            return None, f"{action.person_id} has {new}{_quoted(action.reason)}"
        case actions.Several(steps=steps):
            return None, f"{len(steps)} steps at once"


def _quoted(comment: str) -> str:
    return f": {comment}" if comment else ""
