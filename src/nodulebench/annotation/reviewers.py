"""A batch is opened with a promise -> when all have read, its reviewer is drawn by that.

The office's part of the draw is nobody's to know before. Where people have keys it stands in the
log itself, sealed for the organisers, so that no file can be lost; else it lies in a file beside
the project that its owner alone can read.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nodulebench.annotation.people import Name, commitment_of, new_seed
from nodulebench.annotation.project import ProjectHandle, project_digest, step_of
from nodulebench.annotation.workflow.actions import Action, OpenBatch, Seed
from nodulebench.annotation.workflow.batch import Batch
from nodulebench.annotation.workflow.events import Event
from nodulebench.core.config_model import ConfigModel, checked
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.io.atomic import locked, make_folder, replace_whole
from nodulebench.io.json_files import read_json
from nodulebench.security.event_log.signers import PersonSeal
from nodulebench.security.keys import PrivateKey, read_private_key
from nodulebench.security.vault import decrypted_by, encrypted_for

WAY_OUT = "If it is lost, an arbitrator draws anew: 'draw --redraw REASON'."


class CommitmentFile(ConfigModel):
    """What the office keeps to itself until all have read."""

    project: str
    """Digest of who takes part, the rules and the cases."""
    batch_id: Name
    seed: Seed


def open_batch(
    handle: ProjectHandle,
    actor_id: str,
    batch_id: str,
    team_id: str,
    case_ids: Iterable[str],
    *,
    reviewer_id: str | None = None,
    commitment: Path | None = None,
) -> Event:
    """Give cases to a team; where nobody is named, a draw of the reviewer is promised.

    Args:
        handle: the project.
        actor_id: an organiser.
        batch_id: its name.
        team_id: who reads.
        case_ids: what.
        reviewer_id: who reviews; None: somebody who is drawn when all have read.
        commitment: file for the office's part of the draw; None: the log, sealed for the
            organisers, or without keys ``commitment_file``.

    Raises:
        InputError: if it may not be, or the file holds something else.
    """
    fields = {"batch_id": batch_id, "team_id": team_id, "case_ids": tuple(case_ids)}
    raise_problems(_apart(handle, batch_id, fields["case_ids"]))

    def order(**more: Any) -> OpenBatch:
        return checked(OpenBatch, {**fields, **more}, f"batch '{batch_id}'")

    if reviewer_id is not None or not handle.workflow.rules.has_review:
        if commitment is not None:
            raise InputError.at(str(commitment), "promises a draw, and none is to be made.")
        return handle.act(actor_id, order(reviewer_id=reviewer_id))
    seed = new_seed()
    step = order(commitment=commitment_of(seed))
    if commitment is None and handle.workflow.roster.keys:

        def sealed(_: Mapping[str, Batch]) -> Action:
            return step.model_copy(update={"sealed": _sealed(handle, team_id, seed)})

        return handle.act(actor_id, sealed)
    handle.workflow.allowed(handle.batches(), actor_id, step)  # before anything is written
    file = commitment or commitment_file(handle.folder, batch_id)
    if file.resolve().is_relative_to(handle.folder.resolve()):
        raise InputError.at(str(file), "lies in the project, where all can read it.")
    make_folder(file.parent)
    with locked(file.with_name(f".{file.name}.lock"), file):
        _keep(handle, file, batch_id, seed)
        return handle.act(actor_id, step)


def _apart(handle: ProjectHandle, batch_id: str, case_ids: Iterable[str]) -> Iterator[Problem]:
    """Cases that are shown twice, once of them after readers saw what others drew in it."""
    if handle.workflow.rules.revision == "none":
        return
    given = set(case_ids)
    for shown_as, case_id in handle.repeats.items():
        if (shown_as in given) != (case_id in given):
            what = f"'{case_id}' is shown twice, and only one of both is in the batch."
            remedy = (
                f"Readers see all marks after a batch: give them '{shown_as}' together with it."
            )
            yield Problem(f"batch '{batch_id}'", what, remedy)


def commitment_file(folder: Path, batch_id: str) -> Path:
    """Where the office's part of a draw lies if no file is named: beside the project."""
    place = folder if folder.name not in ("", "..") else folder.resolve()
    return place.with_name(f"{place.name}-{batch_id}.commitment")


