"""The commands' own help -> a page for each command, and their list."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from generate.markdown import code, fence, table
from nodulebench.cli import nodulebench
from nodulebench.cli.help import COMMANDS, GROUPS, MEANINGS

DOCS = Path(__file__).parents[1]
VARIABLES = {
    "NODULEBENCH_KEY": "your private OpenSSH key, as `--key`",
    "NODULEBENCH_DATABASE": "the database of a portal, as `portal --database`",
    "NODULEBENCH_OIDC_SECRET": "the client secret of a portal at its OpenID Connect provider",
    "TMPDIR": "the folder for temporary files",
}
"""Variable of the environment -> its meaning."""


def command_line_page() -> str:
    """The list of commands, and what holds for all of them."""
    return "\n\n".join(
        [
            "---\nkeywords: exit code, exit status, options, completion\n---",
            "# Command line",
            "`nodulebench help COMMAND` shows the same text as these pages. `--quiet` prints no "
            "progress, `--json` prints the result as one JSON document, and `--debug` shows the "
            "traceback of an error. `python -m nodulebench` is the same as `nodulebench`.",
            *(
                f"## {group}\n\n"
                + table(
                    ["command", "what it does"],
                    ([_link(name), commands[name]] for name in commands),
                )
                for group, commands in GROUPS.items()
            ),
            "## Exit status",
            table(
                ["status", "meaning"],
                ([code(status), meaning] for status, meaning in MEANINGS.items()),
            ),
            "## Variables of the environment",
            table(
                ["variable", "meaning"],
                ([code(name), meaning] for name, meaning in VARIABLES.items()),
            ),
            "## Completion",
            "`nodulebench completion SHELL` prints the script for the shell; see "
            "[completion](command-completion.md).",
            "```{toctree}\n:hidden:\n\n"
            + "\n".join(f"command-{name}" for name in COMMANDS)
            + "\n```",
            "",
        ]
    )


def command_page(name: str) -> str:
    """The help of a command and its subcommands, and the pages that use it."""
    context = click.Context(nodulebench, info_name="nodulebench")
    command = nodulebench.get_command(context, name)
    if command is None:
        raise ValueError(f"there is no command {name}")
    (_, own), *below = command_helps(command, context)
    using = [f"- [{title}](../../{path})" for path, title in pages_with(name)]
    return "\n\n".join(
        [
            f"# nodulebench {name}",
            COMMANDS[name],
            fence(own),
            *(f"## {path}\n\n{fence(text)}" for path, text in below),
            *(["## Pages that use this command", "\n".join(using)] if using else []),
            "",
        ]
    )


COMMAND_PAGES = {f"command-{name}.md": partial(command_page, name) for name in COMMANDS}
"""File name -> the page of a command."""


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


def pages_with(name: str) -> Iterator[tuple[str, str]]:
    """The path and the title of every how-to page and tutorial that shows the command."""
    for folder in ("start", "tutorials", "how-to"):
        for page in sorted((DOCS / folder).rglob("*.md")):
            text = page.read_text(encoding="utf-8")
            title = re.search(r"^# (.+)$", text, re.MULTILINE)
            if title and re.search(rf"nodulebench {name}\b(?!-)", text):
                yield page.relative_to(DOCS).as_posix(), title[1]


def _link(name: str) -> str:
    return f"[{name}](command-{name}.md)"
