"""What was done with a sealed set, as events of its log <-> bytes.

Each event holds the digest of the bytes of the one before, and a code that only who can open the
vault can make; ``storage/event_log`` says what of the log was changed or cut off.
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
from nodulebench.security.event_log.events import Fact, FactEvent, shown_facts
from nodulebench.security.event_log.log import EventLog
from nodulebench.security.event_log.signers import EventSigner
from nodulebench.security.event_log.store import FolderStore
from nodulebench.security.keys import PrivateKey, PublicKey, parse_public_key
from nodulebench.security.signatures import is_code_of, signature_code

if TYPE_CHECKING:
    from nodulebench.core.json_types import JsonObject

Step = Literal[
    "sealed",
    "look",
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
    "look": "a submission was admitted to scoring; counts against the budget",
    "evaluated": "a look gave a result, and feedback went out",
    "failed": "a look gave no result; it counts where failing told something of the set, but once",
    "refused": "somebody asked for what the policy does not allow",
    "exported": "the reference was written out in plain form",
    "inspected": "a kept result was opened",
    "viewed": "encrypted images were decrypted, case by case, for an algorithm",
    "ran": "images were given to an algorithm, case by case; nothing was scored",
    "admitted": "somebody got a key and roles",
    "rotated": "somebody's key was replaced by another",
    "revoked": "a key counts no more",
    "rekeyed": "everything was sealed anew under new data keys",
    "retired": "the use of the set ended",
    "withdrawn": "a patient was taken out of the set",
    "compared": "algorithms were compared from kept results",
    "reported": "a report was made from kept results",
}


class Event(FactEvent):
    """One thing that was done with a sealed set; the first follows from the signed manifest."""

    role: Role | None
    """None: the person had none that would allow it."""
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
    """The event that follows these; of names and words that are no text, what can be shown."""
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
    """The log of a sealed set.

    Args:
        folder: the sealed set.
        bundle: digest of its manifest.
        seal: makes and checks the codes of events; None: codes are not checked.
    """
    return EventLog(FolderStore(folder / layout.AUDIT), bundle, "the manifest", _parsed, seal)


def _parsed(content: bytes) -> Event | None:
    """What some bytes say, if they are byte for byte as it would be written."""
    try:
        found = Event.model_validate_json(content)
    except (ValidationError, UnicodeDecodeError):
        return None
    return found if found.to_bytes() == content else None


STEP_NEEDS: dict[Step, Action] = {
    "sealed": "seal",
    "ran": "run",
    "look": "evaluate",
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
"""What somebody has to be allowed to do for an event to count; everybody can be refused."""


def policy_after(policy: CustodyPolicy, step: Step, facts: Mapping[str, Fact]) -> CustodyPolicy:
    """The policy as an event leaves it.

    Args:
        policy: before.
        step: of the event.
        facts: of the event: the person whom it is about, their roles and key.

    Raises:
        ValueError: if it would break the policy's own rules: two roles that are kept apart, two
            people with one key, no key custodian.
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
    """Why its person might not do what an event says; nothing: they might."""
    roles: dict[str, tuple[Role, ...]] = {person.name: person.roles for person in policy.people}
    if event.role is not None and event.role not in roles[event.person]:
        return f"says that '{event.person}' is {event.role}, whom the policy does not know as such."
    if event.step == "rotated" and event.facts.get("subject") == event.person:
        return ""  # everybody replaces their own key
    action = STEP_NEEDS.get(event.step)
    if action is not None and role_for(roles[event.person], action) is None:
        return f"was written by '{event.person}', who may not {action}."
    return ""


@dataclass(slots=True)
class PolicySeal:
    """A seal by the signature of each person: it tells everybody from everybody else.

    A log is checked from its first event on; each event is checked with what those before it say.
    """

    policy: CustodyPolicy
    """As it was sealed."""
    key: PrivateKey | None = field(default=None, repr=False)
    """Of whoever runs the program; None: nothing is written."""
    _after: dict[int, CustodyPolicy] = field(default_factory=dict, repr=False)
    _held: dict[int, tuple[bytes, str]] = field(default_factory=dict, repr=False)
    """What was checked before and holds: a log is read often, and signatures take time."""

    def make(self, content: bytes, person: str) -> str:
        """The signature of whoever runs the program, if that is the person.

        Raises:
            InputError: if it is not.
        """
        told = json.loads(content)
        number = told["number"] if "step" in told else told["events"]
        known = [self._policy_at(number)] + (
            [] if "step" in told else [self._policy_at(number + 1)]
        )
        mine = None if self.key is None else self.key.public
        if self.key is None or mine not in [_key_of(one, person) for one in known]:
            raise InputError.at("key", f"is not that of '{person}', and cannot sign as them.")
        return signature_code(content, self.key)

    def wrong(self, content: bytes, code: str, person: str) -> str:
        """What is wrong with a signature: whose it is not, or that its person might not."""
        told: JsonObject = json.loads(content)
        if "step" not in told:
            return self._wrong_head(content, code, person, told["events"])
        number, policy = told["number"], self._policy_at(told["number"])
        if self._held.get(number) == (content, code):
            return ""
        self._after[number] = policy
        key = _key_of(policy, person)
        if key is None:
            return f"is in the name of '{person}', who had no key then: none yet, or revoked."
        if not is_code_of(code, content, key):
            return f"was changed, or was not signed with the key that '{person}' had then."
        event = Event.model_validate({**told, "code": code})
        why = refusal(policy, event)
        if not why:
            try:
                self._after[number] = policy_after(policy, event.step, event.facts)
            except ValueError as error:
                why = f"breaks the rules of the policy: {why_not(error)}."
        if not why:
            self._held[number] = (content, code)
        return why

    def policy_now(self) -> CustodyPolicy:
        """The policy as the log left it, once it was checked."""
        return self._policy_at(max(self._after, default=0) + 1)

    def _policy_at(self, number: int) -> CustodyPolicy:
        """The policy before an event."""
        if number - 1 in self._after:
            return self._after[number - 1]
        earlier = [one for one in self._after if one < number]
        return self._after[max(earlier)] if earlier else self.policy

    def _wrong_head(self, content: bytes, code: str, person: str, events: int) -> str:
        known = [self._policy_at(number) for number in (events, events + 1)]
        keys = [key for one in known if (key := _key_of(one, person)) is not None]
        if any(is_code_of(code, content, key) for key in keys):
            return ""
        return f"was changed, or was not signed with the key that '{person}' had then."


def _key_of(policy: CustodyPolicy, person: str) -> PublicKey | None:
    line = next((one.key for one in policy.people if one.name == person), "")
    return parse_public_key(line) if line else None


def why_not(error: ValueError) -> str:
    """Why a policy cannot be changed so, in words."""
    if isinstance(error, ValidationError):
        return str(error.errors()[0]["msg"]).removeprefix("Value error, ")
    return str(error)
