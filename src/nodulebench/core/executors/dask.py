"""The Dask engine: tasks -> results from the workers of a cluster, near or far.

Tasks are given out a few more than there are workers, so that little is under way when a worker or
this process is killed, and every result is fetched as soon as it is there.
"""

import asyncio
import concurrent.futures
import ipaddress
import logging
import multiprocessing
import pickle
import queue
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.executor import DEFAULT_LIMITS, ExecutorChoice, FailedTask, TaskLimits
from nodulebench.core.executors.dask_worker import (
    carry,
    clear_idle,
    graphics_cards,
    in_folder,
    packed_digest,
    version,
)
from nodulebench.core.executors.local import CARDS, FIRST, MemoryFile, memory_file, packed_bytes
from nodulebench.core.json_types import JsonObject
from nodulebench.core.optional_packages import needs

if TYPE_CHECKING:
    from distributed import Client, Future, Security


USUAL_PORT = 8786


@dataclass(frozen=True, slots=True)
class Certificates:
    """Of mutual TLS: whom we believe, and who we are."""

    ca: Path
    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Address:
    """A scheduler, as Dask writes it, and what it is spoken to with."""

    text: str
    certificates: Certificates | None


def address_of(choice: ExecutorChoice) -> Address:
    """The address of the scheduler that was named.

    Raises:
        InputError: if it is not an address, a certificate is missing, or it is another machine
            without certificates: anyone who reaches the port of a scheduler can run code.
    """
    where = f"--executor {choice.name}"
    try:
        parts = urlsplit(choice.name)
        host, port = parts.hostname or "", parts.port or USUAL_PORT
    except ValueError:
        host, port = "", 0
    if not host or parts.path or parts.query:
        raise InputError.at(where, "names no scheduler.", "Write dask://HOST:PORT.")
    certificates = _certificates(choice)
    if certificates is None and not is_loopback(host):
        raise InputError.at(
            where,
            "is another machine, which is spoken to with certificates of both sides only.",
            "Give --tls-ca, --tls-cert and --tls-key, and start scheduler and workers with theirs.",
        )
    shown = f"[{host}]" if ":" in host else host
    protocol = "tcp" if certificates is None else "tls"
    return Address(f"{protocol}://{shown}:{port}", certificates)


def _certificates(choice: ExecutorChoice) -> Certificates | None:
    given = {"--tls-ca": choice.tls_ca, "--tls-cert": choice.tls_cert, "--tls-key": choice.tls_key}
    files = [path for path in given.values() if path is not None]
    if not files:
        return None
    raise_problems(
        Problem(name, "is missing." if path is None else f"{path} is not a file.")
        for name, path in given.items()
        if path is None or not path.is_file()
    )
    return Certificates(*files)


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine, as far as its name says."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


Task = TypeVar("Task")
Result = TypeVar("Result")

LOOPBACK = "127.0.0.1"
CONNECT_S = 15
START_S = 120
"""How long the first worker may take to come."""
UNDISTURBED = "nodulebench.core.executors.preload_ignore_interrupt"
PRELOAD = [FIRST, UNDISTURBED, "distributed.worker", "nodulebench.core.executors.dask_worker"]
"""What workers on this machine share."""
SETTINGS: JsonObject = {
    "distributed.admin.large-graph-warning-threshold": "4 GiB",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
    "distributed.comm.timeouts.connect": f"{CONNECT_S}s",
    "distributed.nanny.pre-spawn-environ.POLARS_MAX_THREADS": 1,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.scheduler.allowed-failures": 3,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.daemon": False,
    "distributed.worker.multiprocessing-method": "forkserver",
    "distributed.worker.profile.enabled": False,
}


UNANSWERED = (OSError, asyncio.CancelledError, concurrent.futures.CancelledError)
"""What Dask raises when the scheduler does not answer any more."""


@dataclass(frozen=True)
class DaskExecutor:
    """The workers of a cluster, as a client sees them."""

    client: "Client"
    ours: int = 0
    """How many tasks at a time a process of our own does, which reads our memory and
    may still be on its way; 0: all that are connected."""

    @property
    def is_here(self) -> bool:
        """Whether the workers are ours; an address of this machine may lead anywhere."""
        return self.ours > 0

    @property
    def workers(self) -> int:
        """How many tasks the workers of the moment can do at a time."""
        return self.ours or max(1, int(sum(_asked(self.client.nthreads).values())))

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        terms: TaskLimits = DEFAULT_LIMITS,
    ) -> Iterator[tuple[int, Result | FailedTask]]:
        """Call a function with tasks, as every engine does.

        A task that was lost with its worker is given again by the scheduler. One that was as often
        as that is tried may have been lost with another's worker: it gets a cluster to itself
        before it counts as gone.
        """
        suspects: list[int] = []
        packed = packed_bytes(partial(in_folder, str(Path.cwd()), function))
        numbers = range(len(tasks))
        _asked(self.client.wait_for_workers, 1, timeout=START_S)
        try:
            for number, result in self._given(packed, tasks, numbers, terms, self.workers + 1):
                if result == FailedTask("gone"):
                    suspects.append(number)
                else:
                    yield number, result
            yield from self._given(packed, tasks, suspects, terms, 1)
        finally:
            with suppress(*UNANSWERED):
                self.client.run(clear_idle, packed_digest(packed), on_error="ignore")

    def _given(
        self,
        packed: bytes,
        tasks: Sequence[Task],
        numbers: Sequence[int],
        terms: TaskLimits,
        most: int,
    ) -> Iterator[tuple[int, Result | FailedTask]]:
        run = uuid4().hex
        slots = {"GPU": terms.gpus} if terms.gpus else None
        waiting = deque(numbers)
        under_way: dict[Future[bytes], tuple[int, MemoryFile | None]] = {}
        done: queue.SimpleQueue[Future[bytes]] = queue.SimpleQueue()
        try:
            while waiting or under_way:
                while waiting and len(under_way) < most:
                    number = waiting.popleft()
                    task = packed_bytes(tasks[number])
                    file = memory_file(task) if self.ours else None
                    future = _asked(
                        self.client.submit,
                        *(carry, packed, task if file is None else file.path, terms),
                        key=f"nodulebench-{run}-{number}",
                        pure=False,
                        resources=slots,
                    )
                    under_way[future] = number, file
                    future.add_done_callback(done.put)
                ended = done.get()
                # its file stays until then: the task may have to be computed again
                result = self._result(ended)
                number, file = under_way.pop(ended)
                if file is not None:
                    file.close()
                yield number, result
        finally:
            with suppress(*UNANSWERED):
                self.client.cancel(list(under_way), force=True)
            for _, file in under_way.values():
                if file is not None:
                    file.close()

    def _result(self, future: "Future[bytes]") -> Any:
        """The result of a task that ended; if it was lost with its worker, of the next attempt."""
        from distributed import KilledWorker

        if future.status == "cancelled":
            raise _cluster_is_gone()
        try:
            return pickle.loads(_asked(future.result))  # noqa: S301 - from our own workers
        except KilledWorker:
            return FailedTask("gone")


