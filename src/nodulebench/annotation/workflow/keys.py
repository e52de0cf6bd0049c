"""Changes of people's keys: who may make them, and what an event says of them."""

import json
from collections.abc import Callable

from nodulebench.annotation.people import Roster
from nodulebench.annotation.workflow.actions import ChangeKey
from nodulebench.security.event_log.signers import Change
from nodulebench.security.keys import parse_public_key

_STEP = b'"step":"key"'


def key_refusal(roster: Roster, actor_id: str, action: ChangeKey) -> str:
    """Why somebody may not change a key, in words that follow the place; nothing: they may."""
    if not roster.keys:
        return "changes a key, though the project names none"
    if action.person_id not in {one.person_id for one in roster.people}:
        return f"changes the key of '{action.person_id}', whom the roster does not know"
    if actor_id == action.person_id and action.key:
        return ""  # everybody replaces their own
    if not roster.has_role(actor_id, "organiser"):
        return f"changes the key of '{action.person_id}', which is for an organiser"
    if actor_id == action.person_id:
        return "takes back the own key: nobody could sign that it was meant"
    return ""


def key_change(roster: Roster) -> Callable[[bytes], Change | None]:
    """What an event says of somebody's key, for those who check the events after it."""

    def change(content: bytes) -> Change | None:
        if _STEP not in content:  # quotation marks of texts are written otherwise
            return None
        told = json.loads(content)
        action = ChangeKey.model_validate(told["payload"])
        why = key_refusal(roster, told["actor_id"], action)
        if why:
            raise ValueError(why)
        return action.person_id, parse_public_key(action.key) if action.key else None

    return change
