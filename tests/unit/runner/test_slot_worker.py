"""An algorithm that is made ready once reads scans one after another, and ends with its slot."""

import time
from functools import partial
from pathlib import Path

from builders.algorithms import algorithm_folder, small_volume
from nodulebench.runner.algorithms import read_algorithm
from nodulebench.runner.cases import open_slot_worker
from nodulebench.runner.slot import Slot

READ = partial(Slot.read, volume=small_volume(), name="case")


def test_scans_are_read_in_one_slot(tmp_path: Path) -> None:
    algorithm = read_algorithm(algorithm_folder(tmp_path / "mine"))
    with open_slot_worker(algorithm, "none") as lab:
        assert [lab.do(READ).state for _ in range(2)] == ["ok", "ok"]
        folder = lab.slot.scratch.folder
        assert folder.is_dir()
    assert not folder.parent.exists()


def test_an_impatient_caller_does_not_wait_for_the_program(tmp_path: Path) -> None:
    hangs = read_algorithm(algorithm_folder(tmp_path / "mine", "sleep 500", timeout_s=400))
    start = time.monotonic()
    with open_slot_worker(hangs, "none") as lab:
        running = lab.thread.submit(READ, lab.slot)
        while not running.running():
            time.sleep(0.01)
    assert time.monotonic() - start < 390
    assert running.exception() is not None
