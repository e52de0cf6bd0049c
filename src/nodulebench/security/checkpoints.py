"""Write, sign and check checkpoints of a log, which other people hold.

A checkpoint states its signer, and the signature is in the same file. Without its signature the
file is another checkpoint, and a check that needs a signature reports that there is none.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.io.atomic import staged_file
from nodulebench.security.event_log import E, EventLog, Link, LogCheck
from nodulebench.security.events import Checkpoint, Signer, parsed
from nodulebench.security.keys import PublicKey, parse_public_key
from nodulebench.security.signatures import is_signature_of, signing_key


def write_checkpoint(
    log: EventLog[E],
    log_check: LogCheck[E],
    path: Path,
    *,
    key: Path | None = None,
    passphrase: str = "",
    by: str = "",
) -> Checkpoint:
    """Write the state of a log for another person to hold; check an older checkpoint first."""
    problems = list(log_check.problems)
    if path.exists():
        problems += checkpoint_file_problems(log, log_check.links, path)
    raise_problems(problems)
    if not log_check.events:
        raise InputError.at(path, "was not written: the log has no event yet.")
    checkpoint = log.checkpoint(log_check.events, datetime.now(UTC))
    if key is not None:
        private = signing_key(key, passphrase)
        signer = Signer(by=by, key=private.public.line)
        checkpoint = checkpoint.model_copy(update={"signed": signer})
        code = private.sign(checkpoint.unsigned_bytes).hex()
        checkpoint = checkpoint.model_copy(update={"code": code})
    with staged_file(path) as stage:
        stage.write_bytes(checkpoint.to_bytes())
    return checkpoint


def checkpoint_file_problems(
    log: EventLog[E],
    links: Sequence[Link],
    path: Path,
    public_key: Path | None = None,
    people: Sequence[PublicKey] = (),
) -> list[Problem]:
    """Check that a log still contains a checkpoint, and the checkpoint's signature.

    The signer is that of ``public_key`` or one of ``people``; without both it may be unsigned.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        return [Problem(str(path), f"cannot be read: {error.strerror or error}.")]
    problems = log.checkpoint_problems(content, links, str(path))
    checkpoint = parsed(Checkpoint, content)
    if checkpoint is not None:
        what = _wrong_signature(checkpoint, public_key, people)
        problems += [Problem(str(path), *what)] if what else []
    return problems


def _wrong_signature(
    checkpoint: Checkpoint, public_key: Path | None, people: Sequence[PublicKey]
) -> tuple[str, ...]:
    content, signature = checkpoint.unsigned_bytes, _signature_of(checkpoint)
    if signature is None:
        if checkpoint.code or checkpoint.signed is not None:
            return ("was changed: its signature does not match its statement about the signer.",)
        if public_key is None:
            return ()
        ask = "Ask for the signed checkpoint, or compare it without a public key."
        return "is not signed, so anyone could have made it.", ask
    if checkpoint.signed is not None and not _is_by(checkpoint.signed.key, content, signature):
        return ("was changed: its signature is invalid.",)
    is_known = any(person.is_signer_of(content, signature) for person in people)
    if is_known or (public_key is None and not people):
        return ()
    if public_key is not None and is_signature_of(content, signature, public_key):
        return ()
    by = "a known person" if public_key is None else public_key.name
    return (f"is signed, but not by {by}, or was changed.",)


def _signature_of(checkpoint: Checkpoint) -> bytes | None:
    is_whole = checkpoint.signed is not None and bool(checkpoint.code)
    return _from_hex(checkpoint.code) if is_whole else None


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
