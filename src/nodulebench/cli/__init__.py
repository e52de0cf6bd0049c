"""The command line, one file per command. Nothing heavy is imported before a command runs."""

import gc
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from nodulebench import __version__
from nodulebench.cli.exit_status import DONE, PROBLEM, STOPPED
from nodulebench.errors import NoduleBenchError, UndefinedError, did_you_mean

# start-up and a report make about 110,000 objects and few cycles, and to look for them takes 30 ms;
# the matrix products are small, and threads of the linear algebra library would only wait for each
# other; other packages have no say in how records are checked, and to look for them takes 10 ms
gc.set_threshold(250_000)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

COMMANDS = {
    "annotate": "From readers to a reference standard: exam, consistency, review, observer.",
    "audit": "Show what was done with a sealed test set, and how its budget stands.",
    "bundle": "Write a test set as a folder with images, datasheet and digests.",
    "combine": "Merge candidate lists or average scores; tabulate all combinations.",
    "compare": "Compare the algorithms of an evaluation with one of them.",
    "conformance": "Run the golden edge cases against our scorer or any other.",
    "convert": "Convert marks or a reference between formats.",
    "coverage": "Tell what a test set consists of; check it against a design.",
    "curate": "Admit DICOM series as cases, or exclude them with coded reasons.",
    "deidentify": "Take identities out of CT slices, and check that none are left.",
    "demo": "Make a small test set, test three algorithms, write a report.",
    "detect": "Find candidates for nodules in a CT scan with the detectors of LUNA16.",
    "draw": "Draw the cases of a test set from a pool, at random, to a plan.",
    "evaluate": "Score submissions against a reference under a protocol.",
    "folds": "Check the folds of a cross-validation.",
    "phantom": "Make CT scans of synthetic chests whose nodules are known exactly.",
    "plan": "Plan a test: calculators.",
    "receive": "Take DICOM series from a PACS, by C-STORE or DICOMweb.",
    "reference": "Make a reference standard of what readers drew; compare two.",
    "report": "Write a report again: for a developer, in Chinese, as PDF.",
    "seal": "Sign a test set, encrypt its reference, begin the log of its use.",
    "robustness": "Test how an algorithm's marks change with the image.",
    "sign": "Sign a folder of results with an Ed25519 key, or make such a key.",
    "test-plan": "Freeze protocol, test set and acceptance criteria before a test.",
    "train": "Train the classifier of a detector on blocks with known nodules.",
    "unseal": "Take the reference out of a sealed test set, or open a kept result.",
    "verify": "Recompute every number of a folder of results, or check a sealed test set.",
}
"""Command -> what it does; the code is in the module of that name, loaded when it is called."""


def _keep_examples(command: click.Command) -> None:
    r"""Keep the lines of examples apart: docstrings are raw, so ``\b`` is two letters in them."""
    command.help = command.help and command.help.replace(r"\b", "\b")
    for below in getattr(command, "commands", {}).values():
        _keep_examples(below)


class _LazyGroup(click.Group):
    """A group that imports a command's module only when the command is run or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"nodulebench.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        _keep_examples(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

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
    expose_value=False,  # taken out of the arguments by ``main``, wherever it stands
    help="Show a traceback when something goes wrong.",
)
def nodulebench() -> None:
    """A test laboratory for computer-aided detection of lung nodules in CT."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command, and exit with one of the statuses that ``exit_status`` lists."""
    given = sys.argv[1:] if arguments is None else arguments
    is_debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    try:
        outcome: Any = nodulebench.main(given, prog_name="nodulebench", standalone_mode=False)
    except NoduleBenchError as error:
        if is_debug:
            raise
        for line in _told(error).splitlines():
            click.echo(f"error: {line}", err=True)
        sys.exit(PROBLEM)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):  # click makes the one of the other
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
    """Run as a program: like ``main``, but leave without a search for cycles of dead objects.

    Finalisers and exit handlers run; the search would cost a tenth of a second of every call.
    """
    try:
        main()
    finally:
        gc.disable()
        gc.freeze()


def _told(error: NoduleBenchError) -> str:
    """What an error says; a figure that is undefined says why in words."""
    if not isinstance(error, UndefinedError):
        return str(error)
    from nodulebench.language import english
    from nodulebench.model.notice import reason_of

    return english(reason_of(error))
