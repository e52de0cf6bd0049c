"""Curation -> CASES of the admitted series: facts of headers, and columns derived from them."""

import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import CASES
from nodulebench.curation.curate import Curation
from nodulebench.curation.examine import ExaminedSeries
from nodulebench.curation.header_facts import Dose, dose_of, kernel_class_of, scan_kinds, vendor_of
from nodulebench.io.atomic import staged_folder
from nodulebench.io.csv_files import CsvFile
from nodulebench.io.dicom.sr_content import ReportedDose, dose_events
from nodulebench.io.json_files import read_json

NUMBERS = {
    "tube_voltage_kv": "kvp",
    "tube_current_ma": "tube_current_ma",
    "exposure_mas": "exposure_mas",
}
TEXTS = {
    "manufacturer": "manufacturer",
    "model": "model",
    "hospital": "institution",
    "kernel": "kernel",
    "contrast_agent": "contrast_agent",
    "body_part": "body_part",
    "sex": "sex",
    "study_date": "study_date",
}
"""Column of the cases, as designs name it -> the fact of a header."""
_DERIVED_TEXTS = ("study_uid", "vendor", "scan_kind", "kernel_class", "dlp_source", "dose_class")


def cases_table(curation: Curation) -> pl.DataFrame:
    """The admitted series as CASES, with the scanner and patient facts of their headers."""
    reported = _reported(curation)
    rows = [_case_row(series, reported) for series in curation.admitted]
    if not rows:
        return CASES.empty()
    kinds: dict[str, type[pl.DataType]] = {
        **{column.name: column.dtype for column in CASES.columns},
        **dict.fromkeys((*_DERIVED_TEXTS, *TEXTS, "pixel_sha256"), pl.String),
        **dict.fromkeys(("slice_thickness_mm", *NUMBERS), pl.Float64),
        **{name: pl.Float64 for name in Dose._fields if name not in _DERIVED_TEXTS},
        "age": pl.Int64,
    }
    cases = pl.DataFrame(rows, schema=kinds, strict=False)
    descriptions = [
        " ".join(str(series.facts.get(name, "")) for name in ("study_description", "description"))
        for series in curation.admitted
    ]
    scan_kind = scan_kinds(
        cases["patient_id"].to_list(), cases["study_date"].to_list(), descriptions
    )
    kinds_of_scan = pl.Series("scan_kind", scan_kind, dtype=pl.String)
    return CASES.conform(cases.with_columns(kinds_of_scan), "curated cases")


def _reported(curation: Curation) -> dict[str, ReportedDose]:
    reports = (series for series in curation.series if series.modality == "SR")
    return {
        event: dose
        for report in reports
        for path in report.files
        for event, dose in dose_events(Path(path)).items()
    }


def _case_row(series: ExaminedSeries, reported: dict[str, ReportedDose]) -> JsonObject:
    facts = dict(series.facts)
    vendor = vendor_of(facts["manufacturer"]) if "manufacturer" in facts else None
    number, unit = (stated := str(facts.get("age", "")))[:-1], stated[-1:]
    of_year = {"Y": 1.0, "M": 12.0, "W": 52.18, "D": 365.25}
    is_age = number.isdigit() and unit in of_year
    age = int(number) / of_year[unit] if is_age else None
    return {
        "case_id": series.uid,
        "patient_id": facts.get("patient_id"),
        **series.geometry,
        "study_uid": facts.get("study_uid"),
        "vendor": vendor,
        "kernel_class": kernel_class_of(facts.get("kernel"), vendor),
        **{name: facts.get(fact) for name, fact in TEXTS.items()},
        "slice_thickness_mm": facts.get("slice_thickness_mm"),
        **{name: _number(facts.get(fact)) for name, fact in NUMBERS.items()},
        **_dose(series, age, reported)._asdict(),
        "age": None if age is None else int(age),
        "pixel_sha256": series.pixel_sha256,
    }


