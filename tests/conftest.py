"""Where tests find real data; they skip with a reason where it is absent."""

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from builders.places import TEST_DATA

# tests run side by side already, and threads of PyTorch would wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")
# machines differ in speed, so no example has a deadline; CI runs the same examples every time;
# `--hypothesis-profile thorough` tries ten times as many where a test does not say how many
hypothesis.settings.register_profile(
    "nodulebench", deadline=None, derandomize=bool(os.environ.get("CI")), max_examples=50
)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=500)
hypothesis.settings.load_profile("nodulebench")


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """What is written is not waited for; tests of power cuts have processes of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        yield


@pytest.fixture(scope="session")
def luna16_data() -> Path:
    """The folder with LUNA16's reference, two submissions and the official program's numbers."""
    folder = TEST_DATA / "luna16"
    if not folder.is_dir():
        pytest.skip(f"no LUNA16 data at {folder}; set NODULEBENCH_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def oracle_data() -> Path:
    """The folder with data sets of published statistics."""
    folder = TEST_DATA / "oracles"
    if not folder.is_dir():
        pytest.skip(f"no oracle data at {folder}; set NODULEBENCH_TEST_DATA")
    return folder
