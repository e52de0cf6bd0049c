"""The demonstration lets several processes work, in order, and hears when one dies."""

import os

import pytest

from nodulebench.core.errors import InputError
from nodulebench.demo import _each


@pytest.mark.parametrize("processes", [1, 2])
def test_what_processes_make_comes_in_the_order_of_the_tasks(processes: int) -> None:
    assert list(_each(abs, [-3, 1, -2, 5], processes)) == [3, 1, 2, 5]


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(
        InputError,
        match="scan 1: was not made or read: the process that read it ended with exit code 3",
    ):
        list(_each(os._exit, [3], 2))
