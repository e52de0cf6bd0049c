"""SealedCheck -> lines on the terminal."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.language import english

if TYPE_CHECKING:
    from nodulebench.workflows.custody.verify_sealed import SealedCheck


def print_check(found: "SealedCheck", folder: Path) -> None:
    """Print what was checked in a sealed set, and everything that is wrong with it."""
    for problem in found.problems:
        click.echo(f"error: {problem}", err=True)
    for notice in found.notices:
        click.echo(f"notice: {english(notice)}", err=True)
    click.echo(f"files       {found.files} listed")
    click.echo(f"signature   {_signature(found)}")
    codes = "chain and codes" if found.was_opened else "chain (codes need the vault's secret)"
    click.echo(f"log         {len(found.events)} events, {codes}")
    click.echo(f"anchors     {found.anchors} compared")
    word = (
        click.style("verified", fg="green")
        if found.is_good
        else click.style(f"NOT verified: {len(found.problems)} found", fg="red")
    )
    click.echo(f"{folder}: {word}")


def _signature(found: "SealedCheck") -> str:
    if found.signature is None:
        return "does not hold"
    signed = found.signature.signed
    known = "" if found.signature.is_known else "; whose it is was not checked: give --public-key"
    return f"holds: {signed.at} by {signed.by}, key {signed.key}{known}"
