"""What was done in a review, and whether it can be believed."""

from pathlib import Path

import click

from nodulebench.cli.annotate.options import FOLDER


@click.command("log")
@FOLDER
def log(folder: Path) -> None:
    r"""Show every step: who, when, what changed.

    \b
    nodulebench annotate review log panel/
    """
    from nodulebench.workflows.annotate.desk import open_project, steps_of

    for event in open_project(folder).log.read():
        at = event.at.isoformat(timespec="seconds")
        for one in steps_of(event):
            case = f" {one.case_id}" if one.case_id else ""
            step = f"{one.actor_id} {one.step} {event.batch_id}{case}"
            click.echo(f"{event.number} {at} {step}: {one.change}")
