"""nodulebench curate: a folder of DICOM -> cases, and the reasons of excluded series."""

from pathlib import Path

import click

from nodulebench.cli.options import (
    FILE,
    FOLDER,
    call_with,
    executor_options,
    option,
    print_next,
    print_written,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_json
from nodulebench.core.executor import ExecutorChoice


@click.command("curate")
@click.argument("dicom_dir", metavar="FOLDER", type=FILE)
@click.option("--design", help="Design of a test set, with its [limits].")
@click.option(
    "--out", required=True, type=FOLDER, help="Folder for cases, exclusions and the page."
)
@click.option(
    "--against",
    multiple=True,
    type=FILE,
    help="List of series in another set, to exclude; may be repeated.",
)
@click.option("--export", type=FOLDER, help="New folder for the selected series.")
@option("--language", ["en", "zh"], "en", "Language of the page or report.")
@executor_options("2")
@json_option
def command(
    dicom_dir: Path,
    design: str | None,
    out: Path,
    against: tuple[Path, ...],
    executor: ExecutorChoice,
    **chosen: object,
) -> None:
    r"""Select the CT series in FOLDER that can be cases.

    Others are excluded with a reason code. Subfolders, names and other files do not matter. The
    same command continues an interrupted run.

    \b
    nodulebench curate archive/ --out curated/ --export cases/
    nodulebench curate archive/ --design design.toml --against lidc.csv --out curated/
    """
    from nodulebench.core.executor import open_executor
    from nodulebench.curation.service import curate_files, summary

    with ProgressLine() as line, open_executor(executor, 2, is_guarded=True) as workers:
        places = (dicom_dir, out, design, against)
        curation, written = call_with(
            curate_files, chosen, *places, executor=workers, progress=line.tell
        )
    counts = summary(curation)
    print_json(counts)
    click.echo(f"{counts['series']} series found, {counts['admitted']} admitted")
    for code, number in counts["excluded"].items():
        click.echo(f"  {code:<24}{number:>5}")
    if counts["unreadable_files"] or counts["other_files"]:
        click.echo(
            f"{counts['unreadable_files']} unreadable files, {counts['other_files']} of other kinds"
        )
    print_written(*written)
    if counts["admitted"]:
        print_next(
            f"nodulebench sample {out} --design … --count … --seed … --out drawn.csv",
            f"nodulebench annotate review start panel --cases {out} --roster …",
        )
    elif counts["series"]:
        click.echo(f"no series was admitted; the reasons are in {out / 'exclusions.csv'}")
