"""A folder of DICOM CT images <-> CASES: its series as cases, and the series of cases."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.core.errors import InputError, refuse_any
from nodulebench.core.tables import CASES, IMAGES
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.io.dicom.series import Series, ct_series
from nodulebench.io.dicom.stack import stack_problems


def read_image_series(folder: Path, wanted: Collection[str] | None = None) -> dict[str, Series]:
    """Every CT series in a folder and its subfolders, by Series Instance UID.

    Args:
        folder: looked through; other files are passed over.
        wanted: only these series, as far as they are there; files that cannot be read are then
            passed over, as they may be anything.

    Raises:
        InputError: if there is none, or images of one series do not make a volume.
    """
    found = ct_series(folder, wanted)
    refuse_any(
        problem
        for uid, series in found.items()
        for problem in stack_problems(series, f"{folder} series {uid}")
    )
    return found


def cases_of_images(folder: Path) -> pl.DataFrame:
    """CASES with one row per CT series in a folder, which the column ``images`` names."""
    rows = [case_row(series) for series in read_image_series(folder).values()]
    return CASES.conform(pl.DataFrame(rows), folder.name)


def case_row(series: Series) -> dict[str, Any]:
    """A series as a row of CASES."""
    first = series.slices[0]
    return {
        "case_id": series.uid,
        "patient_id": first.patient_id or None,
        **geometry_columns(series.geometry),
        IMAGES: str(Path(first.path).parent),
    }


def images_of_cases(
    cases: pl.DataFrame | None, case_ids: Iterable[str] | None = None
) -> dict[str, Series]:
    """The series of every case whose images are known, by case.

    Args:
        cases: CASES; those with a folder in the column ``images`` are looked up.
        case_ids: only these.

    Raises:
        InputError: if a folder does not hold the case's series, or several and none of its name.
    """
    if cases is None or IMAGES not in cases.columns:
        return {}
    wanted = None if case_ids is None else set(case_ids)
    found: dict[str, Series] = {}
    seen: dict[str, dict[str, Series]] = {}
    for case_id, folder in cases.select("case_id", IMAGES).drop_nulls().iter_rows():
        if wanted is not None and case_id not in wanted:
            continue
        if folder not in seen:
            seen[folder] = read_image_series(Path(folder))
        found[case_id] = _series_of_case(case_id, folder, seen[folder])
    return found


def _series_of_case(case_id: str, folder: str, held: dict[str, Series]) -> Series:
    if case_id in held:
        return held[case_id]
    if len(held) > 1:
        raise InputError.at(
            f"case '{case_id}'",
            f"its folder {folder} holds {len(held)} series, none of that name.",
            "Give every series a folder of its own, or name cases by SeriesInstanceUID.",
        )
    return next(iter(held.values()))
