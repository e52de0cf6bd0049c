"""nodulebench weights: what weights of networks are, and whether they hold."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.terminal import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodulebench.core.errors import Problem

EXISTING = click.Path(path_type=Path, exists=True)
PATHS = click.argument("paths", nargs=-1, required=True, type=EXISTING)


@click.group("weights")
def command() -> None:
    """List, show and verify weights of networks: safetensors files with a card of their origin."""


@command.command("list")
@click.argument("paths", nargs=-1, type=EXISTING)
def list_(paths: tuple[Path, ...]) -> int:
    r"""List weights: PATHS are files, and folders of them; without any, the package's.

    \b
    nodulebench weights list
    nodulebench weights list twoscale/
    """
    from nodulebench.detection.weights import list_weights

    found, problems = list_weights(paths)
    width = max((len(one.path.name) for one in found), default=0)
    named = list(dict.fromkeys(name for one in found for name in one.metrics))
    if found:
        head = f"{'file':<{width}}  {'network':<14} {'without':<8} {'series':>6} {'steps':>7}"
        click.secho(head + "".join(f" {name:>{_width(name)}}" for name in named), bold=True)
    for one in found:
        without = ",".join(map(str, one.left_out)) or "-"
        metrics = "".join(f" {_metric(one.metrics, name):>{_width(name)}}" for name in named)
        click.echo(
            f"{one.path.name:<{width}}  {one.network:<14} {without:<8} {one.series:>6} "
            f"{one.steps:>7}{metrics}"
        )
    return _told(problems)


@command.command("show")
@PATHS
def show(paths: tuple[Path, ...]) -> int:
    r"""Show the card of weights: data, folds, recipe, digests, metrics.

    \b
    nodulebench weights show twoscale/twoscale-0.safetensors
    """
    from nodulebench.detection.weights import list_weights

    found, problems = list_weights(paths)
    for one in found:
        click.secho(str(one.path), bold=True)
        for name, value in one.facts.items():
            if name != "path" and value not in ("", (), None):
                click.echo(f"  {name.replace('_', ' '):<11} {_text(value)}")
    return _told(problems)


@command.command("verify")
@PATHS
def verify(paths: tuple[Path, ...]) -> int:
    r"""Verify weights: numbers are those of the card and fit the network, folds were begun anew.

    \b
    nodulebench weights verify twoscale/
    """
    from nodulebench.detection.weights import weight_problems

    wrong = 0
    with ProgressLine("verifying"):
        found = list(weight_problems(paths))
    for path, problems in found:
        if not problems:
            click.echo(f"ok     {path}")
        wrong += _told(problems)
    return 1 if wrong else 0


def _told(problems: "Sequence[Problem]") -> int:
    """Tell what is wrong with files, after what is right; the status that the command ends with."""
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    return 1 if problems else 0


def _metric(metrics: dict[str, float], name: str) -> str:
    """A share to four places, a number of places to one."""
    value = metrics.get(name)
    if value is None:
        return "-"
    return f"{value:.1f}" if abs(value) > 1 else f"{value:.4f}"


def _width(name: str) -> int:
    return max(6, len(name))


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:.4f}" for name, number in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
