"""Open a batch with a commitment to a draw; when all have read, draw its reviewer.

No one may know the office's seed before. Where people have keys, the log holds the seed, encrypted
for the organisers, so that no file can be lost. Otherwise it is in a file next to the project that
only its owner can read.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from nodulebench.annotation.actions import Action, Event, OpenBatch, Seed
from nodulebench.annotation.batch import Batch
from nodulebench.annotation.people import Name, commitment_of, new_seed
from nodulebench.annotation.project import ProjectHandle, project_digest
from nodulebench.annotation.steps import step_of
from nodulebench.core.config_model import ConfigModel, checked
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.io.atomic import locked, make_folder, replace_whole
from nodulebench.io.json_files import read_json
from nodulebench.security.keys import PrivateKey, read_private_key
from nodulebench.security.vault import decrypted_by, encrypted_for

REDRAW_HINT = "If it is lost, an arbitrator draws again and gives a reason."


class CommitmentFile(ConfigModel):
    """The office's secret seed, until all have read."""

    project: str
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
    """Give cases to a team; without a named reviewer, commit to a draw of one.

    ``commitment`` is a file for the office's seed; None: the log, encrypted for the organisers, or
    without keys ``commitment_file``.
    """
    fields = {"batch_id": batch_id, "team_id": team_id, "case_ids": tuple(case_ids)}
    raise_problems(_apart(handle, batch_id, fields["case_ids"]))

    def order(**more: str | None) -> OpenBatch:
        return checked(OpenBatch, {**fields, **more}, f"batch '{batch_id}'")

    if reviewer_id is not None or not handle.workflow.rules.has_review:
        if commitment is not None:
            what = "is not needed: the batch has no draw of a reviewer."
            raise InputError.at(str(commitment), what, "Give no file for a commitment.")
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
        raise InputError.at(str(file), "is in the project folder, where all can read it.")
    make_folder(file.parent)
    with locked(file.with_name(f".{file.name}.lock"), file):
        _write(handle, file, batch_id, seed)
        return handle.act(actor_id, step)


def _apart(handle: ProjectHandle, batch_id: str, case_ids: Iterable[str]) -> Iterator[Problem]:
    """Cases shown twice of which only one is in the batch: readers see all marks after a batch."""
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
    """Draw the reviewer of a batch; ``old_key`` is a replaced key that opens the committed seed."""
    order = handle.batch(batch_id).order
    if order.commitment is None or order.reviewer_id is not None:
        raise InputError.at(f"batch '{batch_id}'", "does not wait for the draw of a reviewer.")
    if commitment is None and order.sealed:
        own = handle.signer.own if handle.signer else None
        seed = _opened(order, own if old_key is None else read_private_key(old_key, passphrase))
    else:
        seed = _read(commitment or commitment_file(handle.folder, batch_id)).seed
    return handle.act(actor_id, step_of({"step": "draw", "batch_id": batch_id, "seed": seed}))


def draw_again(handle: ProjectHandle, actor_id: str, batch_id: str, reason: str) -> Event:
    """Draw the reviewer of a batch whose seed is lost or withheld; the audit reports this."""
    if not reason.strip():
        raise InputError.at(f"batch '{batch_id}'", "is drawn again without a reason.", "Give one.")
    fields = {
        "step": "draw",
        "batch_id": batch_id,
        "seed": new_seed(),
        "redraw_reason": reason.strip(),
    }
    return handle.act(actor_id, step_of(fields))


def _sealed(handle: ProjectHandle, team_id: str, seed: str) -> str:
    """A seed, encrypted for the organisers, except members of the team that reads."""
    roster = handle.workflow.roster
    known = handle.signer.keys_now() if handle.signer else {}
    members = roster.team(team_id).member_ids
    keys = [
        key
        for person, key in known.items()
        if roster.has_role(person, "organiser") and person not in members
    ]
    return base64.b64encode(encrypted_for(seed.encode(), *keys)).decode() if keys else ""


def _opened(order: OpenBatch, key: PrivateKey | None) -> str:
    where = f"commitment of batch '{order.batch_id}'"
    if key is None:
        raise InputError.at(where, "is encrypted for organisers.", "Give your private key.")
    try:
        return decrypted_by(base64.b64decode(order.sealed), key, where).decode("ascii")
    except (InputError, binascii.Error, UnicodeDecodeError) as error:
        what = "cannot be decrypted with this key: no organiser had it when the batch was opened."
        remedy = f"Give your key of that time. {REDRAW_HINT}"
        raise InputError.at(where, what, remedy) from error


def _write(handle: ProjectHandle, file: Path, batch_id: str, seed: str) -> None:
    """Write a seed; replace one of no batch, which someone may have seen."""
    made = CommitmentFile(project=project_digest(handle.folder), batch_id=batch_id, seed=seed)
    if file.exists():
        before = _read(file, "Choose a new name.")
        used = {batch.order.commitment for batch in handle.batches().values()}
        is_ours = (before.project, before.batch_id) == (made.project, made.batch_id)
        if not is_ours or commitment_of(before.seed) in used:
            what = "is the commitment of another batch."
            raise InputError.at(str(file), what, "Choose a new name.")
    replace_whole(file, f"{json.dumps(made.model_dump())}\n".encode(), mode=0o600)


def _read(file: Path, remedy: str = REDRAW_HINT) -> CommitmentFile:
    try:
        return CommitmentFile.model_validate(read_json(file))
    except (InputError, OSError, ValidationError) as error:
        raise InputError.at(str(file), "does not hold a commitment to a draw.", remedy) from error
