"""nodulebench sign: sign a folder of results."""

from pathlib import Path

import click

from nodulebench.cli.options import FILE, KEY, OPENS_KEY, option, signing_passphrase
from nodulebench.cli.terminal import ProgressLine


@click.command("sign")
@click.argument("folder", metavar="FOLDER", type=FILE)
@click.option("--key", type=KEY, required=True, help="Your private key (PEM or OpenSSH).")
@click.option("--key-passphrase-file", "passphrase_file", type=FILE, help=OPENS_KEY)
@option("--by", str, "", "Your name, as the signer.")
def command(folder: Path, key: Path, passphrase_file: Path | None, by: str) -> None:
    r"""Sign FOLDER, which `evaluate` or `report` wrote.

    The signature covers the manifest, which lists the digest of every file. `nodulebench keys new`
    makes a key.

    \b
    nodulebench sign result/ --key key.pem --by "Test laboratory"
    nodulebench verify result/ --public-key key.pub.pem
    """
    from nodulebench.security.signatures import sign_folder

    passphrase = signing_passphrase(key, passphrase_file)
    with ProgressLine("signing"):
        signed = sign_folder(folder, key, passphrase=passphrase, by=by)
    click.echo(f"signed {folder} at {signed.at}")
    click.echo(f"key {signed.key}")
