"""nodulebench annotate: from readers to a reference standard."""

from importlib import import_module
from pathlib import Path

import click

from nodulebench.cli.help import prepare
from nodulebench.cli.options import FILE, FOLDER, PATH, WHOLE, option, print_written
from nodulebench.cli.terminal import ProgressLine, json_option, print_json
from nodulebench.i18n.translator import in_english


class _Parts(click.Group):
    """Commands in separate files, imported on request."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return ["exam", "consistency", "quality", "review", "observer"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ("review", "observer"):
            return prepare(import_module(f"{__package__}.{cmd_name}").command)
        return super().get_command(ctx, cmd_name)


@click.group("annotate", cls=_Parts)
def command() -> None:
    """Take readings to a reference standard: exam, review, studies."""


@command.command("exam")
@click.argument("key", type=FILE)
@click.argument("answers", metavar="ANSWER...", type=FILE, nargs=-1, required=True)
@click.option("--cases", type=PATH, help="Table of cases, if KEY does not name all.")
@option("--sequences", WHOLE, 20, "Number of CT sequences; 0 for those in KEY.")
@option(
    "--pass-mark",
    click.FloatRange(0, 1, max_open=True),
    0.8,
    "Pass mark, which precision, recall and Dice must exceed.",
)
@click.option("--out", type=FOLDER, help="Folder for a result sheet per candidate.")
@json_option
def exam(
    key: Path, answers: tuple[Path, ...], sequences: int, pass_mark: float, **files: Path | None
) -> None:
    r"""Mark the exam of reader candidates against the experts' KEY.

    \b
    nodulebench annotate exam key.csv lee.csv kim.csv --sequences 0 --out sheets/
    """
    from nodulebench.annotation.exam import PASS_METRICS, ExamRules, exam_files, sheet_json

    rules = ExamRules(sequences=sequences or None, pass_mark=pass_mark)
    with ProgressLine("marking"):
        sheets = exam_files(key, answers, rules=rules, **files)
    print_json([sheet_json(sheet) for sheet in sheets])
    click.secho(f"{'candidate':<16} {'precision':>9} {'recall':>7} {'Dice':>7}  result", bold=True)
    for sheet in sheets:
        values = [sheet.metrics[name].value for name in PASS_METRICS]
        shown = ["–" if value is None else f"{value:.3f}" for value in values]
        result = "passed" if sheet.has_passed else f"not passed: {', '.join(sheet.failed)}"
        click.echo(f"{sheet.candidate:<16} {shown[0]:>9} {shown[1]:>7} {shown[2]:>7}  {result}")
    passed = sum(sheet.has_passed for sheet in sheets)
    click.echo(f"{passed} of {len(sheets)} passed; each metric has to exceed {pass_mark:g}")
    print_written(files["out"])


@command.command("consistency")
@click.argument("readings", metavar="READING...", type=FILE, nargs=-1, required=True)
@click.option("--cases", type=PATH, help="Table of cases.  [default: those in the readings]")
@option(
    "--minimum-iou",
    click.FloatRange(0, 1, max_open=True),
    0.0,
    "Boxes match if their intersection over union exceeds this.",
)
@option(
    "--center-in-box/--no-center-in-box",
    bool,
    True,
    "Boxes also match if one contains the centre of the other.",
)
@click.option("--images", type=FOLDER, help="Folder of scans, on which the outlines are checked.")
@click.option("--out", type=FOLDER, help="Folder for union, inconsistent slices and agreement.")
@click.option(
    "--findings", type=FOLDER, help="Folder for the findings as tables, for 'reference build'."
)
@json_option
def consistency(
    readings: tuple[Path, ...], minimum_iou: float, center_in_box: bool, **files: Path | None
) -> None:
    r"""Compare the marks of several readers slice by slice.

    \b
    nodulebench annotate consistency ann.csv bo.csv cy.csv --out agreement/
    """
    from nodulebench.annotation.consistency import ConsistencyRule
    from nodulebench.annotation.reader_agreement import compare_readings

    rule = ConsistencyRule(minimum_iou=minimum_iou, center_in_box=center_in_box)
    with ProgressLine("comparing"):
        comparison = compare_readings(readings, rule=rule, **files)
    print_json({"cases": comparison.checks, "pairs": comparison.pairs})
    for check in comparison.checks:
        slices = ", ".join(str(number) for number in check.inconsistent_slices)
        verdict = f"inconsistent on slice {slices}" if slices else "consistent"
        click.echo(f"{check.case_id}: {len(check.candidates)} candidates, {verdict}")
    for pair in comparison.pairs:
        agreement = "undefined" if pair.agreement is None else f"{pair.agreement:.3f}"
        click.echo(f"{pair.first} and {pair.second}: positive agreement {agreement}")
    for warning in comparison.warnings:
        click.echo(f"warning: {warning.where}: {in_english(warning.notice)}", err=True)
    print_written(files["out"], files["findings"])


@command.command("quality")
@click.argument("readings", metavar="READING...", type=FILE, nargs=-1, required=True)
@click.option("--cases", type=PATH, help="Table of cases.  [default: those in the readings]")
@click.option("--out", type=FOLDER, help="Folder for agreement.json, which 'report' can show.")
@json_option
def quality(readings: tuple[Path, ...], cases: Path | None, out: Path | None) -> None:
    r"""Report how well readers agree on nodules, types and sizes.

    \b
    nodulebench annotate quality ann.csv bo.csv cy.csv --out agreement/
    """
    from nodulebench.annotation.reader_agreement import (
        compare_readings,
        reader_agreement,
        write_agreement,
    )

    with ProgressLine("comparing"):
        agreement = reader_agreement(compare_readings(readings, cases=cases))
    print_json(agreement)
    for row in agreement.rows:
        ends = f" ({row['low']:.3f} to {row['high']:.3f})" if "low" in row else ""
        value = in_english(row["reason"]) if row["value"] is None else f"{row['value']:.3f}{ends}"
        method = f"; {in_english(row['method'])}" if "method" in row else ""
        click.echo(f"{row['name']}: {value}{method}")
    limits = agreement.limits
    for row in limits.filter(limits["bias_mm"].is_not_null()).iter_rows(named=True):
        click.echo(
            f"{row['first']} - {row['second']}, diameter of {row['nodules']} nodules: "
            f"{row['bias_mm']:+.2f} mm, limits {row['lower_mm']:+.2f} to {row['upper_mm']:+.2f} mm"
        )
    if out is not None:
        write_agreement(agreement, out)
    print_written(out)
