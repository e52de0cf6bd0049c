"""nodulebench unseal: take the reference out of a sealed set, or open a stored result."""

import json
from pathlib import Path

import click

from nodulebench.cli.options import COUNT, FILE, OwnKey, option, own_key_options
from nodulebench.cli.terminal import ProgressLine


@click.command("unseal")
@click.argument("sealed", type=FILE)
@own_key_options()
@click.option("--out", type=FILE, help="New folder for the reference in plain form.")
@option("--reason", str, "", "The reason, for the log.")
@click.option("--result", type=COUNT, help="Show the result of this evaluation instead.")
def command(
    sealed: Path,
    own_key: OwnKey,
    out: Path | None,
    reason: str,
    result: int | None,
) -> None:
    r"""Take the reference out of the set SEALED (curators), or open a stored result (auditors).

    Both are recorded in the log before anything is written.

    \b
    nodulebench unseal sealed/ --key ~/.ssh/ada --reason "new reading" --out plain/
    nodulebench unseal sealed/ --key ~/.ssh/cem --result 2
    """
    if (out is None) == (result is None):
        raise click.UsageError("give --out, or --result")
    from nodulebench.custody.sealed_set import export_reference
    from nodulebench.custody.stored_results import open_result

    key = own_key.required()
    if result is not None:
        click.echo(json.dumps(open_result(sealed, key, result), indent=1))
    elif out is not None:
        with ProgressLine("opening"):
            count = export_reference(sealed, key, reason, out)
        click.echo(f"wrote {count} files in plain form to {out}; the log records it")
