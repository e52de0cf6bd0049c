"""A log <-> files of anchors, which others keep: written, signed, and compared with the log.

An anchor says in its own words by whom it is signed, and the signature stands in the same file:
taken away, the anchor is another, and who asks for a signature is told that there is none.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from nodulebench.errors import InputError, Problem, refuse_any
from nodulebench.storage.event_log.chain import Link
from nodulebench.storage.event_log.log import E, EventLog, LogCheck
from nodulebench.storage.event_log.statements import OLD_ANCHOR, Anchor, Signer, parsed
from nodulebench.storage.keys.person_key import parse_public_key
from nodulebench.storage.signature import is_signature_of, signing_key
from nodulebench.storage.staging import staged_file


def write_anchor(
    log: EventLog[E],
    found: LogCheck[E],
    path: Path,
    *,
    key: Path | None = None,
    passphrase: str = "",
    by: str = "",
) -> Anchor:
    """Write down how far a log goes, for somebody else to keep; an older anchor is checked first.

    Args:
        log: the log.
        found: what it holds, checked.
        path: the anchor's file.
        key: private Ed25519 key, PEM or OpenSSH, that signs it.
        passphrase: of the key, if it is encrypted.
        by: name of the signer.

    Raises:
        InputError: if the log was tampered with or is empty, or no longer holds what the older
            anchor says.
    """
    problems = list(found.problems)
    if path.exists():
        problems += anchor_file_problems(log, found.links, path)
    refuse_any(problems)
    if not found.events:
        raise InputError.at(path, "was not written: nothing happened yet.")
    anchor = log.anchor(found.events, datetime.now(UTC))
    if key is not None:
        private = signing_key(key, passphrase)
        signer = Signer(by=by, key=private.public.line)
        anchor = anchor.model_copy(update={"signed": signer})
        code = private.sign(anchor.unsigned_bytes).hex()
        anchor = anchor.model_copy(update={"code": code})
    with staged_file(path) as stage:
        stage.write_bytes(anchor.to_bytes())
    old_signature(path).unlink(missing_ok=True)
    return anchor


def anchor_file_problems(
    log: EventLog[E], links: Sequence[Link], path: Path, public_key: Path | None = None
) -> list[Problem]:
    """Whether a log still holds what it held when an anchor was made, and the anchor its signature.

    Args:
        log: the log.
        links: its events, checked.
        path: the anchor's file.
        public_key: of whoever shall have signed it; None: the key that the anchor names, which
            shows that nothing was changed since, but not who signed.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        return [Problem(str(path), f"cannot be read: {error.strerror or error}.")]
    problems = log.anchor_problems(content, links, str(path))
    anchor = parsed(Anchor, content)
    return (
        problems if anchor is None else [*problems, *_signature_problems(anchor, path, public_key)]
    )


def old_signature(anchor: Path) -> Path:
    """Where the signature of an anchor of version 0.1 lies, if it has one."""
    return anchor.with_name(f"{anchor.name}.sig")


def _signature_problems(anchor: Anchor, path: Path, public_key: Path | None) -> list[Problem]:
    where, file = str(path), old_signature(path)
    if anchor.schema_name == OLD_ANCHOR and file.is_file():
        if public_key is None or is_signature_of(anchor.to_bytes(), file.read_bytes(), public_key):
            return []
        return [Problem(str(file), f"is not the signature of {path.name} by {public_key.name}.")]
    if anchor.signed is None and public_key is None:
        return [Problem(where, "was changed: it has a signature of nobody.")] if anchor.code else []
    if anchor.signed is None:
        return [
            Problem(
                where,
                "is not signed, so that anybody can have made it.",
                "Ask for the one that was signed, or compare it without a public key.",
            )
        ]
    try:
        signature = bytes.fromhex(anchor.code)
        named = parse_public_key(anchor.signed.key)
    except ValueError:
        return [Problem(where, "was changed: its signature cannot be read.")]
    if not named.is_signer_of(anchor.unsigned_bytes, signature):
        return [Problem(where, "was changed: its signature does not hold.")]
    if public_key is not None and not is_signature_of(anchor.unsigned_bytes, signature, public_key):
        return [Problem(where, f"is signed, but not with {public_key.name}.")]
    return []
