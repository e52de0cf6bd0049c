"""nodulebench verify: recompute what a folder of results says, and check who signed it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench import __version__
from nodulebench.cli.options import FILE, Opening, nodules_option, opening_options
from nodulebench.cli.output.evaluation import print_check, signature_words
from nodulebench.cli.output.evaluation import print_sealed_verdict as print_verdict
from nodulebench.cli.terminal import ProgressLine
from nodulebench.core.errors import raise_problems

if TYPE_CHECKING:
    from nodulebench.evaluation.verify.verify import Recomputed, Verification


@click.command("verify")
@click.argument("folder", metavar="DIR", type=FILE)
@click.option("--public-key", type=FILE, help="Public key of whoever shall have signed.")
@click.option("--reference", type=FILE, help="Recompute from the original files: the test set.")
@click.option(
    "--marks", type=FILE, multiple=True, help="The marks of an algorithm; repeat for each."
)
@click.option("--series", type=FILE, help="The list of cases, if one was given.")
@click.option("--cases", type=FILE, help="The table of cases, if one was given.")
@nodules_option
@click.option("--candidates", type=FILE, help="The candidate list, if one was given.")
@click.option("--columns", help="The names of own columns, if they were given.")
@opening_options
@click.option(
    "--checkpoint",
    "checkpoints",
    type=FILE,
    multiple=True,
    help="Checkpoint of a sealed set's log; repeat.",
)
@click.option("--images", type=FILE, help="Where the images are that a bundle only lists.")
def command(
    folder: Path,
    public_key: Path | None,
    reference: Path | None,
    marks: tuple[Path, ...],
    series: Path | None,
    cases: Path | None,
    nodules: Path | None,
    candidates: Path | None,
    columns: str | None,
    opening: Opening,
    checkpoints: tuple[Path, ...],
    images: Path | None,
) -> int:
    r"""Recompute every number in DIR, and say what differs, one line each.

    Of a file that a portal gave out, a certificate (JSON or PDF) or a receipt, the signature.

    The files have to be as the manifest lists them, the numbers as the tables in DIR give them,
    and the signature, if there is one, has to hold. Of a sealed test set the log is checked too.

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

    if is_from_stored_results(folder):
        return _verify_from_stored(folder, public_key, reference, opening)
    if (reference is None) != (not marks) or (
        reference is None and (series or cases or nodules or candidates or columns)
    ):
        raise click.UsageError("--reference and --marks go together; other files go with them")
    from nodulebench.custody import is_sealed

    if is_sealed(folder):
        from nodulebench.custody.verify import verify_sealed

        secret = opening.secret()
        checked = verify_sealed(
            folder, public_key=public_key, secret=secret, checkpoints=checkpoints, images=images
        )
        print_check(checked, folder)
        return 0 if checked.is_good else 1
    if images is not None:
        from nodulebench.custody.bundle import image_problems

        raise_problems(image_problems(folder, images))
    from nodulebench.evaluation.verify.verify import Originals, verify_folder

    originals = (
        None
        if reference is None
        else Originals(reference, marks, series, cases, candidates, columns, nodules)
    )
    with ProgressLine("recomputing"):
        found = verify_folder(folder, public_key=public_key, originals=originals)
    _print(found, folder)
    return 0 if found.is_good else 1


def _verify_statement(path: Path, public_key: Path | None) -> int:
    """Check what a portal signed, and print what it says."""
    from nodulebench.security.statements import verify_statement

    found = verify_statement(path, public_key)
    click.echo(f"kind        {found.signed.kind}")
    for name, told in found.lines:
        click.echo(f"{name:<12}{told}")
    known = "" if found.is_known else "; whose it is was not checked: give --public-key"
    click.echo(f"signature   holds: key {found.signed.key.fingerprint}{known}")
    print_verdict(path, 0)
    return 0


def _verify_from_stored(
    folder: Path, public_key: Path | None, sealed: Path | None, opening: Opening
) -> int:
    """Check a folder that was made from kept results; with the sealed set, make it again."""
    from nodulebench.custody.stored_results import read_evaluations
    from nodulebench.custody.study_reports import verify_from_stored

    note = read_evaluations(folder)
    secret = None if sealed is None else opening.required()
    with ProgressLine("recomputing"):
        found = verify_from_stored(
            folder, public_key=public_key, sealed=sealed, secret=secret, person=opening.person
        )
    if sealed is None:
        numbers = ", ".join(str(entry["evaluation"]) for entry in note["evaluations"])
        click.echo(
            f"recomputed  nothing: made from evaluations {numbers} of the sealed set "
            f"'{note['test_set']}', which recomputes it: --reference SEALED"
        )
    _print(found, folder)
    return 0 if found.is_good else 1


def _print(found: "Verification", folder: Path) -> None:
    for line in (*found.problems, *found.differences):
        click.echo(f"error: {line}", err=True)
    if found.version not in ("", __version__):
        click.echo(
            f"warning: made by NoduleBench {found.version}, recomputed by {__version__}", err=True
        )
    signature = signature_words(found) if found.is_signed else "none"
    click.echo(f"files       {found.files} listed")
    click.echo(f"signature   {signature}")
    for source, part in (("folder", found.from_folder), ("originals", found.from_originals)):
        if part is not None:
            click.echo(f"recomputed  from the {source}: {_amount(part)}")
    print_verdict(folder, len(found.problems) + len(found.differences))


def _amount(part: "Recomputed") -> str:
    if not part.values:
        return "nothing, because protocol, cases or reference are not those that the digests name"
    agree = f"{len(part.differences)} difference(s)" if part.differences else "all agree"
    return f"{part.values:,} values and {part.rows:,} rows, {agree}"
