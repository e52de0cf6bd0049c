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
@click.option("--promise", type=FILE, help="File that 'open --promise' wrote; else found.")
@click.option("--anew", metavar="REASON", help="As arbitrator: the promise is lost or kept back.")
@signed
def draw(desk: Any, batch_id: str, promise: Path | None, anew: str | None, actor_id: str) -> None:
    r"""Draw who reviews a BATCH that all have read, with what the office promised by 'open'.

    \b
    nodulebench annotate review draw panel/ b1 --by office
    """
    from nodulebench.workflows.annotate.reviewer_draw import draw_anew, draw_reviewer

    if anew is None:
        draw_reviewer(desk, actor_id, batch_id, promise)
    elif promise is not None:
        raise click.UsageError("--promise is told, or --anew draws without it: give one of them.")
    else:
        draw_anew(desk, actor_id, batch_id, anew)
    tell_batch(desk, batch_id)
