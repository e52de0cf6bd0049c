"""Folder of CT slices -> the same slices without identities, and an encrypted key table."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.executor import (
    IN_PROCESS,
    Executor,
    FailedTask,
    Progress,
    TaskLimits,
    map_in_batches,
    no_progress,
)
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.curation.deidentify.check import name_leftovers
from nodulebench.curation.deidentify.codec import Memory
from nodulebench.curation.deidentify.files import FileOutcome, check_file, deidentify_file
from nodulebench.curation.deidentify.identity import Pseudonyms
from nodulebench.curation.deidentify.key_table import file_lock, open_key_table
from nodulebench.i18n.translator import in_english
from nodulebench.io.atomic import run_folder, settle
from nodulebench.io.csv_files import CsvFile, write_csv
from nodulebench.io.folders import files_below
from nodulebench.security.vault import Secret

COLUMNS = ("file", "code", "reason")


def quarantine_of(key_table: Path) -> Path:
    """The list of refused files of a key table."""
    return key_table.with_name(f"{key_table.name}.quarantine.csv")


def list_quarantine(
    path: Path, files: Iterable[str], left_out: Iterable[tuple[str, Notice]]
) -> None:
    """Update the list of refused files by the outcome of a run.

    Args:
        path: the list; it is removed if no file is refused.
        files: the files of the run.
        left_out: the refused ones of these, and why.

    Raises:
        InputError: if the list cannot be written.
    """
    with file_lock(path):
        seen = {_writable(file) for file in files}
        rows = [row for row in _listed(path) if row["file"] not in seen]
        rows += [
            {"file": _writable(file), "code": why.code, "reason": in_english(why)}
            for file, why in left_out
        ]
        if rows:
            schema = dict.fromkeys(COLUMNS, pl.String)
            write_csv(pl.DataFrame(rows, schema=schema).sort("file"), path)
        elif path.exists():
            path.unlink()
            settle(path.resolve().parent)


def _listed(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    return list(CsvFile(path).read_columns(text=COLUMNS).select(COLUMNS).to_dicts())


def _writable(name: str) -> str:
    """The name of a file as text, with invalid bytes escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


Result = TypeVar("Result")
BATCH = 16
"""Number of files that a process gets at once."""
TERMS = TaskLimits(
    preload=("nodulebench.curation.deidentify.files", "pydicom", "scipy.sparse.csgraph")
)


