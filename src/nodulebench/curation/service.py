"""Curation -> files: CASES of the admitted series, exclusions, fingerprints, flow and a page."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

import polars as pl

from nodulebench import __version__
from nodulebench.core.errors import InputError
from nodulebench.core.executor import Executor, Progress
from nodulebench.core.json_types import JsonObject
from nodulebench.core.text import shown
from nodulebench.curation.cases import (
    CASE_FILES,
    SUMMARY,
    cases_table,
    export_cases,
    read_case_files,
)
from nodulebench.curation.curate import Curation, curate
from nodulebench.curation.design import load_design
from nodulebench.curation.duplicates import read_known_set, write_known_set
from nodulebench.curation.header_facts import DERIVED_BY
from nodulebench.curation.page import curation_page, flow_svg
from nodulebench.i18n.translator import LanguageName, in_english
from nodulebench.io.atomic import staged_folder
from nodulebench.io.csv_files import write_csv
from nodulebench.io.json_files import write_json
from nodulebench.io.table_files import write_parquet

SCHEMA = "nodulebench/curation@1"
EXCLUSIONS = {
    "series_uid": pl.String,
    "code": pl.String,
    "decides": pl.Boolean,
    "reason": pl.String,
    "slices": pl.Int64,
    "files": pl.String,
}


def curate_files(
    folder: Path,
    out: Path,
    design: str | None,
    against: Iterable[Path],
    *,
    executor: Executor,
    progress: Progress,
    language: LanguageName = "en",
    export: Path | None = None,
) -> tuple[Curation, list[Path]]:
    """Curate a folder under the limits of a design (published or TOML), and write the results.

    With ``export``, the files of the admitted series are also exported, one folder per series.
    """
    if export is not None and export.resolve().is_relative_to(folder.resolve()):
        raise InputError.at(export, "is in the folder that is read.", "Export to another folder.")
    limits = None if design is None else load_design(design).limits
    known = [read_known_set(path) for path in against]
    made = curate(folder, out, limits=limits, known=known, executor=executor, progress=progress)
    written = write_curation(made, out, language)
    if export is not None:
        export_cases(read_case_files(out, folder), export, progress)
        written.append(export)
    return made, written


def write_curation(curation: Curation, out: Path, language: LanguageName = "en") -> list[Path]:
    """Write all files, the summary last, the page and its flow in a language; returns the paths."""
    cases = cases_table(curation)
    with staged_folder(out, last=SUMMARY) as stage:
        write_parquet(cases, stage / "cases.parquet")
        write_csv(exclusions_table(curation), stage / "exclusions.csv")
        write_csv(_case_files(curation), stage / CASE_FILES)
        write_known_set(
            (
                (series.uid, series.pixel_sha256, series.perceptual_hash)
                for series in curation.admitted
            ),
            stage / "fingerprints.csv",
        )
        (stage / "flow.svg").write_text(flow_svg(curation, language), encoding="utf-8")
        page = shown(curation_page(curation, language))
        (stage / "curation.html").write_text(page, encoding="utf-8")
        content = {**summary(curation), "folder": str(curation.folder.resolve())}
        write_json(content, stage / SUMMARY)
        names = sorted(path.name for path in stage.iterdir())
    return [out / name for name in names]


def summary(curation: Curation) -> JsonObject:
    codes = Counter(series.reasons[0].code for series in curation.series if series.reasons)
    damaged = sum(other_file.is_damaged for other_file in curation.other_files)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "limits": curation.limits.model_dump(mode="json"),
        "derived_by": DERIVED_BY,
        "against": [{"name": name, "scans": scans} for name, scans in curation.against],
        "series": len(curation.series),
        "admitted": len(curation.admitted),
        "excluded": dict(sorted(codes.items())),
        "unreadable_files": damaged,
        "other_files": len(curation.other_files) - damaged,
    }


def exclusions_table(curation: Curation) -> pl.DataFrame:
    """One row per reason, the deciding one of a series first; then files that hold no slices."""
    rows = [
        (
            series.uid,
            reason.code,
            number == 0,
            shown(in_english(reason.notice)),
            series.slices,
            ";".join(_below(curation.folder, reason.files or series.files)),
        )
        for series in curation.series
        for number, reason in enumerate(series.reasons)
    ]
    rows += [
        (
            "",
            "unreadable" if other_file.is_damaged else "other_file",
            True,
            shown(in_english(other_file.notice)),
            0,
            next(_below(curation.folder, (other_file.path,))),
        )
        for other_file in curation.other_files
    ]
    return pl.DataFrame(rows, schema=EXCLUSIONS, orient="row")


def _below(folder: Path, files: tuple[str, ...]) -> Iterator[str]:
    root = folder.resolve()
    for path in files:
        yield shown(PurePath(path).relative_to(root).as_posix())


def _case_files(curation: Curation) -> pl.DataFrame:
    kinds = {"case_id": pl.String, "slice_index": pl.Int64, "file": pl.String, "frame": pl.Int64}
    rows = []
    for series in curation.admitted:
        files = list(_below(curation.folder, series.files))
        places = zip(series.frames[::2], series.frames[1::2], strict=True)
        rows += [(series.uid, at, files[file], frame) for at, (file, frame) in enumerate(places)]
    return pl.DataFrame(rows, schema=kinds, orient="row")
