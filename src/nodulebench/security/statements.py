"""Read and write signed statements of a portal: JSON, or a PDF print.

JSON holds the statement under its kind, the key, and the code over the statement's canonical
bytes. A print is a PDF whose last line, a PDF comment, signs every byte before it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.security.events import canonical
from nodulebench.security.keys import PrivateKey, PublicKey, parse_public_key, read_public_key
from nodulebench.security.signatures import is_code_of, signature_code

StatementKind = Literal["certificate", "receipt"]
KINDS: Final[tuple[StatementKind, ...]] = get_args(StatementKind)
LAST_LINE: Final = b"\n%nodulebench "
PDF: Final = b"%PDF-"


@dataclass(frozen=True, slots=True)
class Signed:
    """A statement with a valid signature by the key that it names."""

    kind: str
    """certificate, receipt, or print."""
    content: JsonObject
    """The statement; empty for a print, which people read."""
    key: PublicKey


def signed_statement(kind: StatementKind, statement: JsonObject, key: PrivateKey) -> JsonObject:
    return {kind: statement, **_signature(canonical(statement), key)}


def signed_print(content: bytes, key: PrivateKey) -> bytes:
    return content + LAST_LINE + canonical(_signature(content, key))


def read_signed(content: bytes, source: str) -> Signed:
    if content.startswith(PDF):
        before, last, after = content.rpartition(LAST_LINE)
        if not last:
            raise InputError.at(source, "is a PDF without a signature of a portal.")
        return _checked("print", {}, _parsed(after, source), before, source)
    whole = _parsed(content, source)
    kind = next((name for name in KINDS if whole.keys() == {name, "key", "code"}), None)
    if kind is None or not isinstance(whole[kind], dict):
        raise InputError.at(source, "is neither a certificate nor a receipt of a portal.")
    return _checked(kind, whole[kind], whole, canonical(whole[kind]), source)


def _signature(content: bytes, key: PrivateKey) -> dict[str, str]:
    return {"key": key.public.line, "code": signature_code(content, key)}


def _parsed(content: bytes, source: str) -> JsonObject:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError.at(
            source, "is not JSON.", "Use the unchanged file from the portal."
        ) from error
    return document if isinstance(document, dict) else {}


def _checked(
    kind: str, statement: JsonObject, signature: JsonObject, content: bytes, source: str
) -> Signed:
    try:
        key = parse_public_key(str(signature.get("key")))
    except ValueError as error:
        raise InputError.at(source, f"names a key that {error}.") from error
    if not is_code_of(str(signature.get("code")), content, key):
        what = "was changed after it was signed, or its signature is by another key."
        raise InputError.at(source, what, "Ask the portal for it again.")
    return Signed(kind, statement, key)


MOST_BYTES = 64 * 1024 * 1024
"""Largest signed file of a portal; larger files are something else."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A signed statement, and whether its signer is known."""

    signed: Signed
    is_known: bool
    """Whether its key was compared with the expected signer's key."""
    lines: tuple[tuple[str, str], ...]


def verify_statement(path: Path, public_key: Path | None = None) -> Statement:
    """Check a statement's signature, also that it is by the portal's key (address ``/key``)."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError.at(path, "is not a statement of a portal.")
        content = path.read_bytes()
    except OSError as error:
        raise InputError.at(path, f"cannot be read: {error.strerror or error}.") from error
    signed = read_signed(content, str(path))
    if public_key is not None and read_public_key(public_key) != signed.key:
        what = f"is signed by another key than {public_key}: {signed.key.fingerprint}."
        raise InputError.at(path, what, "Ask its sender where it is from.")
    try:
        lines = tuple((name, _plain(text)) for name, text in _lines(signed))
    except (KeyError, TypeError, ValueError) as error:
        what = f"is signed, but lacks the content of a {signed.kind}."
        raise InputError.at(path, what, "Ask its sender where it is from.") from error
    return Statement(signed, public_key is not None, lines)


def _lines(signed: Signed) -> Iterator[tuple[str, str]]:
    statement = signed.content
    if signed.kind == "certificate":
        benchmark, entry = statement["benchmark"], statement["entry"]
        yield "number", f"{statement['number']} of {statement['site']}, {statement['at']}"
        yield "entry", f"{entry['algorithm']}, by {entry['by']}: {entry['digest']}"
        yield "benchmark", f"{benchmark['title']}, version {benchmark['version']}"
        for reading in statement["readings"]:
            if not reading["point"] and reading["value"] is not None:
                yield "metric", f"{reading['rule']} {reading['metric']} {reading['value']:.3f}"
    elif signed.kind == "receipt":
        yield "entry", f"{statement['entry']}, {statement['at']}: {statement['digest']}"


def _plain(text: str) -> str:
    """The text without characters that could control a terminal."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )
