"""nodulebench test-plan: fix what a test will be, and what counts as passing, before it is run."""

from pathlib import Path

import click

FILE = click.Path(path_type=Path)


@click.group("test-plan")
def command() -> None:
    """Freeze protocol, test set and acceptance criteria before a test."""


@command.command("freeze")
@click.option("--criteria", required=True, type=FILE, help="Acceptance criteria, TOML or JSON.")
@click.option("--reference", required=True, type=FILE, help="Bundle, LUNA16 folder or NIFDC CSV.")
@click.option("--protocol", default="luna16", show_default=True, help="Name or TOML file.")
@click.option("--out", required=True, type=FILE, help="File for the plan; may not exist yet.")
@click.option("--series", type=FILE, help="List of cases: restricts and orders them (a fold).")
@click.option("--cases", type=FILE, help="Table of cases: geometry, patients, strata.")
@click.option("--bootstraps", type=click.IntRange(min=0), help="Number of bootstrap replicates.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the bootstrap.")
def freeze(
    criteria: Path,
    reference: Path,
    protocol: str,
    out: Path,
    series: Path | None,
    cases: Path | None,
    bootstraps: int | None,
    seed: int | None,
) -> None:
    r"""Tie criteria to a protocol and to the digests of a test set, and write the plan.

    \b
    nodulebench test-plan freeze --criteria criteria.toml --reference luna16/ --out plan.json
    nodulebench evaluate my_marks.csv --reference luna16/ --plan plan.json --out result/
    """
    from nodulebench.workflows.plan.freeze import freeze_files

    plan = freeze_files(
        criteria,
        reference,
        protocol,
        out=out,
        series=series,
        cases=cases,
        bootstraps=bootstraps,
        seed=seed,
    )
    click.echo(f"{plan.name}: {plan.test_set}, {plan.cases} cases, protocol {plan.protocol.name}")
    for criterion in plan.criteria:
        click.echo(f"  {criterion}")
    click.echo(f"wrote {out}")
    click.echo(f"digest {plan.digest}")
