"""Options of commands that open a page on this machine, and what tells its address."""

from collections.abc import Callable
from typing import Any

import click

from nodulebench.cli.options import option

_OPTIONS = (
    option(
        "--port",
        click.IntRange(0, 65535),
        0,
        "On this machine alone; 0: the last one, or any that is free.",
    ),
    option("--language", ["en", "zh"], "en", "Language of the page."),
    click.option("--browser/--no-browser", default=True, help="Open the page at once."),
)


def page_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a page: port, language, and whether a browser opens it."""
    for one in reversed(_OPTIONS):
        command = one(command)
    return command


def address_shown(last: str, *, opens: bool) -> Callable[[str], None]:
    """What tells the address of a page, and how to end; and opens it, where that is wanted."""

    def opened(address: str) -> None:
        click.echo(f"open {address}")
        click.echo(last)
        if opens:
            import webbrowser

            webbrowser.open(address)

    return opened
