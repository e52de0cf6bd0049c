"""nodulebench deidentify: CT slices without identities, checked, and an encrypted key table."""

import os
import re
from collections import Counter
from pathlib import Path

import click

from nodulebench.cli.options import (
    FILE,
    FOLDER,
    OwnKey,
    call_with,
    executor_options,
    key_table_options,
    option,
    print_next,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json
from nodulebench.core.executor import ExecutorChoice
from nodulebench.core.text import counted


@click.command("deidentify")
@click.argument("folder", metavar="[FOLDER]", type=FILE, required=False)
@click.option("--curated", type=FOLDER, help="Folder that 'curate' wrote; only its cases are used.")
@click.option("--out", type=FOLDER, help="Folder for the de-identified slices.")
@click.option(
    "--key-table", type=FILE, help="Encrypted key table of names; store it apart from both folders."
)
@key_table_options
@option("--prefix", str, "P", "First letters of every pseudonym.")
@option(
    "--pixel-check/--no-pixel-check",
    bool,
    True,
    "Search the images for text.",
    to="has_pixel_check",
)
@executor_options("all cores")
@click.option(
    "--check", is_flag=True, help="Check that FOLDER contains no identities, and write nothing."
)
@click.option("--conformance", is_flag=True, help="Print the DICOM options that are claimed.")
@click.option("--show-keys", is_flag=True, help="Print the key table as CSV.")
@json_option
def command(
    *,
    folder: Path | None,
    curated: Path | None,
    key_table: Path | None,
    check: bool,
    conformance: bool,
    show_keys: bool,
    executor: ExecutorChoice,
    own_key: OwnKey,
    **given: object,
) -> int:
    r"""Remove identities from the CT slices in FOLDER.

    The basic profile of DICOM PS3.15 is used. A slice is written only if no identity is left in it;
    others are listed with the reason, and the exit status is then 1.

    \b
    nodulebench deidentify incoming/ --out clean/ --key-table who.keys --key ~/.ssh/ada
    nodulebench deidentify --curated curated/ --out clean/ --key-table who.keys --key ~/.ssh/ada \
        --colleague bo.pub
    nodulebench deidentify clean/ --check
    nodulebench deidentify --conformance
    nodulebench deidentify --show-keys --key-table who.keys --key ~/.ssh/ada
    """
    from nodulebench.core.executor import open_executor
    from nodulebench.core.notices import Notice
    from nodulebench.curation.deidentify.service import (
        DeidentifyOptions,
        check_folder,
        deidentify_folder,
    )
    from nodulebench.i18n.translator import in_english

    if conformance:
        _show_conformance()
        return 0
    if show_keys:
        if key_table is None:
            raise click.UsageError("give --key-table with --show-keys")
        call_with(_show_keys, {"colleagues": given["colleagues"]}, key_table, own_key)
        return 0
    if curated is not None:
        from nodulebench.curation.cases import read_case_files

        admitted = read_case_files(curated, folder)
        folder = admitted.folder
        given["files"] = admitted.paths
    if folder is None:
        raise click.UsageError("Missing argument 'FOLDER'.")
    searched = {"has_pixel_check": given["has_pixel_check"]}
    if check:
        with open_executor(executor, os.cpu_count() or 1) as workers:
            left = call_with(check_folder, searched, folder, executor=workers)
        print_json({"is_good": not left, "leftovers": left})
        for leftover in left:
            click.echo(f"error: {leftover.where}: {in_english(leftover.why)}.", err=True)
        click.echo(f"{folder}: {counted(len(left), 'leftover') if left else 'clean'}")
        click.echo(f"not checked: {in_english(Notice('check_unseen'))}")
        if not given["has_pixel_check"]:
            click.echo(f"not checked: {in_english(Notice('check_unsearched'))}")
        return 1 if left else 0
    if given["out"] is None or key_table is None:
        raise click.UsageError("give --out and --key-table, or --check")
    options = call_with(DeidentifyOptions, given, folder=folder, key_table=key_table)
    out = options.out
    key = own_key.required()
    with ProgressLine() as line, open_executor(executor, os.cpu_count() or 1) as workers:
        made = deidentify_folder(options, key, executor=workers, progress=line.tell)
    print_json({"is_good": not made.refused, "written": made.written, "left_out": made.refused})
    reasons = {file.source: in_english(file.refused) for file in made.refused}
    for source, reason in reasons.items():
        click.echo(f"left out: {source}: {reason}", err=True)
    kinds = Counter(re.split(r" \(|: ", reason)[0] for reason in reasons.values())
    for kind, count in kinds.items():
        click.echo(f"left out    {count}: {kind}")
    if made.repeated:
        click.echo(f"repeated    {counted(made.repeated, 'file')} of the same instance")
    rate = f"{len(made.outcomes) / made.seconds:.0f} files/s, {made.bytes_read / 1e6:.0f} MB"
    print_done(f"wrote       {made.written} slices of {made.patients} patients to {out}")
    click.echo(f"took        {made.seconds:.1f} s: {rate}")
    click.echo(f"key table   {key_table}: keep it, and your key, apart from the slices")
    if made.refused:
        click.echo(f"quarantine  {made.quarantine}: what was left out, with its code")
    print_next(f"nodulebench deidentify {out} --check", f"nodulebench curate {out} --out CURATED")
    return 1 if made.refused else 0


def _show_conformance() -> None:
    from nodulebench.curation.deidentify.profile import conformance

    edition, claims = conformance()
    click.echo(f"{edition}, table E.1-1")
    for claim in claims:
        rows = f", {claim.rows} attributes" if claim.is_claimed else ""
        word = "claimed    " if claim.is_claimed else "not claimed"
        click.echo(f"{word} {claim.code} {claim.name}{rows}")


def _show_keys(key_table: Path, own_key: OwnKey, colleagues: tuple[Path, ...]) -> None:
    from nodulebench.curation.deidentify.key_table import key_table_csv
    from nodulebench.security.keys import read_public_key

    known = [read_public_key(path) for path in colleagues]
    click.echo(key_table_csv(key_table, own_key.required(), known), nl=False)
