"""A folder of DICOM -> cases admitted and excluded: read, group, examine, find duplicates."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from nodulebench import __version__
from nodulebench.core.errors import InputError
from nodulebench.core.executor import (
    Executor,
    FailedTask,
    Progress,
    TaskLimits,
    map_in_batches,
    no_progress,
)
from nodulebench.core.executors.local import DEFAULT_EXECUTOR
from nodulebench.core.notices import Notice
from nodulebench.curation.admission_checks import CHECKS, Limits
from nodulebench.curation.duplicates import Fingerprint, KnownSet, find_duplicates
from nodulebench.curation.examine import CodedReason, ExaminedSeries, examine
from nodulebench.curation.perceptual_hash import PerceptualHash
from nodulebench.io.atomic import locked
from nodulebench.io.dicom.files import require_pydicom
from nodulebench.io.dicom.series import Series, group_series
from nodulebench.io.dicom.slices import NoSlices, SliceHeader, read_slices
from nodulebench.io.folders import files_below

JOURNAL = "journal.jsonl"


def series_key(series: Series, limits: Limits) -> str:
    """A key that depends on the files, the limits, and the versions of NoduleBench and checks."""
    states = []
    for path in series.files:
        try:
            state = os.stat(path)  # noqa: PTH116 - called once for every file of an archive
            states.append((path, state.st_size, state.st_mtime_ns))
        except OSError:
            states.append((path, -1, -1))  # gone since its header was read
    content = [__version__, limits.model_dump_json(), series.copy, len(series.slices), states]
    content.extend(CHECKS.outside_versions)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class Journal:
    """The series that were examined before, and a file to add to."""

    def __init__(self, known: dict[str, ExaminedSeries], file: TextIO) -> None:
        self.known = known
        self._file = file

    def add(self, key: str, examined: ExaminedSeries) -> None:
        self.known[key] = examined
        self._file.write(json.dumps({"key": key, "examined": examined.to_json()}) + "\n")
        self._file.flush()


@contextmanager
def open_journal(folder: Path) -> Iterator[Journal]:
    """The journal of a folder; an incomplete line of an interrupted run is dropped."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / JOURNAL
    with locked(folder / ".lock", folder):
        known, whole = _read(path)
        with path.open("a", encoding="utf-8") as file:
            file.truncate(whole)
            yield Journal(known, file)


def _read(path: Path) -> tuple[dict[str, ExaminedSeries], int]:
    """The results in a journal and how many of its bytes are whole lines."""
    known: dict[str, ExaminedSeries] = {}
    whole = 0
    if not path.is_file():
        return known, whole
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            try:
                content = json.loads(line)
                known[content["key"]] = ExaminedSeries.from_json(content["examined"])
            except (ValueError, TypeError, KeyError):
                continue  # written by another version, or damaged: the series is examined again
    return known, whole


FILES_AT_A_TIME = 64
SECONDS_PER_FILE = 30.0
SECONDS_PER_SERIES = 600.0
PRELOAD = ("nodulebench.curation.examine", "pydicom.pixels", "scipy.ndimage")


@dataclass(frozen=True)
class Curation:
    """The outcome for every file of a folder."""

    folder: Path
    limits: Limits
    series: tuple[ExaminedSeries, ...]
    """By the path of their first file, with all reasons to exclude them."""
    other_files: tuple[NoSlices, ...]
    """Files that hold no slices: damaged, or of another kind."""
    against: tuple[tuple[str, int], ...] = ()
    """Lists of other sets that it was compared with: name and number of scans."""

    @property
    def admitted(self) -> list[ExaminedSeries]:
        return [series for series in self.series if series.is_admitted]


def curate(
    folder: Path,
    out: Path,
    *,
    limits: Limits | None = None,
    known: Sequence[KnownSet] = (),
    executor: Executor = DEFAULT_EXECUTOR,
    progress: Progress = no_progress,
) -> Curation:
    """Examine all series below a folder, which may hold any kind of file.

    Each result is written to a journal in ``out`` immediately. A run that was interrupted continues
    from there, with the same outcome as an uninterrupted one. ``known``: lists of other sets, whose
    scans are excluded.
    """
    require_pydicom()  # reported once here, not by every worker
    chosen = limits or Limits()
    if not folder.is_dir():
        raise InputError.at(str(folder), "is not a folder.", "Give a folder of DICOM files.")
    if out.resolve() == folder.resolve():
        raise InputError.at(str(out), "is the folder that is read.", "Write to another folder.")
    with open_journal(out) as journal:
        closed: list[NoSlices] = []

        def tell(error: OSError) -> None:
            notice = Notice("folder_closed", {"error": str(error.strerror)})
            closed.append(NoSlices(str(error.filename), notice, is_damaged=True))

        paths = list(files_below(folder.resolve(), tell, without=out))
        slices, others = _read_headers(paths, executor, progress)
        examined = _examine_all(group_series(slices), chosen, journal, executor, progress)
    others = tuple(sorted((*others, *closed), key=lambda other: other.path))
    against = tuple((known_set.name, len(known_set.scans)) for known_set in known)
    series = tuple(_without_duplicates(examined, known, chosen, progress))
    return Curation(folder, chosen, series, others, against)


