"""Group slice headers into series in geometric order, from the feet to the head if axial.

Every CT series is put together here, whether its slices are files or frames of one file.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, Problem, Problems, collect_problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.imaging.geometry import (
    LARGEST_SHEAR,
    ORTHONORMAL_TOLERANCE,
    Geometry,
    checked_geometry,
)
from nodulebench.io.dicom.files import files_of, is_dicom, read_image_header
from nodulebench.io.dicom.slices import (
    CT_CLASSES,
    DICOM_SUFFIXES,
    NoSlices,
    SliceHeader,
    read_slices,
)

if TYPE_CHECKING:
    from pydicom import Dataset

LOCALIZER_WORDS = frozenset({"LOCALIZER", "SCOUT", "TOPOGRAM", "SURVIEW", "SCANOGRAM"})
COPY_SHARE = 0.5
"""If at least this share of a series' slices is repeated, the files are a second copy of it."""


@dataclass(frozen=True)
class Series:
    """The slices of a series in order; a second copy of a series is another series."""

    slices: tuple[SliceHeader, ...]
    copy: int = 0
    """0 for the first copy."""

    @property
    def uid(self) -> str:
        return self.slices[0].series_uid

    @property
    def name(self) -> str:
        return self.uid if self.copy == 0 else f"{self.uid} (copy {self.copy + 1})"

    @cached_property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(slice_.path for slice_ in self.slices))

    @cached_property
    def orientation(self) -> FloatArray | None:
        """The most frequent direction cosines; None if no slice has any."""
        known = Counter(
            slice_.orientation for slice_ in self.slices if slice_.orientation is not None
        )
        return np.array(known.most_common(1)[0][0]) if known else None

    @cached_property
    def positions_mm(self) -> FloatArray | None:
        """One row per slice; None if a slice has no position."""
        if any(slice_.position_mm is None for slice_ in self.slices):
            return None
        return np.array([slice_.position_mm for slice_ in self.slices], dtype=np.float64)

    @cached_property
    def places_mm(self) -> FloatArray | None:
        if self.positions_mm is None or self.orientation is None:
            return None
        return self.positions_mm @ upward_normal(self.orientation)

    @cached_property
    def spacing_mm(self) -> float | None:
        """The median distance of neighbouring slices, without repeated slices."""
        if self.places_mm is None:
            return None
        gaps = np.diff(self.places_mm)
        gaps = gaps[gaps > 1e-3]
        return float(np.median(gaps)) if len(gaps) else None

    @cached_property
    def grid(self) -> Geometry | None:
        """The voxel grid from the first slice on; None if a header lacks it.

        The third axis leads to the last slice, so that slightly shifted slices have right
        positions.
        """
        first, cosines, positions = self.slices[0], self.orientation, self.positions_mm
        if cosines is None or positions is None or first.pixel_spacing_mm is None:
            return None
        along, distance = upward_normal(cosines), first.slice_spacing_mm or first.thickness_mm
        if len(positions) > 1:
            way = positions[-1] - positions[0]
            length = float(np.linalg.norm(way))
            if length == 0:
                return None
            along, distance = way / length, length / (len(positions) - 1)
        row_step, column_step = first.pixel_spacing_mm
        return Geometry(
            spacing_mm=np.array([column_step, row_step, abs(distance or 1.0)]),
            origin_mm=positions[0],
            direction=np.column_stack([cosines[:3], cosines[3:], along]),
            size=np.array([first.pixels.columns, first.pixels.rows, len(positions)]),
        )

    @property
    def geometry(self) -> Geometry:
        if self.grid is None:
            raise InputError.at(f"series {self.name}", "has no position in the patient.")
        return self.grid

    @property
    def frame_of_reference(self) -> str:
        return self.slices[0].frame_of_reference

    @cached_property
    def number_of(self) -> dict[tuple[str, int], int]:
        return {(slice_.sop_uid, slice_.frame): k for k, slice_ in enumerate(self.slices)}

    def world_of(self, number: int, pixels: FloatArray) -> FloatArray:
        """Patient millimetres of points (column, row) of a report on a slice.

        The centre of the first pixel is (0.5, 0.5) (DICOM PS3.3 C.18.6.1.2).
        """
        level = np.full(len(pixels), float(number))
        return self.geometry.to_world(np.column_stack([pixels - 0.5, level]))

    @cached_property
    def images(self) -> "tuple[Dataset, ...]":
        return tuple(read_image_header(Path(path)) for path in self.files)


