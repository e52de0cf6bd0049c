"""nodulebench audit: what was done with a sealed test set, and how its budget stands."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import FILE
from nodulebench.cli.progress import ProgressLine
from nodulebench.cli.vault_options import secret_from, signing_passphrase, vault_options

if TYPE_CHECKING:
    from nodulebench.workflows.custody.audit_log import Event


@click.command("audit")
@click.argument("sealed", type=FILE)
@vault_options
@click.option("--anchor", type=FILE, help="Write how far the log goes, to be kept elsewhere.")
@click.option("--key", type=FILE, help="Private Ed25519 key that signs the anchor, PEM.")
@click.option("--key-passphrase-file", type=FILE, help="File whose first line opens that key.")
def command(
    sealed: Path,
    vault_key: Path | None,
    passphrase_file: Path | None,
    anchor: Path | None,
    key: Path | None,
    key_passphrase_file: Path | None,
) -> int:
    r"""Show the log of the sealed set SEALED, and check its chain; with the secret, who wrote it.

    \b
    nodulebench audit sealed/
    nodulebench audit sealed/ --anchor notary/lung-2026a.anchor --key auditor.pem
    """
    from nodulebench.workflows.custody.audit_log import in_a_line, read_audit, write_anchor

    secret = secret_from(vault_key, passphrase_file)
    with ProgressLine("reading the log"):
        found = read_audit(sealed, secret)
    # who submits names files and developers: no name may pass for an event
    for event in found.events:
        click.echo(in_a_line(_line(event)))
    for use in found.uses:
        told = f"developer {use.developer}: {len(use.looks)} of {use.allowed} looks"
        click.echo(in_a_line(told))
    for problem in found.problems:
        click.echo(f"error: {problem}", err=True)
    if found.problems:
        return 1
    if anchor is not None:
        passphrase = signing_passphrase(key, key_passphrase_file)
        made = write_anchor(sealed, anchor, key=key, passphrase=passphrase)
        click.echo(f"wrote {anchor}: {made.events} events, {made.digest}")
    return 0


def _line(event: "Event") -> str:
    role = event.role or "no role"
    facts = ", ".join(
        f"{name} {_short(value)}" for name, value in event.facts.items() if value is not None
    )
    when = f"{event.at:%Y-%m-%d %H:%M:%S}"
    return f"{event.number:4d}  {when}  {event.step:9s}  {event.person} ({role})  {facts}"


def _short(value: object) -> str:
    text = str(value)
    return text[:19] if text.startswith("sha256:") else text
