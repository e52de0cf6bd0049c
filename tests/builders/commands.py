"""The commands of the program, and what an example calls."""

import shlex
from collections.abc import Iterator

import click
import pytest

from nodulebench.cli import main
from nodulebench.cli import nodulebench as program


def run(*arguments: object) -> int:
    """The exit status of a command line."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    status = stopped.value.code
    assert isinstance(status, int)
    return status


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


def parsed(example: str) -> str:
    """The full name of the command that an example calls, after its options were read."""
    arguments = shlex.split(example)[1:]
    command: click.Command = program
    context = click.Context(program, info_name="nodulebench")
    path = []
    while isinstance(command, click.Group) and arguments and arguments[0][0] != "-":
        name = arguments.pop(0)
        below = command.get_command(context, name)
        assert below is not None, f"{example}: no command {name}"
        command = below
        path.append(name)
    assert not is_mere_group(command), f"{example}: says nothing to do"
    command.make_context(path[-1], arguments, parent=context)
    return " ".join(path)