def upward_normal(orientation: FloatArray) -> FloatArray:
    """The normal of slices, pointing to the head, else to the back, else to the left."""
    normal = np.cross(orientation[:3], orientation[3:])
    length = float(np.linalg.norm(normal))
    if length == 0.0:
        return np.array([0.0, 0.0, 1.0])
    main = int(np.argmax(np.abs(normal)))
    return normal / length * (-1.0 if normal[main] < 0 else 1.0)


def group_series(slices: Iterable[SliceHeader]) -> list[Series]:
    """Group slices into series, sorted by the path of their first file.

    Slices of a series share the series UID, the SOP class, the modality, and whether they are
    localizers. Files that repeat at least half of a series are a second copy of it; single
    repeated files stay in the series, where they are duplicate slices.
    """
    groups: dict[tuple[object, ...], list[SliceHeader]] = defaultdict(list)
    for slice_ in sorted(slices, key=lambda slice_: (PurePath(slice_.path).parts, slice_.frame)):
        groups[slice_.series_uid, slice_.sop_class, slice_.modality, is_localizer(slice_)].append(
            slice_
        )
    series = [
        Series(in_order(part), number)
        for group in groups.values()
        for number, part in enumerate(_copies(group))
    ]
    return sorted(series, key=lambda series: min(PurePath(file).parts for file in series.files))


def ct_series(folder: Path, wanted: Collection[str] | None = None) -> dict[str, Series]:
    """Find every CT series but localizers in a folder or file, by Series Instance UID.

    If only some are ``wanted``, files that cannot be read are skipped: they may be anything.
    """
    if not folder.exists():
        raise InputError.at(folder, "is not a folder.", "Give the folder of a series.")
    slices: list[SliceHeader] = []
    damaged: list[Problem] = []
    for path in files_of(folder):
        read = read_slices(path)
        if not isinstance(read, NoSlices):
            slices += [header for header in read if _is_scan(header, wanted)]
        elif read.is_damaged and (is_dicom(path) or path.suffix.lower() in DICOM_SUFFIXES):
            damaged.append(
                Problem(read.path, _no_slices_text(read.notice), "Copy or export it again.")
            )
    raise_problems(damaged if wanted is None else ())
    if not slices and wanted is None:
        raise InputError.at(folder, "holds no DICOM CT images.", "Give the folder of a CT series.")
    groups = group_series(slices)
    times = Counter(series.uid for series in groups)
    twice = [series for series in groups if times.pop(series.uid, 0) > 1]
    raise_problems(
        Problem(str(folder), f"holds series {series.uid} more than once.", "Remove the copies.")
        for series in twice
    )
    return {series.uid: series for series in groups}


def _no_slices_text(notice: Notice) -> str:
    values = ", ".join(str(value) for value in notice.values.values() if value is not None)
    reason = notice.code.replace("_", " ")
    return f"gives no slices: {reason} ({values})." if values else f"gives no slices: {reason}."


def _is_scan(header: SliceHeader, wanted: Collection[str] | None) -> bool:
    is_wanted = wanted is None or header.series_uid in wanted
    return is_wanted and header.sop_class in CT_CLASSES and not is_localizer(header)


def is_localizer(header: SliceHeader) -> bool:
    return not LOCALIZER_WORDS.isdisjoint(word.upper() for word in header.image_type)


