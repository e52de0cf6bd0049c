"""nodulebench rescore: networks score given candidates, LUNA16's second track."""

from pathlib import Path

import click

from nodulebench.cli.options import COUNT, EXISTING, PATH, option, print_notices
from nodulebench.cli.terminal import ProgressLine, print_done


@click.command("rescore")
@click.argument("name")
@click.argument("candidates", type=EXISTING)
@click.option("--images", required=True, type=EXISTING, help="Folder of scans.")
@click.option(
    "--weights",
    multiple=True,
    type=EXISTING,
    help="File or folder with trained weights; may be repeated.  [default: the package's]",
)
@click.option("--out", required=True, type=PATH, help="LUNA16 CSV, or a folder.")
@option("--tries", COUNT, 1, "Number of patches per candidate, which are averaged.")
def command(
    name: str, candidates: Path, images: Path, weights: tuple[Path, ...], out: Path, tries: int
) -> None:
    r"""Score CANDIDATES with the network NAME.

    NAME is a network, or several joined by '+', whose probabilities are averaged. CANDIDATES is
    LUNA16's candidates.csv, or marks in any format. Images are a folder of .mhd, .mha, .nii or
    .nii.gz files named after their cases, DICOM, or a test set. If there are weights of several
    folds, each scan is scored by those that never saw it.

    \b
    nodulebench rescore twoscale candidates_V2.csv --images scans/ --out my.csv
    nodulebench rescore znet candidates_V2.csv --images scans/ --weights znet/ --out znet.csv
    nodulebench evaluate my.csv --reference luna16/ --candidates candidates_V2.csv
    """
    from nodulebench.detection.rescore import rescore, write_rescored
    from nodulebench.detection.trained_networks import read_panel

    panel = read_panel(name, weights, tries=tries)
    with ProgressLine("scoring") as line:
        submission = rescore(panel, candidates, images, line.tell)
    write_rescored(submission, out)
    print_notices("warning", submission.notices)
    cases = submission.marks["case_id"].n_unique()
    print_done(f"wrote {out}: {submission.marks.height} candidates of {cases} scans")
