"""nodulebench custody: a sequestered test set, its people and their keys; each change is logged."""

from pathlib import Path

import click

from nodulebench.cli.help import DONE, PROBLEM
from nodulebench.cli.options import (
    FILE,
    OwnKey,
    first_line,
    option,
    own_key_options,
    print_next,
)
from nodulebench.cli.terminal import ProgressLine


@click.group("custody")
def command() -> None:
    """Manage a sealed set, its people and their keys; each change is logged."""


@command.command("new-key")
@click.argument("file", metavar="KEY", type=FILE)
@click.option("--passphrase-file", type=FILE, help="File whose first line will open the key.")
@click.option("--ask-passphrase", is_flag=True, help="Ask for a passphrase of the key.")
@option("--comment", str, "", "Owner of the key, for the public file.")
def new_key(file: Path, passphrase_file: Path | None, ask_passphrase: bool, comment: str) -> None:
    r"""Make an OpenSSH Ed25519 key, as ssh-keygen does: KEY, and KEY.pub for the policy.

    \b
    nodulebench custody new-key ~/.ssh/bo --ask-passphrase --comment "Bo"
    """
    from nodulebench.security.keys import new_person_key

    passphrase = "" if passphrase_file is None else first_line(passphrase_file)
    if ask_passphrase and not passphrase:
        passphrase = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True)
    made = new_person_key(file, passphrase, comment)
    secrecy = "encrypted" if passphrase else "not encrypted: keep it where only you can read"
    click.echo(f"wrote {file} (private, {secrecy})")
    click.echo(f'wrote {file}.pub; in policy.toml: key = "{made.line}"')
    click.echo(f"key {made.fingerprint}")


@command.command("keys")
@click.argument("sealed", type=FILE)
@click.option("--allowed-signers", is_flag=True, help="In the format of ssh-keygen -Y verify.")
def keys(sealed: Path, allowed_signers: bool) -> None:
    r"""Show people's keys in the set SEALED, since which event, and what each opens.

    \b
    nodulebench custody keys sealed/
    nodulebench custody keys sealed/ --allowed-signers
    """
    from nodulebench.core.text import in_a_line
    from nodulebench.custody.keys import list_keys

    for row in list_keys(sealed):
        if allowed_signers:
            name = row.person.replace('"', "")
            if row.line:
                click.echo(in_a_line(f'"{name}" namespaces="nodulebench" {row.line}'))
            continue
        opens = ", ".join(row.compartments) or "nothing"
        key = f"{row.fingerprint}, opens {opens}" if row.fingerprint else "no key, or revoked"
        roles = ", ".join(row.roles)
        click.echo(in_a_line(f"{row.person} ({roles}), since event {row.since}: {key}"))


@command.command("admit")
@click.argument("sealed", type=FILE)
@own_key_options()
@click.option("--person", "subject", required=True, help="The person to admit.")
@click.option("--role", "roles", multiple=True, required=True, help="Their role; repeat.")
@click.option("--new-key", type=FILE, required=True, help="Their public key, a .pub file.")
def admit(
    sealed: Path, own_key: OwnKey, subject: str, roles: tuple[str, ...], new_key: Path
) -> None:
    r"""Admit a person to the sequestered test set SEALED, or change a person's roles.

    \b
    nodulebench custody admit sealed/ --key /media/safe/keeper --person "Dee" --role auditor \
        --new-key dee.pub
    """
    from nodulebench.custody import keys as key_changes

    event = key_changes.admit(sealed, own_key.required(), subject=subject, roles=roles, key=new_key)
    click.echo(f"event {event.number}: '{subject}' was admitted as {', '.join(roles)}")


@command.command("rotate")
@click.argument("sealed", type=FILE)
@own_key_options()
@click.option("--new-key", type=FILE, required=True, help="The new public key, .pub.")
@click.option("--person", "subject", help="Owner of the key, for the key custodian; default: you.")
def rotate(sealed: Path, own_key: OwnKey, new_key: Path, subject: str | None) -> None:
    r"""Replace your own key in the set SEALED, or a key that was lost.

    Signatures with the old key stay valid.

    \b
    nodulebench custody rotate sealed/ --key ~/.ssh/bo --new-key ~/.ssh/bo-2027.pub
    nodulebench custody rotate sealed/ --key /media/safe/keeper --person "Bo" --new-key bo.pub
    """
    from nodulebench.custody import keys as key_changes

    event = key_changes.rotate(sealed, own_key.required(), key=new_key, subject=subject or "")
    whose = event.facts["subject"]
    click.echo(f"event {event.number}: the key of '{whose}' was replaced")


