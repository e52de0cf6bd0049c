"""nodulebench custody retire, withdraw, restore-check: what becomes of a sealed set."""

from pathlib import Path

import click

from nodulebench.cli.help import DONE, PROBLEM
from nodulebench.cli.options import (
    FILE,
    Opening,
    opening_options,
    option,
    print_next,
    secret_options,
)
from nodulebench.cli.terminal import ProgressLine


@click.command("retire")
@click.argument("sealed", type=FILE)
@opening_options
@option("--reason", str, "", "Why; stands in the log, and everybody is told it.")
def retire(sealed: Path, opening: Opening, reason: str) -> None:
    r"""End the use of the set SEALED: no look is given any more. For curators.

    \b
    nodulebench custody retire sealed/ --key ~/.ssh/ada --reason "after 20 looks"
    """
    from nodulebench.custody import lifecycle as ending

    event = ending.retire(sealed, opening.required(), opening.person, reason)
    click.echo(f"event {event.number}: the set is retired, and gives no more looks")


@click.command("withdraw")
@click.argument("sealed", type=FILE)
@opening_options
@click.option("--case", "cases", multiple=True, help="A case by its name; repeat.")
@option("--patient", str, "", "All cases of a patient, by the name in the table of cases.")
@option("--reason", str, "", "Why; stands in the log.")
def withdraw(
    sealed: Path, opening: Opening, cases: tuple[str, ...], patient: str, reason: str
) -> None:
    r"""Take a patient out of the set SEALED: tables are sealed anew, images removed. For curators.

    What was kept of looks so far is erased. Copies of the set are not reached: withdraw there, too.

    \b
    nodulebench custody withdraw sealed/ --key ~/.ssh/ada --case scan17 --reason "consent ended"
    """
    from nodulebench.custody.withdrawal import withdraw as take_out

    secret = opening.required()
    with ProgressLine("sealing anew"):
        done = take_out(sealed, secret, opening.person, cases=cases, patient=patient, reason=reason)
    told = f"{len(done.cases)} case(s) withdrawn, {done.files} file(s) removed"
    click.echo(f"event {done.event.number}: {told}, {done.looks} kept look(s) erased")
    print_next("freeze plans again: nodulebench unseal …; then: nodulebench test-plan freeze …")


@click.command("restore-check")
@click.argument("copy", type=FILE)
@secret_options
@click.option("--anchor", "anchors", type=FILE, multiple=True, help="Kept elsewhere; repeat.")
def restore_check(copy: Path, opening: Opening, anchors: tuple[Path, ...]) -> int:
    r"""Try whether COPY of a sealed set could take its place, and say what would be lost.

    Nothing is written. Without an anchor nobody can tell how far the log went.

    \b
    nodulebench custody restore-check backup/sealed/ --key ~/.ssh/ada --anchor notary/set.anchor
    """
    from nodulebench.custody import lifecycle as ending

    secret = opening.secret()
    with ProgressLine("reading the copy"):
        found = ending.restore_check(copy, anchors, secret)
    for problem in found.problems:
        click.echo(f"error: {problem}", err=True)
    click.echo(f"log         {found.events} events, {found.looks} looks")
    click.echo(f"opens       {'yes' if found.opens else 'not tried: give --key or the secret'}")
    if not found.expected:
        click.echo("lost        not known: no anchor was given")
    elif found.lost:
        told = f"{found.lost} event(s) after number {found.events}; looks among them could be had"
        click.echo(f"lost        {told} a second time")
    else:
        click.echo(f"lost        nothing up to event {found.expected}, which an anchor names")
    word = "could take the set's place" if found.is_good else "could NOT take the set's place"
    click.echo(f"{copy}: {word}")
    return DONE if found.is_good else PROBLEM
