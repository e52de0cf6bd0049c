"""nodulebench exchange: cases on a disk for an algorithm elsewhere, and its marks back."""

from pathlib import Path

import click

from nodulebench.cli.options import (
    EXISTING,
    EXISTING_FOLDER,
    FILE,
    FOLDER,
    KEY,
    OwnKey,
    option,
    own_key_options,
    print_next,
    print_written,
)
from nodulebench.cli.terminal import ProgressLine


@click.group("exchange")
def command() -> None:
    """Send encrypted cases to a developer, and import the marks."""


@command.command("pack")
@click.argument("test_set", type=EXISTING_FOLDER)
@click.option("--out", required=True, type=FOLDER, help="New folder for the encrypted cases.")
@click.option("--record", required=True, type=FILE, help="Record of the case names; keep it here.")
@click.option("--recipient", required=True, type=KEY, help="Public OpenSSH key of the developer.")
@option(
    "--image-format",
    ["metaimage", "nifti", "dicom"],
    "metaimage",
    "Format of the images.",
    to="image",
)
@own_key_options()
def pack(
    test_set: Path, out: Path, record: Path, recipient: Path, image: str, own_key: OwnKey
) -> None:
    r"""Encrypt the images of TEST_SET for a developer, under pseudonyms.

    The reference is not included. The record maps the pseudonyms to the cases; without it the marks
    cannot be imported. On a sealed set the export is logged, and is not deducted from a budget.

    \b
    nodulebench exchange pack set/ --out disk/ --record exchange.json --recipient developer.pub
    """
    from nodulebench.runner.exchange import pack as pack_cases
    from nodulebench.security.keys import read_public_key

    key = own_key.read()
    with ProgressLine("packing") as line:
        packed = pack_cases(
            test_set,
            out,
            record,
            read_public_key(recipient),
            image_format=image,  # type: ignore[arg-type]
            own_key=key,
            progress=line.tell,
        )
    click.echo(f"{packed.cases} cases of exchange {packed.identity}")
    print_written(*packed.files)
    print_next(f"nodulebench exchange unpack MARKS --record {record} --out …")


@command.command("unpack")
@click.argument("marks", type=EXISTING)
@click.option("--record", required=True, type=FILE, help="Record of the case names; keep it here.")
@click.option("--out", required=True, type=FOLDER, help="Folder for the marks.")
def unpack(marks: Path, record: Path, out: Path) -> None:
    r"""Import MARKS of the encrypted cases as a submission.

    \b
    nodulebench exchange unpack marks.csv --record exchange.json --out submission/
    """
    from nodulebench.runner.exchange import unpack as unpack_marks

    counts = unpack_marks(marks, record, out)
    click.echo(f"{counts.marks} marks; {counts.without_marks} of {counts.cases} cases have none")
    print_written(out)
