"""nodulebench run: an isolated algorithm on a test set."""

from contextlib import nullcontext
from pathlib import Path
from typing import Literal

import click

from nodulebench.cli.options import (
    COUNT,
    EXISTING_FOLDER,
    NEW_FOLDER,
    OwnKey,
    call_with,
    executor_options,
    option,
    own_key_options,
    print_next,
    print_written,
    weights_option,
)
from nodulebench.cli.terminal import ProgressLine, json_option, print_json
from nodulebench.core.executor import ExecutorChoice

MOST_SHOWN = 20
ISOLATIONS = ["auto", "bubblewrap", "podman", "docker", "none"]
PROFILES = ["native", "grand-challenge", "medperf", "map"]


@click.command("run")
@click.argument("algorithm")
@click.argument("test_set", type=EXISTING_FOLDER)
@click.option("--out", required=True, type=NEW_FOLDER, help="Folder for the marks.")
@option(
    "--isolation",
    ISOLATIONS,
    "auto",
    "Sandbox of the algorithm; none is only for your own program.",
)
@executor_options("1")
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    help="Layout of an image archive that has no algorithm.toml.",
)
@weights_option
@option("--repeat", COUNT, 1, "Number of runs per case, whose marks are compared.", to="repeats")
@click.option(
    "--only-failed", "is_only_failed", is_flag=True, help="Run only the failed cases again."
)
@click.option("--dry-run", is_flag=True, help="Print what a run needs, and run nothing.")
@own_key_options()
@json_option
def command(
    algorithm: str,
    test_set: Path,
    out: Path,
    dry_run: bool,
    own_key: OwnKey,
    executor: ExecutorChoice,
    profile: Literal["native", "grand-challenge", "medperf", "map"] | None,
    weights: tuple[Path, ...],
    **options: object,
) -> int:
    r"""Run ALGORITHM in a sandbox on every case of TEST_SET.

    ALGORITHM is a folder with an algorithm.toml, an image archive with its --profile, or built-in
    detectors joined by '+', as for `detect`. TEST_SET is a bundle, a bag, a sealed set, or a folder
    with images/. The algorithm receives one case at a time, under a pseudonym, without network and
    within its limits. A case that fails is a result. The same command continues a stopped run. The
    exit status is 1 if the machine, and not the algorithm, is the reason that a case has no result.

    \b
    nodulebench run my_cad/ phantoms/ --out marks/
    nodulebench run my-cad.tar.gz phantoms/ --out marks/ --profile grand-challenge
    nodulebench run znet phantoms/ --out marks/ --weights znet_unet/ --weights znet/
    nodulebench run my_cad/ sealed/ --out marks/ --key operator.key
    nodulebench evaluate marks/ --reference phantoms/ --protocol nifdc-2022
    """
    from nodulebench.core.executor import open_executor
    from nodulebench.custody import require_local_workers
    from nodulebench.runner.algorithms import named_algorithm
    from nodulebench.runner.check import needs_of
    from nodulebench.runner.run import RunChoice, run_algorithm

    chosen = named_algorithm(algorithm, profile, weights)
    choice = call_with(RunChoice, options, slots=executor.workers or 1)
    key = own_key.read()
    if dry_run:
        needs = needs_of(chosen, test_set, choice, key)
        for name, text in needs.lines:
            click.echo(f"  {name:<12} {text}")
        return 0 if needs.is_met else 1
    require_local_workers(test_set, is_ours=executor.is_ours)
    try:
        gpus = chosen.run.resources.gpus
        watching = (
            nullcontext() if executor.name == "local" else open_executor(executor, 2, gpus=gpus)
        )
        with ProgressLine(f"running {chosen.name}") as line, watching as workers:
            summary = run_algorithm(
                chosen, test_set, out, choice, own_key=key, executor=workers, progress=line.tell
            )
    except KeyboardInterrupt:
        click.echo(
            f"{out} has the results so far; the same command continues from there.", err=True
        )
        raise
    for case_id, state, why in summary.problems[:MOST_SHOWN]:
        click.echo(f"{case_id}: {state}: {why}", err=True)
    if len(summary.problems) > MOST_SHOWN:
        click.echo(f"... and {len(summary.problems) - MOST_SHOWN} more", err=True)
    states = ", ".join(f"{count} {state}" for state, count in summary.states.items())
    print_json(summary)
    before = f" ({summary.was_known} from before)" if summary.was_known else ""
    click.echo(f"{sum(summary.states.values())} cases{before}: {states}")
    same, repeated = summary.reproduced
    if repeated:
        click.echo(f"{same} of {repeated} cases gave the same marks {choice.repeats} times")
    print_written(summary.folder)
    as_whom = " --key … --developer …" if summary.is_sealed else ""
    print_next(f"nodulebench evaluate {out} --reference {test_set} --protocol …{as_whom}")
    return 0 if summary.is_complete else 1
