"""nodulebench weights: list, show and verify weights of networks."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import EXISTING
from nodulebench.cli.terminal import ProgressLine, json_option, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodulebench.core.errors import Problem

EXISTING = EXISTING
PATHS = click.argument("paths", nargs=-1, required=True, type=EXISTING)


@click.group("weights")
def command() -> None:
    """List, show and verify weights of networks."""


@command.command("list")
@click.argument("paths", nargs=-1, type=EXISTING)
@json_option
def list_(paths: tuple[Path, ...]) -> int:
    r"""List weights, by default those of this package.

    \b
    nodulebench weights list
    nodulebench weights list twoscale/
    """
    from nodulebench.detection.weights import list_weights

    listed, problems = list_weights(paths)
    print_json([weights.facts for weights in listed])
    width = max((len(weights.path.name) for weights in listed), default=0)
    named = list(dict.fromkeys(name for weights in listed for name in weights.metrics))
    if listed:
        head = f"{'file':<{width}}  {'network':<14} {'without':<8} {'series':>6} {'steps':>7}"
        click.secho(head + "".join(f" {name:>{_width(name)}}" for name in named), bold=True)
    for weights in listed:
        without = ",".join(map(str, weights.left_out)) or "-"
        metrics = "".join(f" {_metric(weights.metrics, name):>{_width(name)}}" for name in named)
        click.echo(
            f"{weights.path.name:<{width}}  {weights.network:<14} {without:<8} "
            f"{weights.series:>6} {weights.steps:>7}{metrics}"
        )
    return _print_problems(problems)


@command.command("show")
@PATHS
@json_option
def show(paths: tuple[Path, ...]) -> int:
    r"""Show the model cards of weights.

    \b
    nodulebench weights show twoscale/twoscale-0.safetensors
    """
    from nodulebench.detection.weights import list_weights

    listed, problems = list_weights(paths)
    print_json([weights.facts for weights in listed])
    for weights in listed:
        click.secho(str(weights.path), bold=True)
        for name, value in weights.facts.items():
            if name != "path" and value not in ("", (), None):
                click.echo(f"  {name.replace('_', ' '):<11} {_text(value)}")
    return _print_problems(problems)


@command.command("verify")
@PATHS
@json_option
def verify(paths: tuple[Path, ...]) -> int:
    r"""Verify weights against their model cards.

    The folds must also have been trained separately.

    \b
    nodulebench weights verify twoscale/
    """
    from nodulebench.detection.weights import weight_problems

    wrong = 0
    with ProgressLine("verifying"):
        checked = list(weight_problems(paths))
    print_json([{"path": path, "problems": problems} for path, problems in checked])
    for path, problems in checked:
        if not problems:
            click.echo(f"ok     {path}")
        wrong += _print_problems(problems)
    return 1 if wrong else 0


def _print_problems(problems: "Sequence[Problem]") -> int:
    """Print problems; returns the exit status."""
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
