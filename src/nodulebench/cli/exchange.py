"""nodulebench exchange: cases on a disk for an algorithm elsewhere, and its marks back."""

from pathlib import Path

import click

from nodulebench.cli.options import (
    FILE,
    OwnKey,
    option,
    own_key_options,
    print_next,
    print_written,
)
from nodulebench.cli.terminal import ProgressLine


@click.group("exchange")
def command() -> None:
    """Cases on a disk for an algorithm elsewhere, and its marks back."""


@command.command("pack")
@click.argument("test_set", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", required=True, type=FILE, help="New folder, for the disk.")
@click.option("--record", required=True, type=FILE, help="New file that stays here.")
@click.option("--to", "recipient", required=True, type=FILE, help="Public OpenSSH key.")
@option("--image", ["metaimage", "nifti", "dicom"], "metaimage", "Form of the scans.")
@own_key_options()
def pack(
    test_set: Path, out: Path, record: Path, recipient: Path, image: str, own_key: OwnKey
) -> None:
    r"""Write the images of TEST_SET, encrypted for one key, under names that say nothing.

    No reference goes out. The record says which case is called what; without it the marks cannot
    be brought back. On a sealed set it is a separate action in the log, and is not charged.

    \b
    nodulebench exchange pack set/ --out disk/ --record exchange.json --to developer.pub
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
@click.argument("marks", type=click.Path(path_type=Path, exists=True))
@click.option("--record", required=True, type=FILE, help="What `pack` left here.")
@click.option("--out", required=True, type=FILE, help="Folder for the submission.")
def unpack(marks: Path, record: Path, out: Path) -> None:
    r"""Import MARKS of the exported cases as a submission.

    \b
    nodulebench exchange unpack marks.csv --record exchange.json --out submission/
    """
    from nodulebench.runner.exchange import unpack as unpack_marks

    counts = unpack_marks(marks, record, out)
    click.echo(f"{counts.marks} marks; {counts.without_marks} of {counts.cases} cases have none")
    print_written(out)
