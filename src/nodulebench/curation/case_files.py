"""The files of admitted cases: read back from what ``curate`` wrote, and laid out tidily."""

import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from nodulebench.core.errors import InputError, Problem, refuse_any
from nodulebench.core.progress import Progress, untold
from nodulebench.io.atomic import staged_folder
from nodulebench.io.csv_files import read_header, read_strings, require_columns
from nodulebench.io.json_files import read_json

CASE_FILES, SUMMARY = "case_files.csv", "curation.json"
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class CaseFiles:
    """Where the slices of cases lie."""

    folder: Path
    """The folder that was curated."""
    files: Mapping[str, tuple[str, ...]]
    """Case -> its files below that folder, each once, from the feet to the head."""

    @property
    def paths(self) -> list[Path]:
        """All files."""
        return [self.folder / name for names in self.files.values() for name in names]


def read_case_files(
    curated: Path, folder: Path | None = None, wanted: Collection[str] | None = None
) -> CaseFiles:
    """The files of the cases that a curation admitted.

    Args:
        curated: what ``curate --out`` wrote.
        folder: where the curated files lie now; None: where they lay.
        wanted: only these cases, as far as they were admitted.

    Raises:
        InputError: if it is no curation, or files are no longer there.
    """
    listed = curated / CASE_FILES
    if not listed.is_file():
        raise InputError.at(
            curated, f"holds no {CASE_FILES}.", "Give a folder that 'nodulebench curate' wrote."
        )
    root = folder or _curated_folder(curated)
    header = read_header(listed)
    require_columns(listed, header, ["case_id", "file"])
    rows = read_strings(listed, header).select("case_id", "file").unique(maintain_order=True)
    if wanted is not None:
        rows = rows.filter(pl.col("case_id").is_in(list(wanted)))
    _refuse_lost(rows["file"], root)
    grouped = rows.group_by("case_id", maintain_order=True).agg("file")
    return CaseFiles(root, {case: tuple(names) for case, names in grouped.iter_rows()})


def export_cases(found: CaseFiles, out: Path, progress: Progress = untold) -> int:
    """Lay cases out as ``out/<case_id>/0001.dcm`` and on, from the feet to the head.

    Files are linked where the disk can, so that they take no room, else copied.

    Returns:
        How many files.

    Raises:
        InputError: if ``out`` holds something already.
    """
    total, done = len(found.paths), 0
    with staged_folder(out, is_new=True) as stage:
        for case_id, names in found.files.items():
            (stage / case_id).mkdir()
            for name, tidy in zip(names, tidy_names(len(names)), strict=True):
                link_or_copy(found.folder / name, stage / case_id / tidy)
                done += 1
            progress("exporting files", done, total)
    return total


def tidy_names(count: int) -> list[str]:
    """Names for the files of a series in order."""
    return [f"{number:04d}.dcm" for number in range(1, count + 1)]


def link_or_copy(source: Path, target: Path) -> None:
    """The same file under a second name, or a copy of it where a disk cannot have that."""
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)


def _curated_folder(curated: Path) -> Path:
    summary = curated / SUMMARY
    said = read_json(summary) if summary.is_file() else None
    folder = said.get("folder") if isinstance(said, dict) else None
    if not isinstance(folder, str):
        raise InputError.at(
            summary, "does not say which folder was curated.", "Give that folder with --images."
        )
    return curated / folder


def _refuse_lost(names: pl.Series, root: Path) -> None:
    """Refuse files that lie elsewhere, or are gone."""
    problems = []
    for name in names:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts:
            problems.append(Problem(f"{CASE_FILES} '{name}'", f"does not lie below {root}."))
        elif not (root / name).is_file():
            told = "If the folder was moved, say where it is now with --images."
            problems.append(Problem(str(root / name), "is not there any more.", told))
    if len(problems) > _MOST_NAMED:
        more = len(problems) - _MOST_NAMED
        problems = [*problems[:_MOST_NAMED], Problem(str(root), f"{more} more files are missing.")]
    refuse_any(problems)
