"""nodulebench keys: make keys, and manage the people and keys of a sealed set."""

from pathlib import Path

import click

from nodulebench.cli.options import (
    FILE,
    KEY,
    OPENS_KEY,
    OwnKey,
    first_line,
    option,
    own_key_options,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json


@click.group("keys")
def command() -> None:
    """Make keys; manage the people and keys of a sealed set."""


@command.command("new")
@click.argument("file", metavar="KEY", type=KEY)
@click.option("--pem", "is_pem", is_flag=True, help="Make a PEM key, which only 'sign' needs.")
@click.option("--key-passphrase-file", "passphrase_file", type=FILE, help=OPENS_KEY)
@click.option("--ask-passphrase", is_flag=True, help="Ask for a passphrase of the key.")
@option("--comment", str, "", "Comment in the public key, such as its owner.")
def new_key(
    file: Path, is_pem: bool, passphrase_file: Path | None, ask_passphrase: bool, comment: str
) -> None:
    r"""Make a key pair: the private file KEY and its public file.

    The key is an OpenSSH Ed25519 key, as ssh-keygen makes it: KEY, and KEY.pub for the policy. With
    --pem it is KEY and KEY.pub.pem.

    \b
    nodulebench keys new ~/.ssh/bo --ask-passphrase --comment "Bo"
    nodulebench keys new key.pem --pem
    """
    from nodulebench.security.keys import new_person_key
    from nodulebench.security.signatures import new_key as new_pem_key

    passphrase = "" if passphrase_file is None else first_line(passphrase_file)
    if ask_passphrase and not passphrase:
        passphrase = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True)
    secrecy = "encrypted" if passphrase else "not encrypted: keep it where only you can read"
    if is_pem:
        public, fingerprint = new_pem_key(file, passphrase)
        use = "public: give it to people who verify"
    else:
        made = new_person_key(file, passphrase, comment)
        public, fingerprint = Path(f"{file}.pub"), made.fingerprint
        use = f'in policy.toml: key = "{made.line}"'
    print_done(f"wrote {file} (private, {secrecy})")
    print_done(f"wrote {public}; {use}")
    click.echo(f"key {fingerprint}")


@command.command("list")
@click.argument("sealed", type=FILE)
@click.option(
    "--allowed-signers", is_flag=True, help="Print the format that 'ssh-keygen -Y verify' reads."
)
@json_option
def list_(sealed: Path, allowed_signers: bool) -> None:
    r"""List the people of a SEALED set, their keys and roles.

    \b
    nodulebench keys list sealed/
    nodulebench keys list sealed/ --allowed-signers
    """
    from nodulebench.core.text import in_a_line
    from nodulebench.custody.keys import list_keys

    print_json(lambda: list_keys(sealed))
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
@click.option("--person", "subject", required=True, help="Name of the person in the policy.")
@click.option(
    "--role", "roles", multiple=True, required=True, help="Role of the person; may be repeated."
)
@click.option("--new-key", type=KEY, required=True, help="Public file of the new key (.pub).")
def admit(
    sealed: Path, own_key: OwnKey, subject: str, roles: tuple[str, ...], new_key: Path
) -> None:
    r"""Admit a person to a SEALED set, or change roles.

    \b
    nodulebench keys admit sealed/ --key /media/safe/keeper --person "Dee" --role auditor \
        --new-key dee.pub
    """
    from nodulebench.custody import keys as key_changes

    event = key_changes.admit(sealed, own_key.required(), subject=subject, roles=roles, key=new_key)
    click.echo(f"event {event.number}: '{subject}' was admitted as {', '.join(roles)}")


@command.command("rotate")
@click.argument("sealed", type=FILE)
@own_key_options()
@click.option("--new-key", type=KEY, required=True, help="Public file of the new key (.pub).")
@click.option("--person", "subject", help="Name of the person in the policy.  [default: you]")
def rotate(sealed: Path, own_key: OwnKey, new_key: Path, subject: str | None) -> None:
    r"""Replace a key in a SEALED set.

    You can replace your own key; the key custodian can replace a lost one. Signatures with the old
    key stay valid.

    \b
    nodulebench keys rotate sealed/ --key ~/.ssh/bo --new-key ~/.ssh/bo-2027.pub
    nodulebench keys rotate sealed/ --key /media/safe/keeper --person "Bo" --new-key bo.pub
    """
    from nodulebench.custody import keys as key_changes

    event = key_changes.rotate(sealed, own_key.required(), key=new_key, subject=subject or "")
    whose = event.facts["subject"]
    click.echo(f"event {event.number}: the key of '{whose}' was replaced")


@command.command("revoke")
@click.argument("sealed", type=FILE)
@own_key_options()
@click.option("--person", "subject", required=True, help="Name of the person in the policy.")
@option("--reason", str, "", "Reason for the log.")
def revoke(sealed: Path, own_key: OwnKey, subject: str, reason: str) -> None:
    r"""Revoke a key in a SEALED set (key custodian).

    Later signatures with it are not valid, and it opens nothing new. Copies that its owner made
    before cannot be taken back.

    \b
    nodulebench keys revoke sealed/ --key /media/safe/keeper --person "Bo" --reason "stolen"
    """
    from nodulebench.custody import keys as key_changes

    event = key_changes.revoke(sealed, own_key.required(), subject=subject, reason=reason)
    click.echo(f"event {event.number}: the key of '{subject}' was revoked")


@command.command("rekey")
@click.argument("sealed", type=FILE)
@own_key_options()
def rekey(sealed: Path, own_key: OwnKey) -> None:
    r"""Encrypt a SEALED set again with new data keys (key custodian).

    Use this after a revocation: data keys that the former owner may still have then open only older
    copies of the set.

    \b
    nodulebench keys rekey sealed/ --key /media/safe/keeper
    """
    from nodulebench.custody import keys as key_changes

    key = own_key.required()
    with ProgressLine() as line:
        event = key_changes.rekey(sealed, key, line.tell)
    click.echo(f"event {event.number}: encrypted again for {event.facts['people']} people")
