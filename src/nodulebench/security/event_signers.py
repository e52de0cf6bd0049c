"""EventSigner: makes and checks the codes that prove who wrote an event."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from nodulebench.core.errors import InputError
from nodulebench.security.keys import PrivateKey, PublicKey
from nodulebench.security.signatures import is_code_of, signature_code


class EventSigner(Protocol):
    """Makes and checks the code that proves that a person wrote some bytes."""

    def make(self, content: bytes, person: str) -> str:
        """Make the code that proves that a person wrote this, if the user is that person."""
        ...

    def wrong(self, content: bytes, code: str, person: str) -> str:
        """What is wrong with a code, for use in a message; empty if it is valid."""
        ...


Change = tuple[str, PublicKey | None]
"""A person and the person's new key; None if the key is revoked."""


def no_change(content: bytes) -> Change | None:  # noqa: ARG001
    """For a log in which people's keys never change."""
    return None


@dataclass(slots=True)
class PersonSigner:
    """Signs with each person's own key, so that no one can write in another person's name.

    A log is checked from its first event on, each event with the keys after the previous events.
    """

    keys: Mapping[str, PublicKey]
    """Keys by person at the beginning."""
    own: PrivateKey | None = None
    """The user's key; None if codes can be checked, but not made."""
    change: Callable[[bytes], Change | None] = no_change
    """Returns the key change in an event; ValueError with the reason if it is not allowed."""
    _changes: dict[int, Change] = field(default_factory=dict, repr=False)
    """Key changes by the number of their event."""

    def make(self, content: bytes, person: str) -> str:
        where, keys = f"person '{person}'", self._keys_for(content, person)
        if not keys:
            why = "Let the roster name one." if person not in self.keys else "It was revoked."
            raise InputError.at(where, "has no key, so cannot sign.", why)
        if self.own is None:
            raise InputError.at(
                where, "must sign, but no key was given.", "Give your own key with --key."
            )
        if self.own.public not in keys:
            raise InputError.at(
                where,
                f"has the key {keys[0].fingerprint}, but {self.own.public.fingerprint} was given.",
                "Give your own name and your own key.",
            )
        return signature_code(content, self.own)

    def wrong(self, content: bytes, code: str, person: str) -> str:
        keys = self._keys_for(content, person)
        if not keys:
            return f"names '{person}' as its author, who has no key."
        if not any(is_code_of(code, content, key) for key in keys):
            return f"was changed, or was not signed by '{person}'."
        return self._take_key_change(content)

    def keys_now(self) -> dict[str, PublicKey]:
        return self.keys_at(max(self._changes, default=0) + 1)

    def keys_at(self, number: int) -> dict[str, PublicKey]:
        keys: dict[str, PublicKey | None] = dict(self.keys)
        keys |= dict(change for at, change in sorted(self._changes.items()) if at < number)
        return {person: key for person, key in keys.items() if key is not None}

    def _keys_for(self, content: bytes, person: str) -> list[PublicKey]:
        """The keys of an event's signer; a head or index may have the key before or after it."""
        if not self._changes:
            return [self.keys[person]] if person in self.keys else []
        record = json.loads(content)
        number = record.get("number") or record.get("events") or len(record.get("digests", ()))
        numbers = (number,) if "number" in record else (number + 1, number)
        keys = (self.keys_at(at).get(person) for at in numbers)
        return [key for key in dict.fromkeys(keys) if key is not None]

    def _take_key_change(self, content: bytes) -> str:
        """Apply the key change of an event; return what is wrong with it."""
        try:
            change = self.change(content)
        except ValueError as error:
            return f"{error}."
        number = _number(content) if change or self._changes else 0
        self._changes.pop(number, None)  # if another event had this number
        if change is not None:
            person, key = change
            others = {name: known for name, known in self.keys_at(number).items() if name != person}
            if key in others.values():
                return f"gives '{person}' another person's key."
            self._changes[number] = change
        return ""


def _number(content: bytes) -> int:
    return int(json.loads(content).get("number", 0))
