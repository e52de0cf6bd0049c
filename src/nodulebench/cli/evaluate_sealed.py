"""What ``nodulebench evaluate`` does on a sealed test set: order a look, and print the feedback."""

from pathlib import Path
from typing import Any

import click

from nodulebench.cli.help import DONE, NOT_MET
from nodulebench.cli.options import print_written
from nodulebench.cli.progress import ProgressLine
from nodulebench.cli.vault_options import required_secret
from nodulebench.language import english


def evaluate_on_sealed(
    marks: Path, sealed: Path, *, vault_key: Path | None, passphrase_file: Path | None, **order: Any
) -> int:
    """Score one submission on a sealed set, and say what its developer may be told.

    The exit status follows from what is told alone: nobody learns more from it.
    """
    from nodulebench.workflows.custody.evaluate_sealed import LookOrder, evaluate_sealed

    secret = required_secret(vault_key, passphrase_file)
    with ProgressLine("evaluating"):
        told, written = evaluate_sealed(LookOrder(marks, sealed, secret, **order))
    _print(told)
    print_written(*written)
    return NOT_MET if told.get("passed") is False else DONE


def _print(told: dict[str, Any]) -> None:
    from nodulebench.workflows.custody.audit_log import in_a_line

    click.echo(in_a_line(f"{told['algorithm']} on {told['test_set']}"))
    if "passed" in told:
        click.echo(f"plan {told['plan']}: {'passed' if told['passed'] else 'not passed'}")
    for name, one in told.get("figures", {}).items():
        value = english(one["reason"]) if one["value"] is None else f"{one['value']:g}"
        word = "at most" if one.get("side") == "upper" else "at least"
        bound = f", {word} {one['bound']:g}" if "bound" in one else ""
        click.echo(f"{name} {value}{bound}")
    looks = told["looks"]
    click.echo(f"look {looks['look']} of {looks['allowed']}")
    if "warning" in looks:
        click.echo(f"warning: {english(looks['warning'])}", err=True)
