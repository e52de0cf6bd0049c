"""Passwords -> argon2 hashes, and whether one fits; what may be a password."""

from dataclasses import dataclass
from functools import cached_property
from threading import BoundedSemaphore

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

SHORTEST, LONGEST, AT_ONCE = 12, 256, 4
"""Lengths, and how many are hashed at the same time: each takes 64 MiB for a moment."""
WORDS = (
    *("nodulebench", "benchmark", "leaderboard", "nodule", "radiology", "portal", "luna16"),
    *("organiser", "participant", "password", "qwerty", "asdfgh", "letmein", "welcome", "admin"),
    *("12345", "67890", "54321", "abcde"),
)
"""What who guesses tries first; a password has to be more than these."""
_PLACES = BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True)
class Passwords:
    """How dear it is to try a password."""

    time_cost: int = 3
    memory_kib: int = 65536

    @cached_property
    def _hash(self) -> PasswordHash:
        hasher = Argon2Hasher(time_cost=self.time_cost, memory_cost=self.memory_kib)
        return PasswordHash((hasher,))

    @cached_property
    def _nobody(self) -> str:
        """A hash that no password fits, so that an unknown name takes as long as a known one."""
        return self._hash.hash("nobody's")

    def hashed(self, password: str) -> str:
        """What is kept of a password."""
        with _PLACES:
            return self._hash.hash(password)

    def fits(self, password: str, kept: str | None) -> bool:
        """Whether a password is the one that was kept; None takes as long and never fits."""
        with _PLACES:
            found = self._hash.verify(password[: LONGEST + 1], kept or self._nobody)
        return found and kept is not None


def password_problem(password: str, login: str) -> str:
    """The code of what is wrong with a new password; nothing: it may be one."""
    if len(password) < SHORTEST:
        return "password_short"
    if len(password) > LONGEST:
        return "password_long"
    rest = password.lower()
    for word in (login.lower(), *WORDS):
        rest = rest.replace(word, "")
    if len(set(rest)) < 5 or login.lower() in password.lower():
        return "password_easy"
    return ""
