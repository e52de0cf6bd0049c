"""Run an algorithm on a test set, and write a submission with marks, RUNS and a record."""

import os
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

import polars as pl

from nodulebench import __version__
from nodulebench.core.errors import InputError
from nodulebench.core.executor import Executor, Progress, no_progress
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import MARK_SLICES, MARKS, RUN_STATES, RUNS, Submission
from nodulebench.i18n.translator import in_english
from nodulebench.io.bundle import require_local_workers
from nodulebench.io.json_files import write_json
from nodulebench.io.marks.submission_folder import RUN_RECORD as RECORD
from nodulebench.io.marks.submission_folder import write_marks
from nodulebench.runner.algorithms import Algorithm, unpacked
from nodulebench.runner.cases import OpaqueCase, opaque_cases, run_cases, run_cases_by
from nodulebench.runner.isolation.scratch import scratch_folder
from nodulebench.runner.isolation.self_test import NONE, SelfTest, choose_isolation
from nodulebench.runner.journal import RunJournal, open_journal
from nodulebench.runner.slot import CaseRun
from nodulebench.runner.test_set import RunSet, open_run_set
from nodulebench.security.keys import PrivateKey

SCHEMA = "nodulebench/run@1"


def identity(algorithm: Algorithm, isolation: str, set_digest: str, repeats: int) -> JsonObject:
    """Return what must be the same for a run to continue."""
    digests = [digest for _, digest in algorithm.weights]
    return {
        "algorithm": algorithm.digest,
        **({"weights": digests} if digests else {}),
        "contract": algorithm.run.model_dump(mode="json", by_alias=True),
        "isolation": isolation,
        "test_set": set_digest,
        "repeats": repeats,
    }


def run_record(
    algorithm: Algorithm, tested: SelfTest | None, isolation: str, set_name: str, slots: int
) -> JsonObject:
    return {
        "schema": SCHEMA,
        "algorithm": {
            "name": algorithm.name,
            "version": algorithm.manifest.version,
            "digest": algorithm.digest,
            "image_digest": algorithm.image_digest or None,
            "weights": [{"file": file, "digest": digest} for file, digest in algorithm.weights],
        },
        "contract": algorithm.run.model_dump(mode="json", by_alias=True),
        "test_set": set_name,
        "isolation": {
            "name": isolation,
            "version": "" if tested is None else tested.version,
            "self_test": None if tested is None else dict(tested.holds),
        },
        "cases_at_once": slots,
        "hardware": hardware(),
        "software": {
            "nodulebench": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
        },
    }


