"""nodulebench seal: sign a test set, encrypt its reference, and start its log."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from nodulebench.cli.bundle import print_gaps
from nodulebench.cli.options import (
    FILE,
    key_options,
    print_next,
    required_secret,
    signing_passphrase,
    vault_options,
)
from nodulebench.cli.terminal import ProgressLine

KEY_WORDS = "Private Ed25519 key that signs: your own OpenSSH key, or PEM."


@click.command("seal")
@click.argument("bundle", required=False, type=FILE)
@partial(key_options, words=KEY_WORDS)
@vault_options
@click.option("--policy", type=FILE, help="Permissions and budgets: policy.toml.")
@click.option("--as", "person", default="", help="Your name in the policy, without a personal key.")
@click.option("--datasheet", "answers", type=FILE, help="People's statements about the set, TOML.")
@click.option("--out", type=FILE, help="Folder of the sealed set.")
@click.option("--encrypt-images", "encrypts_images", is_flag=True, help="Encrypt the images, too.")
@click.option("--new-vault-key", type=FILE, help="Make a key file for vaults instead.")
def command(
    bundle: Path | None,
    key_passphrase_file: Path | None,
    vault_key: Path | None,
    passphrase_file: Path | None,
    new_vault_key: Path | None,
    **options: Any,
) -> None:
    r"""Seal the test set BUNDLE: its images stay readable, everything else needs a key.

    If the policy names people's keys, your own OpenSSH key identifies you and signs, and each key
    opens what its role needs. Otherwise one secret opens everything for all who share it.

    BUNDLE itself is not changed. The same command completes an interrupted run.

    \b
    nodulebench seal lung-2026a/ --key ~/.ssh/ada --policy policy.toml --out sealed/
    nodulebench seal --new-vault-key vault.key
    nodulebench seal lung-2026a/ --key key.pem --vault-key vault.key \
        --policy policy.toml --as "Ada" --out sealed/
    """
    if new_vault_key is not None:
        from nodulebench.security.vault import new_key_file

        new_key_file(new_vault_key)
        click.echo(f"wrote {new_vault_key}: store it and a copy away from all sealed sets")
        return
    key, out = options["key"], options["out"]
    if bundle is None or key is None or options["policy"] is None or out is None:
        raise click.UsageError("give BUNDLE, --key, --policy and --out, or --new-vault-key")
    from nodulebench.custody.seal import SealOptions, seal_bundle
    from nodulebench.security.keys import is_person_key, read_private_key
    from nodulebench.security.vault import person_secret

    key_passphrase = signing_passphrase(key, key_passphrase_file)
    if is_person_key(key) and vault_key is None and passphrase_file is None:
        secret = person_secret(read_private_key(key, key_passphrase))
    elif not options["person"]:
        raise click.UsageError("give --as, or your own OpenSSH key as --key")
    else:
        secret = required_secret(vault_key, passphrase_file, is_new=True)
    sealing = SealOptions(bundle=bundle, secret=secret, key_passphrase=key_passphrase, **options)
    with ProgressLine() as line:
        made = seal_bundle(sealing, progress=line.tell)
    if made.already_sealed:
        click.echo(f"{out}: {made.name} was already sealed there; nothing to do")
        return
    click.echo(f"sealed {made.name}: {made.files} files, {made.secrets} of the set encrypted")
    if made.taken_over:
        click.echo(f"reused      {made.taken_over} file(s) of an interrupted run")
    print_gaps(made.gaps)
    if secret.key is None:
        click.echo(
            "note: one shared secret opens this set: any person who has it can give another name "
            "with --as, and decrypt the reference without a trace; use personal keys (policy.toml: "
            "key)",
            err=True,
        )
    if made.permits_any_test:
        click.echo(
            "note: the policy names neither plans nor protocols: any may be used, each as a "
            "separate charged evaluation (policy.toml: [reuse] plans, protocols)",
            err=True,
        )
    for first, second, fields in made.differing:
        click.echo(
            f"note: protocols {first} and {second} of the policy differ in {', '.join(fields)}: "
            "their results can, by subtraction, disclose few nodules; name protocols that divide "
            "nodules in the same way",
            err=True,
        )
    click.echo(f"wrote {out}")
    opened = f"{out} --vault-key …" if secret.key is None else f"{out} --key …"
    print_next(
        f"nodulebench verify {opened}",
        f"nodulebench evaluate --roster roster.csv --reference {opened} --out FEEDBACK",
    )
