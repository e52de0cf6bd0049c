"""A certificate, receipt or print of a portal -> who signed it, if the signature holds."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.security.keys import read_public_key
from nodulebench.security.statements import Signed, read_signed

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
        for one in said["readings"]:
            if not one["point"] and one["value"] is not None:
                yield "figure", f"{one['rule']} {one['figure']} {one['value']:.3f}"
    elif signed.kind == "receipt":
        yield "entry", f"{said['entry']}, {said['at']}: {said['digest']}"


def _plain(told: str) -> str:
    """A text in which nothing moves the cursor of a terminal."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in told)
