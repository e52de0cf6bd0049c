"""What commands are made of: kinds of values, an option that shows its default, last lines."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nodulebench.i18n.translator import english

if TYPE_CHECKING:
    from nodulebench.core.notices import Notice

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
WHOLE = click.IntRange(min=0)
SHARE = click.FloatRange(0, 1)
POSITIVE = click.FloatRange(min=0, min_open=True)
NOT_NEGATIVE = click.FloatRange(min=0)


nodules_option = click.option(
    "--nodules", type=FILE, help="Table of what else is known of nodules, by id or place."
)


weights_option = click.option(
    "--weights",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Of networks that find or judge, and classifiers of detectors: a file, or a folder.",
)


def option(
    name: str, kind: Any, default: Any, words: str = "", *, to: str = "", **more: Any
) -> Callable[[Command], Command]:
    """An option with a default, which its help shows where there is one to speak of.

    Args:
        name: how it is written, with its dashes; for a flag both forms.
        kind: the type of its values, or the list of words to choose from.
        default: what holds where it is not given.
        words: what it is for.
        to: the parameter that takes it, unless that has its name.
        more: whatever else ``click.option`` takes.
    """
    shows = {"show_default": default != "", **more}
    of_kind = click.Choice(kind) if isinstance(kind, list) else kind
    names = (name, to) if to else (name,)
    return click.option(*names, type=of_kind, default=default, help=words, **shows)


def print_written(*paths: Path | None) -> None:
    """Say which files and folders were written, of those that were asked for."""
    for path in paths:
        if path is not None:
            click.echo(f"wrote {path}")


def print_next(*commands: str) -> None:
    """Say which command comes next on the way from DICOM to a verdict."""
    for number, command in enumerate(commands):
        click.echo(f"{'or  ' if number else 'next'}  {command}")


def print_notices(word: str, notices: "Iterable[Notice]") -> None:
    """Say what a reader has to know, one line each, beginning with a word such as 'warning'."""
    for notice in notices:
        click.echo(f"{word}: {english(notice)}", err=True)
