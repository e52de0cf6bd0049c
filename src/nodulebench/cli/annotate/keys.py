"""nodulebench annotate review key: somebody's key was lost, or may be in other hands."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.annotate.options import FOLDER, signed
from nodulebench.cli.options import FILE

if TYPE_CHECKING:
    from nodulebench.annotation.project import Desk


@click.command("key")
@FOLDER
@click.argument("person_id", metavar="PERSON")
@click.option("--new-key", type=FILE, help="The new public key; without it the person has none.")
@click.option("--reason", required=True, help="Why; it stands in the log.")
@signed
def key(desk: "Desk", actor_id: str, person_id: str, new_key: Path | None, reason: str) -> None:
    r"""Replace somebody's key, or take it back.

    An organiser does it for others; everybody replaces their own with the old one.

    \b
    nodulebench annotate review key panel/ r2 --new-key r2-new.pub \\
        --reason "laptop stolen" --by office --key office
    """
    from nodulebench.annotation.project import change_key

    event = change_key(desk, actor_id, person_id, new_key, reason=reason)
    click.echo(f"event {event.number}: {event.change}")
