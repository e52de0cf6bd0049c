"""nodulebench verify: recompute the numbers of a folder of results, and check its signature."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench import __version__
from nodulebench.cli.options import (
    FILE,
    FOLDER,
    KEY,
    PATH,
    OwnKey,
    call_with,
    checkpoints_option,
    nodules_option,
    own_key_options,
)
from nodulebench.cli.output import OWNER_UNKNOWN, print_check, signature_text
from nodulebench.cli.output import print_sealed_verdict as print_verdict
from nodulebench.cli.terminal import ProgressLine, json_option, print_json
from nodulebench.core.errors import raise_problems
from nodulebench.core.text import counted

if TYPE_CHECKING:
    from nodulebench.evaluation.verify import Recomputed, Verification


@click.command("verify")
@click.argument("folder", metavar="FOLDER", type=FILE)
@click.option("--public-key", type=KEY, help="Expected signer's public key.")
@click.option("--reference", type=PATH, help="Test set, to recompute from the original files.")
@click.option("--marks", type=PATH, multiple=True, help="Marks of an algorithm; one for each.")
@click.option("--series", type=FILE, help="List of cases, if one was used.")
@click.option("--cases", type=PATH, help="Table of cases, if one was used.")
@nodules_option
@click.option("--candidates", type=FILE, help="List of candidates, if one was used.")
@click.option("--columns", help="Names of your columns, if they were given.")
@own_key_options()
@checkpoints_option
@click.option("--images", type=FOLDER, help="Images that the bundle lists but does not contain.")
@json_option
def command(
    folder: Path,
    public_key: Path | None,
    reference: Path | None,
    own_key: OwnKey,
    checkpoints: tuple[Path, ...],
    images: Path | None,
    **given: object,
) -> int:
    r"""Recompute every number in FOLDER, and report each difference.

    The files must match the manifest, the numbers must follow from the tables, and a signature
    must be valid. For a sealed set, the log is checked too. FOLDER may also be a portal's
    certificate (JSON or PDF) or receipt, whose signature is checked.

    \b
    nodulebench verify result/
    nodulebench verify result/ --public-key key.pub.pem
    nodulebench verify result/ --reference luna16/ --marks my_marks.csv
    nodulebench verify sealed/ --public-key key.pub.pem --checkpoint lung-2026a.checkpoint
    nodulebench verify study/ --reference sealed/ --key ~/.ssh/cem
    nodulebench verify certificate-1.json --public-key portal.pub
    """
    if folder.is_file():
        return _verify_statement(folder, public_key)
    from nodulebench.custody.stored_results import is_from_stored_results
    from nodulebench.evaluation.verify import Originals, verify_folder

    if is_from_stored_results(folder):
        return _verify_from_stored(folder, public_key, reference, own_key)
    originals = None if reference is None else call_with(Originals, given, reference=reference)
    if (originals is None and any(given.values())) or (originals and not originals.marks):
        raise click.UsageError("--reference and --marks go together; other files need both")
    from nodulebench.custody import is_sealed

    if is_sealed(folder):
        from nodulebench.custody.verify import verify_sealed

        key = own_key.read()
        checked = verify_sealed(
            folder, public_key=public_key, own_key=key, checkpoints=checkpoints, images=images
        )
        print_check(checked, folder)
        print_json({"is_good": checked.is_good, "check": checked})
        return 0 if checked.is_good else 1
    if images is not None:
        from nodulebench.custody.bundle import image_problems

        raise_problems(image_problems(folder, images))
    with ProgressLine("recomputing"):
        verification = verify_folder(folder, public_key=public_key, originals=originals)
    _print(verification, folder)
    return 0 if verification.is_good else 1


def _verify_statement(path: Path, public_key: Path | None) -> int:
    """Check a statement that a portal signed, and print it."""
    from nodulebench.security.statements import verify_statement

    statement = verify_statement(path, public_key)
    click.echo(f"kind        {statement.signed.kind}")
    for name, text in statement.lines:
        click.echo(f"{name:<12}{text}")
    print_json({"kind": statement.signed.kind, "is_good": True, **dict(statement.lines)})
    known = "" if statement.is_known else OWNER_UNKNOWN
    click.echo(f"signature   valid: key {statement.signed.key.fingerprint}{known}")
    print_verdict(path, 0)
    return 0


def _verify_from_stored(
    folder: Path, public_key: Path | None, sealed: Path | None, own_key: OwnKey
) -> int:
    """Check a folder that was made from stored results; with the sealed set, make it again."""
    from nodulebench.custody.stored_results import read_evaluations
    from nodulebench.custody.study_reports import verify_from_stored

    note = read_evaluations(folder)
    key = None if sealed is None else own_key.required()
    with ProgressLine("recomputing"):
        verification = verify_from_stored(folder, public_key=public_key, sealed=sealed, own_key=key)
    if sealed is None:
        numbers = ", ".join(str(entry["evaluation"]) for entry in note["evaluations"])
        click.echo(
            f"recomputed  nothing: made from evaluations {numbers} of the sealed set "
            f"'{note['test_set']}'; to recompute it, add --reference SEALED"
        )
    _print(verification, folder)
    return 0 if verification.is_good else 1


def _print(verification: "Verification", folder: Path) -> None:
    for line in (*verification.problems, *verification.differences):
        click.echo(f"error: {line}", err=True)
    version = verification.version
    if version not in ("", __version__):
        click.echo(f"warning: made by NoduleBench {version}, recomputed by {__version__}", err=True)
    signature = signature_text(verification) if verification.is_signed else "none"
    click.echo(f"files       {verification.files} listed")
    click.echo(f"signature   {signature}")
    sources = {"folder": verification.from_folder, "originals": verification.from_originals}
    for source, part in sources.items():
        if part is not None:
            click.echo(f"recomputed  from the {source}: {_amount(part)}")
    print_verdict(folder, len(verification.problems) + len(verification.differences))
    print_json({"is_good": verification.is_good, "check": verification})


def _amount(part: "Recomputed") -> str:
    if not part.values:
        return "nothing, because protocol, cases or reference do not match the digests"
    agree = counted(len(part.differences), "difference") if part.differences else "all agree"
    return f"{part.values:,} values and {part.rows:,} rows, {agree}"
