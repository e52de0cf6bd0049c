"""What ``nodulebench evaluate`` does on a sealed test set: order a look, and print the feedback."""

from pathlib import Path
from typing import Any

import click

from nodulebench.cli.vault_options import required_secret
from nodulebench.language import english


def evaluate_on_sealed(
    marks: Path,
    sealed: Path,
    *,
    vault_key: Path | None,
    passphrase_file: Path | None,
    person: str,
    developer: str,
    protocol: str | None,
    plan: Path | None,
    bootstraps: int | None,
    seed: int | None,
    out: Path | None,
) -> None:
    """Score one submission on a sealed set, and say what its developer may be told."""
    from nodulebench.workflows.custody.evaluate_sealed import LookOrder, evaluate_sealed

    told, written = evaluate_sealed(
        LookOrder(
            marks,
            sealed,
            required_secret(vault_key, passphrase_file),
            person,
            developer,
            protocol,
            plan,
            bootstraps,
            seed,
            out,
        )
    )
    _print(told)
    for path in written:
        click.echo(f"wrote {path}")


def _print(told: dict[str, Any]) -> None:
    click.echo(f"{told['algorithm']} on {told['test_set']}")
    if "passed" in told:
        click.echo(f"plan {told['plan']}: {'passed' if told['passed'] else 'not passed'}")
    for name, one in told.get("figures", {}).items():
        value = english(one["reason"]) if one["value"] is None else f"{one['value']:g}"
        bound = f", at least {one['bound']:g}" if "bound" in one else ""
        click.echo(f"{name} {value}{bound}")
    looks = told["looks"]
    click.echo(f"look {looks['look']} of {looks['allowed']}")
    if "warning" in looks:
        click.echo(f"warning: {english(looks['warning'])}", err=True)
