"""nodulebench annotate review draw: who reviews a batch, once all have read it."""

from pathlib import Path
from typing import Any

import click

from nodulebench.cli.annotate.options import BATCH, FOLDER, signed
from nodulebench.cli.annotate.tell import tell_batch
from nodulebench.cli.options import FILE


@click.command("draw")
@FOLDER
@BATCH
@click.argument("promise", type=FILE)
@signed
def draw(desk: Any, batch_id: str, promise: Path, actor_id: str) -> None:
    r"""Draw who reviews a BATCH that all have read, with the file that 'open --promise' wrote.

    \b
    nodulebench annotate review draw panel/ b1 b1.promise --by office
    """
    from nodulebench.workflows.annotate.desk import draw_reviewer

    draw_reviewer(desk, actor_id, batch_id, promise)
    tell_batch(desk, batch_id)
