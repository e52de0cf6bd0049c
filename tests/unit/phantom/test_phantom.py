"""Patients are in the order of their numbers on every executor, and a lost one is reported."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from builders.machines import older_processor, with_threads
from nodulebench.core.errors import InputError
from nodulebench.core.executor import FailedTask, InProcessExecutor
from nodulebench.io.images import metaimage
from nodulebench.phantom import test_set as phantom
from nodulebench.phantom.test_set import PhantomOptions, WrittenScan

OPTIONS = PhantomOptions(cases=3, seed=1, matrix=64, has_follow_up=True, has_masks=False)


class Backwards(InProcessExecutor):
    """The last task first."""

    def map(self, function: Any, tasks: Any, *_: object) -> Iterator[Any]:
        yield from reversed([(number, function(task)) for number, task in enumerate(tasks)])


class Losing(InProcessExecutor):
    """The second task is lost."""

    def map(self, function: Any, tasks: Any, *_: object) -> Iterator[Any]:
        yield 1, FailedTask("died", -9)
        yield 0, function(tasks[0])


def written(number: int, **_: object) -> list[WrittenScan]:
    names = (f"phantom-{number:04d}", f"phantom-{number:04d}-follow-up")
    return [WrittenScan({"case_id": name}, [], [], f"made {name}") for name in names]


def test_who_is_made_first_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phantom, "write_patient", written)
    messages: list[str] = []
    reference = phantom.make_phantoms(
        tmp_path / "set",
        OPTIONS,
        executor=Backwards(),
        progress=lambda what, _, __: messages.append(what),
    )
    names = [f"phantom-000{number}{end}" for number in (1, 2, 3) for end in ("", "-follow-up")]
    assert reference.cases["case_id"].to_list() == names
    assert messages == [f"made {name}" for name in names]


def test_a_patient_who_is_lost_leaves_no_half_of_a_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phantom, "write_patient", written)
    with pytest.raises(
        InputError,
        match="patient 2: was not made: the process that read it ended with exit code -9",
    ):
        phantom.make_phantoms(tmp_path / "set", replace(OPTIONS, cases=2), executor=Losing())
    assert not (tmp_path / "set").exists()


@pytest.mark.slow
def test_an_older_processor_changes_hardly_a_voxel(tmp_path: Path) -> None:
    def drawn(name: str, environment: dict[str, str]) -> Path:
        words = ["phantom", str(tmp_path / name), "--count", "1", "--seed", "3", "--matrix", "64"]
        command = [sys.executable, "-m", "nodulebench", *words, "--thickness", "5", "--no-masks"]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        return tmp_path / name

    here, there = drawn("here", with_threads(1)), drawn("there", older_processor())

    image = "images/phantom-0001.mhd"
    apart = np.abs(metaimage.read_volume(here / image).hu - metaimage.read_volume(there / image).hu)
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= apart.size / 1000
    nodules, others = (pl.read_parquet(path / "nodules.parquet") for path in (here, there))
    assert_frame_equal(nodules, others, rel_tol=0, abs_tol=1e-6)
