"""Options and output that the commands of a review share."""

from collections.abc import Callable, Iterator
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import FILE, KEY, OPENS_KEY, Command, option, print_next
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.annotation.batch import Batch
    from nodulebench.annotation.project import ProjectHandle


FOLDER = click.argument("folder", type=FILE)
BATCH = click.argument("batch_id", metavar="BATCH")
CASES = click.argument("case_ids", metavar="[CASE]...", nargs=-1)
COMMENT = option("--reason", str, "", "Reason for the log.", to="comment")
BY = click.option("--by", "actor_id", required=True, help="Your name in the roster.")


def one_candidate(command: Command) -> Command:
    """Add the arguments that name a candidate of a project: FOLDER BATCH CASE CANDIDATE."""
    for name in ("candidate", "case", "batch"):
        command = click.argument(f"{name}_id", metavar=name.upper())(command)
    return FOLDER(command)


def signed(command: Callable[..., object]) -> Callable[..., object]:
    """Add --by and --key; the command gets the project as ``handle``, opened with that key."""

    @BY
    @click.option("--key", type=KEY, help="Your private OpenSSH key, if the roster names keys.")
    @click.option("--key-passphrase-file", type=FILE, help=OPENS_KEY)
    @wraps(command)
    def opened(
        folder: Path, key: Path | None, key_passphrase_file: Path | None, **given: object
    ) -> object:
        return command(handle=opened_handle(folder, key, key_passphrase_file), **given)

    return opened


def opened_handle(folder: Path, key: Path | None, passphrase_file: Path | None) -> "ProjectHandle":
    """The project of a folder, opened with a key."""
    from nodulebench.annotation.project import open_project
    from nodulebench.cli.options import first_line

    passphrase = "" if passphrase_file is None else first_line(passphrase_file)
    return open_project(folder, key, passphrase)


MOST_LINES = 40


def tell_batch(handle: "ProjectHandle", batch_id: str, batch: "Batch | None" = None) -> None:
    """Print the state of a batch, its first open tasks, and the next command."""
    batch = batch or handle.batch(batch_id)
    click.echo(f"{batch_id}: {batch.state}")
    lines = _open_tasks(batch)
    for line in islice(lines, MOST_LINES):
        click.echo(f"  {line}")
    more = sum(1 for _ in lines)
    if more:
        click.echo(f"  and {more} more")
    print_next(f"nodulebench annotate review {_next(batch, handle.folder, batch_id)}")


def _open_tasks(batch: "Batch") -> Iterator[str]:
    reviewer = batch.order.reviewer_id
    for case_id, reader in batch.missing_readings:
        yield f"{case_id}: waits for the reading of {reader}"
    for case_id, reader in batch.unrevised:
        if batch.is_unblinded(case_id):
            yield f"{case_id}: waits for the second reading of {reader}"
    for case_id, name in batch.untyped:
        yield f"{case_id} {name}: waits for its type"
    if batch.waits_for_draw:
        yield "waits for the draw of its reviewer"
    elif batch.state == "review":
        for case_id, name in batch.unreviewed:
            yield f"{case_id} {name}: waits for {reviewer}"
        for case_id in batch.unfinished:
            yield f"{case_id}: waits for {reviewer} to finish its review"
    if batch.state in ("review", "arbitration"):
        for key in batch.open_disputes:
            reasons = ", ".join(map(in_english, batch.dispute(key)))
            yield f"{key[0]} {key[1]}: in dispute, {reasons}"
    if batch.state == "arbitration" and not batch.is_approved:
        yield "waits for the approval of the commission"


def _next(batch: "Batch", folder: Path, batch_id: str) -> str:
    """The command for which a batch waits."""
    place = f"{folder} {batch_id}"
    if batch.state == "reading":
        reader = next((reader for _, reader in batch.missing_readings), "READER")
        return f"read {place} FILE --by {reader}"
    if batch.state == "revision":
        return f"revise {place} FILE --by {batch.unrevised[0][1]}"
    if batch.waits_for_draw:
        return f"reveal-reviewer {place} --by ORGANISER"
    if batch.state == "review" and not batch.unreviewed:
        return f"finish {place} --by {batch.order.reviewer_id}"
    if batch.state == "arbitration" and not batch.open_disputes and not batch.is_approved:
        return f"approve {place} --inspected sufficiency ... --by COMMISSION"
    if batch.state == "arbitration" and not batch.open_disputes:
        who = "ARBITRATOR" if batch.rules.has_arbitration else "ORGANISER"
        return f"release {place} --by {who}"
    if batch.state == "released":
        return f"export {folder} REFERENCE"
    people = {"typing": "READER", "review": batch.order.reviewer_id}
    return f"export-tasks {place} FILE --by {people.get(batch.state, 'ARBITRATOR')}"
