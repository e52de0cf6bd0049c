"""FactEvent: one thing that was done, with facts, as its log keeps it <-> bytes."""

import json
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AwareDatetime, Field, ValidationError

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.text import shown
from nodulebench.io.manifests import bytes_digest

HEAD: Final = "nodulebench/event-head@2"
CHECKPOINT: Final = "nodulebench/checkpoint@2"


class Head(ConfigModel):
    """How many events a log has, and the digest of the last."""

    schema_name: Literal["nodulebench/event-head@2"] = HEAD
    root: str
    """What the first event follows from."""
    events: Annotated[int, Field(ge=0)]
    digest: str
    """Of the last event; of the root where there is none."""
    person: str
    """Who wrote the head."""
    code: str = ""
    check: str = ""
    """Digest of the rest: tells a damaged head to those, too, who cannot check the code."""

    def to_bytes(self) -> bytes:
        """The head as it is kept."""
        content = self.model_dump(mode="json", exclude={"check"})
        return canonical({**content, "check": bytes_digest(canonical(content))})

    @property
    def unsigned_bytes(self) -> bytes:
        """What the code is made of."""
        return canonical(self.model_dump(mode="json", exclude={"check", "code"}))


class Signer(ConfigModel):
    """Who signed something, as it says itself."""

    by: str = ""
    key: str
    """The public key, ``ssh-ed25519 AAAA…``."""


class Checkpoint(ConfigModel):
    """What a log looked like at a time, for somebody else to keep."""

    schema_name: Literal["nodulebench/checkpoint@2"] = CHECKPOINT
    root: str
    """What the first event follows from: the digest of a sealed set's manifest, or of a project."""
    events: Annotated[int, Field(ge=1)]
    digest: str
    """Of the last event."""
    at: AwareDatetime
    signed: Signer | None = None
    """Who signed it; None: nobody did."""
    code: str = ""
    """The signature of all the rest, in hexadecimal form."""

    def to_bytes(self) -> bytes:
        """The checkpoint as it stands on the disk."""
        return canonical(self.model_dump(mode="json"))

    @property
    def unsigned_bytes(self) -> bytes:
        """What the signature is made of."""
        return canonical(self.model_dump(mode="json", exclude={"code"}))


Kind = TypeVar("Kind", Head, Checkpoint)


def parsed(kind: type[Kind], content: bytes) -> Kind | None:
    """What some bytes say, if they are byte for byte as it would be written."""
    try:
        found = kind.model_validate_json(content)
    except (ValidationError, UnicodeDecodeError):
        return None
    return found if found.to_bytes() == content else None


def canonical(value: Any) -> bytes:
    """JSON in one line, keys in order: the same value always gives the same bytes."""
    return (json.dumps(value, sort_keys=True, allow_nan=False) + "\n").encode()


Fact = str | int | float | bool | None


class FactEvent(ConfigModel):
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
