"""Join the tables of a test set with a table given for it, or say where they contradict."""

import math
from pathlib import Path, PurePosixPath

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError, Problem
from nodulebench.core.notices import Notice
from nodulebench.core.tables import SCAN_FACTS
from nodulebench.imaging.geometry import geometries, lps_to_ras

_MOST_NAMED = 5
_TOLERANCE = 1e-6
"""Relative tolerance: tables round their numbers."""


def joined_cases(
    own: pl.DataFrame, given: pl.DataFrame, source: str
) -> tuple[pl.DataFrame, tuple[Notice, ...]]:
    """Add what a given table says about the cases of a test set.

    The test set decides which cases exist and their order. Other cases of the given table are
    skipped with a notice.
    """
    joined = own.select("case_id").join(given, on="case_id", how="left", maintain_order="left")
    filled = filled_from(own, joined, ("case_id",), "cases", source)
    others = given.join(own, on="case_id", how="anti").height
    notices = (Notice("cases_passed_over", {"count": others, "given": given.height}),)
    return filled, notices if others else ()


def described_by(own: pl.DataFrame, given: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Notice, ...]]:
    """Replace the description of the scans by that of their image headers, where they have one.

    Scanner and acquisition decide nothing and are named in many ways. So the images are right, and
    a notice names the columns that differed.
    """
    facts = [name for name in SCAN_FACTS if name in given.columns]
    seen = own.select("case_id").join(given, on="case_id", how="left", maintain_order="left")
    known = [name for name in facts if name in own.columns]
    changed = [
        name
        for name in known
        if any(
            None not in pair and not _is_same(*pair)
            for pair in zip(own[name], seen[name], strict=True)
        )
    ]
    described = own.with_columns(
        seen[name] if name not in own.columns else _first_known(seen[name], own[name])
        for name in facts
    )
    return described, (Notice("scans_described_by_images", {"columns": changed}),) * bool(changed)


def _first_known(first: pl.Series, second: pl.Series) -> pl.Series:
    """The first value where it is known, else the second; as text if either column is text."""
    is_text = first.dtype == pl.String or second.dtype == pl.String
    return (
        first.fill_null(second)
        if not is_text
        else first.cast(pl.String).fill_null(second.cast(pl.String))
    )


def filled_from(
    own: pl.DataFrame, other: pl.DataFrame, keys: tuple[str, ...], what: str, source: str
) -> pl.DataFrame:
    """Fill the gaps of a table row by row from another of as many rows; add its further columns.

    ``what`` ("cases" or "nodules") and ``source``, the name of the test set, are for messages.
    """
    shared = [name for name in own.columns if name in other.columns and name not in keys]
    _require_no_conflicts(own, other, shared, keys, what, source)
    further = [name for name in other.columns if name not in own.columns]
    return own.with_columns(
        *(own[name].fill_null(other[name].cast(own[name].dtype, strict=False)) for name in shared),
        *(other[name] for name in further),
    )


def _require_no_conflicts(
    own: pl.DataFrame,
    other: pl.DataFrame,
    shared: list[str],
    keys: tuple[str, ...],
    what: str,
    source: str,
) -> None:
    problems = [
        Problem(
            f"{what} {' '.join(repr(own[key][row]) for key in keys)}",
            f"{name} is '{other[name][row]}', but '{own[name][row]}' in the test set '{source}'.",
            f"Correct the table of {what}, or leave the column out.",
        )
        for name in shared
        for row in (own[name].cast(pl.String) != other[name].cast(pl.String)).arg_true().to_list()
        if not _is_same(own[name][row], other[name][row])
    ]
    if problems:
        more = len(problems) - _MOST_NAMED
        rest = [Problem(what, f"{more} more values like this.")] if more > 0 else []
        raise InputError([*problems[:_MOST_NAMED], *rest])


def _is_same(own: object, given: object) -> bool:
    try:
        pairs = list(zip(str(own).split(), str(given).split(), strict=True))
        return bool(pairs) and all(
            math.isclose(float(ours), float(theirs), rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
            for ours, theirs in pairs
        )
    except ValueError:
        return own == given


IMAGE_SUFFIXES = (".nii.gz", ".nii", ".mhd", ".mha", ".nrrd", ".dcm")


def algorithm_name(path: Path) -> str:
    if path.is_dir():
        return path.resolve().name
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]


def case_of_image(image: str) -> str:
    """The case that an image file belongs to: its name without folders and image ending."""
    name = PurePosixPath(image.replace("\\", "/")).name
    for suffix in IMAGE_SUFFIXES:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def file_of_case(case_id: str, suffix: str) -> str:
    if not case_id or case_id in (".", "..") or set(case_id) & set("/\\\0"):
        raise InputError.at(
            f"case '{case_id}'",
            "cannot be the name of a file.",
            "Rename the case, or choose a format that stores all cases in one file.",
        )
    return case_id + suffix


def position_notices(places: pl.DataFrame, cases: pl.DataFrame | None) -> tuple[Notice, ...]:
    """How many positions are outside their image, and whether RAS or LPS explains it."""
    known = geometries(cases)
    checked = outside = mirrored_outside = 0
    if known:
        for (case_id,), part in places.group_by("case_id", maintain_order=True):
            grid = known.get(str(case_id))
            if grid is None or grid.size is None:
                continue
            point = part.select("x_mm", "y_mm", "z_mm").to_numpy()
            checked += len(point)
            outside += int(np.count_nonzero(~grid.contains(point)))
            mirrored_outside += int(np.count_nonzero(~grid.contains(lps_to_ras(point))))
    if not outside:
        return ()
    values = {"outside": outside, "checked": checked}
    if mirrored_outside < outside:
        values["mirrored"] = mirrored_outside
    return (Notice("outside_image", values),)
