"""nodulebench unseal: take the reference out of a sealed set, or open a stored result."""

import json
from pathlib import Path

import click

from nodulebench.cli.options import COUNT, FILE, FOLDER, OwnKey, option, own_key_options
from nodulebench.cli.terminal import ProgressLine, print_done


@click.command("unseal")
@click.argument("sealed", type=FILE)
@own_key_options()
@click.option("--out", type=FOLDER, help="New folder for the decrypted reference.")
@option("--reason", str, "", "Reason for the log.")
@click.option("--evaluation", "result", type=COUNT, help="Stored evaluation to use.")
def command(
    sealed: Path, own_key: OwnKey, out: Path | None, reason: str, result: int | None
) -> None:
    r"""Export the reference of a SEALED set, or show a stored result.

    Curators export the reference; auditors show results. Both are recorded in the log before
    anything is written.

    \b
    nodulebench unseal sealed/ --key ~/.ssh/ada --reason "new reading" --out plain/
    nodulebench unseal sealed/ --key ~/.ssh/cem --evaluation 2
    """
    if (out is None) == (result is None):
        raise click.UsageError("give either --out or --evaluation")
    from nodulebench.custody.sealed_set import export_reference
    from nodulebench.custody.stored_results import open_result

    key = own_key.required()
    if result is not None:
        click.echo(json.dumps(open_result(sealed, key, result), indent=1))
    elif out is not None:
        with ProgressLine("opening"):
            count = export_reference(sealed, key, reason, out)
        print_done(f"wrote {count} files in plain form to {out}; the log records it")
