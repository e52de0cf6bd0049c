"""Large tasks: read by other processes, and gone with whoever made them."""

import os
import subprocess
import sys

import pytest

from nodulebench.core.executors.local import LARGE, memory_file


@pytest.mark.skipif(sys.platform != "linux", reason="files in memory are Linux's")
def test_another_process_reads_it_until_it_is_closed() -> None:
    made = memory_file(b"a" * LARGE)
    assert made is not None
    read = ["wc", "-c", str(made.path)]
    assert subprocess.check_output(read).split()[0] == str(LARGE).encode()
    made.close()
    assert not made.path.exists()


def test_what_is_small_is_sent() -> None:
    assert memory_file(b"a" * (LARGE - 1)) is None


def test_a_system_without_such_files_sends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    assert memory_file(b"a" * LARGE) is None


@pytest.mark.skipif(sys.platform != "linux", reason="files in memory are Linux's")
def test_nothing_of_it_has_a_name() -> None:
    made = memory_file(b"a" * LARGE)
    assert made is not None
    try:
        assert "memfd:" in str(made.path.readlink())
        assert made.path.stat().st_nlink == 0
    finally:
        made.close()