def in_order(slices: Sequence[SliceHeader]) -> tuple[SliceHeader, ...]:
    places = Series(tuple(slices)).places_mm
    if places is None:
        return tuple(sorted(slices, key=_by_number))
    return tuple(slices[at] for at in np.argsort(places, kind="stable").tolist())


def _by_number(header: SliceHeader) -> tuple[bool, int, str, int]:
    return header.instance_number is None, header.instance_number or 0, header.path, header.frame


def _copies(group: Sequence[SliceHeader]) -> list[list[SliceHeader]]:
    """Separate the slices of one series by how often they occurred before."""
    seen: Counter[tuple[str, int]] = Counter()
    copies: list[list[SliceHeader]] = []
    for header in group:
        key = (header.sop_uid or header.path, header.frame)
        if seen[key] == len(copies):
            copies.append([])
        copies[seen[key]].append(header)
        seen[key] += 1
    whole = [copies[0]]
    for extra in copies[1:]:
        if len(extra) >= COPY_SHARE * len(copies[0]):
            whole.append(extra)
        else:
            whole[0] = [*whole[0], *extra]
    return whole


SPACING_TOLERANCE_MM = 0.05
"""How far a slice may be from its even position: headers round to about a hundredth."""
SPACING_TOLERANCE = 0.05
"""The same as a share of the slice distance, if that is more."""
COSINE_TOLERANCE = 1e-3
"""How far direction cosines may differ between slices: headers round them."""
PLACED_BY: dict[str, Callable[[SliceHeader], object]] = {
    "position": lambda header: header.position_mm,
    "orientation": lambda header: header.orientation,
    "pixel size": lambda header: header.pixel_spacing_mm,
}
"""What a slice needs to have a position in the patient."""
ALIKE: dict[str, Callable[[SliceHeader], object]] = {
    "rows and columns": lambda header: (header.pixels.rows, header.pixels.columns),
    "bits": lambda header: (header.pixels.bits_allocated, header.pixels.is_signed),
    "pixel size": lambda header: (
        header.pixel_spacing_mm and tuple(round(side, 5) for side in header.pixel_spacing_mm)
    ),
}
"""What all slices of a series must share."""


def differences(series: Series) -> list[tuple[str, list[str], tuple[str, ...]]]:
    """The properties in which slices differ, their values, and the files with unusual ones."""
    differing = []
    for name, value in ALIKE.items():
        counts = Counter(value(slice_) for slice_ in series.slices)
        if len(counts) > 1:
            usual, _ = counts.most_common(1)[0]
            other = tuple(slice_.path for slice_ in series.slices if value(slice_) != usual)
            shown = [f"{_plain(kind)} ({count})" for kind, count in counts.most_common(3)]
            differing.append((name, shown, other))
    return differing


def is_skew(header: SliceHeader) -> bool:
    axes = np.array(header.orientation or (0.0,) * 6).reshape(2, 3)
    return bool(np.abs(axes @ axes.T - np.eye(2)).max() > ORTHONORMAL_TOLERANCE)


def differently_turned(series: Series) -> list[str]:
    usual = series.orientation
    return [
        slice_.path
        for slice_ in series.slices
        if usual is not None
        and slice_.orientation is not None
        and np.abs(np.array(slice_.orientation) - usual).max() > COSINE_TOLERANCE
    ]


def tilt_degrees(series: Series) -> float:
    """The angle between the line from the first slice to the last and the normal of slices."""
    positions, cosines = series.positions_mm, series.orientation
    if positions is None or cosines is None or len(positions) < 2:
        return 0.0
    along = positions[-1] - positions[0]
    length = float(np.linalg.norm(along))
    if length == 0:
        return 0.0
    share = abs(along @ upward_normal(cosines)) / length
    return float(np.degrees(np.arccos(np.clip(share, 0.0, 1.0))))


