"""The commands' own help -> the page of the command line."""

from collections.abc import Iterator

import click

from generate.markdown import code, fence, table
from nodulebench.cli import nodulebench
from nodulebench.cli.exit_status import MEANINGS


def command_line_page() -> str:
    """The help of every command and subcommand."""
    return "\n\n".join(
        [
            "# Command line",
            "`--debug` shows a traceback. `python -m nodulebench` is the same as `nodulebench`.",
            "## Exit status",
            table(
                ["status", "meaning"], ([code(one), meaning] for one, meaning in MEANINGS.items())
            ),
            *(f"## {path}\n\n{fence(text)}" for path, text in command_helps(nodulebench)),
            "",
        ]
    )


def command_helps(
    command: click.Command, parent: click.Context | None = None
) -> Iterator[tuple[str, str]]:
    """The full name and the help of a command, then of those below it."""
    settings = {**command.context_settings, "max_content_width": 88}
    context = click.Context(command, info_name=command.name, parent=parent, **settings)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from command_helps(below, context)
