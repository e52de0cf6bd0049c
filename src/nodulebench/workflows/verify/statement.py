"""A certificate, receipt or print of a portal -> who signed it, if the signature holds."""

from dataclasses import dataclass
from pathlib import Path

from nodulebench.errors import InputError
from nodulebench.storage.keys.person_key import read_public_key
from nodulebench.storage.keys.signed import Signed, read_signed

MOST_BYTES = 64 * 1024 * 1024
"""Of what a portal signs; whatever is larger is something else."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What was signed, and whether it is known by whom."""

    signed: Signed
    is_known: bool
    """Whether it was compared with the key of whoever shall have signed."""


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
    return Statement(signed, public_key is not None)
