"""The options of a command are the fields of the dataclass that it fills."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click
import pytest

from nodulebench.cli.detect import command as detect_command
from nodulebench.cli.options import executor_options, own_key_options
from nodulebench.cli.phantom import command as phantom_command
from nodulebench.cli.train import command as train_command
from nodulebench.detection.detect import DetectOptions
from nodulebench.detection.train_network import TrainOptions
from nodulebench.phantom.test_set import PhantomOptions


def names_of(*decorators: Callable[..., Any]) -> set[str]:
    """The parameters that these decorators add to a command."""
    function: Callable[..., Any] = lambda **_: None  # noqa: E731
    for decorator in decorators:
        function = decorator(function)
    return {parameter.name or "" for parameter in click.command(function).params}


EXECUTOR = executor_options("1")


@pytest.mark.parametrize(
    ("command", "options", "others"),
    [
        (
            detect_command,
            DetectOptions,
            {"name", "case", "out", *names_of(EXECUTOR, own_key_options())},
        ),
        (train_command, TrainOptions, {"name", "out"}),
        (phantom_command, PhantomOptions, {"out", *names_of(EXECUTOR)}),
    ],
)
def test_command_options_are_the_fields(
    command: click.Command, options: type, others: set[str]
) -> None:
    named = {parameter.name for parameter in command.params} - others
    assert named == {field.name for field in fields(options)}


def test_left_out_folds() -> None:
    assert TrainOptions().folds_left_out([0, 1]) == [None]
    assert TrainOptions(folds="each").folds_left_out([0, 1]) == [0, 1]
    assert TrainOptions(folds=(1, None)).folds_left_out([0, 1]) == [1, None]
    assert TrainOptions(without_fold=3).folds_left_out([0, 1]) == [3]
