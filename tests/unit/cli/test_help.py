"""What help shows: commands by what people come for, and examples that would run."""

import re
from pathlib import Path

import click
import pytest

import nodulebench.cli
from builders.commands import commands, parsed
from nodulebench.cli import nodulebench as program
from nodulebench.cli.help import COMMANDS, GROUPS

CLI = Path(nodulebench.cli.__file__).parent
PARTS = {
    "help",
    "options",
    "output",
    "stored_results",
    "terminal",
}
"""Modules of the command line that are not commands."""


LEAVES = dict(commands(program))


def examples(command: click.Command) -> list[str]:
    joined = re.sub(r"\\\n\s*", "", (command.help or ""))
    return [line.strip() for line in joined.splitlines() if line.strip().startswith("nodulebench ")]


def test_every_command_has_an_example_of_itself_whose_options_exist(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, *_: Path(value))
    without = [
        name
        for name, command in LEAVES.items()
        if name not in {parsed(example) for example in examples(command)}
    ]
    assert without == []


def test_help_shows_examples_on_separate_lines() -> None:
    broken = [name for name, command in LEAVES.items() if not has_examples_on_own_lines(command)]
    assert broken == []
    assert has_examples_on_own_lines(program)


def has_examples_on_own_lines(command: click.Command) -> bool:
    text = command.get_help(click.Context(command, info_name="x", max_content_width=120))
    lines = [line.strip() for line in text.splitlines()]
    written = [line.strip() for line in (command.help or "").splitlines()]
    return r"\b" not in text and [line for line in written if line.startswith("nodulebench ")] == [
        line for line in lines if line.startswith("nodulebench ")
    ]


def test_help_of_detect_lists_detectors_and_networks() -> None:
    text = LEAVES["detect"].get_help(click.Context(LEAVES["detect"], info_name="x"))
    finding, scoring = text.partition("networks that find:")[2].split("Networks that score")
    for name in ("nodulebench", "etrocad", "heatmap"):
        assert name in finding
    for name in ("cumedvis_a", "m5lcad", "twoscale"):
        assert name in scoring
        assert name not in finding


def test_an_example_with_an_unknown_option_is_found() -> None:
    with pytest.raises(click.UsageError, match="--refrence"):
        parsed("nodulebench evaluate marks.csv --refrence luna16/")


def test_every_module_of_a_command_is_listed_once() -> None:
    modules = {path.stem.replace("_", "-") for path in CLI.iterdir() if path.stem[0] != "_"}
    assert modules - {part.replace("_", "-") for part in PARTS} == set(COMMANDS)
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
