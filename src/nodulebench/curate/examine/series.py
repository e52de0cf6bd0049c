"""Slice headers -> series in geometric order, from the feet to the head where they are axial."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

import numpy as np

from nodulebench.formats.dicom.slices import SliceHeader
from nodulebench.model.arrays import FloatArray

LOCALIZER_WORDS = frozenset({"LOCALIZER", "SCOUT", "TOPOGRAM", "SURVIEW", "SCANOGRAM"})
COPY_SHARE = 0.5
"""From this share of a series' slices on, repeated files are a second copy of the series."""


@dataclass(frozen=True)
class Series:
    """The slices that belong together, in order; a second copy of a series is a series too."""

    slices: tuple[SliceHeader, ...]
    copy: int = 0
    """0 for the first copy."""

    @property
    def uid(self) -> str:
        """What the header calls the series."""
        return self.slices[0].series_uid

    @property
    def name(self) -> str:
        """The series and which copy of it, for messages."""
        return self.uid if self.copy == 0 else f"{self.uid} (copy {self.copy + 1})"

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Its files, each once."""
        return tuple(dict.fromkeys(one.path for one in self.slices))

    @cached_property
    def orientation(self) -> FloatArray | None:
        """The cosines that most slices have; None where none has any."""
        known = Counter(one.orientation for one in self.slices if one.orientation is not None)
        return np.array(known.most_common(1)[0][0]) if known else None

    @cached_property
    def positions_mm(self) -> FloatArray | None:
        """One row per slice; None where a slice has no position."""
        if any(one.position_mm is None for one in self.slices):
            return None
        return np.array([one.position_mm for one in self.slices], dtype=np.float64)

    @cached_property
    def places_mm(self) -> FloatArray | None:
        """Where the slices lie along their normal, rising."""
        if self.positions_mm is None or self.orientation is None:
            return None
        along: FloatArray = self.positions_mm @ upward_normal(self.orientation)
        return along

    @cached_property
    def spacing_mm(self) -> float | None:
        """The usual distance of neighbouring slices; repeated ones do not count."""
        if self.places_mm is None:
            return None
        gaps = np.diff(self.places_mm)
        gaps = gaps[gaps > 1e-3]
        return float(np.median(gaps)) if len(gaps) else None


def upward_normal(orientation: FloatArray) -> FloatArray:
    """The normal of slices, turned to the head, else to the back, else to the left."""
    normal = np.cross(orientation[:3], orientation[3:])
    length = float(np.linalg.norm(normal))
    if length == 0.0:
        return np.array([0.0, 0.0, 1.0])
    main = int(np.argmax(np.abs(normal)))
    upward: FloatArray = normal / length * (-1.0 if normal[main] < 0 else 1.0)
    return upward


def group_series(slices: Iterable[SliceHeader]) -> list[Series]:
    """The series of a folder, by the path of their first file.

    Slices belong together by series UID, kind of object, modality, and whether they are
    localizers. Files that repeat at least half of a series are a second copy of it; single
    repeated files stay in the series, where they are duplicate slices.
    """
    groups: dict[tuple[object, ...], list[SliceHeader]] = defaultdict(list)
    for one in sorted(slices, key=lambda one: (PurePath(one.path).parts, one.frame)):
        groups[one.series_uid, one.sop_class, one.modality, is_localizer(one)].append(one)
    found = [
        Series(in_order(part), number)
        for group in groups.values()
        for number, part in enumerate(_copies(group))
    ]
    return sorted(found, key=lambda series: min(PurePath(one).parts for one in series.files))


def is_localizer(one: SliceHeader) -> bool:
    """Whether a slice is an overview image."""
    return not LOCALIZER_WORDS.isdisjoint(word.upper() for word in one.image_type)


def in_order(slices: Sequence[SliceHeader]) -> tuple[SliceHeader, ...]:
    """Slices by their place along the normal, or by number where they have no place."""
    unsorted = Series(tuple(slices))
    places = unsorted.places_mm
    if places is None:
        return tuple(
            sorted(
                slices,
                key=lambda one: (
                    one.instance_number is None,
                    one.instance_number or 0,
                    one.path,
                    one.frame,
                ),
            )
        )
    return tuple(slices[at] for at in np.argsort(places, kind="stable").tolist())


def _copies(group: Sequence[SliceHeader]) -> list[list[SliceHeader]]:
    """The slices of one series apart by how often they were met before."""
    seen: Counter[tuple[str, int]] = Counter()
    copies: list[list[SliceHeader]] = []
    for one in group:
        key = (one.sop_uid or one.path, one.frame)
        if seen[key] == len(copies):
            copies.append([])
        copies[seen[key]].append(one)
        seen[key] += 1
    whole = [copies[0]]
    for extra in copies[1:]:
        if len(extra) >= COPY_SHARE * len(copies[0]):
            whole.append(extra)
        else:
            whole[0] = [*whole[0], *extra]
    return whole
