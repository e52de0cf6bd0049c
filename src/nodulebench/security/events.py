"""Events, log head and checkpoint, and their canonical bytes."""

import json
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AwareDatetime, Field, ValidationError

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.text import shown
from nodulebench.io.manifests import bytes_digest

HEAD: Final = "nodulebench/event-head@2"
CHECKPOINT: Final = "nodulebench/checkpoint@2"


class Record(ConfigModel):
    """Content that is stored as canonical bytes, and the code that proves who wrote it."""

    code: str = ""

    def to_bytes(self) -> bytes:
        return canonical(self.model_dump(mode="json"))

    @property
    def unsigned_bytes(self) -> bytes:
        return canonical(self.model_dump(mode="json", exclude={"code"}))


class Head(Record):
    """The number of events of a log, and the digest of the last."""

    schema_name: Literal["nodulebench/event-head@2"] = HEAD
    root: str
    """The predecessor of the first event."""
    events: Annotated[int, Field(ge=0)]
    digest: str
    """Of the last event, or the root if there is none."""
    person: str
    check: str = ""
    """Digest of the rest: shows damage also to people who cannot check the code."""

    def to_bytes(self) -> bytes:
        content = self.model_dump(mode="json", exclude={"check"})
        return canonical({**content, "check": bytes_digest(canonical(content))})

    @property
    def unsigned_bytes(self) -> bytes:
        return canonical(self.model_dump(mode="json", exclude={"check", "code"}))


class Signer(ConfigModel):
    """The stated signer of a file."""

    by: str = ""
    key: str
    """The public key, ``ssh-ed25519 AAAA…``."""


class Checkpoint(Record):
    """The state of a log at a time, for another person to hold; its code is hexadecimal."""

    schema_name: Literal["nodulebench/checkpoint@2"] = CHECKPOINT
    root: str
    """The predecessor of the first event: digest of a sealed set's manifest, or of a project."""
    events: Annotated[int, Field(ge=1)]
    digest: str
    at: AwareDatetime
    signed: Signer | None = None
    """Who signed it; None if it is not signed."""


class LogEvent(Record):
    """An event of any log; each log adds its own fields."""

    number: Annotated[int, Field(ge=1)]
    at: AwareDatetime
    person: str
    previous: str
    """Digest of the previous event; for the first, of the log's root."""

    @property
    def digest(self) -> str:
        return bytes_digest(self.to_bytes())


Kind = TypeVar("Kind", bound=Record)


def parsed(kind: type[Kind], content: bytes) -> Kind | None:
    """Parse bytes; None if they are not byte for byte what would be written."""
    try:
        record = kind.model_validate_json(content)
    except (ValidationError, UnicodeDecodeError):
        return None
    return record if record.to_bytes() == content else None


def canonical(value: Any) -> bytes:
    """JSON in one line with sorted keys: equal values give equal bytes."""
    return (json.dumps(value, sort_keys=True, allow_nan=False) + "\n").encode()


Fact = str | int | float | bool | None


class FactEvent(LogEvent):
    """An event with facts."""

    facts: dict[str, Fact]


def shown_facts(facts: dict[str, Fact]) -> dict[str, Fact]:
    """Facts whose names and texts can be displayed and read back, whatever their source."""
    return {
        shown(name): shown(fact) if isinstance(fact, str) else fact for name, fact in facts.items()
    }
