"""What was done in a review, and whether it can be believed."""

from pathlib import Path

import click

from nodulebench.cli.annotate.options import FOLDER
from nodulebench.cli.options import FILE
from nodulebench.i18n.translator import english


@click.command("log")
@FOLDER
def log(folder: Path) -> None:
    r"""Show every step: who, when, what changed.

    \b
    nodulebench annotate review log panel/
    """
    from nodulebench.annotation.project import open_project, steps_of

    for event in open_project(folder).log.read():
        at = event.at.isoformat(timespec="seconds")
        for one in steps_of(event):
            case = f" {one.case_id}" if one.case_id else ""
            step = f"{one.actor_id} {one.step} {event.batch_id}{case}"
            click.echo(f"{event.number} {at} {step}: {one.change}")


@click.command("audit")
@FOLDER
@click.option("--anchor", "anchors", type=FILE, multiple=True, help="Anchor that others kept.")
@click.option("--public-key", type=FILE, help="Key of who shall have signed the anchors.")
def audit(folder: Path, anchors: tuple[Path, ...], public_key: Path | None) -> int:
    r"""Check the whole log: nothing changed or cut off, and every step allowed when it was taken.

    \b
    nodulebench annotate review audit panel/ --anchor notary/panel.anchor
    """
    from nodulebench.annotation.project import open_project
    from nodulebench.annotation.project_log import audit_project

    found = audit_project(open_project(folder), anchors, public_key)
    for problem in found.problems:
        click.echo(f"error: {problem}", err=True)
    for notice in found.notices:
        click.echo(f"warning: {english(notice)}", err=True)
    click.echo(f"events      {len(found.events)}")
    click.echo(f"signatures  {'checked' if found.signers else 'none'}")
    click.echo(f"anchors     {len(anchors)} compared")
    click.echo(f"{folder}: {len(found.problems) or 'no'} problem(s)")
    return 1 if found.problems else 0


@click.command("anchor")
@FOLDER
@click.argument("path", metavar="OUT", type=FILE)
@click.option("--key", type=FILE, help="Private Ed25519 key that signs it, PEM or OpenSSH.")
@click.option("--key-passphrase-file", type=FILE, help="File whose first line opens that key.")
@click.option("--by", default="", help="Name of the signer.")
def anchor(
    folder: Path, path: Path, key: Path | None, key_passphrase_file: Path | None, by: str
) -> None:
    r"""Write down how far the log goes, for somebody else to keep.

    \b
    nodulebench annotate review anchor panel/ notary/panel.anchor --key auditor.pem
    """
    from nodulebench.annotation.project import open_project
    from nodulebench.annotation.project_log import anchor_project
    from nodulebench.cli.vault_options import signing_passphrase

    passphrase = signing_passphrase(key, key_passphrase_file)
    made = anchor_project(open_project(folder), path, key=key, passphrase=passphrase, by=by)
    click.echo(f"wrote {path}: {made.events} events, {made.digest}")
