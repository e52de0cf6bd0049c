"""Events: who did what and when, each with the digest of the one before <-> bytes."""

import hashlib
import json

from pydantic import AwareDatetime, ValidationError
from pydantic_core import PydanticSerializationError

from nodulebench.annotation.people import Name
from nodulebench.core.config_model import ConfigModel
from nodulebench.core.json_types import JsonObject


class Event(ConfigModel):
    """One step of the workflow."""

    number: int
    """1, 2, 3, ..."""
    at: AwareDatetime
    actor_id: Name
    step: str
    batch_id: Name
    case_id: str | None = None
    change: str
    """What changed, as text."""
    payload: JsonObject
    """The complete action."""
    payload_digest: str
    previous: str
    """Digest of the previous event; of the project for the first."""
    code: str = ""
    """Proves who wrote the event; empty: the project has no keys."""

    @property
    def person(self) -> str:
        return self.actor_id

    @property
    def digest(self) -> str:
        """SHA-256 of the whole event."""
        return json_digest(self.model_dump(mode="json"))

    @property
    def unsigned_bytes(self) -> bytes:
        """The bytes that the code signs."""
        return _canonical(self.model_dump(mode="json", exclude={"code"}))

    def to_bytes(self) -> bytes:
        """The event as stored on disk; empty if it holds text that is not valid Unicode."""
        try:
            return f"{self.model_dump_json(indent=1)}\n".encode()
        except PydanticSerializationError:
            return b""


def json_digest(value: object) -> str:
    """SHA-256 of a JSON value: keys in order, no spaces."""
    return "sha256:" + hashlib.sha256(_canonical(value)).hexdigest()


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def parse_event(content: bytes) -> Event | None:
    """The event in some bytes; None: they do not hold one."""
    try:
        return Event.model_validate_json(content)
    except ValidationError:
        return None
