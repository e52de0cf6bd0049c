"""nodulebench test-plan: fix a test and its acceptance criteria before it is run."""

import click

from nodulebench.cli.options import (
    FILE,
    WHOLE,
    call_with,
    cases_option,
    nodules_option,
    option,
    print_next,
    reference_option,
    series_option,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_done, print_json
from nodulebench.i18n.translator import in_english


@click.group("test-plan")
def command() -> None:
    """Freeze acceptance criteria before a test. For sample sizes, see plan."""


@command.command("freeze")
@click.option("--criteria", required=True, type=FILE, help="Acceptance criteria (TOML or JSON).")
@reference_option
@option("--protocol", str, "luna16", "Test protocol.")
@click.option("--out", required=True, type=FILE, help="New file for the plan.")
@series_option
@cases_option
@nodules_option
@click.option("--bootstraps", type=WHOLE, help="Number of bootstrap samples.")
@click.option("--seed", type=WHOLE, help="Random seed.")
@json_option
def freeze(**options: object) -> None:
    r"""Freeze criteria, protocol and test set, and write the test plan.

    \b
    nodulebench test-plan freeze --criteria criteria.toml --reference luna16/ --out plan.json
    nodulebench evaluate my_marks.csv --reference luna16/ --plan plan.json --out result/
    """
    from nodulebench.evaluation.plans import FreezeOptions, freeze_files

    with ProgressLine("freezing"):
        plan, unattainable = freeze_files(call_with(FreezeOptions, options))
    click.echo(f"{plan.name}: {plan.test_set}, {plan.cases} cases, protocol {plan.protocol.name}")
    for criterion in plan.criteria:
        click.echo(f"  {criterion}")
    for number, reason in unattainable.items():
        click.echo(f"warning: {plan.criteria[number]}: {in_english(reason)}", err=True)
    print_done(f"wrote {options['out']}")
    click.echo(f"digest {plan.digest}")
    print_json(
        {"name": plan.name, "digest": plan.digest, "cases": plan.cases}
        | {"criteria": [str(criterion) for criterion in plan.criteria]}
    )
    print_next(f'name it in policy.toml: plans = ["{plan.digest}"]; then: nodulebench seal …')
