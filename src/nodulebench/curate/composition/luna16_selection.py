"""A table of CT series -> those that LUNA16's words select, and how they differ from its list.

Setio et al., Medical Image Analysis 42 (2017) keep scans with thin slices, even spacing and no
slice missing. In words the limit is 3 mm; the scans of the challenge have at most 2.5 mm. The words
do not give the published 888 scans exactly, so a test on LUNA16 uses the published list.
"""

from dataclasses import dataclass

import polars as pl

from nodulebench.errors import InputError, Problem

THICKEST_MM = 2.5
TOLERANCE_MM = 1e-3
"""How far the mean distance of slices may be from the usual one."""
NEEDED = (
    "case_id",
    "slice_thickness_mm",
    "slice_spacing_mm",
    "n_slices",
    "z_first_mm",
    "z_last_mm",
)


def luna16_selection(
    scans: pl.DataFrame, *, thickest_mm: float = THICKEST_MM, tolerance_mm: float = TOLERANCE_MM
) -> pl.DataFrame:
    """Say of each series whether it is selected.

    The spacing is uneven, or a slice is missing, if the first and the last slice lie further apart
    or nearer than so many slices at the usual distance would.

    Args:
        scans: one row per series: case_id, slice_thickness_mm, slice_spacing_mm (the usual
            distance), n_slices, and z_first_mm and z_last_mm, where the outermost slices lie.
        thickest_mm: slices may be this thick.
        tolerance_mm: how far the mean distance of slices may be from the usual one.

    Returns:
        case_id, is_thin, is_even and is_selected, in the order of the scans.

    Raises:
        InputError: for each missing column and each series without the numbers that are needed.
    """
    _refuse_incomplete(scans)
    mean_mm = (pl.col("z_last_mm") - pl.col("z_first_mm")).abs() / (pl.col("n_slices") - 1)
    return scans.select(
        "case_id",
        is_thin=pl.col("slice_thickness_mm") <= thickest_mm,
        is_even=(mean_mm - pl.col("slice_spacing_mm")).abs() <= tolerance_mm,
    ).with_columns(is_selected=pl.col("is_thin") & pl.col("is_even"))


@dataclass(frozen=True, slots=True)
class ListDifference:
    """Where a selection and a published list differ; in order of the scans or the list."""

    both: tuple[str, ...]
    only_selected: tuple[str, ...]
    only_listed: tuple[str, ...]


def against_list(selection: pl.DataFrame, listed: pl.Series) -> ListDifference:
    """Compare a selection with a published list of series.

    Args:
        selection: case_id and is_selected.
        listed: the case ids of the list.
    """
    chosen = selection.filter("is_selected")["case_id"].to_list()
    published = listed.to_list()
    return ListDifference(
        both=tuple(name for name in chosen if name in set(published)),
        only_selected=tuple(name for name in chosen if name not in set(published)),
        only_listed=tuple(name for name in published if name not in set(chosen)),
    )


def _refuse_incomplete(scans: pl.DataFrame) -> None:
    problems = [
        Problem("scans", f"column '{name}' is missing.", f"Needed: {', '.join(NEEDED)}.")
        for name in NEEDED
        if name not in scans.columns
    ]
    if not problems:
        is_lacking = pl.any_horizontal(pl.col(NEEDED).is_null()) | (pl.col("n_slices") < 2)
        problems = [
            Problem(f"scan '{case_id}'", "has no thickness, spacing or place of its slices.")
            for case_id in scans.filter(is_lacking)["case_id"]
        ]
    if problems:
        raise InputError(problems)
