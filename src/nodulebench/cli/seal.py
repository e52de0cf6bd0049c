"""nodulebench seal: sign a test set, encrypt its reference, and begin the log of its use."""

from pathlib import Path

import click

from nodulebench.cli.bundle import print_gaps
from nodulebench.cli.options import FILE
from nodulebench.cli.progress import ProgressLine
from nodulebench.cli.vault_options import required_secret, signing_passphrase, vault_options


@click.command("seal")
@click.argument("bundle", required=False, type=FILE)
@click.option("--key", type=FILE, help="Private Ed25519 key that signs, PEM.")
@click.option("--key-passphrase-file", type=FILE, help="File whose first line opens that key.")
@vault_options
@click.option("--policy", type=FILE, help="Who may do what, and how often: policy.toml.")
@click.option("--as", "person", help="Who you are in the policy.")
@click.option("--datasheet", type=FILE, help="What people say of the set, TOML.")
@click.option("--out", type=FILE, help="Folder of the sealed set.")
@click.option("--new-vault-key", type=FILE, help="Make a key file for vaults instead.")
def command(
    bundle: Path | None,
    key: Path | None,
    key_passphrase_file: Path | None,
    vault_key: Path | None,
    passphrase_file: Path | None,
    policy: Path | None,
    person: str | None,
    datasheet: Path | None,
    out: Path | None,
    new_vault_key: Path | None,
) -> None:
    r"""Seal the test set BUNDLE: its images stay readable, all else needs the vault's secret.

    BUNDLE itself is not changed. A run that was interrupted is completed by the same command.

    \b
    nodulebench sign --new-key key.pem
    nodulebench seal --new-vault-key vault.key
    nodulebench seal lung-2026a/ --key key.pem --vault-key vault.key \
        --policy policy.toml --as "Ada" --out sealed/
    """
    if new_vault_key is not None:
        from nodulebench.workflows.custody.keys import new_key_file

        new_key_file(new_vault_key)
        click.echo(f"wrote {new_vault_key}: keep it, and a copy, apart from every sealed set")
        return
    if bundle is None or key is None or policy is None or person is None or out is None:
        raise click.UsageError("give BUNDLE, --key, --policy, --as and --out, or --new-vault-key")
    from nodulebench.workflows.custody.seal import SealOrder, seal_bundle

    secret = required_secret(vault_key, passphrase_file, is_new=True)
    key_passphrase = signing_passphrase(key, key_passphrase_file)
    order = SealOrder(bundle, out, key, secret, policy, person, datasheet, key_passphrase)
    with ProgressLine() as line:
        made = seal_bundle(order, progress=line.tell)
    if made.was_there:
        click.echo(f"{out}: {made.name} was already sealed there; nothing to do")
        return
    click.echo(f"sealed {made.name}: {made.files} files, {made.secrets} of the set encrypted")
    if made.taken_over:
        click.echo(f"taken over  {made.taken_over} file(s) of an interrupted run")
    print_gaps(made.gaps)
    click.echo(f"wrote {out}")
