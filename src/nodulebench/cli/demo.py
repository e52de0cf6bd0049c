"""nodulebench demo: the whole workflow, from images to the report."""

from pathlib import Path

import click

from nodulebench.cli.options import FOLDER, option
from nodulebench.cli.output import print_table
from nodulebench.cli.terminal import tell_line


@click.command("demo")
@option(
    "--out", FOLDER, Path("nodulebench-demo"), "Folder for the test set, the report and the tables."
)
@option("--count", click.IntRange(min=2), 6, "Number of scans.", to="phantoms")
def command(out: Path, phantoms: int) -> None:
    r"""Make synthetic scans, test three detectors, and write a report.

    The detectors are those of LUNA16, and their combination is tested too. The demonstration needs
    no network and no extra packages.

    \b
    nodulebench demo --out nodulebench-demo
    """
    from nodulebench.demo import RESULT, DemoChoice, run_demo

    evaluation = run_demo(out, DemoChoice(phantoms=phantoms), tell_line)
    result = out / RESULT
    click.echo()
    print_table(evaluation)
    click.echo(f"\nOpen {result / 'report.html'} in a browser; the numbers are in evaluation.json.")
