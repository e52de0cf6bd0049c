"""A choice of executor -> an open executor for the tasks of one job."""

from collections.abc import Iterator
from contextlib import contextmanager

from nodulebench.core.errors import InputError
from nodulebench.core.executor import IN_PROCESS, Executor, ExecutorChoice


@contextmanager
def open_executor(
    choice: ExecutorChoice, workers: int, *, is_guarded: bool = False, gpus: int = 0
) -> Iterator[Executor]:
    """The engine that was asked for.

    Args:
        choice: which one.
        workers: how many tasks run at a time if not stated.
        is_guarded: whether a task might kill the process that does it, which must not be this one.
        gpus: graphics cards that a task needs.

    Raises:
        InputError: if there is no such engine, or it cannot be used.
    """
    count = choice.workers or workers
    if choice.is_local:
        if count == 1 and not is_guarded:
            yield IN_PROCESS
            return
        from nodulebench.core.executors.local import LocalExecutor

        yield LocalExecutor(count)
        return
    if choice.name == "slurm":
        from nodulebench.core.executors.slurm import open_slurm

        with open_slurm(count, gpus) as executor:
            yield executor
        return
    if choice.name != "dask" and not choice.name.startswith("dask://"):
        remedy = "There are local, dask, dask://HOST:PORT and slurm."
        raise InputError.at(f"--executor {choice.name}", "is not an executor.", remedy)
    from nodulebench.core.executors.dask import open_cluster

    if choice.name != "dask" and choice.workers is not None:
        what = "is of a cluster that has its own workers."
        raise InputError.at("--workers", what, "Leave it out.")
    with open_cluster(choice, count, gpus) as executor:
        yield executor
