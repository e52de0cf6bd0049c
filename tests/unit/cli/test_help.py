"""What help shows: commands by what people come for, and examples that would run."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import nodulebench.cli
from builders.commands import commands, parsed, run
from nodulebench.cli import nodulebench as program
from nodulebench.cli.help import COMMANDS, GROUPS, LISTS

CLI = Path(nodulebench.cli.__file__).parent
PARTS = {
    "lists",
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
    assert modules - {part.replace("_", "-") for part in PARTS} == set(COMMANDS) - set(LISTS)
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


def every_command(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command and group by its full name."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from every_command(below, f"{path} {name}".strip())


EVERY = dict(every_command(program))
WANTED = re.compile(r"[A-Z]+(\|[A-Z]+)*")
PATHS = {"FILE", "FOLDER", "PATH"}


def options() -> Iterator[tuple[str, click.Option, str]]:
    """Command, option, and what its help shows for the value; no hidden options."""
    for name, command in EVERY.items():
        for option in command.get_params(click.Context(command)):
            if isinstance(option, click.Option) and not option.hidden:
                yield name, option, option.make_metavar(click.Context(command))


@pytest.mark.parametrize("name", EVERY)
def test_the_first_line_is_one_short_sentence(name: str) -> None:
    first = (EVERY[name].help or "").split("\n\n")[0].replace("\n", " ")
    assert 12 <= len(first) <= 72
    assert first.endswith((".", "?"))


def test_no_line_about_a_command_is_cut_off_at_80_columns() -> None:
    for name, command in EVERY.items():
        text = command.get_help(click.Context(command, info_name="x", terminal_width=78))
        assert not re.search(r"[a-z,]\.\.\.$", text, re.M), name


def test_every_option_has_a_short_help_in_one_style() -> None:
    for name, option, _ in options():
        words = (option.help or "").partition("  [")[0]
        assert 4 <= len(words) <= 85, (name, option.opts)
        assert words[0].isupper(), (name, option.opts)
        assert not words.endswith(":"), (name, option.opts)


def test_every_value_is_named_by_what_is_wanted() -> None:
    for name, option, wanted in options():
        if option.is_flag or isinstance(option.type, click.Choice):
            continue
        assert not re.search("INTEGER|FLOAT|DIRECTORY|RANGE|BOOL", wanted), (name, option.opts)
        if option.opts[0] not in ("--executor", "--filter", "--set", "--sweep"):
            assert WANTED.fullmatch(wanted), (name, option.opts, wanted)


def test_an_option_means_the_same_in_every_command() -> None:
    wanted: dict[str, set[str]] = {}
    for _, option, shown in options():
        kind = (
            f"one of {sorted(option.type.choices)}"
            if isinstance(option.type, click.Choice)
            else shown
        )
        wanted.setdefault(option.opts[-1], set()).add("PATH" if kind in PATHS else kind)
    assert {name: kinds for name, kinds in wanted.items() if len(kinds) > 1} == {}


def test_help_of_a_command_is_shown_by_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("help", "annotate", "review", "open") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: nodulebench annotate review open [OPTIONS] FOLDER BATCH")
    assert run("annotate", "review", "open", "--help") == 0
    assert capsys.readouterr().out == shown
    assert run("help", "evalute") == 2
    assert "Did you mean 'evaluate'?" in capsys.readouterr().err


def test_a_wrong_command_line_says_where_what_and_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("evaluate", "marks.csv") == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: nodulebench evaluate: Missing option '--reference'. "
        "Add --reference PATH: Test set: bundle, LUNA16 folder or NIFDC CSV.",
        "Usage: nodulebench evaluate [OPTIONS] [MARKS]...",
        "Run 'nodulebench evaluate --help' to see all options.",
    ]
    assert run("evaluate", "marks.csv", "--refrence", "luna16") == 2
    assert re.search("No such option '--refrence'. .*'--reference'", capsys.readouterr().err)


@pytest.mark.parametrize("name", ["protocols", "rules", "metrics", "formats"])
def test_lists_are_printed_as_lines_or_as_json(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name) == 0
    lines = capsys.readouterr().out
    assert run(name, "--json") == 0
    printed = capsys.readouterr()
    for entry in json.loads(printed.out):
        assert entry["name"] in lines
        assert entry["meaning"]
    assert printed.err == lines


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("completion", shell) == 0
    assert f"{shell}_complete" in capsys.readouterr().out


def test_a_quiet_command_prints_no_progress_and_no_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("algorithm", "new", tmp_path / "first", "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert run("algorithm", "new", tmp_path / "second") == 0
    assert "wrote " in capsys.readouterr().out
