"""nodulebench bench: several algorithms on one set, their cost and their findings."""

from pathlib import Path

import click

from nodulebench.cli.options import (
    COUNT,
    EXISTING_FOLDER,
    FOLDER,
    option,
    print_written,
    weights_option,
)
from nodulebench.cli.run import ISOLATIONS
from nodulebench.cli.terminal import ProgressLine, json_option, print_json


@click.command("bench")
@click.argument("algorithms", nargs=-1, required=True)
@click.argument("test_set", type=EXISTING_FOLDER)
@click.option("--out", required=True, type=FOLDER, help="Folder for all results.")
@click.option("--protocol", help="Test protocol.  [default: luna16]")
@click.option("--bootstraps", type=click.IntRange(min=0), help="Number of bootstrap samples.")
@weights_option
@option(
    "--isolation",
    ISOLATIONS,
    "auto",
    "Sandbox of the algorithm; none is only for your own program.",
)
@option("--workers", COUNT, 1, "Number of parallel processes; 1 gives fair times.", to="slots")
@json_option
def command(
    algorithms: tuple[str, ...],
    test_set: Path,
    out: Path,
    protocol: str | None,
    bootstraps: int | None,
    weights: tuple[Path, ...],
    isolation: str,
    slots: int,
) -> None:
    r"""Compare the findings, time and memory of ALGORITHMS on TEST_SET.

    Each is a folder with an algorithm.toml, or the name of built-in detectors. The command writes a
    submission for each, their result, a table and charts. An algorithm is on the front (*) if no
    other is as good in time, memory, sensitivity and false positives, and better in one of these.
    The same command continues an interrupted run.

    \b
    nodulebench bench my_cad/ isicad largecad phantoms/ --out bench/ --protocol nifdc-2022
    """
    from nodulebench.runner.algorithms import named_algorithms
    from nodulebench.runner.bench import bench
    from nodulebench.runner.run import RunChoice

    chosen = named_algorithms(algorithms, weights)
    with ProgressLine("running") as line:
        rows, written = bench(
            chosen,
            test_set,
            out,
            RunChoice(isolation, slots),
            protocol=protocol,
            bootstraps=bootstraps,
            progress=line.tell,
        )
    width = max(len("algorithm"), *(len(row.algorithm) for row in rows), 0)
    print_json(rows)
    for rule in dict.fromkeys(row.rule for row in rows):
        click.secho(
            f"{'algorithm':<{width}}  {'ok':>9} {'median s':>9} {'95 % s':>8} {'MB':>7} "
            f"{'sensitivity':>11} {'FP/case':>8}  {rule}",
            bold=True,
        )
        for row in (row for row in rows if row.rule == rule):
            click.echo(
                f"{row.algorithm:<{width}}  {f'{row.ok}/{row.cases}':>9} "
                f"{_shown(row.median_seconds, 2):>9} {_shown(row.p95_seconds, 2):>8} "
                f"{_shown(row.peak_memory_mb, 0):>7} {_shown(row.sensitivity, 3):>11} "
                f"{_shown(row.fp_per_case, 2):>8}  {'*' if row.is_on_front else ''}".rstrip()
            )
    for row in rows:
        if row.undefined:
            click.echo(f"{row.algorithm}: {row.undefined}", err=True)
    print_written(*written)


def _shown(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"
