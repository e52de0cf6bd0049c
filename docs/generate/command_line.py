"""The commands' own help -> the page of the command line."""

from collections.abc import Iterator

import click

from generate.markdown import code, fence, table
from nodulebench.cli import nodulebench
from nodulebench.cli.help import MEANINGS

SHELLS = {
    "bash 4.4 or later": ("~/.bashrc", 'eval "$(_NODULEBENCH_COMPLETE=bash_source nodulebench)"'),
    "zsh": ("~/.zshrc", 'eval "$(_NODULEBENCH_COMPLETE=zsh_source nodulebench)"'),
    "fish": (
        "~/.config/fish/completions/nodulebench.fish",
        "_NODULEBENCH_COMPLETE=fish_source nodulebench | source",
    ),
}
"""Shell -> the file that it reads when it starts, and the line that makes it complete."""


def command_line_page() -> str:
    """The help of every command and subcommand."""
    return "\n\n".join(
        [
            "# Command line",
            "`--debug` shows a traceback. `python -m nodulebench` is the same as `nodulebench`.",
            "## Completion",
            "The shell completes commands, options and files after one line in its start-up file:",
            table(
                ["shell", "file", "line"],
                ([shell, code(file), code(line)] for shell, (file, line) in SHELLS.items()),
            ),
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
