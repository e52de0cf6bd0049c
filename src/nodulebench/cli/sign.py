"""nodulebench sign: sign a folder of results, or make the key for it."""

from pathlib import Path

import click

from nodulebench.cli.options import FILE, first_line, option, signing_passphrase
from nodulebench.cli.terminal import ProgressLine


@click.command("sign")
@click.argument("folder", metavar="[DIR]", required=False, type=FILE)
@click.option("--key", type=FILE, help="Private Ed25519 key, PEM.")
@option("--by", str, "", "Name of the signer.")
@click.option("--new-key", type=FILE, help="Make a key pair instead: KEY.pem and KEY.pub.pem.")
@click.option(
    "--passphrase-file", type=FILE, help="File whose first line is the private key's passphrase."
)
@click.option("--ask-passphrase", is_flag=True, help="Ask for the new key's passphrase.")
def command(
    folder: Path | None,
    key: Path | None,
    by: str,
    new_key: Path | None,
    passphrase_file: Path | None,
    ask_passphrase: bool,
) -> None:
    r"""Sign the folder DIR that evaluate wrote: all its files, by the manifest.

    \b
    nodulebench sign --new-key key.pem
    nodulebench sign result/ --key key.pem --by "Test laboratory"
    nodulebench verify result/ --public-key key.pub.pem
    """
    if (new_key is None) == (folder is None) or (folder is not None and key is None):
        raise click.UsageError("give either DIR and --key, or --new-key")
    from nodulebench.security.signatures import new_key as signatures_new_key
    from nodulebench.security.signatures import sign_folder

    if new_key is not None:
        passphrase = "" if passphrase_file is None else first_line(passphrase_file)
        if ask_passphrase and not passphrase:
            passphrase = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True)
        public, digest = signatures_new_key(new_key, passphrase)
        secrecy = "encrypted" if passphrase else "not encrypted: keep it where only you can read"
        click.echo(f"wrote {new_key} (private, {secrecy})")
        click.echo(f"wrote {public} (public: give it to people who verify)")
        click.echo(f"key {digest}")
    elif folder is not None and key is not None:
        passphrase = signing_passphrase(key, passphrase_file)
        with ProgressLine("signing"):
            signed = sign_folder(folder, key, passphrase=passphrase, by=by)
        click.echo(f"signed {folder} at {signed.at}")
        click.echo(f"key {signed.key}")
