"""CPU seconds of child processes and of functions."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

DATA = Path(os.environ.get("NODULEBENCH_TEST_DATA", Path(__file__).parents[2] / "shared"))
OFFICIAL_CPU_SECONDS = 108.68
"""The official LUNA16 program on the 888-scan submission with 1,000 bootstraps."""


def cpu_of_command(*arguments: str, repeats: int = 5) -> float:
    """The least user + system CPU seconds of a Python child process over some repeats."""
    return min(_cpu_once([sys.executable, *arguments]) for _ in range(repeats))


def _cpu_once(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak_of_command(*arguments: str) -> tuple[float, float]:
    """CPU seconds and peak memory (MB) of a Python child process."""
    script = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
        "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
        "use = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(use.ru_utime + use.ru_stime, use.ru_maxrss / 1024)"
    )
    command = [sys.executable, "-c", script, sys.executable, *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, megabytes = map(float, output.split())
    return seconds, megabytes


def cpu_of_call(function: Callable[[], object], repeats: int = 5) -> float:
    """The least CPU seconds of a call over some repeats."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)