def sideways_shift_mm(series: Series) -> FloatArray:
    """The distance of each slice from the line between the first and the last."""
    positions, places = series.positions_mm, series.places_mm
    if positions is None or places is None or places[-1] == places[0]:
        return np.zeros(len(series.slices))
    share = (places - places[0]) / (places[-1] - places[0])
    line = positions[0] + share[:, None] * (positions[-1] - positions[0])
    off: FloatArray = np.linalg.norm(positions - line, axis=1)
    return off


def half_pixel_mm(series: Series) -> float:
    return min(min(slice_.pixel_spacing_mm or (0.0,)) for slice_ in series.slices) / 2


def stack_problems(series: Series, where: str, *, allows_tilt: bool = False) -> list[Problem]:
    """What prevents one volume; with ``allows_tilt`` slices may shift sideways evenly."""
    problems = Problems(
        Problem(path, f"has no usable {name}.", "It has no position in the patient.")
        for name, value in PLACED_BY.items()
        for path in dict.fromkeys(slice_.path for slice_ in series.slices if value(slice_) is None)
    )
    described = Counter(slice_.path for slice_ in series.slices)
    for slice_ in series.slices:
        if described.pop(slice_.path, slice_.pixels.frames) < slice_.pixels.frames:
            what = f"has {slice_.pixels.frames} frames, but not the position of each."
            problems.add(slice_.path, what, "Export it as one file per slice.")
        if not slice_.pixels.rows or not slice_.pixels.columns:
            problems.add(slice_.path, "has no usable rows and columns.")
    if problems:
        return problems
    problems = Problems(
        Problem(where, f"its slices differ in {name}: {' and '.join(shown)}.")
        for name, shown, _ in differences(series)
    )
    frames = Counter(slice_.frame_of_reference for slice_ in series.slices)
    if len(frames) > 1:
        shown = " and ".join(f"{uid or 'none'} ({count})" for uid, count in frames.items())
        problems.add(where, f"its slices differ in frame of reference: {shown}.")
    turned = differently_turned(series)
    if turned:
        what = f"{len(turned)} of {len(series.slices)} slices are turned differently."
        problems.add(where, what)
    skew = [slice_ for slice_ in series.slices if is_skew(slice_)]
    if skew:
        what = f"rows and columns of {len(skew)} slices are not at right angles."
        problems.add(where, what)
    return (
        problems
        or _place_problems(series, where, allows_tilt=allows_tilt)
        or _grid_problems(series, where, allows_tilt=allows_tilt)
    )


def _grid_problems(series: Series, where: str, *, allows_tilt: bool) -> list[Problem]:
    """Numbers that no image can have: pixels without size, positions a kilometre away."""
    grid, problems = series.geometry, Problems()
    direction = np.eye(3) if allows_tilt else grid.direction
    with collect_problems(problems):
        checked_geometry(grid.spacing_mm, grid.origin_mm, direction, grid.size, where)
    return problems


def _place_problems(series: Series, where: str, *, allows_tilt: bool) -> list[Problem]:
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
                f"{_names(series, at)} have the same position ({places[at]:.2f} mm).",
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
        what = f"its slices shift sideways by {tilt:.1f} degrees (a tilted gantry)."
        return [Problem(where, what, "Resample it to slices at right angles to the table.")]
    off = sideways_shift_mm(series)
    limit = max(SPACING_TOLERANCE_MM, half_pixel_mm(series))
    return [
        Problem(
            where,
            f"{PurePath(series.slices[at].path).name} is shifted sideways by {off[at]:.1f} mm.",
            "Export the series again.",
        )
        for at in np.flatnonzero(off > limit).tolist()
    ]


def _names(series: Series, at: int) -> str:
    pair = series.slices[at : at + 2]
    if len({slice_.path for slice_ in pair}) == 1:
        return f"frames {' and '.join(str(slice_.frame + 1) for slice_ in pair)}"
    return " and ".join(PurePath(slice_.path).name for slice_ in pair)


def _plain(value: object) -> str:
    return " x ".join(map(str, value)) if isinstance(value, tuple) else str(value)
