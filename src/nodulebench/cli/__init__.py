"""The command line, one file per command; heavy modules are imported when a command runs."""

import gc
import os
import sys
from importlib import import_module
from typing import NoReturn

import click

from nodulebench import __version__
from nodulebench.cli.help import COMMANDS, DONE, GROUPS, LISTS, PROBLEM, STOPPED, prepare
from nodulebench.cli.terminal import guard, guarded
from nodulebench.core.errors import NoduleBenchError, UndefinedError, did_you_mean

# start-up and a report make about 110,000 objects and few cycles; collecting cycles takes 30 ms;
# the matrix products are small, and threads of the linear algebra library would only wait for each
# other; searching for pydantic plugins takes 10 ms
gc.set_threshold(250_000)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


class _LazyGroup(click.Group):
    """A group that imports a command's module only when the command is run or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        name = "lists" if cmd_name in LISTS else cmd_name.replace("-", "_")
        module = import_module(f"nodulebench.cli.{name}")
        return prepare(module.COMMANDS[cmd_name] if name == "lists" else module.command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), words) for name, words in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = did_you_mean(args[0], COMMANDS)
            raise click.UsageError(f"{error.message}{hint}", ctx) from error


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nodulebench")
@click.option(
    "--debug",
    is_flag=True,
    expose_value=False,  # ``main`` removes it from the arguments at any position
    help="Show the traceback of an error; works with every command.",
)
def nodulebench() -> None:
    r"""Evaluate software that finds lung nodules in CT scans.

    \b
    nodulebench demo
    nodulebench evaluate my_marks.csv --reference luna16/ --out result/
    nodulebench help evaluate
    """


prepare(nodulebench)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command, and exit with one of the statuses that ``help`` lists."""
    given = sys.argv[1:] if arguments is None else arguments
    is_debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    with guarded():
        try:
            outcome: object = nodulebench.main(
                given, prog_name="nodulebench", standalone_mode=False
            )
        except NoduleBenchError as error:
            if is_debug:
                raise
            for line in _message(error).splitlines():
                click.echo(f"error: {line}", err=True)
            sys.exit(PROBLEM)
        except click.ClickException as error:
            click.echo(_usage_message(error), err=True)
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):  # click turns a KeyboardInterrupt into an Abort
            click.echo("stopped", err=True)
            sys.exit(STOPPED)
        except OSError as error:
            if is_debug:
                raise
            where = f"{error.filename}: " if error.filename else ""
            click.echo(f"error: {where}{error.strerror or error}", err=True)
            sys.exit(PROBLEM)
        sys.exit(outcome if isinstance(outcome, int) else DONE)


def run() -> NoReturn:
    """Run as a program: like ``main``, but exit without garbage collection.

    Finalisers and exit handlers run; the collection would cost a tenth of a second of every call.
    """
    guard()  # also for a traceback, which is printed at the very end
    try:
        main()
    finally:
        gc.disable()
        gc.freeze()


def _usage_message(error: click.ClickException) -> str:
    """Where a command line is wrong, what is wrong, and what to do."""
    what = error.format_message()
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return f"error: {what}"
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        option, wanted = error.param, error.param.make_metavar(error.ctx)
        what = f"{what} Add {option.opts[0]} {wanted}: {option.help}"
    path = error.ctx.command_path
    usage = " ".join(error.ctx.get_usage().split())
    return f"error: {path}: {what}\n{usage}\nRun '{path} --help' to see all options."


def _message(error: NoduleBenchError) -> str:
    """The text of an error; for an undefined metric the reason in English."""
    if not isinstance(error, UndefinedError):
        return str(error)
    from nodulebench.core.notices import reason_of
    from nodulebench.i18n.translator import in_english

    return in_english(reason_of(error))
