"""What help shows: commands by what people come for, and examples that would run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import nodulebench.cli
from nodulebench.cli import nodulebench as program
from nodulebench.cli.help import COMMANDS, GROUPS

CLI = Path(nodulebench.cli.__file__).parent
PARTS = {"exit_status", "help", "options", "progress", "show", "vault_options", "evaluate_sealed"}
"""Modules of the command line that are no commands."""


def commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its full name."""
    if path and not is_mere_group(command):
        yield " ".join(path), command
    if not isinstance(command, click.Group):
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from commands(below, (*path, name))


def is_mere_group(command: click.Command) -> bool:
    return isinstance(command, click.Group) and not command.invoke_without_command


LEAVES = dict(commands(program))


def examples(command: click.Command) -> list[str]:
    joined = re.sub(r"\\\n\s*", "", (command.help or ""))
    return [line.strip() for line in joined.splitlines() if line.strip().startswith("nodulebench ")]


def parsed(example: str) -> str:
    """The full name of the command that an example calls, after its options were read."""
    arguments = shlex.split(example)[1:]
    command: click.Command = program
    context = click.Context(program, info_name="nodulebench")
    path = []
    while isinstance(command, click.Group) and arguments and arguments[0][0] != "-":
        name = arguments.pop(0)
        below = command.get_command(context, name)
        assert below is not None, f"{example}: there is no {name}"
        command = below
        path.append(name)
    assert not is_mere_group(command), f"{example}: says nothing to do"
    command.make_context(path[-1], arguments, parent=context)
    return " ".join(path)


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_has_an_example_of_itself_whose_options_exist(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, *_: Path(value))
    assert name in {parsed(one) for one in examples(LEAVES[name])}


@pytest.mark.parametrize("name", ["", *LEAVES])
def test_help_shows_examples_on_lines_of_their_own(name: str) -> None:
    command = LEAVES.get(name, program)
    shown = click.Context(command, info_name="x", max_content_width=120)
    text = command.get_help(shown)
    assert r"\b" not in text
    lines = [line.strip() for line in text.splitlines()]
    written = [line.strip() for line in (command.help or "").splitlines()]
    assert [one for one in written if one.startswith("nodulebench ")] == [
        one for one in lines if one.startswith("nodulebench ")
    ]


def test_an_example_with_an_option_that_is_not_there_is_found() -> None:
    with pytest.raises(click.UsageError, match="--refrence"):
        parsed("nodulebench evaluate marks.csv --refrence luna16/")


def test_every_module_of_a_command_is_listed_once() -> None:
    modules = {path.stem.replace("_", "-") for path in CLI.iterdir() if path.stem[0] != "_"}
    assert modules - {one.replace("_", "-") for one in PARTS} == set(COMMANDS)
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)


def test_help_lists_commands_by_what_people_come_for() -> None:
    lines = program.get_help(click.Context(program, info_name="nodulebench")).splitlines()
    titles = [line.rstrip(":") for line in lines if re.fullmatch(r"[A-Z][a-z ]+:", line)]
    assert titles == ["Options", *GROUPS]
    assert max(map(len, COMMANDS.values())) <= 63, "a line of help has 78 letters"
    columns = {
        line.index(COMMANDS[name].split()[0], 4)
        for line in lines
        for name in COMMANDS
        if line.startswith(f"  {name} ")
    }
    assert len(columns) == 1
