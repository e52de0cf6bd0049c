"""Series -> what keeps its slices from being one volume; the same tolerances for all who read."""

from collections import Counter
from collections.abc import Callable
from pathlib import PurePath

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import Problem, Problems, adding_to
from nodulebench.imaging.geometry import LARGEST_SHEAR, ORTHONORMAL_TOLERANCE, checked_geometry
from nodulebench.io.dicom.series import Series, upward_normal
from nodulebench.io.dicom.slices import SliceHeader

SPACING_TOLERANCE_MM = 0.05
"""How far a slice may be from its place: headers round positions to a hundredth or so."""
SPACING_TOLERANCE = 0.05
"""The same as a share of the distance of slices, where that is more."""
COSINE_TOLERANCE = 1e-3
"""How far direction cosines may differ between slices: headers round them."""
PLACED_BY: dict[str, Callable[[SliceHeader], object]] = {
    "position": lambda one: one.position_mm,
    "orientation": lambda one: one.orientation,
    "pixel size": lambda one: one.pixel_spacing_mm,
}
"""What a slice needs to have a place in the patient."""
ALIKE: dict[str, Callable[[SliceHeader], object]] = {
    "rows and columns": lambda one: (one.pixels.rows, one.pixels.columns),
    "bits": lambda one: (one.pixels.bits_allocated, one.pixels.is_signed),
    "pixel size": lambda one: (
        one.pixel_spacing_mm and tuple(round(side, 5) for side in one.pixel_spacing_mm)
    ),
}
"""What the slices of a series have in common."""


def differences(series: Series) -> list[tuple[str, list[str], tuple[str, ...]]]:
    """What slices that should be alike differ in, how, and the files that are unusual."""
    found = []
    for name, value in ALIKE.items():
        counts = Counter(value(one) for one in series.slices)
        if len(counts) > 1:
            usual, _ = counts.most_common(1)[0]
            other = tuple(one.path for one in series.slices if value(one) != usual)
            shown = [f"{_plain(one)} ({count})" for one, count in counts.most_common(3)]
            found.append((name, shown, other))
    return found


def is_skew(one: SliceHeader) -> bool:
    """Whether direction cosines are not of length 1, or not at right angles."""
    axes = np.array(one.orientation or (0.0,) * 6).reshape(2, 3)
    return bool(np.abs(axes @ axes.T - np.eye(2)).max() > ORTHONORMAL_TOLERANCE)


def turned_otherwise(series: Series) -> list[str]:
    """The files of slices that are not turned as most of the series are."""
    usual = series.orientation
    return [
        one.path
        for one in series.slices
        if usual is not None
        and one.orientation is not None
        and np.abs(np.array(one.orientation) - usual).max() > COSINE_TOLERANCE
    ]


def tilt_degrees(series: Series) -> float:
    """The angle between the way from the first slice to the last and the normal of slices."""
    positions, cosines = series.positions_mm, series.orientation
    if positions is None or cosines is None or len(positions) < 2:
        return 0.0
    along = positions[-1] - positions[0]
    length = float(np.linalg.norm(along))
    if length == 0:
        return 0.0
    share = abs(along @ upward_normal(cosines)) / length
    return float(np.degrees(np.arccos(np.clip(share, 0.0, 1.0))))


def beside_mm(series: Series) -> FloatArray:
    """How far each slice lies beside the line from the first to the last."""
    positions, places = series.positions_mm, series.places_mm
    if positions is None or places is None or places[-1] == places[0]:
        return np.zeros(len(series.slices))
    share = (places - places[0]) / (places[-1] - places[0])
    line = positions[0] + share[:, None] * (positions[-1] - positions[0])
    off: FloatArray = np.linalg.norm(positions - line, axis=1)
    return off


def half_pixel_mm(series: Series) -> float:
    """Half the smallest side of a pixel."""
    return min(min(one.pixel_spacing_mm or (0.0,)) for one in series.slices) / 2


