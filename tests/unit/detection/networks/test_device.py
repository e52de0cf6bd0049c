import ctypes
import sys

import pytest

pytest.importorskip("torch")

from nodulebench.detection.networks import inference as device


def test_a_cpu_keeps_the_memory_of_batches_where_it_can_be_asked_to():
    if device.best_device().type == "cpu":
        assert device.keep_freed_memory.cache_info().currsize == 1
    glibc = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt")
    assert device.keep_freed_memory() is glibc


def test_another_c_library_is_not_changed(monkeypatch):
    def absent(_):
        raise OSError("no such library")

    monkeypatch.setattr(device.ctypes, "CDLL", absent)
    assert device.keep_freed_memory.__wrapped__() is False
