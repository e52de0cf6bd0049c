"""nodulebench annotate review open, draw: who reads a batch, and who reviews it then."""

from pathlib import Path
from typing import Any

import click

from nodulebench.cli.annotate.options import BATCH, CASES, FOLDER, signed
from nodulebench.cli.annotate.tell import tell_batch
from nodulebench.cli.options import FILE


@click.command("open")
@FOLDER
@BATCH
@CASES
@click.option("--team", "team_id", required=True, help="The team that reads.")
@click.option("--reviewer", "reviewer_id", help="Leader of another team; else drawn.")
@click.option("--promise", type=FILE, help="Another file for your part of the draw.")
@signed
def open_cases(desk: Any, batch_id: str, case_ids: tuple[str, ...], **given: Any) -> None:
    r"""Give CASEs to a team; without any, all that no batch has yet.

    Who reviews them is drawn when all have read, by what you promise now: see 'draw'.

    \b
    nodulebench annotate review open panel/ b1 ct-1 ct-2 --team one --by office
    """
    from nodulebench.annotation.questions import unread_cases
    from nodulebench.annotation.reviewers import open_batch, promise_file

    open_batch(desk, batch_id=batch_id, case_ids=case_ids or unread_cases(desk), **given)
    order = desk.batch(batch_id).order
    if order.sealed:
        click.echo("promised the draw of the reviewer, sealed in the log for organisers")
    elif order.promise:
        file = given["promise"] or promise_file(desk.folder, batch_id)
        click.echo(f"wrote {file}: your part of the draw; let nobody read it before 'draw'")
    tell_batch(desk, batch_id)


@click.command("draw")
@FOLDER
@BATCH
@click.option("--promise", type=FILE, help="File that 'open --promise' wrote; else found.")
@click.option("--old-key", type=FILE, help="Your key of then, if it was replaced since 'open'.")
@click.option("--old-key-passphrase-file", type=FILE, help="File whose first line opens that.")
@click.option("--anew", metavar="REASON", help="As arbitrator: the promise is lost or kept back.")
@signed
def draw(desk: Any, batch_id: str, actor_id: str, anew: str | None, **given: Path | None) -> None:
    r"""Draw who reviews a BATCH that all have read, with what the office promised by 'open'.

    \b
    nodulebench annotate review draw panel/ b1 --by office
    """
    from nodulebench.annotation.reviewers import draw_anew, draw_reviewer

    if anew is None:
        draw_reviewer(desk, actor_id, batch_id, **_opening(**given))
    elif any(given.values()):
        raise click.UsageError("a promise is told, or --anew draws without it: give one of them.")
    else:
        draw_anew(desk, actor_id, batch_id, anew)
    tell_batch(desk, batch_id)


def _opening(
    promise: Path | None, old_key: Path | None, old_key_passphrase_file: Path | None
) -> dict[str, Any]:
    """By what a promise is opened."""
    from nodulebench.cli.vault_options import first_line

    file = old_key_passphrase_file
    return {
        "promise": promise,
        "old_key": old_key,
        "passphrase": "" if file is None else first_line(file),
    }
