"""nodulebench annotate review revise: a second reading, after a look at what others drew."""

from pathlib import Path
from typing import Any

import click

from nodulebench.cli.annotate.options import BATCH, FOLDER, signed
from nodulebench.cli.annotate.tell import tell_batch
from nodulebench.cli.options import FILE


@click.command("revise")
@FOLDER
@BATCH
@click.argument("reading", type=FILE, required=False)
@signed
def revise(desk: Any, batch_id: str, reading: Path | None, actor_id: str) -> None:
    r"""Hand in cases of a BATCH once more, after having seen what others drew there.

    READING holds all that you take for nodules in the cases that all have read, not your changes
    alone; without it they stay as you read them. The last one starts the check.

    \b
    nodulebench annotate review show panel/ b1 --by ann
    nodulebench annotate review revise panel/ b1 ann-again.csv --by ann
    """
    from nodulebench.annotation import project as desks

    desks.revise(desk, batch_id, actor_id, reading)
    tell_batch(desk, batch_id)
