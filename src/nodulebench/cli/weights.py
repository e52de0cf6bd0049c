"""nodulebench weights: what weights of networks are, and whether they hold."""

from pathlib import Path

import click

from nodulebench.cli.progress import ProgressLine

PATHS = click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True)
)


@click.group("weights")
def command() -> None:
    """List, show and verify weights of networks: safetensors files with a card of their origin."""


@command.command("list")
@PATHS
def list_(paths: tuple[Path, ...]) -> None:
    r"""List weights: PATHS are files, and folders of them.

    \b
    nodulebench weights list twoscale/
    """
    from nodulebench.workflows.detect.weights import list_weights

    found = list_weights(paths)
    width = max(len(one.path.name) for one in found)
    head = (
        f"{'file':<{width}}  {'network':<14} {'without':<8} {'series':>6} {'steps':>7} {'area':>6}"
    )
    click.secho(head, bold=True)
    for one in found:
        without = ",".join(map(str, one.left_out)) or "-"
        area = one.figures.get("area")
        shown = "-" if area is None else f"{area:.4f}"
        click.echo(
            f"{one.path.name:<{width}}  {one.network:<14} {without:<8} {one.series:>6} "
            f"{one.steps:>7} {shown:>6}"
        )


@command.command("show")
@PATHS
def show(paths: tuple[Path, ...]) -> None:
    r"""Show the card of weights: data, folds, digests, figures.

    \b
    nodulebench weights show twoscale/twoscale-0.safetensors
    """
    from nodulebench.workflows.detect.weights import list_weights

    for one in list_weights(paths):
        click.secho(str(one.path), bold=True)
        for name, value in one.facts.items():
            if name != "path" and value not in ("", ()):
                click.echo(f"  {name.replace('_', ' '):<11} {_text(value)}")


@command.command("verify")
@PATHS
def verify(paths: tuple[Path, ...]) -> int:
    r"""Verify weights: numbers are those of the card and fit the network, folds were begun anew.

    \b
    nodulebench weights verify twoscale/
    """
    from nodulebench.workflows.detect.weights import weight_problems

    wrong = 0
    with ProgressLine("verifying"):
        found = list(weight_problems(paths))
    for path, problems in found:
        if not problems:
            click.echo(f"ok     {path}")
        for problem in problems:
            click.echo(f"error: {problem}", err=True)
        wrong += bool(problems)
    return 1 if wrong else 0


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:.4f}" for name, number in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
