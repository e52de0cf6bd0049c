"""nodulebench sample: draw the cases of a test set from a pool, at random, to a plan."""

from pathlib import Path

import click

from nodulebench.cli.options import COUNT, FILE, WHOLE, print_next
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json


@click.command("sample")
@click.argument("pool", type=FILE)
@click.option("--design", required=True, help="Design of a test set, with its [sampling].")
@click.option("--count", required=True, type=COUNT, help="Number of cases.")
@click.option("--seed", required=True, type=WHOLE, help="Random seed; keep a record of it.")
@click.option("--out", required=True, type=FILE, help="CSV for the drawn cases.")
@json_option
def command(pool: Path, design: str, count: int, seed: int, out: Path) -> None:
    r"""Draw cases from POOL at random, in the planned shares.

    POOL is a table of cases, or a folder that `curate` wrote. The same seed draws the same cases;
    the order of the pool does not matter.

    \b
    nodulebench sample curated/ --design design.toml --count 80 --seed 7 --out drawn.csv
    nodulebench sample pool.csv --design design.toml --count 600 --seed 20260301 --out drawn.csv
    """
    from nodulebench.curation.sampling import draw_files

    with ProgressLine("drawing"):
        sample = draw_files(pool, design, count, seed, out)
    click.secho(f"{'planned':>8} {'pool':>8} {'drawn':>8}  stratum", bold=True)
    print_json(sample)
    for stratum in sample.strata:
        values = ", ".join(f"{name} {value}" for name, value in stratum.values.items()) or "all"
        lack = click.style(f"  {stratum.lacking} lacking", fg="red") if stratum.lacking else ""
        click.echo(
            f"{stratum.planned:>8} {stratum.available:>8} {stratum.drawn:>8}  {values}{lack}"
        )
    print_done(f"wrote {out}: {len(sample.case_ids)} cases")
    print_next(f"nodulebench annotate review start panel --cases {pool} --series {out} --roster …")
