"""A log <-> files of anchors, which others keep: written, signed, and compared with the log.

An anchor says in its own words by whom it is signed, and the signature stands in the same file:
taken away, the anchor is another, and who asks for a signature is told that there is none.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.io.atomic import staged_file
from nodulebench.security.event_log.events import Anchor, Signer, parsed
from nodulebench.security.event_log.log import E, EventLog, Link, LogCheck
from nodulebench.security.keys import PublicKey, parse_public_key
from nodulebench.security.signatures import is_signature_of, signing_key


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
    raise_problems(problems)
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
    return anchor


def anchor_file_problems(
    log: EventLog[E],
    links: Sequence[Link],
    path: Path,
    public_key: Path | None = None,
    people: Sequence[PublicKey] = (),
) -> list[Problem]:
    """Whether a log still holds what it held when an anchor was made, and the anchor its signature.

    Args:
        log: the log.
        links: its events, checked.
        path: the anchor's file.
        public_key: of whoever shall have signed it; None: an anchor need not be signed.
        people: keys of those whose signature is as good; where there are such, or a public key,
            nobody else's is.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        return [Problem(str(path), f"cannot be read: {error.strerror or error}.")]
    problems = log.anchor_problems(content, links, str(path))
    anchor = parsed(Anchor, content)
    if anchor is not None:
        what = _wrong_signature(anchor, public_key, people)
        problems += [Problem(str(path), *what)] if what else []
    return problems


def _wrong_signature(
    anchor: Anchor, public_key: Path | None, people: Sequence[PublicKey]
) -> tuple[str, ...]:
    """What is wrong with the signature of an anchor, and what to do; nothing: it is as it shall."""
    content, signature = anchor.unsigned_bytes, _signature_of(anchor)
    if signature is None:
        if anchor.code or anchor.signed is not None:
            return ("was changed: it says by itself whether it is signed, and that does not fit.",)
        if public_key is None:
            return ()
        ask = "Ask for the one that was signed, or compare it without a public key."
        return "is not signed, so that anybody can have made it.", ask
    if anchor.signed is not None and not _is_by(anchor.signed.key, content, signature):
        return ("was changed: its signature does not hold.",)
    is_known = any(person.is_signer_of(content, signature) for person in people)
    if is_known or (public_key is None and not people):
        return ()
    if public_key is not None and is_signature_of(content, signature, public_key):
        return ()
    by = "anybody who is known here" if public_key is None else public_key.name
    return (f"is signed, but not by {by}, or was changed.",)


def _signature_of(anchor: Anchor) -> bytes | None:
    """The signature; None: there is none."""
    is_whole = anchor.signed is not None and bool(anchor.code)
    return _from_hex(anchor.code) if is_whole else None


def _from_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _is_by(line: str, content: bytes, signature: bytes) -> bool:
    try:
        return parse_public_key(line).is_signer_of(content, signature)
    except ValueError:
        return False