def _dose(series: ExaminedSeries, age: float | None, reported: dict[str, ReportedDose]) -> Dose:
    """The dose of a series: of its irradiations as reported, else from its header."""
    events = str(series.facts.get("irradiation_events", "")).split("\\")
    doses = [reported[event] for event in events if event in reported]
    products = [known for known in (each.dlp_mgy_cm for each in doses) if known is not None]
    is_whole = len(products) == len(events)
    ctdi = _number(series.facts.get("ctdi_vol_mgy"))
    if ctdi is None and len(doses) == 1:
        ctdi = doses[0].ctdi_vol_mgy
    spacing = series.geometry.get("spacing_z_mm")
    length = None if spacing is None else series.slices * float(spacing)
    return dose_of(ctdi, length, age, sum(products) if is_whole else None)


def _number(text: str | float | None) -> float | None:
    try:
        return None if text is None else float(text)
    except (TypeError, ValueError):
        return None


CASE_FILES, SUMMARY = "case_files.csv", "curation.json"
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class CaseFiles:
    """The files of the slices of cases."""

    folder: Path
    """The folder that was curated."""
    files: Mapping[str, tuple[str, ...]]
    """Case -> its files below that folder, each once, from the feet to the head."""

    @property
    def paths(self) -> list[Path]:
        return [self.folder / name for names in self.files.values() for name in names]


def read_case_files(
    curated: Path, folder: Path | None = None, wanted: Collection[str] | None = None
) -> CaseFiles:
    """The files of the cases that a curation admitted.

    ``folder``: where the curated files are now; None: where they were.
    """
    listed = curated / CASE_FILES
    if not listed.is_file():
        raise InputError.at(
            curated, f"holds no {CASE_FILES}.", "Give a folder that 'nodulebench curate' wrote."
        )
    root = folder or _curated_folder(curated)
    file = CsvFile(listed)
    header = file.header(needed=["case_id", "file"])
    rows = file.read_strings(header).select("case_id", "file").unique(maintain_order=True)
    if wanted is not None:
        rows = rows.filter(pl.col("case_id").is_in(list(wanted)))
    _require_images(rows["file"], root)
    grouped = rows.group_by("case_id", maintain_order=True).agg("file")
    return CaseFiles(root, {case: tuple(names) for case, names in grouped.iter_rows()})


def export_cases(case_files: CaseFiles, out: Path, progress: Progress = no_progress) -> int:
    """Export cases as ``out/<case_id>/0001.dcm`` and so on; return the number of files.

    They go from the feet to the head, as hard links where the disk supports them, to save space.
    """
    total, done = len(case_files.paths), 0
    with staged_folder(out, is_new=True) as stage:
        for case_id, names in case_files.files.items():
            (stage / case_id).mkdir()
            for name, tidy in zip(names, tidy_names(len(names)), strict=True):
                link_or_copy(case_files.folder / name, stage / case_id / tidy)
                done += 1
            progress("exporting files", done, total)
    return total


def tidy_names(count: int) -> list[str]:
    return [f"{number:04d}.dcm" for number in range(1, count + 1)]


def link_or_copy(source: Path, target: Path) -> None:
    """Make a hard link to a file, or a copy where the disk does not support links."""
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)


def _curated_folder(curated: Path) -> Path:
    summary = curated / SUMMARY
    summary_content = read_json(summary) if summary.is_file() else None
    folder = summary_content.get("folder") if isinstance(summary_content, dict) else None
    if not isinstance(folder, str):
        raise InputError.at(
            summary, "does not name the folder that was curated.", "Give that folder with --images."
        )
    return curated / folder


def _require_images(names: pl.Series, root: Path) -> None:
    problems = []
    for name in names:
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts:
            problems.append(Problem(f"{CASE_FILES} '{name}'", f"is not below {root}."))
        elif not (root / name).is_file():
            remedy = "If the folder was moved, give its new path with --images."
            problems.append(Problem(str(root / name), "no longer exists.", remedy))
    if len(problems) > _MOST_NAMED:
        more = len(problems) - _MOST_NAMED
        problems = [*problems[:_MOST_NAMED], Problem(str(root), f"{more} more files are missing.")]
    raise_problems(problems)
