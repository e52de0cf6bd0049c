"""Every command that writes is in the campaign of broken runs, and in its table."""

import re
import shlex

import click
import pytest

from builders.broken_jobs import JOBS, MADE_OF_OTHERS, WRITES_NOTHING
from builders.commands import commands
from builders.places import ROOT
from nodulebench.cli import nodulebench

COMMANDS = dict(commands(nodulebench))
TABLE = (ROOT / "docs" / "explanation" / "broken-runs.md").read_text(encoding="utf-8")


def command_of(example: str) -> str:
    """The command that an example gives."""
    words = shlex.split(example)
    names = (" ".join(words[:length]) for length in range(len(words), 0, -1))
    return next(name for name in names if name in COMMANDS)


def test_every_command_is_a_job_of_broken_runs_or_writes_nothing() -> None:
    broken = {command_of(job.command) for job in JOBS.values()}
    others = {*WRITES_NOTHING, *MADE_OF_OTHERS}
    assert broken.isdisjoint(others)
    assert sorted({*COMMANDS} - broken - others) == []
    assert others <= {*COMMANDS}


@pytest.mark.parametrize("name", WRITES_NOTHING)
def test_a_command_that_writes_nothing_takes_no_place_to_write_to(name: str) -> None:
    options = (param for param in COMMANDS[name].params if isinstance(param, click.Option))
    places = [
        option.opts
        for option in options
        if re.match("(New )?(File|Folder) (for|of the)|Write", option.help or "")
    ]
    assert places == []


def test_the_table_of_broken_runs_has_every_job() -> None:
    assert re.findall(r"^\| `([^`]+)` \|", TABLE, re.MULTILINE) == [*JOBS]
