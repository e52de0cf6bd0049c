"""LUNA16 files: annotations.csv, annotations_excluded.csv, seriesuids.csv and a submission."""

from pathlib import Path

import polars as pl

from nodulebench.errors import InputError, Problem
from nodulebench.formats.csv_text import read_columns, read_head
from nodulebench.formats.digest import file_digest
from nodulebench.model.tables import CASES, MARKS, NODULES, Reference, Submission

_COORDINATES = {"coordX": "x_mm", "coordY": "y_mm", "coordZ": "z_mm"}


def read_marks(path: Path, cases: pl.DataFrame | None = None) -> Submission:
    """A submission: one row per mark, ``seriesuid,coordX,coordY,coordZ,probability``.

    Rows of series that are not in ``cases`` may be anything, as for the official program.
    """
    rows = read_columns(
        path,
        text=("seriesuid",),
        numbers=(*_COORDINATES, "probability"),
        known_cases=None if cases is None else cases["case_id"],
    )
    marks = rows.select(
        case_id=pl.col("seriesuid").fill_null(""),
        mark_id=pl.col("line").cast(pl.String),
        **{ours: pl.col(theirs) for theirs, ours in _COORDINATES.items()},
        score=pl.col("probability"),
    )
    return Submission(name=_stem(path), marks=MARKS.arrange(marks), digest=file_digest(path))


def read_series(path: Path) -> pl.Series:
    """A list of series: no header, one series a line, first column."""
    first = read_head(path).split(",")[0]
    if first.strip('"') in ("seriesuid", "case_id"):
        raise InputError(
            Problem(
                f"{path.name} line 1",
                f"'{first}' is a header, but a series list has none.",
                "Remove the line (the official program would count it as one more scan).",
            )
        )
    try:
        table = pl.read_csv(path, has_header=False, infer_schema=False, truncate_ragged_lines=True)
    except pl.exceptions.PolarsError as error:
        raise InputError(Problem(str(path), "is not a list of series, one a line.")) from error
    listed = table.to_series(0).rename("case_id")
    return listed.filter(listed.is_not_null())


def read_reference(folder: Path) -> Reference:
    """A LUNA16 folder: annotations, excluded findings and the list of series, each also .gz."""
    series_file = _needed(folder, "seriesuids.csv")
    series = read_series(series_file)
    included = _read_findings(_needed(folder, "annotations.csv"), series, is_ignored=False)
    excluded_file = _present(folder, "annotations_excluded.csv")
    notices: tuple[str, ...] = ()
    parts = [included]
    if excluded_file is None:
        notices = (
            f"{folder} has no annotations_excluded.csv: marks on excluded findings count as false "
            "positives, so the result is not the official one.",
        )
    else:
        parts.append(_read_findings(excluded_file, series, is_ignored=True))
    findings = pl.concat(parts)
    nodules = NODULES.arrange(findings)
    everything = Reference(
        name=folder.resolve().name,
        cases=CASES.arrange(series.unique(maintain_order=True).to_frame()),
        nodules=nodules,
        notices=notices,
    )
    return everything.restricted(series, series_file.name)


def _present(folder: Path, name: str) -> Path | None:
    """A file of a folder, plain or gzipped, if it is there."""
    candidates = (folder / name, folder / f"{name}.gz")
    return next((path for path in candidates if path.is_file()), None)


def _needed(folder: Path, name: str) -> Path:
    found = _present(folder, name)
    if found is None:
        raise InputError(
            Problem(str(folder), f"holds neither {name} nor {name}.gz.", "Is it a LUNA16 folder?")
        )
    return found


def _read_findings(path: Path, series: pl.Series, *, is_ignored: bool) -> pl.DataFrame:
    rows = read_columns(
        path,
        text=("seriesuid",),
        numbers=(*_COORDINATES, "diameter_mm"),
        known_cases=series,
    )
    return rows.select(
        case_id=pl.col("seriesuid"),
        nodule_id=pl.lit("excluded-" if is_ignored else "nodule-") + pl.col("line").cast(pl.String),
        **{ours: pl.col(theirs) for theirs, ours in _COORDINATES.items()},
        diameter_mm=pl.col("diameter_mm"),
        is_ignored=pl.lit(is_ignored),
    )


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]
