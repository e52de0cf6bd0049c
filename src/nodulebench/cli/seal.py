"""nodulebench seal: sign a test set, encrypt its reference, and start its log."""

from pathlib import Path

import click

from nodulebench.cli.bundle import print_gaps
from nodulebench.cli.options import FILE, FOLDER, OwnKey, call_with, own_key_options, print_next
from nodulebench.cli.terminal import ProgressLine, print_done
from nodulebench.core.text import counted


@click.command("seal")
@click.argument("bundle", type=FILE)
@own_key_options("Your private OpenSSH key; it signs the set.")
@click.option(
    "--policy", type=FILE, required=True, help="Policy of permissions and budgets (TOML)."
)
@click.option("--datasheet", "answers", type=FILE, help="Answers for the datasheet (TOML).")
@click.option("--out", type=FOLDER, required=True, help="Folder for the sealed set.")
@click.option("--encrypt-images", "encrypts_images", is_flag=True, help="Encrypt the images too.")
def command(own_key: OwnKey, out: Path, **options: object) -> None:
    r"""Encrypt the reference of BUNDLE, sign the set and start its log.

    The images stay readable; everything else needs a key. The policy names people's public keys.
    Your own key identifies you and signs, and each person's key opens what their roles need.

    BUNDLE itself is not changed. The same command completes an interrupted run.

    \b
    nodulebench seal lung-2026a/ --key ~/.ssh/ada --policy policy.toml --out sealed/
    """
    from nodulebench.custody.seal import SealOptions, seal_bundle

    sealing = call_with(SealOptions, options, own_key=own_key.required(), out=out)
    with ProgressLine() as line:
        made = seal_bundle(sealing, progress=line.tell)
    if made.already_sealed:
        click.echo(f"{out}: {made.name} was already sealed there; nothing to do")
        return
    click.echo(f"sealed {made.name}: {made.files} files, {made.secrets} of the set encrypted")
    if made.taken_over:
        click.echo(f"reused      {counted(made.taken_over, 'file')} of an interrupted run")
    print_gaps(made.gaps)
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
    print_done(f"wrote {out}")
    print_next(
        f"nodulebench verify {out} --key …",
        f"nodulebench evaluate --submissions roster.csv --reference {out} --key … --out FEEDBACK",
    )
