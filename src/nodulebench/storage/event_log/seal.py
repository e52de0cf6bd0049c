"""Seal: how the code of some bytes is made and checked for a person."""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from nodulebench.errors import InputError
from nodulebench.storage.keys.person_key import PrivateKey, PublicKey
from nodulebench.storage.keys.sshsig import is_code_of, signature_code


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


@dataclass(frozen=True, slots=True)
class PersonSeal:
    """A seal by a key of each person's own: nobody writes in the name of another."""

    keys: Mapping[str, PublicKey]
    """By person."""
    own: PrivateKey | None = None
    """Of whoever runs the program; None: codes can be checked, not made."""

    def make(self, content: bytes, person: str) -> str:
        """The person's signature.

        Raises:
            InputError: if the person has no key, or the key at hand is none or another's.
        """
        where, known = f"person '{person}'", self.keys.get(person)
        if known is None:
            raise InputError.at(where, "has no key, and cannot sign.", "Let the roster name one.")
        if self.own is None:
            raise InputError.at(
                where, "has to sign, and no key was given.", "Give your own with --key."
            )
        if self.own.public != known:
            raise InputError.at(
                where,
                f"has the key {known.fingerprint}; that given is {self.own.public.fingerprint}.",
                "Give your own name and your own key.",
            )
        return signature_code(content, self.own)

    def wrong(self, content: bytes, code: str, person: str) -> str:
        """Whether the code is not the person's signature."""
        key = self.keys.get(person)
        if key is None:
            return f"is said to be of '{person}', who has no key."
        if is_code_of(code, content, key):
            return ""
        return f"was changed, or was not signed by '{person}'."