@dataclass(frozen=True, slots=True)
class DeidentifyReport:
    """The outcome for a folder."""

    outcomes: tuple[FileOutcome, ...]
    seconds: float
    quarantine: Path
    """The list of refused files."""

    @property
    def written(self) -> int:
        return sum(bool(outcome.written) for outcome in self.outcomes)

    @property
    def patients(self) -> int:
        return len({outcome.pseudonym for outcome in self.outcomes if outcome.written})

    @property
    def refused(self) -> list[FileOutcome]:
        return [outcome for outcome in self.outcomes if not outcome.written]

    @property
    def bytes_read(self) -> int:
        return sum(outcome.bytes_read for outcome in self.outcomes)

    @property
    def repeated(self) -> int:
        """Number of files that are copies of another instance, which is written once."""
        counts = Counter(outcome.written for outcome in self.outcomes if outcome.written)
        return sum(count - 1 for count in counts.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class DeidentifyOptions:
    """Which slices are de-identified, and where they are written."""

    folder: Path
    """Searched with its subfolders; one bad file never stops the rest."""
    out: Path
    """Where the slices go, by patient and series; their names identify no one."""
    key_table: Path
    """Who is who, sealed; created if it does not exist. Not below ``folder`` or ``out``."""
    files: Sequence[Path] | None = None
    """Only these of the folder, such as those that a curation admitted; None: all."""
    prefix: str = "P"
    """Begins every pseudonym, for instance the site's letters."""
    has_pixel_check: bool = True
    """Whether text is searched for in the images."""


def deidentify_folder(
    options: DeidentifyOptions,
    secret: Secret,
    *,
    executor: Executor = IN_PROCESS,
    progress: Progress = no_progress,
) -> DeidentifyReport:
    """De-identify every CT slice below a folder.

    The key of the pseudonyms is that of the key table, which is written before the first slice: the
    same table gives the same pseudonyms again, so the next run completes an interrupted one.

    Args:
        options: which slices, and where they go.
        secret: opens the key table.
        executor: reads and writes the files.
        progress: receives how many files are done.

    Raises:
        InputError: if the folders cannot be used or written to, or the secret does not open the
            key table.
    """
    out, key_table = options.out, options.key_table
    _require_separate_folders(options.folder, out, key_table, options.prefix)
    started = time.monotonic()
    table = open_key_table(key_table, secret)
    if options.files is None:
        paths, closed = _files_below(options.folder)
    else:
        paths, closed = [*options.files], []
    pseudonyms = Pseudonyms(table.vault.key_for("pseudonyms"), options.prefix)
    by_number: dict[int, FileOutcome] = {}
    with run_folder(out) as unfinished:
        clean = partial(
            _deidentified,
            out=out,
            pseudonyms=pseudonyms,
            has_pixel_check=options.has_pixel_check,
            memory=Memory(),
            within=unfinished,
        )
        try:
            for number, outcome in _each(clean, paths, executor):
                if isinstance(outcome, InputError):
                    raise outcome
                if isinstance(outcome, FailedTask):
                    outcome = FileOutcome(str(paths[number]), refused=_unread(outcome))
                by_number[number] = outcome
                progress("files", len(by_number), len(paths))
        finally:  # the table has every written file, however the run ends
            table.add(_rows_of(by_number.values()))
    outcomes = [by_number[number] for number in range(len(paths))]
    outcomes += [FileOutcome(source, refused=why) for source, why in closed]
    left_out = [
        (outcome.source, outcome.refused) for outcome in outcomes if outcome.refused is not None
    ]
    quarantine = quarantine_of(key_table)
    list_quarantine(quarantine, (outcome.source for outcome in outcomes), left_out)
    return DeidentifyReport(tuple(outcomes), time.monotonic() - started, quarantine)


def _deidentified(path: Path, **how: Any) -> FileOutcome | InputError:
    """The outcome for a file, or an error of writing, which ends the run in any executor."""
    try:
        return deidentify_file(path, **how)
    except InputError as error:
        return error


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that could still identify a person, and the file or folder that holds it."""

    where: str
    why: Notice


def check_folder(
    folder: Path, *, has_pixel_check: bool = True, executor: Executor = IN_PROCESS
) -> list[Leftover]:
    """Everything below a folder that could still identify a person; all files must be DICOM files.

    Args:
        folder: searched with its subfolders.
        has_pixel_check: whether text is searched for in the images.
        executor: reads the files.

    Raises:
        InputError: if it is not a folder.
    """
    if not folder.is_dir():
        raise InputError.at(str(folder), "is not a folder.")
    paths, closed = _files_below(folder, has_unfinished=True)
    check = partial(check_file, memory=Memory(), has_pixel_check=has_pixel_check)
    notices = {
        number: [_unread(outcome)] if isinstance(outcome, FailedTask) else outcome
        for number, outcome in _each(check, paths, executor)
    }
    left = [Leftover(source, why) for source, why in closed]
    for number, path in enumerate(paths):
        named = name_leftovers(path.relative_to(folder).parts)
        left += [Leftover(str(path), why) for why in (*named, *notices[number])]
    return left


def _unread(lost: FailedTask) -> Notice:
    return Notice("reader_lost", {"why": lost.why})


def _files_below(
    folder: Path, *, has_unfinished: bool = False
) -> tuple[list[Path], list[tuple[str, Notice]]]:
    """All files, including those behind links, and the folders that cannot be read."""
    closed: list[tuple[str, Notice]] = []

    def tell(error: OSError) -> None:
        why = Notice("folder_closed", {"error": error.strerror or str(error)})
        closed.append((str(error.filename), why))

    files = files_below(folder, tell, has_unfinished=has_unfinished)
    return sorted(Path(file) for file in files), closed


def _each(
    function: Callable[[Path], Result], paths: Sequence[Path], executor: Executor
) -> Iterator[tuple[int, Result | FailedTask]]:
    """The result of a function for every file, with the file's number, as results arrive."""
    if len(paths) < 2 and executor.is_here:
        executor = IN_PROCESS
    yield from map_in_batches(executor, function, paths, size=BATCH, terms=TERMS)


def _require_separate_folders(folder: Path, out: Path, key_table: Path, prefix: str) -> None:
    problems = []
    if not folder.is_dir():
        problems.append(Problem(str(folder), "is not a folder."))
    if out.resolve().is_relative_to(folder.resolve()):
        problems.append(Problem(str(out), "is in the folder of the originals."))
    for place in (out, folder):
        if key_table.resolve().is_relative_to(place.resolve()):
            problems.append(
                Problem(str(key_table), f"is in {place}.", "Store the key table elsewhere.")
            )
    if not prefix.isalnum() or not prefix.isascii() or prefix != prefix.upper() or len(prefix) > 16:
        problems.append(Problem(f"prefix '{prefix}'", "is not up to 16 capitals and digits."))
    raise_problems(problems)


def _rows_of(outcomes: Iterable[FileOutcome]) -> list[JsonObject]:
    """Who is who among the written files: one row per series."""
    known = {}
    for outcome in outcomes:
        if outcome.written:
            patient, _, issuer = outcome.patient.partition("\n")
            known[outcome.series[0]] = {
                "patient": patient,
                "issuer": issuer,
                "pseudonym": outcome.pseudonym,
                "days": outcome.days,
                "study": outcome.study[0],
                "new_study": outcome.study[1],
                "series": outcome.series[0],
                "new_series": outcome.series[1],
            }
    return list(known.values())
