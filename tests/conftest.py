"""Settings of all tests: where real data are, which tests are slow, and a limit on CPU time."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from builders.places import TEST_DATA
from nodulebench.i18n.compile_catalogues import compile_catalogues

compile_catalogues()  # translations that were edited since the installation

# tests run side by side already, and threads of PyTorch and polars would wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")
# machines differ in speed, so no example has a deadline; CI runs the same examples every time;
# `--hypothesis-profile thorough` tries ten times as many where a test does not say how many
hypothesis.settings.register_profile(
    "nodulebench", deadline=None, derandomize=bool(os.environ.get("CI")), max_examples=25
)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=250)
hypothesis.settings.load_profile("nodulebench")

TESTS = Path(__file__).parent
FAST_FOLDERS = (TESTS / "unit", TESTS / "contracts")
"""Tests in other folders are slow by definition."""
NETWORKS = TESTS / "unit" / "detection" / "networks"
"""Its tests need PyTorch, which `make test` does not install."""
CPU_LIMIT = 1.0
"""CPU seconds that a test may use without the marker ``slow``."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looking for garbage; nothing that was imported becomes garbage later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files whose tests are all slow, or all fast, if the others are asked for."""
    wanted = config.getoption("markexpr")
    if wanted not in ("slow", "not slow") or not collection_path.match("test_*.py"):
        return None
    all_slow = _is_in_slow_folder(collection_path)
    text = "" if all_slow else collection_path.read_text(encoding="utf-8")
    all_slow = all_slow or "\npytestmark = pytest.mark.slow\n" in text
    is_left_out = all_slow if wanted == "not slow" else not all_slow and "mark.slow" not in text
    return is_left_out or None  # None: other plugins decide


def _is_in_slow_folder(path: Path) -> bool:
    is_fast = any(path.is_relative_to(folder) for folder in FAST_FOLDERS)
    return not is_fast or path.is_relative_to(NETWORKS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of journeys, documentation, agreement, properties and benchmarks as slow."""
    for item in items:
        if _is_in_slow_folder(item.path):
            item.add_marker(pytest.mark.slow)


def _cpu_seconds() -> float:
    """CPU time of this process and of those it waited for; a busy machine does not change it."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Record the CPU time of each test that does not also import modules for the first time."""
    modules, start = len(sys.modules), _cpu_seconds()
    try:
        return (yield)
    finally:
        used = _cpu_seconds() - start
        if used > CPU_LIMIT and len(sys.modules) == modules and "slow" not in item.keywords:
            item.user_properties.append(("unmarked_cpu_seconds", used))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests that need the marker ``slow``."""
    lines = _unmarked_slow_tests(terminalreporter)
    if lines:
        terminalreporter.section(f"over {CPU_LIMIT:g} CPU seconds without @pytest.mark.slow")
        for line in lines:
            terminalreporter.line(line)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """In CI, unmarked slow tests fail the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    is_worker = hasattr(session.config, "workerinput")
    if is_worker or exitstatus or reporter is None or not os.environ.get("CI"):
        return
    if _unmarked_slow_tests(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _unmarked_slow_tests(reporter: pytest.TerminalReporter) -> list[str]:
    return [
        f"{seconds:6.1f} s  {report.nodeid}"
        for outcome in ("passed", "failed")
        for report in reporter.stats.get(outcome, [])
        for name, seconds in report.user_properties
        if name == "unmarked_cpu_seconds"
    ]


@pytest.fixture(autouse=True, scope="session")
def _unicode_tables() -> None:
    """Let Hypothesis build its Unicode tables, so that no test of a new checkout pays for them.

    It takes a CPU second, once per checkout.
    """
    text = hypothesis.strategies.text()
    settings = hypothesis.settings(database=None, max_examples=1)
    hypothesis.find(text, lambda _: True, settings=settings)


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
