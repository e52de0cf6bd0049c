"""What a run would need of this machine, told before it is begun."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.runner.contract.algorithm import Algorithm
from nodulebench.runner.isolation.choose import choose_isolation
from nodulebench.runner.isolation.scratch import scratch_folder
from nodulebench.runner.record import graphics_cards, hardware
from nodulebench.runner.run import RunChoice
from nodulebench.runner.test_set import open_run_set
from nodulebench.security.vault import Secret

_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Needs:
    """What is needed and what is there."""

    lines: tuple[tuple[str, str], ...]
    is_met: bool


def needs_of(
    algorithm: Algorithm, test_set: Path, choice: RunChoice, secret: Secret | None, person: str
) -> Needs:
    """What running an algorithm on a test set would take; nothing is run, no case is opened.

    Raises:
        InputError: if the test set cannot be used.
    """
    resources, slots = algorithm.run.resources, choice.slots
    with open_run_set(test_set, secret, person) as cases:
        count, name = len(cases.case_ids), cases.name
    missing = []
    with scratch_folder() as scratch:
        try:
            isolation, tested = choose_isolation(choice.isolation, scratch)
            walls = "nothing is kept apart" if tested is None else "all walls and limits hold"
            wall = f"{isolation.name}: {walls}"
        except InputError as error:
            missing.append("isolation")
            wall = str(error)
    there = hardware()
    if resources.gpus * slots > len(graphics_cards()):
        missing.append("graphics cards")
    memory_gb = (there["memory_mb"] or 0) / 1024
    if there["memory_mb"] and resources.memory_gb * slots > memory_gb:
        missing.append("memory")
    hours = count * resources.timeout_s / slots / 3600
    free = shutil.disk_usage(tempfile.gettempdir()).free / _GIB
    lines = (
        ("cases", f"{count} of {name}, {slots} at the same time"),
        ("isolation", wall),
        ("time", f"at most {hours:.1f} h ({resources.timeout_s:g} s a case)"),
        ("memory", f"{resources.memory_gb * slots:g} GiB of {memory_gb:.1f} GiB"),
        ("cores", f"{resources.cpus * slots:g} of {there['cores']}"),
        ("graphics", f"{resources.gpus * slots} of {there['gpus']} cards"),
        ("disk", f"{free:.1f} GiB are free in {tempfile.gettempdir()}"),
        ("missing", ", ".join(missing) or "nothing"),
    )
    return Needs(lines, not missing)
