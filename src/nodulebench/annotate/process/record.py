"""An action that was allowed -> its event, with what changed in words."""

from collections.abc import Sequence
from datetime import datetime

from nodulebench.annotate.process import actions
from nodulebench.annotate.process.events import Event, json_digest


def event_of(events: Sequence[Event], actor_id: str, action: actions.Action, at: datetime) -> Event:
    """The event that an allowed action becomes after these."""
    case_id, change = _words(action)
    payload = action.model_dump(mode="json")
    return Event(
        number=len(events) + 1,
        at=at,
        actor_id=actor_id,
        step=action.step,
        batch_id=action.batch_id,
        case_id=case_id,
        change=change,
        payload=payload,
        payload_digest=json_digest(payload),
        previous=events[-1].digest if events else "",
    )


def _words(action: actions.Action) -> tuple[str | None, str]:
    """The case that an action is about, and what it changes."""
    match action:
        case actions.OpenBatch():
            return None, f"{len(action.case_ids)} cases for {action.team_id}"
        case actions.SubmitReading(reading=reading):
            return reading.case_id, f"{len(reading.findings)} findings"
        case actions.CheckBatch(checks=checks):
            count = sum(len(one.inconsistent_slices) for one in checks)
            found = sum(len(one.candidates) for one in checks)
            return None, f"{found} candidates, {count} inconsistent slices"
        case actions.TypeNodule():
            return action.case_id, f"{action.candidate_id} is {action.type}"
        case actions.ReviewNodule():
            verdict = "agreed" if action.agrees else "objected"
            return action.case_id, f"{action.candidate_id} {verdict}{_quoted(action.comment)}"
        case actions.AddNodule(finding=finding):
            kind = f", {finding.type}" if finding.type else ""
            words = f"{action.candidate_id} added{kind}, on {len(finding.slices)} slices"
            return action.case_id, words + _quoted(action.comment)
        case actions.FinishCase():
            return action.case_id, "review finished"
        case actions.ArbitrateNodule():
            ruling = f"a nodule, {action.type}" if action.is_nodule else "no nodule"
            return action.case_id, f"{action.candidate_id} is {ruling}{_quoted(action.comment)}"
        case actions.ReleaseBatch():
            return None, "released"


def _quoted(comment: str) -> str:
    return f": {comment}" if comment else ""
