"""nodulebench annotate observer: readers classify false positives; readers are compared."""

from pathlib import Path

import click

from nodulebench.cli.annotate.options import BY
from nodulebench.cli.options import (
    COUNT,
    FILE,
    FOLDER,
    PATH,
    POSITIVE,
    call_with,
    option,
    print_next,
    print_written,
    reader_table_option,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json
from nodulebench.core.json_types import JsonObject
from nodulebench.core.text import counted
from nodulebench.i18n.translator import in_english

STUDY = click.argument("study", type=FILE)


@click.command("open")
@STUDY
@click.option(
    "--reader",
    "reader_ids",
    multiple=True,
    required=True,
    help="Name of a reader; may be repeated.",
)
@option("--seed", int, 0, "Random seed.")
@option("--patch-mm", click.FloatRange(20, 400), 80.0, "Width of the image around a position.")
def open_for(study: Path, reader_ids: tuple[str, ...], seed: int, patch_mm: float) -> None:
    r"""Open a STUDY for its readers.

    Each reader classifies every position, blind to the others and in a random order.

    \b
    nodulebench annotate observer open study/ --reader ann --reader bo --reader cy --reader di
    """
    from nodulebench.annotation.observer_study import begin_study

    opened = begin_study(study, reader_ids, seed=seed, patch_mm=patch_mm)
    click.echo(f"{opened.suspects.height} positions for each of {len(reader_ids)} readers")
    print_next(
        f"nodulebench read {study} --images SCANS --by {reader_ids[0]}",
        f"nodulebench annotate observer export-tasks {study} FILE --by {reader_ids[0]}",
    )


@click.command("export-tasks")
@STUDY
@click.argument("file", type=FILE)
@BY
def ask(study: Path, file: Path, actor_id: str) -> None:
    r"""Write a reader's open positions to a CSV FILE.

    Fill in 'call' (nodule, small_nodule or non_nodule) and, for a nodule, 'diameter_mm'.

    \b
    nodulebench annotate observer export-tasks study/ ann.csv --by ann
    """
    from nodulebench.annotation.observer_study import export_places, open_study

    count = export_places(open_study(study), actor_id, file)
    if not count:
        click.echo(f"{actor_id} has no open positions")
        return
    print_done(f"wrote {file}: {counted(count, 'position')} for {actor_id} to classify")
    print_next(f"nodulebench annotate observer import-answers {study} {file} --by {actor_id}")


@click.command("import-answers")
@STUDY
@click.argument("file", type=FILE)
@BY
def answer(study: Path, file: Path, actor_id: str) -> None:
    r"""Submit a reader's calls from a CSV FILE.

    'export-tasks' writes the file; rows without a call stay open.

    \b
    nodulebench annotate observer import-answers study/ ann.csv --by ann
    """
    from nodulebench.annotation.observer_study import import_calls, open_study

    count = import_calls(open_study(study), actor_id, file)
    click.echo(f"{actor_id}: {counted(count, 'position')} classified")
    _tell(study)


@click.command("status")
@STUDY
@json_option
def status(study: Path) -> None:
    r"""Show the progress of each reader, and the next step.

    Calls stay hidden.

    \b
    nodulebench annotate observer status study/
    """
    _tell(study)


def _tell(study: Path) -> None:
    from nodulebench.annotation.observer_study import open_study, status_of

    opened = open_study(study)
    logs, total = status_of(opened)["logs"], opened.suspects.height
    print_json(lambda: status_of(opened))
    for reader_id, counts in logs.items():
        click.echo(f"  {reader_id}: {counts['calls']} of {total}")
    unfinished = [name for name, counts in logs.items() if counts["calls"] < total]
    print_next(
        f"nodulebench read {study} --images SCANS --by {unfinished[0]}"
        if unfinished
        else f"nodulebench annotate observer conclude {study} --reference … --out …"
    )


PROTOCOL = option("--protocol", str, "luna16", "Test protocol.")


@click.group("observer")
def command() -> None:
    """Let readers classify false positives; analyse reader studies."""


for part in (open_for, ask, answer, status):
    command.add_command(part)


@command.command("select")
@click.argument("marks", type=FILE)
@click.option("--reference", type=PATH, help="Test set, unless MARKS is a result.")
@click.option("--protocol", help="Test protocol.  [default: that of the result, or luna16]")
@click.option("--algorithm", help="Name of the algorithm, if the result has several.")
@option(
    "--at-fp",
    POSITIVE,
    0.25,
    "Number of false positives per case, the highest-scored ones.",
    to="rate",
)
@click.option(
    "--prescreen", type=FILE, help="Table of obvious false positives: case_id, mark_id, is_obvious."
)
@click.option("--annotated", type=PATH, help="Reference with all lesions of the source data.")
@click.option("--earlier", type=FILE, help="Table of earlier calls: place, reader_id, call.")
@click.option("--out", type=FOLDER, required=True, help="Folder for the study.")
def select(**options: object) -> None:
    r"""Select false positives of MARKS for readers to classify.

    MARKS is a submission, or a folder that `evaluate` wrote.

    \b
    nodulebench annotate observer select marks.csv --reference luna16/ --out study/
    nodulebench annotate observer select result/ --out study/
    """
    from nodulebench.annotation.observer_selection import SelectOptions, select_files

    with ProgressLine("selecting"):
        selection = select_files(call_with(SelectOptions, options))
    for name, count in selection.flow.items():
        click.echo(f"{name.replace('_', ' '):<18} {count:>6}")
    out = options["out"]
    print_done(f"wrote {out}")
    print_next(f"nodulebench annotate observer open {out} --reader … --reader …")


@command.command("conclude")
@click.argument("study", type=FILE)
@click.argument("calls", metavar="[CALLS]...", type=FILE, nargs=-1)
@click.option("--reference", type=PATH, required=True, help="Test set.")
@PROTOCOL
@click.option(
    "--marks",
    type=PATH,
    multiple=True,
    help="Submission to score before and after; may be repeated.",
)
@click.option(
    "--readers", type=COUNT, help="Number of readers.  [default: those of the study, or 4]"
)
@option("--minimum-agreement", COUNT, 3, "Number of readers who must agree on a nodule.")
@click.option("--out", type=FOLDER, required=True, help="Folder for both references.")
@json_option
def conclude(
    study: Path, calls: tuple[Path, ...], reference: Path, out: Path, **chosen: object
) -> None:
    r"""Count readers' calls, and add the agreed nodules.

    The calls in the STUDY itself count; CALLS are tables of readers who worked elsewhere.

    \b
    nodulebench annotate observer conclude study/ --reference luna16/ --out both/
    nodulebench annotate observer conclude study/ ann.csv bo.csv --reference luna16/ --out both/
    """
    from nodulebench.annotation.observer_conclusion import conclude_files

    with ProgressLine("scoring"):
        found, scored = call_with(conclude_files, chosen, study, calls, reference, out)
    print_json({"levels": found.levels, "added": found.added, "effect": scored})
    click.secho(f"{'readers':>7} {'at least':>9} {'exactly':>8}", bold=True)
    for level, at_least, exactly in found.levels.rows():
        click.echo(f"{level:>7} {at_least:>9} {exactly:>8}")
    click.echo(f"only small nodules: {found.small}, rejected by all: {found.rejected}")
    for algorithm, metric, before, after in scored.rows():
        shown = ["–" if value is None else f"{value:.4f}" for value in (before, after)]
        click.echo(f"{algorithm} {metric}: {shown[0]} before, {shown[1]} after")
    print_done(f"wrote {out}: {found.added} nodules added")
    print_next(
        f"nodulebench evaluate … --reference {out / 'after'} --protocol {chosen['protocol']}"
    )


@command.command("analyse")
@click.argument("readings", type=FILE)
@reader_table_option
@option("--metric", str, "case_roc_area", "Metric, with --reader-table.")
@click.option(
    "--rule", help="Mark rule, with --reader-table.  [default: the first of the protocol]"
)
@click.option(
    "--algorithm", help="Name of the reader that is an algorithm, to compare the others with."
)
@option("--covariance", ["jackknife", "delong"], "jackknife", "Estimator of the covariance.")
@click.option("--out", type=FILE, help="JSON file for all numbers.")
@json_option
def analyse(readings: Path, out: Path | None, **choice: object) -> None:
    r"""Compare ways of reading, or readers with an algorithm.

    The method is that of Obuchowski and Rockette. READINGS is a table of treatment, reader_id,
    case_id, rating, is_abnormal; or, with --reader-table, a result in which every reader under
    every treatment is a submission.

    \b
    nodulebench annotate observer analyse ratings.csv
    nodulebench annotate observer analyse result --reader-table who.csv --metric wafroc_area
    """
    from nodulebench.annotation.reader_study import StudyChoice, analyse_readers

    with ProgressLine("analysing"):
        analysis = analyse_readers(readings, call_with(StudyChoice, choice), out=out)
    print_json(analysis)
    count = len({reader["reader_id"] for reader in analysis["readers"]})
    click.echo(
        f"{analysis['metric']} of {count} readers on {analysis['cases']} cases, "
        f"{analysis['covariance']} covariance"
    )
    for treatment in analysis["treatments"]:
        values = [
            row["value"]
            for row in analysis["readers"]
            if row["treatment"] == treatment["treatment"]
        ]
        each = " ".join(f"{value:.3f}" for value in values)
        click.echo(
            f"  {treatment['treatment']}: mean {_estimate(treatment['mean'])}; readers {each}"
        )
    for reader_difference in analysis["reader_differences"]:
        own, p_value = (
            reader_difference["difference"],
            reader_difference["difference"].get("p_value"),
        )
        tested = "" if p_value is None else f", DeLong P {p_value:.4f}"
        pair = f"{reader_difference['first']} - {reader_difference['second']}"
        click.echo(f"  {reader_difference['reader_id']}, {pair}: {_estimate(own)}{tested}")
    for test in analysis.get("tests", ()):
        click.echo(f"{test['analysis']}: F {_tested(test)}")
        for pair in test["differences"]:
            shown = _estimate(pair["difference"])
            click.echo(f"  {pair['first']} - {pair['second']}: {shown}")
    for comparison in analysis["against_algorithm"]:
        tested = f", t {_tested(comparison)}" if "p_value" in comparison else ""
        algorithm = f"{comparison['algorithm']} ({comparison['value']:.3f})"
        click.echo(
            f"{comparison['treatment']}: mean reader - {algorithm}: "
            f"{_estimate(comparison['difference'])}{tested}"
        )
    if "reason" in analysis:
        click.echo(f"no test: {in_english(analysis['reason'])}")
    if "components" in analysis:
        components = analysis["components"].items()
        options = " ".join(
            f"--{name.replace('_', '-')} {value:.6g}"
            for name, value in components
            if name != UNASKED
        )
        click.echo(f"as a pilot: plan readers --pilot-cases {analysis['cases']} {options}")
    print_written(out)


UNASKED = "treatment_square"
"""The component on which the power of a study does not depend."""


def _estimate(estimate: JsonObject) -> str:
    if estimate["value"] is None:
        return f"undefined ({in_english(estimate['reason'])})"
    value = f"{estimate['value']:.4f}"
    if estimate.get("low") is None:
        return value
    return f"{value} ({estimate['low']:.4f} to {estimate['high']:.4f})"


def _tested(test: JsonObject) -> str:
    degrees = ", ".join(
        "∞" if number is None else f"{number:.4g}" for number in test["degrees_of_freedom"]
    )
    return f"{test['statistic']:.4f}, df {degrees}, P {test['p_value']:.4f}"
