"""An algorithm -> ready to read cases: walls tested, image unpacked, a slot in its own thread."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from nodulebench.runner.cases import end_if
from nodulebench.runner.contract.algorithm import Algorithm, unpacked
from nodulebench.runner.isolation.choose import choose_isolation
from nodulebench.runner.isolation.scratch import scratch_folder
from nodulebench.runner.slot import Slot, open_slot

Result = TypeVar("Result")


@dataclass(frozen=True)
class Desk:
    """A slot, and the thread whose mounts it lies in."""

    slot: Slot
    thread: ThreadPoolExecutor

    def do(self, work: Callable[[Slot], Result]) -> Result:
        """What some work gives that uses the slot."""
        return self.thread.submit(work, self.slot).result()


@contextmanager
def open_desk(algorithm: Algorithm, isolation: str, gpus: tuple[int, ...] = ()) -> Iterator[Desk]:
    """A place where an algorithm reads one case after another, for as long as it is needed.

    Args:
        algorithm: what reads; an image as its archive.
        isolation: the name of the walls around it.
        gpus: the graphics cards that it may use.

    Raises:
        InputError: if a wall does not hold, or the archive is not the image that was declared.
    """
    stopped = threading.Event()
    with ThreadPoolExecutor(1) as thread, scratch_folder() as folder:
        walls, _ = choose_isolation(isolation, folder)
        opened = open_slot(unpacked(algorithm, folder), walls, folder / "slot", gpus)
        slot = thread.submit(opened.__enter__).result()
        slot.look = partial(end_if, stopped)
        try:
            yield Desk(slot, thread)
        finally:
            stopped.set()  # what runs is ended, where somebody lost patience
            thread.submit(opened.__exit__, None, None, None).result()
