"""Options that say which engine does the work of a command, the same for all of them."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from nodulebench.cli.options import COUNT, FILE
from nodulebench.core.executor import EngineChoice

ENGINES = "local|dask|dask://HOST:PORT|slurm"


def engine_options(
    usual: str, words: str = "Tasks at the same time.", *, before: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options of an engine; the command gets them as ``engine``.

    Args:
        usual: how many workers there are where nobody says.
        words: what a worker does.
        before: what ``--workers`` was called earlier, which is still understood.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_engine(
            engine: str,
            workers: int | None,
            tls_ca: Path | None,
            tls_cert: Path | None,
            tls_key: Path | None,
            earlier: int | None = None,
            **given: Any,
        ) -> Any:
            choice = EngineChoice(engine, workers or earlier, tls_ca, tls_cert, tls_key)
            return command(**given, engine=choice)

        options = [
            click.option(
                "--engine",
                metavar=ENGINES,
                default="local",
                show_default=True,
                help="Who does the work: this machine, a Dask cluster, or jobs of Slurm.",
            ),
            click.option("--workers", type=COUNT, help=f"{words}  [default: {usual}]"),
            click.option("--tls-ca", type=FILE, help="Of a cluster: the authority of all sides."),
            click.option("--tls-cert", type=FILE, help="Of a cluster: your certificate."),
            click.option("--tls-key", type=FILE, help="Of a cluster: its key."),
        ]
        if before:
            options.append(click.option(before, "earlier", type=COUNT, hidden=True))
        made: Callable[..., Any] = with_engine
        for one in reversed(options):
            made = one(made)
        return made

    return add
