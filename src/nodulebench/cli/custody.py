"""nodulebench custody: retire a sealed set, withdraw patients, check backups; all is logged."""

from pathlib import Path

import click

from nodulebench.cli.help import DONE, PROBLEM
from nodulebench.cli.options import (
    FILE,
    OwnKey,
    checkpoints_option,
    option,
    own_key_options,
    print_next,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_json
from nodulebench.core.text import counted


@click.group("custody")
def command() -> None:
    """Retire a sealed set, withdraw patients, check backups."""


@command.command("retire")
@click.argument("sealed", type=FILE)
@own_key_options()
@option("--reason", str, "", "Reason for the log.")
def retire(sealed: Path, own_key: OwnKey, reason: str) -> None:
    r"""End the evaluations on a SEALED set (curators).

    \b
    nodulebench custody retire sealed/ --key ~/.ssh/ada --reason "after 20 evaluations"
    """
    from nodulebench.custody.sealed_set import retire as end_use

    event = end_use(sealed, own_key.required(), reason)
    click.echo(f"event {event.number}: the set is retired; no further evaluations")


@command.command("withdraw")
@click.argument("sealed", type=FILE)
@own_key_options()
@click.option("--case", "cases", multiple=True, help="Name of a case; may be repeated.")
@option("--patient", str, "", "Name of a patient, all of whose cases are withdrawn.")
@option("--reason", str, "", "Reason for the log.")
def withdraw(
    sealed: Path, own_key: OwnKey, cases: tuple[str, ...], patient: str, reason: str
) -> None:
    r"""Remove cases or a patient from a SEALED set (curators).

    Tables are encrypted again and images deleted. Stored results are deleted. Copies of the set are
    not changed: withdraw there, too.

    \b
    nodulebench custody withdraw sealed/ --key ~/.ssh/ada --case scan17 --reason "consent ended"
    """
    from nodulebench.custody.withdrawal import withdraw as take_out

    key = own_key.required()
    with ProgressLine("encrypting again"):
        done = take_out(sealed, key, cases=cases, patient=patient, reason=reason)
    counts = f"{counted(len(done.cases), 'case')} withdrawn, {counted(done.files, 'file')} removed"
    click.echo(
        f"event {done.event.number}: {counts}, {counted(done.evaluations, 'stored result')} deleted"
    )
    print_next("freeze plans again: nodulebench unseal …; then: nodulebench test-plan freeze …")


@command.command("check-copy")
@click.argument("copy", type=FILE)
@own_key_options()
@checkpoints_option
@json_option
def check_copy(copy: Path, own_key: OwnKey, checkpoints: tuple[Path, ...]) -> int:
    r"""Check a backup: could COPY replace the sealed set?

    The report shows what would be lost. Nothing is written. Without a checkpoint the true end of
    the log is unknown.

    \b
    nodulebench custody check-copy backup/sealed/ --key ~/.ssh/ada \
        --checkpoint notary/set.checkpoint
    """
    from nodulebench.custody.verify import check_copy as check_backup

    key = own_key.read()
    with ProgressLine("reading the copy"):
        check = check_backup(copy, checkpoints, key)
    print_json({"is_good": check.is_good, "check": check})
    for problem in check.problems:
        click.echo(f"error: {problem}", err=True)
    click.echo(f"log         {check.events} events, {check.evaluations} evaluations")
    click.echo(f"opens       {'yes' if check.opens else 'not tried: give --key'}")
    if not check.expected:
        click.echo("lost        not known: no checkpoint was given")
    elif check.lost:
        lost = f"{counted(check.lost, 'event')} after number {check.events}"
        click.echo(f"lost        {lost}; evaluations among them could be repeated")
    else:
        click.echo(f"lost        nothing up to event {check.expected}, which a checkpoint names")
    word = "could replace the set" if check.is_good else "could NOT replace the set"
    click.echo(f"{copy}: {word}")
    return DONE if check.is_good else PROBLEM
