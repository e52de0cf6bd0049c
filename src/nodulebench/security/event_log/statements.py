"""What is said of a log as a whole: the head beside it, and anchors that others keep <-> bytes.

The head says how many events there are and how the last reads, so that a log cut off at its end is
found. Head and log could both be put back to an older state, and that is found by an anchor: the
same statement, kept by somebody else.
"""

import json
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AwareDatetime, Field, ValidationError

from nodulebench.core.config_model import Written
from nodulebench.io.digest import bytes_digest

HEAD: Final = "nodulebench/event-head@2"
ANCHOR: Final = "nodulebench/anchor@2"


class Head(Written):
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


class Signer(Written):
    """Who signed something, as it says itself."""

    by: str = ""
    key: str
    """The public key, ``ssh-ed25519 AAAA…``."""


class Anchor(Written):
    """What a log looked like at a time, for somebody else to keep."""

    schema_name: Literal["nodulebench/anchor@2"] = ANCHOR
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
        """The anchor as it stands on the disk."""
        return canonical(self.model_dump(mode="json"))

    @property
    def unsigned_bytes(self) -> bytes:
        """What the signature is made of."""
        return canonical(self.model_dump(mode="json", exclude={"code"}))


Kind = TypeVar("Kind", Head, Anchor)


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
