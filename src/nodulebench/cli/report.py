"""nodulebench report: write the report of an evaluation for another audience or as PDF."""

from datetime import datetime
from pathlib import Path

import click

from nodulebench.cli.options import (
    FILE,
    FOLDER,
    PATH,
    OwnKey,
    call_with,
    option,
    own_key_options,
    print_next,
    print_written,
)
from nodulebench.cli.stored_results import (
    evaluation_option,
    is_sealed_set,
    report_on_sealed,
    study_options,
)
from nodulebench.cli.terminal import ProgressLine


@click.command("report")
@click.argument("folder", metavar="FOLDER", type=FILE)
@click.option("--pdf", "is_pdf", is_flag=True, help="Also write a PDF (needs the extra 'pdf').")
@option(
    "--for",
    ["lab", "developer"],
    "lab",
    "Audience; a developer sees only totals that do not reveal the reference.",
    to="audience",
)
@option("--language", ["en", "zh"], "en", "Language of the page or report.")
@click.option("--algorithm", help="Name of the only algorithm to report.")
@click.option("--out", type=FOLDER, help="Folder for the report.  [default: FOLDER]")
@click.option("--causes", type=FILE, help="Cause of each false positive (CSV).")
@click.option("--images", type=PATH, help="Folder of scans; adds a gallery of nodules.")
@click.option(
    "--combinations", type=FILE, multiple=True, help="CSV from 'combine --table'; may be repeated."
)
@click.option(
    "--spread",
    "spreads",
    type=FILE,
    multiple=True,
    help="CSV from 'reference spread'; may be repeated.",
)
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="RULE.PARAMETER=V,V,...",
    help="Evaluate again with these values of a rule's parameter; may be repeated.",
)
@click.option(
    "--agreement", type=FILE, help="Include reader agreement (JSON from 'annotate quality')."
)
@click.option("--font", type=FILE, help="Font file for the PDF.")
@click.option(
    "--laboratory", default="", help="Issuer of the report.  [default: the plan's laboratory]"
)
@click.option("--number", default="", help="Number of the report; adds a signature block.")
@click.option("--operator", default="", help="Person who ran the test.")
@click.option("--date", type=click.DateTime(["%Y-%m-%d"]), help="Day of issue.  [default: today]")
@own_key_options()
@evaluation_option
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    help="Sealed test set: algorithm to compare with; may be repeated.",
)
def command(
    folder: Path,
    out: Path | None,
    date: datetime | None,
    own_key: OwnKey,
    evaluations: tuple[str, ...],
    baselines: tuple[str, ...],
    **options: object,
) -> None:
    r"""Write the report of FOLDER, which `evaluate` wrote.

    FOLDER may be a sealed set: the report is then made from its stored results. For a developer it
    contains only what the policy allows.

    \b
    nodulebench report result/ --pdf
    nodulebench report result/ --for developer --algorithm "Algorithm 3" --out to-send/
    nodulebench report result/ --language zh --pdf
    nodulebench report result/ --pdf --laboratory "Test lab" --number 2026-17 --operator "A. Bo"
    nodulebench report sealed/ --key ~/.ssh/dee --baseline A1 --out study/ --pdf
    nodulebench report sealed/ --key ~/.ssh/dee --for developer --algorithm A3 \
        --out to-send/
    """
    from nodulebench.evaluation.report import ReportChoice, write_report

    is_issued = any(options[name] for name in ("laboratory", "number", "operator"))
    day = date or (datetime.now() if is_issued else None)
    issued = f"{day:%Y-%m-%d}" if day else ""
    choice = call_with(ReportChoice, options, date=issued)
    if is_sealed_set(folder):
        order = study_options(folder, own_key, evaluations)
        written = report_on_sealed(order, choice, out, baselines)
    else:
        with ProgressLine("writing the report"):
            written = write_report(folder, choice, out)
    print_written(*written)
    if is_sealed_set(folder):
        print_next(f"nodulebench sign {out} --key …")
