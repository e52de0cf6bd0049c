"""nodulebench audit: the log of a sealed test set, and its evaluation budget."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import FILE, OwnKey, own_key_options, signing_passphrase
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json

if TYPE_CHECKING:
    from nodulebench.custody.events import Event


@click.command("audit")
@click.argument("sealed", type=FILE)
@own_key_options("Your private key (PEM or OpenSSH); it signs the checkpoint.")
@click.option(
    "--write-checkpoint", "checkpoint", type=FILE, help="Save a checkpoint file of the log."
)
@json_option
def command(sealed: Path, own_key: OwnKey, checkpoint: Path | None) -> int:
    r"""Show the log of a SEALED set, and check it.

    Chain and signatures are checked. Give a checkpoint to another person for safekeeping.

    \b
    nodulebench audit sealed/
    nodulebench audit sealed/ --write-checkpoint notary/lung-2026a.checkpoint --key ~/.ssh/cem
    """
    from nodulebench.core.text import in_a_line
    from nodulebench.custody.verify import read_audit, write_checkpoint

    with ProgressLine("reading the log"):
        report = read_audit(sealed)
    print_json(report)
    # who submits names files and developers: no name may pass for an event
    for event in report.events:
        click.echo(in_a_line(_line(event)))
    for use in report.uses:
        used = f"{len(use.evaluations)} of {use.allowed} evaluations"
        click.echo(in_a_line(f"developer {use.developer}: {used}"))
    for number, cases in report.outdated.items():
        click.echo(in_a_line(f"evaluation {number} was made with {cases}, withdrawn since"))
    for problem in (*report.problems, *report.dates):
        click.echo(f"error: {problem}", err=True)
    if report.problems:
        return 1
    if checkpoint is not None:
        passphrase = signing_passphrase(own_key.path, own_key.passphrase_file)
        made = write_checkpoint(sealed, checkpoint, key=own_key.path, passphrase=passphrase)
        print_done(f"wrote {checkpoint}: {made.events} events, {made.digest}")
    return 1 if report.dates else 0


def _line(event: "Event") -> str:
    role = event.role or "no role"
    facts = ", ".join(
        f"{name} {_short(value)}" for name, value in event.facts.items() if value is not None
    )
    when = f"{event.at:%Y-%m-%d %H:%M:%S}"
    return f"{event.number:4d}  {when}  {event.step:18s}  {event.person} ({role})  {facts}"


def _short(value: object) -> str:
    text = str(value)
    if text.startswith("ssh-ed25519 "):
        return f"ssh-ed25519 …{text[-8:]}"
    return text[:19] if text.startswith("sha256:") else text
