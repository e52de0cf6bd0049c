"""Events in the log of a sealed set, and the rules that make an event valid.

Each event holds the digest of the previous event's bytes, and the signature of the person
who wrote it. ``security.event_log`` detects changed or missing events.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from nodulebench.core.errors import InputError
from nodulebench.core.text import shown
from nodulebench.custody import layout
from nodulebench.custody.policy import Action, CustodyPolicy, Person, Role, role_for
from nodulebench.security.event_log import EventLog, FolderStore
from nodulebench.security.event_signers import EventSigner
from nodulebench.security.events import Fact, FactEvent, shown_facts
from nodulebench.security.keys import PrivateKey, PublicKey, parse_public_key
from nodulebench.security.signatures import is_code_of, signature_code

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonObject


Step = Literal[
    "sealed",
    "evaluation_charged",
    "evaluated",
    "failed",
    "refused",
    "exported",
    "inspected",
    "viewed",
    "ran",
    "admitted",
    "rotated",
    "revoked",
    "rekeyed",
    "retired",
    "withdrawn",
    "compared",
    "reported",
]
STEPS: dict[Step, str] = {
    "sealed": "the set was sealed",
    "evaluation_charged": "a submission was admitted to scoring; counts against the budget",
    "evaluated": "an evaluation gave a result, and feedback was sent",
    "failed": "an evaluation gave no result; charged if the failure disclosed something, except "
    "the first time",
    "refused": "a person asked for something that the policy does not allow",
    "exported": "the reference was written in plain form",
    "inspected": "a stored result was opened",
    "viewed": "encrypted images were decrypted, case by case, for an algorithm",
    "ran": "images were given to an algorithm, case by case; nothing was scored",
    "admitted": "a person received a key and roles",
    "rotated": "a person's key was replaced",
    "revoked": "a key is no longer valid",
    "rekeyed": "everything was sealed again under new data keys",
    "retired": "the use of the set ended",
    "withdrawn": "a patient was removed from the set",
    "compared": "algorithms were compared from stored results",
    "reported": "a report was made from stored results",
}


class Event(FactEvent):
    """One use of a sealed set; the first event refers to the signed manifest."""

    role: Role | None
    """None: the person has no role that allows it."""
    step: Step


def next_event(
    events: Sequence[Event],
    *,
    bundle: str,
    at: datetime,
    person: str,
    role: Role | None,
    step: Step,
    facts: dict[str, Fact],
    seal: EventSigner,
) -> Event:
    """Return the next event; names and facts that are not valid text are escaped."""
    previous = events[-1].digest if events else bundle
    number, at = len(events) + 1, at.astimezone(UTC)
    event = Event(
        number=number,
        at=at,
        person=shown(person),
        role=role,
        step=step,
        facts=shown_facts(facts),
        previous=previous,
    )
    return event.model_copy(update={"code": seal.make(event.unsigned_bytes, event.person)})


def log_of(folder: Path, bundle: str, seal: EventSigner | None = None) -> EventLog[Event]:
    return EventLog(FolderStore(folder / layout.AUDIT), bundle, "the manifest", Event, seal)


STEP_NEEDS: dict[Step, Action] = {
    "sealed": "seal",
    "ran": "run",
    "evaluation_charged": "evaluate",
    "evaluated": "evaluate",
    "failed": "evaluate",
    "exported": "export",
    "inspected": "inspect",
    "compared": "report",
    "reported": "report",
    "viewed": "evaluate",
    "admitted": "manage",
    "rotated": "manage",
    "revoked": "manage",
    "rekeyed": "manage",
    "retired": "retire",
    "withdrawn": "withdraw",
}
"""The permission that an event needs to be valid; any person's request can be refused."""


def policy_after(policy: CustodyPolicy, step: Step, facts: Mapping[str, Fact]) -> CustodyPolicy:
    """Return the policy after an event; ValueError if the result breaks the policy's own rules.

    These are: two roles that exclude each other, two people with one key, no key custodian.
    """
    subject, key = str(facts.get("subject", "")), str(facts.get("key", ""))
    people = {person.name: person for person in policy.people}
    if step not in ("admitted", "rotated", "revoked"):
        return policy
    if step != "admitted" and subject not in people:
        raise ValueError(f"the policy does not know '{subject}'")
    if step == "admitted":
        roles = str(facts.get("roles", "")).split(", ")
        people[subject] = Person.model_validate({"name": subject, "roles": roles, "key": key})
    else:
        new = key if step == "rotated" else ""
        people[subject] = Person(name=subject, roles=people[subject].roles, key=new)
    return CustodyPolicy.model_validate(
        {**policy.model_dump(), "people": [person.model_dump() for person in people.values()]}
    )


