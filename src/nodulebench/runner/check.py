"""Check on a few phantoms whether an algorithm follows the contract, before a test."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.notices import Notice
from nodulebench.phantom.test_set import ScanPlan, make_cases
from nodulebench.runner.algorithms import Algorithm
from nodulebench.runner.cases import open_slot_worker
from nodulebench.runner.isolation.scratch import scratch_folder
from nodulebench.runner.isolation.self_test import choose_isolation
from nodulebench.runner.run import RunChoice, graphics_cards, hardware
from nodulebench.runner.slot import CaseRun, Slot
from nodulebench.runner.test_set import open_run_set
from nodulebench.security.keys import PrivateKey

SEED, MATRIX, THICKNESS_MM = 1, 160, 3.0
"""Small phantoms: the check measures no accuracy."""
NEAR = 0.8
"""Use of a limit, as a share, from which it is reported."""


@dataclass(frozen=True, eq=False)
class CheckedCase:
    """Outcome of one phantom."""

    case_id: str
    run: CaseRun
    near: Mapping[str, float] = field(default_factory=dict)
    """Limits that were nearly reached -> the share that was used."""


@dataclass(frozen=True, slots=True)
class AlgorithmCheck:
    """Result of checking an algorithm."""

    isolation: str
    cases: tuple[CheckedCase, ...]
    is_repeatable: bool | None
    """Whether the first case gave the same marks twice; None: it did not end well."""

    @property
    def is_good(self) -> bool:
        return all(case.run.state == "ok" for case in self.cases)


def check_algorithm(
    algorithm: Algorithm, isolation: str, cases: int, progress: Progress = no_progress
) -> AlgorithmCheck:
    """Run an algorithm on phantoms, on the first of them twice."""
    with open_slot_worker(algorithm, isolation) as worker:
        checked, is_same = [], None
        made = make_cases(cases, SEED, matrix=MATRIX, scan_plan=ScanPlan(THICKNESS_MM, None, None))
        for number, case in enumerate(made):
            progress(case.case_id, number, cases)
            read = partial(Slot.read, volume=case.scan.volume, name=case.case_id)
            run = worker.do(read)
            checked.append(CheckedCase(case.case_id, run, dict(_near(algorithm, run))))
            if number == 0 and run.state == "ok":
                is_same = worker.do(read).marks.equals(run.marks)
    return AlgorithmCheck(worker.slot.isolation.name, tuple(checked), is_same)


def _near(algorithm: Algorithm, run: CaseRun) -> Iterator[tuple[str, float]]:
    resources, measured = algorithm.run.resources, run.measured
    used: dict[str, tuple[float | None, float]] = {
        "timeout_s": (measured.get("seconds"), resources.timeout_s),
        "memory_gb": (measured.get("peak_anonymous_mb"), resources.memory_gb * 1024),
        "startup_timeout_s": (measured.get("startup_seconds"), resources.startup_timeout_s),
    }
    for name, (value, most) in used.items():
        if value is not None and value >= NEAR * most:
            yield name, value / most


def report_lines(run: CaseRun) -> list[Notice]:
    return [*([] if run.why is None else [run.why]), *run.notices]


_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Needs:
    """What a run needs and what the machine has."""

    lines: tuple[tuple[str, str], ...]
    is_met: bool


def needs_of(
    algorithm: Algorithm, test_set: Path, choice: RunChoice, own_key: PrivateKey | None
) -> Needs:
    """Return what a run would need; nothing is run, and no case is opened."""
    resources, slots = algorithm.run.resources, choice.slots
    with open_run_set(test_set, own_key) as cases:
        count, name = len(cases.case_ids), cases.name
    missing = []
    with scratch_folder() as scratch:
        try:
            isolation, tested = choose_isolation(choice.isolation, scratch)
            held = "no isolation" if tested is None else "all protections and limits hold"
            protection = f"{isolation.name}: {held}"
        except InputError as error:
            missing.append("isolation")
            protection = str(error)
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
        ("isolation", protection),
        ("time", f"at most {hours:.1f} h ({resources.timeout_s:g} s a case)"),
        ("memory", f"{resources.memory_gb * slots:g} GiB of {memory_gb:.1f} GiB"),
        ("cores", f"{resources.cpus * slots:g} of {there['cores']}"),
        ("graphics", f"{resources.gpus * slots} of {there['gpus']} cards"),
        ("disk", f"{free:.1f} GiB are free in {tempfile.gettempdir()}"),
        ("missing", ", ".join(missing) or "nothing"),
    )
    return Needs(lines, not missing)
