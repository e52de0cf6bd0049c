"""Workers of a Dask cluster: what they do, and what it costs when one is killed."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

import nodulebench
from builders.worker_tasks import behave, double, first_letter, folder_of, slow_double, threads
from nodulebench.core.errors import InputError
from nodulebench.core.executor import ExecutorChoice, FailedTask, TaskLimits
from nodulebench.core.executors import dask as module
from nodulebench.core.executors.dask import DaskExecutor, open_cluster, require_same_versions
from nodulebench.core.executors.dask_worker import version
from nodulebench.core.executors.local import CARDS


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskExecutor]:
    cards = os.environ.get(CARDS)
    os.environ[CARDS] = "4,7"
    try:
        with open_cluster(ExecutorChoice("dask"), 2, gpus=1) as opened:
            yield opened
    finally:
        os.environ.pop(CARDS)
        if cards is not None:
            os.environ[CARDS] = cards


def test_it_is_on_loopback_with_keys_of_its_own_and_without_a_dashboard(
    cluster: DaskExecutor,
) -> None:
    cluster.client.wait_for_workers(1)
    known = cluster.client.scheduler_info()
    assert known["address"].startswith("tls://127.0.0.1:")
    assert all(worker.startswith("tls://127.0.0.1:") for worker in known["workers"])
    page = f"http://127.0.0.1:{known['services']['dashboard']}/status"
    with pytest.raises(HTTPError, match="404"):
        urlopen(page)
    assert (cluster.workers, cluster.is_here) == (2, True)


def test_every_task_has_its_result(cluster: DaskExecutor) -> None:
    assert dict(cluster.map(double, range(12))) == {number: 2 * number for number in range(12)}
    assert list(cluster.map(double, [])) == []


def test_a_large_task_is_read_from_memory_and_the_memory_given_back(cluster: DaskExecutor) -> None:
    def in_memory() -> list[Path]:
        return [path for path in Path("/proc/self/fd").iterdir() if "memfd:nodule" in _target(path)]

    large = ["a" * (2 << 20), "b", "c" * (3 << 20)]
    found = {}
    was_there = False
    for number, result in cluster.map(len, large):
        found[number] = result
        was_there |= bool(in_memory())
    assert found == {0: 2 << 20, 1: 1, 2: 3 << 20}
    assert was_there
    assert in_memory() == []


def _target(descriptor: Path) -> str:
    try:
        return str(descriptor.readlink())
    except FileNotFoundError:  # the one that lists them
        return ""


@pytest.mark.slow
def test_a_task_that_ends_its_process_or_hangs_is_lost_as_on_this_machine(
    cluster: DaskExecutor,
) -> None:
    values = dict(cluster.map(behave, ["a", "die", "break", "hang", "b"], TaskLimits(5.0)))
    assert values == {
        0: "A",
        1: FailedTask("died", -9),
        2: FailedTask("died", 3),
        3: FailedTask("timed_out"),
        4: "B",
    }


def test_a_task_with_a_graphics_card_sees_the_one_of_its_worker(cluster: DaskExecutor) -> None:
    values = dict(cluster.map(threads, [CARDS] * 6, TaskLimits(gpus=1)))
    assert set(values.values()) == {"4", "7"}


def test_a_path_means_there_what_it_means_here(
    cluster: DaskExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dict(cluster.map(folder_of, [0])) == {0: str(tmp_path.resolve())}


def test_ctrl_c_is_for_the_command_only(cluster: DaskExecutor) -> None:
    cluster.client.wait_for_workers(1)
    (pid,) = cluster.client.run(os.getpid).values()
    os.kill(pid, signal.SIGINT)
    assert dict(cluster.map(double, [1, 2])) == {0: 2, 1: 4}
    assert list(cluster.client.run(os.getpid).values()) == [pid]


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_nothing(cluster: DaskExecutor) -> None:
    (pid, *_) = cluster.client.run(os.getpid).values()
    found = {}
    for number, result in cluster.map(slow_double, range(10)):
        found[number] = result
        if len(found) == 3:
            os.kill(pid, signal.SIGKILL)
    assert found == {number: 2 * number for number in range(10)}


@pytest.mark.slow
@pytest.mark.parametrize("is_known", [True, False])
def test_a_result_that_is_lost_with_its_worker_before_it_is_fetched_is_computed_again(
    cluster: DaskExecutor, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    real, ended = DaskExecutor._result, []

    def killed_first(executor: DaskExecutor, future: Any) -> Any:
        if not ended:
            ended.append(future)
            (pid, *_) = cluster.client.run(os.getpid).values()
            os.kill(pid, signal.SIGKILL)
            deadline = time.monotonic() + 30
            while is_known and future.status == "finished" and time.monotonic() < deadline:
                time.sleep(0.01)
        return real(executor, future)

    monkeypatch.setattr(DaskExecutor, "_result", killed_first)
    tasks = [f"{number}" * (2 << 20) for number in range(4)]  # each is passed in a file
    assert dict(cluster.map(first_letter, tasks)) == {number: f"{number}" for number in range(4)}


def test_anyone_who_stops_to_listen_ends_what_is_done(cluster: DaskExecutor) -> None:
    results = cluster.map(behave, ["a", "hang", "hang"])
    assert next(results) == (0, "A")
    results.close()
    assert dict(cluster.map(double, [1, 2])) == {0: 2, 1: 4}  # long before the others would end


def test_workers_of_another_version_are_refused(
    cluster: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_same_versions(cluster)
    real = version()
    monkeypatch.setattr(nodulebench, "__version__", "0.0.1")
    with pytest.raises(InputError, match=rf"has NoduleBench {real}, here is 0.0.1"):
        require_same_versions(cluster)


class _Future:
    def __init__(self, status: str, result: Any) -> None:
        self.status, self._result = status, result

    def result(self) -> Any:
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


def test_a_task_whose_workers_were_all_lost_gets_the_cluster_to_itself_before_it_is_gone(
    cluster: DaskExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way = []

    def given(
        _: object, __: object, tasks: Any, numbers: Any, ___: object, most: int
    ) -> Iterator[Any]:
        under_way.append((list(numbers), most))
        for number in numbers:
            is_bad = tasks[number] == "bad" or (tasks[number] == "beside" and most > 1)
            yield number, FailedTask("gone") if is_bad else tasks[number].upper()

    monkeypatch.setattr(DaskExecutor, "_given", given)
    values = dict(cluster.map(behave, ["a", "bad", "beside"]))
    assert values == {0: "A", 1: FailedTask("gone"), 2: "BESIDE"}
    (together, most), (alone, one) = under_way
    assert (together, alone, one) == ([0, 1, 2], [1, 2], 1)
    assert most > 1


def test_a_lost_worker_is_a_lost_task_and_a_lost_scheduler_ends_the_work(
    cluster: DaskExecutor,
) -> None:
    from distributed import KilledWorker

    killed: Any = _Future("error", KilledWorker("task", None, 4))
    assert cluster._result(killed) == FailedTask("gone")
    left: Any = _Future("cancelled", None)
    with pytest.raises(InputError, match=r"cluster: was lost.*same command goes on"):
        cluster._result(left)


def test_a_scheduler_that_is_lost_between_two_questions_is_reported_too(
    cluster: DaskExecutor,
) -> None:
    def unanswered() -> None:
        raise ConnectionResetError

    silent: Any = DaskExecutor(SimpleNamespace(nthreads=unanswered))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"cluster: was lost.*same command goes on"):
        _ = silent.workers
    gone: Any = _Future("finished", ConnectionResetError())
    with pytest.raises(InputError, match=r"cluster: was lost"):
        cluster._result(gone)


def certificates(security: Any, folder: Path) -> dict[str, Path]:
    """The files of whoever has these keys."""
    folder.mkdir()
    known = security.get_tls_config_for_role("client")
    files = {"ca_file": "tls_ca", "cert": "tls_cert", "key": "tls_key"}
    for name, option in files.items():
        (folder / option).write_text(known[name])
    return {option: folder / option for option in files.values()}


def test_a_scheduler_is_spoken_to_by_anyone_who_has_its_certificates(
    cluster: DaskExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Security

    address = cluster.client.scheduler_info()["address"].replace("tls", "dask")
    files = certificates(cluster.client.security, tmp_path / "own")
    with open_cluster(ExecutorChoice(address, **files), 1) as executor:
        assert not executor.is_here  # whoever they are
        assert dict(executor.map(double, [4])) == {0: 8}
    monkeypatch.setattr(module, "CONNECT_S", 2)
    strange = certificates(Security.temporary(), tmp_path / "strange")
    for choice in (ExecutorChoice(address, **strange), ExecutorChoice(address)):
        with (
            pytest.raises(InputError, match="does not answer, or not to these certificates"),
            open_cluster(choice, 1),
        ):
            pass


def test_where_no_one_answers_it_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECT_S", 1)
    with (
        pytest.raises(InputError, match=r"tcp://127.0.0.1:9: does not answer.*dask scheduler"),
        open_cluster(ExecutorChoice("dask://127.0.0.1:9"), 2),
    ):
        pass