def refusal(policy: CustodyPolicy, event: Event) -> str:
    """Return why the person of an event had no permission for it; empty: they had."""
    roles: dict[str, tuple[Role, ...]] = {person.name: person.roles for person in policy.people}
    if event.role is not None and event.role not in roles[event.person]:
        return f"names '{event.person}' as {event.role}; the policy does not give them that role."
    if event.step == "rotated" and event.facts.get("subject") == event.person:
        return ""  # any person may replace their own key
    action = STEP_NEEDS.get(event.step)
    if action is not None and role_for(roles[event.person], action) is None:
        return f"was written by '{event.person}', who may not {action}."
    return ""


@dataclass(slots=True)
class PolicySeal:
    """Sign and check events with each person's own key.

    A log is checked from its first event; each event is checked against the policy at that point.
    """

    policy: CustodyPolicy
    """The policy when the set was sealed."""
    key: PrivateKey | None = field(default=None, repr=False)
    """Key of the person who runs the program; None: nothing can be written."""
    _after: dict[int, CustodyPolicy] = field(default_factory=dict, repr=False)
    _valid: dict[int, tuple[bytes, str]] = field(default_factory=dict, repr=False)
    """Signatures already checked: a log is read often, and checking takes time."""

    def make(self, content: bytes, person: str) -> str:
        statement = json.loads(content)
        number = statement["number"] if "step" in statement else statement["events"]
        known = [self._policy_at(number)] + (
            [] if "step" in statement else [self._policy_at(number + 1)]
        )
        mine = None if self.key is None else self.key.public
        if self.key is None or mine not in [_key_of(policy, person) for policy in known]:
            raise InputError.at("key", f"is not the key of '{person}' and cannot sign for them.")
        return signature_code(content, self.key)

    def wrong(self, content: bytes, code: str, person: str) -> str:
        statement: JsonObject = json.loads(content)
        if "step" not in statement:
            return self._wrong_head(content, code, person, statement["events"])
        number, policy = statement["number"], self._policy_at(statement["number"])
        if self._valid.get(number) == (content, code):
            return ""
        self._after[number] = policy
        key = _key_of(policy, person)
        if key is None:
            return f"names '{person}', who had no valid key at that point: not yet, or revoked."
        if not is_code_of(code, content, key):
            return f"was changed, or was not signed with the key of '{person}' at that point."
        event = Event.model_validate({**statement, "code": code})
        why = refusal(policy, event)
        if not why:
            try:
                self._after[number] = policy_after(policy, event.step, event.facts)
            except ValueError as error:
                why = f"breaks the rules of the policy: {why_not(error)}."
        if not why:
            self._valid[number] = (content, code)
        return why

    def policy_now(self) -> CustodyPolicy:
        """Return the policy after the last event; call this after checking the log."""
        return self._policy_at(max(self._after, default=0) + 1)

    def _policy_at(self, number: int) -> CustodyPolicy:
        if number - 1 in self._after:
            return self._after[number - 1]
        earlier = [event for event in self._after if event < number]
        return self._after[max(earlier)] if earlier else self.policy

    def _wrong_head(self, content: bytes, code: str, person: str, events: int) -> str:
        known = [self._policy_at(number) for number in (events, events + 1)]
        keys = [key for policy in known if (key := _key_of(policy, person)) is not None]
        if any(is_code_of(code, content, key) for key in keys):
            return ""
        return f"was changed, or was not signed with the key of '{person}' at that point."


def _key_of(policy: CustodyPolicy, person: str) -> PublicKey | None:
    line = next((listed.key for listed in policy.people if listed.name == person), "")
    return parse_public_key(line) if line else None


def why_not(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
    return str(error)


SEPARATOR = ", "


def withdrawn_since(events: Sequence[Event], number: int) -> tuple[str, ...]:
    named = (
        str(event.facts.get("cases"))
        for event in events
        if event.step == "withdrawn" and event.number > number
    )
    return tuple(case_id for names in named for case_id in names.split(SEPARATOR))
