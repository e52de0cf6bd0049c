"""nodulebench annotate observer: have readers judge an algorithm's false positives."""

from pathlib import Path

import click

FILE = click.Path(path_type=Path)
REFERENCE = click.option("--reference", type=FILE, required=True, help="The test set.")
PROTOCOL = click.option("--protocol", default="luna16", show_default=True, help="Test protocol.")


@click.group("observer")
def command() -> None:
    """Have readers judge an algorithm's false positives: some are nodules nobody annotated."""


@command.command("select")
@click.argument("marks", type=FILE)
@REFERENCE
@PROTOCOL
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=0.25,
    show_default=True,
    help="False positives per case, the highest-scored ones.",
)
@click.option("--prescreen", type=FILE, help="Table: case_id, mark_id, is_obvious.")
@click.option("--annotated", type=FILE, help="Reference of all lesions in the source data.")
@click.option("--earlier", type=FILE, help="Earlier readings: place, reader_id, call.")
@click.option("--out", type=FILE, required=True, help="Folder of the study.")
def select(
    marks: Path,
    reference: Path,
    protocol: str,
    rate: float,
    prescreen: Path | None,
    annotated: Path | None,
    earlier: Path | None,
    out: Path,
) -> None:
    """Choose the false positives of MARKS that readers shall judge."""
    from nodulebench.workflows.annotate.observer_files import select_files

    found = select_files(
        marks,
        reference,
        out,
        rate=rate,
        protocol=protocol,
        prescreen=prescreen,
        annotated=annotated,
        earlier=earlier,
    )
    for name, count in found.flow.items():
        click.echo(f"{name.replace('_', ' '):<18} {count:>6}")
    click.echo(f"wrote {out}")


@command.command("conclude")
@click.argument("study", type=FILE)
@click.argument("calls", metavar="CALLS...", type=FILE, nargs=-1, required=True)
@REFERENCE
@PROTOCOL
@click.option("--marks", type=FILE, multiple=True, help="Score this submission before and after.")
@click.option("--readers", type=click.IntRange(min=1), default=4, show_default=True)
@click.option(
    "--agreement",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How many readers make it a nodule.",
)
@click.option("--out", type=FILE, required=True, help="Folder for both references.")
def conclude(
    study: Path,
    calls: tuple[Path, ...],
    reference: Path,
    protocol: str,
    marks: tuple[Path, ...],
    readers: int,
    agreement: int,
    out: Path,
) -> None:
    """Count the readers' CALLS by agreement, and add what enough of them call a nodule."""
    from nodulebench.workflows.annotate.observer_files import conclude_files

    found, scored = conclude_files(
        study,
        calls,
        reference,
        out,
        marks=marks,
        protocol=protocol,
        readers=readers,
        minimum_agreement=agreement,
    )
    click.secho(f"{'readers':>7} {'at least':>9} {'exactly':>8}", bold=True)
    for level, at_least, exactly in found.levels.rows():
        click.echo(f"{level:>7} {at_least:>9} {exactly:>8}")
    click.echo(f"only small nodules: {found.small}, rejected by all: {found.rejected}")
    for algorithm, figure, before, after in scored.rows():
        shown = ["–" if value is None else f"{value:.4f}" for value in (before, after)]
        click.echo(f"{algorithm} {figure}: {shown[0]} before, {shown[1]} after")
    click.echo(f"wrote {out}: {found.added} nodules added")
