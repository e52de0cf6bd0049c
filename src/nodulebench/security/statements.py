"""What a site says in writing <-> a file that carries its signature: JSON, or a print.

JSON holds the statement under its kind, the key and the code over the statement's canonical bytes.
A print is a PDF whose last line, a comment to readers of PDF, signs every byte before it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.security.event_log.events import canonical
from nodulebench.security.keys import PrivateKey, PublicKey, parse_public_key, read_public_key
from nodulebench.security.signatures import is_code_of, signature_code

StatementKind = Literal["certificate", "receipt"]
KINDS: Final[tuple[StatementKind, ...]] = get_args(StatementKind)
LAST_LINE: Final = b"\n%nodulebench "
PDF: Final = b"%PDF-"


@dataclass(frozen=True, slots=True)
class Signed:
    """A statement whose signature holds, by the key that it names."""

    kind: str
    """certificate, receipt, or print."""
    said: JsonObject
    """Nothing of a print, which people read."""
    key: PublicKey


def signed_statement(kind: StatementKind, told: JsonObject, key: PrivateKey) -> JsonObject:
    """A statement with the key and the signature of who makes it."""
    return {kind: told, **_signature(canonical(told), key)}


def signed_print(content: bytes, key: PrivateKey) -> bytes:
    """A PDF that carries the signature of who made it."""
    return content + LAST_LINE + canonical(_signature(content, key))


def read_signed(content: bytes, source: str) -> Signed:
    """What was signed.

    Raises:
        InputError: if it is nothing of that sort, or the signature does not hold.
    """
    if content.startswith(PDF):
        before, last, after = content.rpartition(LAST_LINE)
        if not last:
            raise InputError.at(source, "is a PDF without a signature of a portal.")
        return _checked("print", {}, _parsed(after, source), before, source)
    whole = _parsed(content, source)
    kind = next((one for one in KINDS if whole.keys() == {one, "key", "code"}), None)
    if kind is None or not isinstance(whole[kind], dict):
        raise InputError.at(source, "is neither a certificate nor a receipt of a portal.")
    return _checked(kind, whole[kind], whole, canonical(whole[kind]), source)


def _signature(content: bytes, key: PrivateKey) -> dict[str, str]:
    return {"key": key.public.line, "code": signature_code(content, key)}


def _parsed(content: bytes, source: str) -> JsonObject:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError.at(
            source, "is no JSON.", "Take the file as the portal gave it."
        ) from error
    return found if isinstance(found, dict) else {}


def _checked(
    kind: str, said: JsonObject, signature: JsonObject, content: bytes, source: str
) -> Signed:
    try:
        key = parse_public_key(str(signature.get("key")))
    except ValueError as error:
        raise InputError.at(source, f"names a key that {error}.") from error
    if not is_code_of(str(signature.get("code")), content, key):
        what = "was changed after it was signed, or its signature is another's."
        raise InputError.at(source, what, "Ask the portal for it again.")
    return Signed(kind, said, key)


MOST_BYTES = 64 * 1024 * 1024
"""Of what a portal signs; whatever is larger is something else."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What was signed, and whether it is known by whom."""

    signed: Signed
    is_known: bool
    """Whether it was compared with the key of whoever shall have signed."""
    lines: tuple[tuple[str, str], ...]
    """What it says, by name; nothing of a print."""


def verify_statement(path: Path, public_key: Path | None = None) -> Statement:
    """Check the signature of a statement.

    Args:
        path: the file that a portal gave out.
        public_key: the key of the portal, as its address ``/key`` tells it.

    Raises:
        InputError: if it is no such file, the signature does not hold, or it is another's.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError.at(path, "is no statement of a portal.")
        content = path.read_bytes()
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror or error}.") from error
    signed = read_signed(content, str(path))
    if public_key is not None and read_public_key(public_key) != signed.key:
        what = f"is signed by another key than {public_key}: {signed.key.fingerprint}."
        raise InputError.at(path, what, "Ask whoever gave it to you where it is from.")
    try:
        lines = tuple((name, _plain(told)) for name, told in _lines(signed))
    except (KeyError, TypeError, ValueError) as error:
        what = f"is signed, but does not say what a {signed.kind} says."
        raise InputError.at(path, what, "Ask whoever gave it to you where it is from.") from error
    return Statement(signed, public_key is not None, lines)


def _lines(signed: Signed) -> Iterator[tuple[str, str]]:
    said = signed.said
    if signed.kind == "certificate":
        benchmark, entry = said["benchmark"], said["entry"]
        yield "number", f"{said['number']} of {said['site']}, {said['at']}"
        yield "entry", f"{entry['algorithm']}, by {entry['by']}: {entry['digest']}"
        yield "benchmark", f"{benchmark['title']}, version {benchmark['version']}"
        for reading in said["readings"]:
            if not reading["point"] and reading["value"] is not None:
                yield "metric", f"{reading['rule']} {reading['metric']} {reading['value']:.3f}"
    elif signed.kind == "receipt":
        yield "entry", f"{said['entry']}, {said['at']}: {said['digest']}"


def _plain(told: str) -> str:
    """A text in which nothing moves the cursor of a terminal."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in told)