@command.command("revoke")
@click.argument("sealed", type=FILE)
@own_key_options()
@click.option("--person", "subject", required=True, help="Owner of the key.")
@option("--reason", str, "", "Reason for the log.")
def revoke(sealed: Path, own_key: OwnKey, subject: str, reason: str) -> None:
    r"""Revoke a key in the set SEALED from now on; for the key custodian.

    Its signatures are no longer valid, and it opens nothing new. Copies that its owner made before
    cannot be taken back.

    \b
    nodulebench custody revoke sealed/ --key /media/safe/keeper --person "Bo" --reason "stolen"
    """
    from nodulebench.custody import keys as key_changes

    event = key_changes.revoke(sealed, own_key.required(), subject=subject, reason=reason)
    click.echo(f"event {event.number}: the key of '{subject}' was revoked")


@command.command("rekey")
@click.argument("sealed", type=FILE)
@own_key_options()
def rekey(sealed: Path, own_key: OwnKey) -> None:
    r"""Encrypt the set SEALED again with new data keys; for the key custodian.

    Use this after a revocation: data keys that the former owner may still have then open only older
    copies of the set.

    \b
    nodulebench custody rekey sealed/ --key /media/safe/keeper
    """
    from nodulebench.custody import keys as key_changes

    key = own_key.required()
    with ProgressLine() as line:
        event = key_changes.rekey(sealed, key, line.tell)
    click.echo(f"event {event.number}: encrypted again for {event.facts['people']} people")


@command.command("retire")
@click.argument("sealed", type=FILE)
@own_key_options()
@option("--reason", str, "", "Reason for the log, shown to all.")
def retire(sealed: Path, own_key: OwnKey, reason: str) -> None:
    r"""End the use of the set SEALED: no further evaluations. For curators.

    \b
    nodulebench custody retire sealed/ --key ~/.ssh/ada --reason "after 20 evaluations"
    """
    from nodulebench.custody.sealed_set import retire as end_use

    event = end_use(sealed, own_key.required(), reason)
    click.echo(f"event {event.number}: the set is retired; no further evaluations")


@command.command("withdraw")
@click.argument("sealed", type=FILE)
@own_key_options()
@click.option("--case", "cases", multiple=True, help="A case by its name; repeat.")
@option("--patient", str, "", "All cases of a patient, by the name in the table of cases.")
@option("--reason", str, "", "Reason for the log.")
def withdraw(
    sealed: Path, own_key: OwnKey, cases: tuple[str, ...], patient: str, reason: str
) -> None:
    r"""Remove a patient from the set SEALED: encrypt tables again, delete images. For curators.

    Stored results are deleted. Copies of the set are not changed: withdraw there, too.

    \b
    nodulebench custody withdraw sealed/ --key ~/.ssh/ada --case scan17 --reason "consent ended"
    """
    from nodulebench.custody.withdrawal import withdraw as take_out

    key = own_key.required()
    with ProgressLine("encrypting again"):
        done = take_out(sealed, key, cases=cases, patient=patient, reason=reason)
    counts = f"{len(done.cases)} case(s) withdrawn, {done.files} file(s) removed"
    click.echo(f"event {done.event.number}: {counts}, {done.evaluations} stored result(s) deleted")
    print_next("freeze plans again: nodulebench unseal …; then: nodulebench test-plan freeze …")


@command.command("check-copy")
@click.argument("copy", type=FILE)
@own_key_options()
@click.option(
    "--checkpoint", "checkpoints", type=FILE, multiple=True, help="Stored elsewhere; repeat."
)
def check_copy(copy: Path, own_key: OwnKey, checkpoints: tuple[Path, ...]) -> int:
    r"""Check whether COPY of a sealed set could replace it, and what would be lost.

    Nothing is written. Without a checkpoint the true end of the log is unknown.

    \b
    nodulebench custody check-copy backup/sealed/ --key ~/.ssh/ada \
        --checkpoint notary/set.checkpoint
    """
    from nodulebench.custody.verify import check_copy as check_backup

    key = own_key.read()
    with ProgressLine("reading the copy"):
        check = check_backup(copy, checkpoints, key)
    for problem in check.problems:
        click.echo(f"error: {problem}", err=True)
    click.echo(f"log         {check.events} events, {check.evaluations} evaluations")
    click.echo(f"opens       {'yes' if check.opens else 'not tried: give --key'}")
    if not check.expected:
        click.echo("lost        not known: no checkpoint was given")
    elif check.lost:
        lost = f"{check.lost} event(s) after number {check.events}"
        click.echo(f"lost        {lost}; evaluations among them could be repeated")
    else:
        click.echo(f"lost        nothing up to event {check.expected}, which a checkpoint names")
    word = "could replace the set" if check.is_good else "could NOT replace the set"
    click.echo(f"{copy}: {word}")
    return DONE if check.is_good else PROBLEM
