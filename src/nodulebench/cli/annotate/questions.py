"""What waits for somebody in a review, as a table to be filled in and handed in."""

from pathlib import Path
from typing import Any

import click

from nodulebench.cli.annotate.options import BATCH, FOLDER, signed
from nodulebench.cli.annotate.tell import tell_batch
from nodulebench.cli.options import FILE, print_next


@click.command("ask")
@FOLDER
@BATCH
@click.argument("file", type=FILE)
@signed
def ask(desk: Any, batch_id: str, file: Path, actor_id: str) -> None:
    r"""Write what waits for somebody in a BATCH to a CSV FILE, with a column for the answers.

    Readers are asked for types, the reviewer whether to agree, arbitrators for a ruling.

    \b
    nodulebench annotate review ask panel/ b1 questions.csv --by dee
    """
    from nodulebench.annotation.questions import ask_into

    count = ask_into(desk, batch_id, actor_id, file)
    if not count:
        click.echo(f"{batch_id}: nothing waits for {actor_id}")
        return
    click.echo(f"wrote {file}: {count} question(s) to {actor_id}")
    print_next(
        f"nodulebench annotate review answer {desk.folder} {batch_id} {file} --by {actor_id}"
    )


@click.command("answer")
@FOLDER
@BATCH
@click.argument("file", type=FILE)
@signed
def answer(desk: Any, batch_id: str, file: Path, actor_id: str) -> None:
    r"""Hand in the answers that a CSV FILE of 'ask' holds; rows without an answer stay open.

    \b
    nodulebench annotate review answer panel/ b1 questions.csv --by dee
    """
    from nodulebench.annotation import questions

    questions.answer(desk, batch_id, actor_id, file)
    tell_batch(desk, batch_id)
