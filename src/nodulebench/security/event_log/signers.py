"""Seal: how the code of some bytes is made and checked for a person."""

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from nodulebench.core.errors import InputError
from nodulebench.security.keys import PrivateKey, PublicKey
from nodulebench.security.signatures import is_code_of, signature_code


class Seal(Protocol):
    """How the code of some bytes is made and checked for a person."""

    def make(self, content: bytes, person: str) -> str:
        """The code by which others can tell that a person wrote this.

        Raises:
            InputError: if whoever runs the program is not that person.
        """
        ...

    def wrong(self, content: bytes, code: str, person: str) -> str:
        """What is wrong with a code, in words that follow the place; nothing: it holds."""
        ...


@dataclass(frozen=True, slots=True)
class CodeSeal:
    """A seal by one secret that all who write share: it tells them from others, not apart."""

    authenticate: Callable[[bytes], str]
    """Makes the code of some bytes, as ``Vault.authenticator`` does."""

    def make(self, content: bytes, person: str) -> str:  # noqa: ARG002
        """The code of some bytes, whoever the person is."""
        return self.authenticate(content)

    def wrong(self, content: bytes, code: str, person: str) -> str:  # noqa: ARG002
        """Whether the code is another one."""
        if hmac.compare_digest(code.encode(), self.authenticate(content).encode()):
            return ""
        return "was changed, or was not written by somebody who can open the vault."


Change = tuple[str, PublicKey | None]
"""A person, and the key that is theirs from then on; None: they have none any more."""


def no_change(content: bytes) -> Change | None:  # noqa: ARG001
    """Of a log whose people have the same keys all the time."""
    return None


@dataclass(slots=True)
class PersonSeal:
    """A seal by a key of each person's own: nobody writes in the name of another.

    A log is checked from its first event on; each event by the keys that those before it left.
    """

    keys: Mapping[str, PublicKey]
    """By person, at the beginning."""
    own: PrivateKey | None = None
    """Of whoever runs the program; None: codes can be checked, not made."""
    change: Callable[[bytes], Change | None] = no_change
    """What an event says of somebody's key; ValueError: it says what it may not, and why."""
    _changes: dict[int, Change] = field(default_factory=dict, repr=False)
    """By the numbers of their events."""

    def make(self, content: bytes, person: str) -> str:
        """The person's signature.

        Raises:
            InputError: if the person has no key, or the key at hand is none or another's.
        """
        where, keys = f"person '{person}'", self._keys_for(content, person)
        if not keys:
            why = "Let the roster name one." if person not in self.keys else "It was revoked."
            raise InputError.at(where, "has no key, and cannot sign.", why)
        if self.own is None:
            raise InputError.at(
                where, "has to sign, and no key was given.", "Give your own with --key."
            )
        if self.own.public not in keys:
            raise InputError.at(
                where,
                f"has the key {keys[0].fingerprint}; that given is {self.own.public.fingerprint}.",
                "Give your own name and your own key.",
            )
        return signature_code(content, self.own)

    def wrong(self, content: bytes, code: str, person: str) -> str:
        """Whether the code is not the person's signature."""
        keys = self._keys_for(content, person)
        if not keys:
            return f"is said to be of '{person}', who has no key."
        if not any(is_code_of(code, content, key) for key in keys):
            return f"was changed, or was not signed by '{person}'."
        return self._learnt(content)

    def keys_now(self) -> dict[str, PublicKey]:
        """Whose key is whose after all events that were checked."""
        return self.keys_at(max(self._changes, default=0) + 1)

    def keys_at(self, number: int) -> dict[str, PublicKey]:
        """Whose key is whose before an event."""
        keys: dict[str, PublicKey | None] = dict(self.keys)
        keys |= dict(change for at, change in sorted(self._changes.items()) if at < number)
        return {person: key for person, key in keys.items() if key is not None}

    def _keys_for(self, content: bytes, person: str) -> list[PublicKey]:
        """With which key a person signs an event; a head or index with that before or after it."""
        if not self._changes:
            return [self.keys[person]] if person in self.keys else []
        told = json.loads(content)
        number = told.get("number") or told.get("events") or len(told.get("digests", ()))
        numbers = (number,) if "number" in told else (number + 1, number)
        found = (self.keys_at(one).get(person) for one in numbers)
        return [key for key in dict.fromkeys(found) if key is not None]

    def _learnt(self, content: bytes) -> str:
        """Take over what an event says of keys; what is wrong with that."""
        try:
            change = self.change(content)
        except ValueError as error:
            return f"{error}."
        number = _number(content) if change or self._changes else 0
        self._changes.pop(number, None)  # where another event had it
        if change is not None:
            person, key = change
            others = {name: one for name, one in self.keys_at(number).items() if name != person}
            if key in others.values():
                return f"gives '{person}' the key of somebody else."
            self._changes[number] = change
        return ""


def _number(content: bytes) -> int:
    """The number of an event; 0: it is none."""
    return int(json.loads(content).get("number", 0))
