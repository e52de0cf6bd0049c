"""What somebody asks for, and the engine they get."""

import pytest

from nodulebench.core.errors import InputError
from nodulebench.core.executor import IN_PROCESS, ExecutorChoice, open_executor
from nodulebench.core.executors.local import LocalExecutor


def test_one_worker_is_this_process_unless_a_task_might_kill_it() -> None:
    with open_executor(ExecutorChoice(), 1) as executor:
        assert executor is IN_PROCESS
    with open_executor(ExecutorChoice(), 1, is_guarded=True) as executor:
        assert executor == LocalExecutor(1)
    with open_executor(ExecutorChoice(workers=1), 4) as executor:
        assert executor is IN_PROCESS


def test_as_many_workers_as_somebody_says_or_as_is_usual() -> None:
    with open_executor(ExecutorChoice(), 3) as executor:
        assert executor == LocalExecutor(3)
    with open_executor(ExecutorChoice(workers=5), 3) as executor:
        assert executor == LocalExecutor(5)


@pytest.mark.parametrize("name", ["ray", "dask:", "daskk", "tcp://127.0.0.1:1", ""])
def test_unknown_executor_is_refused(name: str) -> None:
    with (
        pytest.raises(InputError, match=r"is not an executor. There are local, dask"),
        open_executor(ExecutorChoice(name), 1),
    ):
        pass


def test_a_cluster_elsewhere_has_its_own_workers() -> None:
    with (
        pytest.raises(InputError, match=r"--workers: is of a cluster that has its own workers"),
        open_executor(ExecutorChoice("dask://127.0.0.1:1", 3), 1),
    ):
        pass
