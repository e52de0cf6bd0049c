"""FactEvent: one thing that was done, with facts, as its log keeps it <-> bytes."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from nodulebench.core.config_model import Written
from nodulebench.core.text import shown
from nodulebench.io.digest import bytes_digest
from nodulebench.security.event_log.statements import canonical

Fact = str | int | float | bool | None


class FactEvent(Written):
    """What every event of facts holds; a log adds what it is about."""

    number: Annotated[int, Field(ge=1)]
    at: AwareDatetime
    person: str
    """Who signed it."""
    facts: dict[str, Fact]
    previous: str
    """Digest of the event before; for the first, of what the log begins with."""
    code: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes of the event."""
        return bytes_digest(self.to_bytes())

    def to_bytes(self) -> bytes:
        """The event as it is kept."""
        return canonical(self.model_dump(mode="json"))

    @property
    def unsigned_bytes(self) -> bytes:
        """What the code is made of."""
        return canonical(self.model_dump(mode="json", exclude={"code"}))


def shown_facts(facts: dict[str, Fact]) -> dict[str, Fact]:
    """Facts whose names and words can be shown and read back, whatever they were made of."""
    return {
        shown(name): shown(fact) if isinstance(fact, str) else fact for name, fact in facts.items()
    }
