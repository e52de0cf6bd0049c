"""nodulebench curate: a folder of DICOM -> cases, and why other series are none."""

import sys
from pathlib import Path

import click

FILE = click.Path(path_type=Path)


@click.command("curate")
@click.argument("dicom_dir", type=FILE)
@click.option("--design", help="A published design, or a TOML file; its [limits] hold.")
@click.option("--out", required=True, type=FILE, help="Folder for cases, exclusions and the page.")
@click.option(
    "--against",
    multiple=True,
    type=FILE,
    help="List of another set's series (UIDs, hashes); may be given several times.",
)
@click.option("--processes", type=click.IntRange(min=1), default=2, show_default=True)
def command(
    dicom_dir: Path, design: str | None, out: Path, against: tuple[Path, ...], processes: int
) -> None:
    r"""Admit the CT series of DICOM_DIR as cases, or exclude them with coded reasons.

    Subfolders, names and other files do not matter. A run that was stopped goes on where it was.

    \b
    nodulebench curate archive/ --out curated/
    nodulebench curate archive/ --design design.toml --against lidc.csv --out curated/
    """
    from nodulebench.workflows.curate.files import curate_files, summary

    with _ProgressLine() as line:
        curation, written = curate_files(
            dicom_dir, out, design, against, processes=processes, progress=line.tell
        )
    told = summary(curation)
    click.echo(f"{told['series']} series found, {told['admitted']} admitted")
    for code, number in told["excluded"].items():
        click.echo(f"  {code:<24}{number:>5}")
    if told["unreadable_files"] or told["other_files"]:
        click.echo(
            f"{told['unreadable_files']} unreadable files, {told['other_files']} of other kinds"
        )
    for path in written:
        click.echo(f"wrote {path}")


class _ProgressLine:
    """A bar on a terminal; in a log a line for every tenth."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._last = ("", -1)

    def __enter__(self) -> "_ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal:
            click.echo("\r\033[K", nl=False, err=True)

    def tell(self, what: str, done: int, of: int) -> None:
        """Show how far the work is."""
        tenth = done * 10 // of if of else 10
        if self._is_terminal:
            filled = done * 30 // of if of else 30
            bar = "█" * filled + "░" * (30 - filled)
            click.echo(f"\r\033[K{what} {bar} {done}/{of}", nl=False, err=True)
        elif (what, tenth) != self._last:
            click.echo(f"{what}: {done} of {of}", err=True)
        self._last = (what, tenth)