def _asked(call: Callable[..., Any], *given: Any, **more: Any) -> Any:
    """What a cluster answers."""
    try:
        return call(*given, **more)
    except UNANSWERED as error:
        raise _cluster_is_gone() from error


def _cluster_is_gone() -> InputError:
    what = "was lost: its scheduler does not answer any more."
    remedy = "Start it again; the same command goes on from the stored results."
    return InputError.at("the Dask cluster", what, remedy)


@contextmanager
def open_cluster(choice: ExecutorChoice, workers: int, gpus: int = 0) -> Iterator[DaskExecutor]:
    """A cluster for as long as it is needed: one of this machine, or the one that is named."""
    near = choice.name == "dask"
    if near and "forkserver" in multiprocessing.get_all_start_methods():
        # the server of the workers imports Dask while this process does
        multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOAD)
        forkserver.ensure_running()
    with needs("cluster", "--executor dask"):
        import distributed  # noqa: F401
    opened = _local_cluster(workers, gpus) if near else _connected(address_of(choice))
    with quietly(), opened as executor:
        yield executor


@contextmanager
def _local_cluster(workers: int, gpus: int) -> Iterator[DaskExecutor]:
    """A worker on this machine that answers only to the keys of this process.

    It is one process that carries as many tasks at a time: it computes nothing, and several of them
    would import the same again and again.
    """
    from distributed import Client, Nanny, Scheduler, Security, SpecCluster

    security = Security.temporary()
    common = {
        "host": LOOPBACK,
        "protocol": "tls://",
        "security": security,
        "dashboard": False,
        "dashboard_address": f"{LOOPBACK}:0",
    }
    carries = {
        **common,
        "nthreads": workers,
        "memory_limit": 0,
        "silence_logs": logging.CRITICAL,
        "preload": [UNDISTURBED],  # a server that another engine started does not know it
    }
    if gpus:
        cards = ",".join(map(str, graphics_cards()[: workers * gpus]))
        carries |= {"resources": {"GPU": workers * gpus}, "env": {CARDS: cards}}
    with (
        SpecCluster(
            worker={"cls": Nanny, "options": carries},
            scheduler={"cls": Scheduler, "options": {**common, "port": 0}},
            security=security,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, security=security) as client,
    ):
        cluster.scale(1)  # which comes while the caller reads its files
        yield DaskExecutor(client, ours=workers)


@contextmanager
def _connected(address: Address) -> Iterator[DaskExecutor]:
    from distributed import Client

    try:
        client = Client(address.text, security=_security(address), timeout=CONNECT_S)
    except (OSError, TimeoutError) as error:
        what = "does not answer, or not to these certificates."
        remedy = "Is there a scheduler? Start one with: dask scheduler"
        raise InputError.at(address.text, what, remedy) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError as error:
            remedy = f"Start some: dask worker {address.text}"
            raise InputError.at(address.text, "has no workers.", remedy) from error
        executor = DaskExecutor(client)
        require_same_versions(executor)
        yield executor


def require_same_versions(executor: DaskExecutor) -> None:
    """Refuse a cluster whose workers might not do as we do."""
    versions = _asked(executor.client.run, version, on_error="return")
    strange = {name: stated for name, stated in versions.items() if stated != version()}
    for name, stated in strange.items():
        other = f"NoduleBench {stated}" if isinstance(stated, str) else "no NoduleBench"
        what = f"has {other}, here is {version()}."
        raise InputError.at(f"worker {name}", what, "Install the same version everywhere.")


def _security(address: Address) -> "Security | None":
    from distributed import Security

    files = address.certificates
    if files is None:
        return None
    return Security(
        tls_ca_file=str(files.ca),
        tls_client_cert=str(files.cert),
        tls_client_key=str(files.key),
        require_encryption=True,
    )


@contextmanager
def quietly() -> Iterator[None]:
    """Our settings of Dask; our own results report lost workers."""
    import dask

    ours = ("distributed", "asyncio", "tornado")
    known = [*ours, *logging.root.manager.loggerDict]
    loggers = [logging.getLogger(name) for name in known if name.partition(".")[0] in ours]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with dask.config.set(SETTINGS):
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