def _read_headers(
    paths: Sequence[str], executor: Executor, progress: Progress
) -> tuple[list[SliceHeader], tuple[NoSlices, ...]]:
    slices: list[SliceHeader] = []
    others: list[NoSlices] = []
    read = map_in_batches(
        executor,
        read_headers,
        paths,
        size=FILES_AT_A_TIME,
        seconds_again=SECONDS_PER_FILE,
        terms=TaskLimits(SECONDS_PER_FILE * FILES_AT_A_TIME, preload=PRELOAD),
    )
    for done, (number, outcome) in enumerate(read, start=1):
        if isinstance(outcome, FailedTask):
            others.append(NoSlices(paths[number], outcome.why, is_damaged=True))
        elif isinstance(outcome, NoSlices):
            others.append(outcome)
        else:
            slices.extend(outcome)
        progress("reading headers", done, len(paths))
    return slices, tuple(sorted(others, key=lambda other: other.path))


def read_headers(path: str) -> list[SliceHeader] | NoSlices:
    """The slices of a file; runs in a worker."""
    return read_slices(Path(path))


def _examine_all(
    groups: Sequence[Series],
    limits: Limits,
    journal: Journal,
    executor: Executor,
    progress: Progress,
) -> list[ExaminedSeries]:
    keys = [series_key(group, limits) for group in groups]
    pending = [number for number, key in enumerate(keys) if key not in journal.known]
    lost: dict[int, ExaminedSeries] = {}
    done = len(groups) - len(pending)
    progress("examining series", done, len(groups))
    # long series first, so that all workers end together
    pending.sort(key=lambda number: -len(groups[number].slices))
    tasks = [(groups[number], limits) for number in pending]
    terms = TaskLimits(SECONDS_PER_SERIES, preload=PRELOAD)
    for number, outcome in executor.map(examine_task, tasks, terms):
        if isinstance(outcome, FailedTask):
            lost[pending[number]] = _lost(groups[pending[number]], outcome.why)
        else:
            journal.add(keys[pending[number]], outcome)
        done += 1
        progress("examining series", done, len(groups))
    return [lost.get(number) or journal.known[key] for number, key in enumerate(keys)]


def examine_task(task: tuple[Series, Limits]) -> ExaminedSeries:
    """Examine one series; runs in a worker. Running out of memory is a reason to exclude it."""
    series, limits = task
    try:
        return examine(series, limits)
    except MemoryError:
        return _lost(series, Notice("too_much_memory"))


def _lost(series: Series, why: Notice) -> ExaminedSeries:
    return ExaminedSeries(
        uid=series.uid,
        name=series.name,
        modality=series.slices[0].modality,
        slices=len(series.slices),
        files=series.files,
        frames=(),
        reasons=(CodedReason("unreadable", why),),
        waived=(),
        pixel_sha256="",
        perceptual_hash="",
        pictures=(),
        geometry={},
        facts={},
    )


def _without_duplicates(
    examined: Sequence[ExaminedSeries],
    known: Sequence[KnownSet],
    limits: Limits,
    progress: Progress,
) -> list[ExaminedSeries]:
    """Exclude admitted series that are duplicates, or in a list of another set."""
    numbers = [number for number, series in enumerate(examined) if series.is_admitted]
    scans = []
    for series in (examined[number] for number in numbers):
        text = series.perceptual_hash
        hashed = PerceptualHash.from_text(text) if text else None
        scans.append(Fingerprint(series.uid, series.pixel_sha256, hashed))
    result = list(examined)
    duplicates = find_duplicates(
        scans,
        known,
        limits.near_duplicate_similarity,
        lambda done, of: progress("comparing scans", done, of),
    )
    for number, reasons in zip(numbers, duplicates, strict=True):
        for reason in reasons:
            is_waived = reason.code in limits.waived
            result[number] = result[number].with_reason(reason, is_waived=is_waived)
    return result
