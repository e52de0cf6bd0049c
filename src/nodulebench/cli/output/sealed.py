"""SealedCheck -> lines on the terminal; the lines that every check has."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import print_notices

if TYPE_CHECKING:
    from nodulebench.custody.verify import SealedCheck
    from nodulebench.evaluation.verify.verify import Verification


def print_check(found: "SealedCheck", folder: Path) -> None:
    """Print what was checked in a sealed set, and everything that is wrong with it."""
    for problem in found.problems:
        click.echo(f"error: {problem}", err=True)
    print_notices("notice", found.notices)
    click.echo(f"files       {found.files} listed")
    click.echo(f"signature   {signature_words(found)}")
    if found.has_keys:
        codes = "chain and everybody's signatures"
    else:
        codes = "chain and codes" if found.was_opened else "chain (codes need the vault's secret)"
    click.echo(f"log         {len(found.events)} events, {codes}")
    click.echo(f"anchors     {found.anchors} compared")
    print_verdict(folder, len(found.problems))


def signature_words(found: "SealedCheck | Verification") -> str:
    """Who signed, when, with which key; or that no signature holds."""
    if found.signature is None:
        return "does not hold"
    signed = found.signature.signed
    by = f" by {signed.by}" if signed.by else ""
    known = "" if found.signature.is_known else "; whose it is was not checked: give --public-key"
    return f"holds: {signed.at}{by}, key {signed.key}{known}"


def print_verdict(folder: Path, problems: int) -> None:
    """Print the last line: whether all of a folder is as it shall be."""
    word, colour = (f"NOT verified: {problems} found", "red") if problems else ("verified", "green")
    click.echo(f"{folder}: {click.style(word, fg=colour)}")