def draw_reviewer(
    handle: ProjectHandle,
    actor_id: str,
    batch_id: str,
    commitment: Path | None = None,
    *,
    old_key: Path | None = None,
    passphrase: str = "",
) -> Event:
    """Draw the reviewer of a batch that all have read, with what was promised when it was opened.

    Args:
        handle: the project, opened with the key of an organiser where people have keys.
        actor_id: an organiser.
        batch_id: the batch.
        commitment: file of the promise, if it was kept in one with a name of its own.
        old_key: private key that the organiser had at that time; None: the one of today.
        passphrase: of the old key, if it has one.

    Raises:
        InputError: if it may not be, or another draw was promised.
    """
    order = handle.batch(batch_id).order
    if order.commitment is None or order.reviewer_id is not None:
        raise InputError.at(f"batch '{batch_id}'", "has no reviewer who is still to be drawn.")
    if commitment is None and order.sealed:
        seed = _opened(
            order, _own(handle) if old_key is None else read_private_key(old_key, passphrase)
        )
    else:
        seed = _read(commitment or commitment_file(handle.folder, batch_id)).seed
    return handle.act(actor_id, step_of({"step": "draw", "batch_id": batch_id, "seed": seed}))


def draw_again(handle: ProjectHandle, actor_id: str, batch_id: str, reason: str) -> Event:
    """Draw the reviewer of a batch whose promise is lost or kept back; the audit tells it.

    Args:
        handle: the project.
        actor_id: an arbitrator without a part in the batch.
        batch_id: the batch, which all have read.
        reason: stands in the log.

    Raises:
        InputError: if it may not be.
    """
    if not reason.strip():
        raise InputError.at(f"batch '{batch_id}'", "is drawn anew without a reason.", "Say why.")
    fields = {
        "step": "draw",
        "batch_id": batch_id,
        "seed": new_seed(),
        "redraw_reason": reason.strip(),
    }
    return handle.act(actor_id, step_of(fields))


def _sealed(handle: ProjectHandle, team_id: str, seed: str) -> str:
    """A seed for the keys of the organisers, but those who are of the team that reads."""
    seal, roster = handle.log.log.seal, handle.workflow.roster
    known = seal.keys_now() if isinstance(seal, PersonSeal) else {}
    members = roster.team(team_id).member_ids
    keys = [
        key
        for person, key in known.items()
        if roster.has_role(person, "organiser") and person not in members
    ]
    return base64.b64encode(encrypted_for(seed.encode(), *keys)).decode() if keys else ""


def _own(handle: ProjectHandle) -> PrivateKey | None:
    seal = handle.log.log.seal
    return seal.own if isinstance(seal, PersonSeal) else None


def _opened(order: OpenBatch, key: PrivateKey | None) -> str:
    """The seed that was sealed for the organisers, with the key of one."""
    where = f"promise of batch '{order.batch_id}'"
    if key is None:
        raise InputError.at(where, "opens for an organiser.", "Give your own key with --key.")
    try:
        return decrypted_by(base64.b64decode(order.sealed), key, where).decode("ascii")
    except (InputError, binascii.Error, UnicodeDecodeError) as error:
        what = "does not open with this key: it is for those that organisers had at 'open'."
        raise InputError.at(where, what, f"Give yours of then with --old-key. {WAY_OUT}") from error


def _keep(handle: ProjectHandle, file: Path, batch_id: str, seed: str) -> None:
    """Write a promise to its file; one that no batch was opened with gives way.

    Who knows whether it was told before: it may be of a run that was killed, or of a project of
    the same name.
    """
    made = CommitmentFile(project=project_digest(handle.folder), batch_id=batch_id, seed=seed)
    if file.exists():
        before = _read(file, "Choose a new name.")
        used = {batch.order.commitment for batch in handle.batches().values()}
        is_ours = (before.project, before.batch_id) == (made.project, made.batch_id)
        if not is_ours or commitment_of(before.seed) in used:
            raise InputError.at(str(file), "is the promise of another batch.", "Choose a new name.")
    replace_whole(file, f"{json.dumps(made.model_dump())}\n".encode(), mode=0o600)


def _read(file: Path, otherwise: str = WAY_OUT) -> CommitmentFile:
    try:
        return CommitmentFile.model_validate(read_json(file))
    except (InputError, OSError, ValidationError) as error:
        raise InputError.at(str(file), "holds no promise of a draw.", otherwise) from error