def stack_problems(series: Series, where: str, *, allows_tilt: bool = False) -> list[Problem]:
    """Everything that keeps the slices of a series from being one volume.

    Args:
        series: its slices.
        where: what it is called in messages.
        allows_tilt: whether slices may shift sideways evenly, as those of a tilted gantry do.
    """
    problems = Problems(
        Problem(path, f"has no usable {name}.", "It cannot be placed in the patient.")
        for name, value in PLACED_BY.items()
        for path in dict.fromkeys(one.path for one in series.slices if value(one) is None)
    )
    described = Counter(one.path for one in series.slices)
    for one in series.slices:
        if described.pop(one.path, one.pixels.frames) < one.pixels.frames:
            what = f"has {one.pixels.frames} frames and does not say where each lies."
            problems.add(one.path, what, "Export it as one file per slice.")
        if not one.pixels.rows or not one.pixels.columns:
            problems.add(one.path, "has no usable rows and columns.")
    if problems:
        return problems
    problems = Problems(
        Problem(where, f"its slices differ in {name}: {' and '.join(shown)}.")
        for name, shown, _ in differences(series)
    )
    frames = Counter(one.frame_of_reference for one in series.slices)
    if len(frames) > 1:
        shown = " and ".join(f"{uid or 'none'} ({count})" for uid, count in frames.items())
        problems.add(where, f"its slices differ in frame of reference: {shown}.")
    turned = turned_otherwise(series)
    if turned:
        what = f"{len(turned)} of {len(series.slices)} slices are turned differently."
        problems.add(where, what)
    skew = [one for one in series.slices if is_skew(one)]
    if skew:
        what = f"rows and columns of {len(skew)} slices are not at right angles."
        problems.add(where, what)
    return (
        problems
        or _place_problems(series, where, allows_tilt=allows_tilt)
        or _grid_problems(series, where, allows_tilt=allows_tilt)
    )


def _grid_problems(series: Series, where: str, *, allows_tilt: bool) -> list[Problem]:
    """Numbers that no image can have: pixels without size, places a kilometre away."""
    grid, problems = series.geometry, Problems()
    direction = np.eye(3) if allows_tilt else grid.direction
    with adding_to(problems):
        checked_geometry(grid.spacing_mm, grid.origin_mm, direction, grid.size, where)
    return problems


def _place_problems(series: Series, where: str, *, allows_tilt: bool) -> list[Problem]:
    """Slices that are absent, repeated, unevenly spaced or shifted sideways."""
    places = series.places_mm
    if places is None or len(places) == 1:
        return []
    usual = series.spacing_mm or 0.0
    tolerance = max(SPACING_TOLERANCE_MM, SPACING_TOLERANCE * usual)
    problems = Problems()
    for at, gap in enumerate(np.diff(places).tolist()):
        if gap < SPACING_TOLERANCE_MM:
            problems.add(
                where,
                f"{_names(series, at)} lie at the same place ({places[at]:.2f} mm).",
                "Remove the repeated slice.",
            )
        elif abs(gap - usual) > tolerance:
            missing = round(gap / usual) - 1
            what = f"{missing} slices are missing" if missing > 1 else "a slice is missing"
            if missing < 1 or abs(gap - (missing + 1) * usual) > tolerance:
                what = "the spacing is uneven"
            problems.add(
                where,
                f"{what} between {_names(series, at)}: {gap:.2f} mm apart, "
                f"elsewhere {usual:.2f} mm.",
                "Export the whole series.",
            )
    return problems or _shift_problems(series, where, allows_tilt=allows_tilt)


def _shift_problems(series: Series, where: str, *, allows_tilt: bool) -> list[Problem]:
    tilt = tilt_degrees(series)
    if np.sin(np.radians(tilt)) > LARGEST_SHEAR and not allows_tilt:
        return [
            Problem(
                where,
                f"its slices shift sideways by {tilt:.1f} degrees (a tilted gantry).",
                "Resample it to slices at right angles to the table.",
            )
        ]
    off = beside_mm(series)
    limit = max(SPACING_TOLERANCE_MM, half_pixel_mm(series))
    return [
        Problem(
            where,
            f"{PurePath(series.slices[at].path).name} lies {off[at]:.1f} mm beside the others.",
            "Export the series anew.",
        )
        for at in np.flatnonzero(off > limit).tolist()
    ]


def _names(series: Series, at: int) -> str:
    """Two neighbouring slices by their files, or their frames of one file."""
    pair = series.slices[at : at + 2]
    if len({one.path for one in pair}) == 1:
        return f"frames {' and '.join(str(one.frame + 1) for one in pair)}"
    return " and ".join(PurePath(one.path).name for one in pair)


def _plain(value: object) -> str:
    return " x ".join(map(str, value)) if isinstance(value, tuple) else str(value)