def hardware() -> JsonObject:
    model = next((line for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    memory = next((line for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "")
    kilobytes = memory.split()[1] if memory else ""
    return {
        "processor": model.partition(":")[2].strip() or platform.processor(),
        "cores": os.cpu_count(),
        "memory_mb": int(kilobytes) // 1024 if kilobytes.isdigit() else None,
        "gpus": len(graphics_cards()),
    }


def graphics_cards() -> tuple[int, ...]:
    names = (path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*"))
    return tuple(sorted(int(name) for name in names if name.isdigit()))


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


LOGS = "logs"
_UNSTATED = ("problem", "file")
"""Values of notices that contain text from the algorithm."""


@dataclass(frozen=True, slots=True)
class RunChoice:
    """Options of a run."""

    isolation: str = "auto"
    slots: int = 1
    """Cases at the same time."""
    is_only_failed: bool = False
    """Whether failed cases are run again, too."""
    repeats: int = 1
    """How often each case is read, to check that the marks are the same; the first counts."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Outcome of a run."""

    folder: Path
    states: dict[str, int]
    problems: tuple[tuple[str, str, str], ...]
    """Case, state and message, for cases that are not ok or have notices."""
    was_known: int
    """Number of cases from an earlier run."""
    reproduced: tuple[int, int] = (0, 0)
    """Number of cases with the same marks every time, and of cases read several times."""
    is_sealed: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether every case has a final state."""
        return not self.states.get("infrastructure", 0)


def run_algorithm(
    algorithm: Algorithm,
    test_set: Path,
    out: Path,
    choice: RunChoice,
    *,
    own_key: PrivateKey | None = None,
    executor: Executor | None = None,
    progress: Progress = no_progress,
) -> RunSummary:
    """Run an algorithm on every case of a test set that has no result yet.

    The set is a bundle, a bag, a sealed set, or any folder with ``images/``. A stopped run
    continues in the same folder. With an executor its workers watch the programs, else threads do.
    """
    with open_run_set(test_set, own_key) as cases, scratch_folder() as scratch:
        if cases.is_sealed and choice.isolation == NONE:
            what = "is sealed, and 'none' does not isolate the algorithm."
            raise InputError.at(test_set, what, "Leave out --isolation none.")
        require_local_workers(test_set, is_ours=executor is None or executor.is_here)
        packed, gpus = algorithm, _cards(algorithm, choice.slots) if executor is None else ()
        algorithm = unpacked(algorithm, scratch)
        isolation, tested = choose_isolation(choice.isolation, scratch)
        known_as = identity(algorithm, isolation.name, cases.digest, choice.repeats)
        with open_journal(out, known_as) as journal:
            wanted = _wanted(cases, journal, choice)
            was_known = len(cases.case_ids) - len(wanted)
            slots = choice.slots if executor is None else executor.workers
            record = run_record(algorithm, tested, isolation.name, cases.name, slots)
            if wanted:
                facts = {
                    "algorithm": algorithm.name,
                    "version": algorithm.manifest.version,
                    "algorithm_digest": algorithm.digest,
                    "isolation": isolation.name,
                }
                cases.record(facts, [case.case_id for case in wanted])
            runs = (
                run_cases(
                    algorithm,
                    isolation,
                    wanted,
                    cases.image,
                    scratch,
                    slots=choice.slots,
                    repeats=choice.repeats,
                    gpus=gpus,
                )
                if executor is None
                else run_cases_by(
                    executor,
                    packed,
                    isolation.name,
                    wanted,
                    cases.take,
                    cases.give_back,
                    repeats=choice.repeats,
                )
            )
            begin = monotonic()
            for number, (case, run) in enumerate(runs, 1):
                stored = _stored(case, run, is_sealed=cases.is_sealed)
                if not cases.is_sealed:
                    _write_log(out / LOGS, case.case_id, run)
                journal.add(case.case_id, stored)
                shown = case.name if cases.is_sealed else case.case_id
                left = (monotonic() - begin) / number * (len(wanted) - number)
                remaining = f", {duration(left)} left" if left else ""
                done, total = was_known + number, len(cases.case_ids)
                progress(f"{shown}: {run.state}{remaining}", done, total)
            return _written(algorithm, cases, journal, record, out, was_known)


def duration(seconds: float) -> str:
    minutes, hours = seconds / 60, seconds / 3600
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if hours < 2 else f"{hours:.1f} h"


def _wanted(cases: RunSet, journal: RunJournal, choice: RunChoice) -> list[OpaqueCase]:
    """Return the cases without a final state, and failed ones if wanted."""

    def is_done(case_id: str) -> bool:
        run = journal.known.get(case_id)
        if run is None or run.state == "infrastructure":
            return False
        return run.state == "ok" or not choice.is_only_failed

    shuffled = opaque_cases(cases.case_ids, journal.secret)
    return [case for case in shuffled if not is_done(case.case_id)]


def _stored(case: OpaqueCase, run: CaseRun, *, is_sealed: bool) -> CaseRun:
    """Return an outcome with the real case name; for a sealed set, without text from the algorithm.

    The algorithm knows the case only by its pseudonym.
    """
    run = replace(run, marks=_of(case, run.marks), slices=_of(case, run.slices))
    if not is_sealed:
        return run
    why = run.why
    if why is not None:
        values = {name: value for name, value in why.values.items() if name not in _UNSTATED}
        why = replace(why, values=values)
    return replace(run, output="", why=why)


def _of(case: OpaqueCase, table: pl.DataFrame) -> pl.DataFrame:
    names = pl.Series("case_id", [case.case_id] * table.height, pl.String)
    return table.clone().replace_column(table.get_column_index("case_id"), names)


def _write_log(folder: Path, case_id: str, run: CaseRun) -> None:
    from nodulebench.io.cases import file_of_case

    path = folder / file_of_case(case_id, ".txt")
    if run.output:
        folder.mkdir(exist_ok=True)
        path.write_text(run.output, encoding="utf-8")
    else:
        path.unlink(missing_ok=True)


def _written(
    algorithm: Algorithm,
    cases: RunSet,
    journal: RunJournal,
    record: JsonObject,
    out: Path,
    was_known: int,
) -> RunSummary:
    runs = {name: journal.known[name] for name in cases.case_ids if name in journal.known}
    states = Counter(run.state for run in runs.values())
    write_marks(submission_of(algorithm, runs), out)
    counted = {state: states[state] for state in RUN_STATES if states[state]}
    write_json(record | {"cases": len(cases.case_ids), "states": counted}, out / RECORD)
    repeated = [run.measured.get("is_reproduced") for run in runs.values()]
    same = [is_same for is_same in repeated if is_same is not None]
    problems = [
        (name, run.state, in_english(notice))
        for name, run in runs.items()
        for notice in (*([] if run.why is None else [run.why]), *run.notices)
    ]
    reproduced = (sum(same), len(same))
    return RunSummary(out, counted, tuple(problems), was_known, reproduced, cases.is_sealed)


def submission_of(algorithm: Algorithm, runs: dict[str, CaseRun]) -> Submission:
    rows = [{"case_id": name, "state": run.state, **run.measured} for name, run in runs.items()]
    types = {column.name: column.dtype for column in RUNS.columns}
    marks = [MARKS.empty(), *(run.marks for run in runs.values())]
    slices = pl.concat([MARK_SLICES.empty(), *(run.slices for run in runs.values())])
    manifest = algorithm.manifest
    return Submission(
        algorithm.name,
        pl.concat(marks),
        slices if slices.height else None,
        RUNS.conform(pl.DataFrame(rows, schema=types), "runs"),
        intended_types=manifest.intended_types or None,
        facts=manifest.facts,
    )


def _cards(algorithm: Algorithm, slots: int) -> Sequence[tuple[int, ...]]:
    """Assign graphics cards to each slot."""
    each = algorithm.run.resources.gpus
    there = graphics_cards()
    if each * slots > len(there):
        raise InputError.at(
            algorithm.name,
            f"needs {each} graphics cards for each of {slots} cases at once; "
            f"this machine has {len(there)}.",
        )
    return [there[number * each : (number + 1) * each] for number in range(slots)]
