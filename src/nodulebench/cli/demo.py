"""nodulebench demo: the whole workflow, from images to the report."""

from pathlib import Path

import click

from nodulebench.cli.options import FILE, option
from nodulebench.cli.output import print_table
from nodulebench.cli.terminal import tell_line


@click.command("demo")
@option(
    "--out", FILE, Path("nodulebench-demo"), "Folder for the test set, the report and the tables."
)
@option("--phantoms", click.IntRange(min=2), 6, "Scans to make; each has a nodule of every type.")
def command(out: Path, phantoms: int) -> None:
    r"""Make CT scans with known nodules, test three detectors and their combination on them.

    The scans are phantoms; the detectors are those of LUNA16. Needs nothing but this package: no
    network, no extras.

    \b
    nodulebench demo --out nodulebench-demo
    """
    from nodulebench.demo import RESULT, DemoChoice, run_demo

    evaluation = run_demo(out, DemoChoice(phantoms=phantoms), tell_line)
    result = out / RESULT
    click.echo()
    print_table(evaluation)
    click.echo(f"\nOpen {result / 'report.html'} in a browser; the numbers are in evaluation.json.")
