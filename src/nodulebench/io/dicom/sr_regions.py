"""Coordinates in a report, on an image or in the patient -> points and outlines in millimetres."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError
from nodulebench.imaging.geometry import FARTHEST_MM
from nodulebench.io.dicom.series import Series
from nodulebench.io.dicom.sr_content import Item
from nodulebench.io.dicom.values import floats_of, items_of, numbers_of, text_of

CORNERS = 64
"""Corners of the polygon that stands for a circle or ellipse."""
_CLOSED = ("POLYGON", "ELLIPSE", "CIRCLE")
_POINTS_NEEDED = {"POINT": 1, "CIRCLE": 2, "ELLIPSE": 4, "ELLIPSOID": 6}


@dataclass(frozen=True, slots=True)
class Region:
    """A place that a report gives."""

    where: str
    purpose: str
    """Key of its geometric purpose; empty: not said."""
    points_mm: FloatArray
    """n x 3; the corners of an outline, without repeating the first at the end."""
    is_outline: bool
    """Whether the points enclose an area."""
    series_uid: str = ""
    """The series of the image it lies on; empty: not said."""
    diameter_mm: float | None = None
    """Of a circle or ellipsoid."""

    @property
    def center_mm(self) -> FloatArray:
        """The middle of the box around the points."""
        middle: FloatArray = (self.points_mm.min(axis=0) + self.points_mm.max(axis=0)) / 2
        return middle


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of the images that a report speaks of."""

    name: str
    """The report's file."""
    series_of_image: dict[str, str]
    """SOP Instance UID -> series, as the report lists its evidence."""
    images: dict[str, Series]
    """Series that are at hand, by UID."""
    segmentations: dict[str, Path] = field(default_factory=dict)
    """Segmentations that are at hand, by SOP Instance UID."""


def region(item: Item, purpose: str, around: Surroundings) -> Region:
    """A SCOORD or SCOORD3D item as a region.

    Raises:
        InputError: if its numbers cannot be a place, it lies on no image, or the image is not at
            hand.
    """
    graphic = text_of(item.data, "GraphicType")
    given = _numbers(item, graphic)
    series_uid, diameter = "", None
    if item.kind == "SCOORD":
        series, k = _image(item, around)
        series_uid = series.uid
        if graphic == "CIRCLE":
            hub, rim = series.world_of(k, given[:2])
            diameter = 2 * float(np.linalg.norm(rim - hub))
            given = _circle(given)
        elif graphic == "ELLIPSE":
            given = _ellipse(given)
        points = series.world_of(k, given)
    else:
        _refuse_other_frame(item, around)
        points = _ellipse(given) if graphic == "ELLIPSE" else given
    if graphic == "ELLIPSOID":
        axes = np.linalg.norm(points[1::2] - points[::2], axis=1)
        diameter = float(axes.mean())
        points = points.mean(axis=0, keepdims=True)
    is_closed = len(points) > 2 and np.array_equal(points[0], points[-1])
    is_outline = graphic in _CLOSED or (graphic == "POLYLINE" and bool(is_closed))
    if is_closed:
        points = points[:-1]
    return Region(item.where, purpose, _without_repeats(points), is_outline, series_uid, diameter)


def _numbers(item: Item, graphic: str) -> FloatArray:
    """The coordinates of an item, one row a point."""
    width = 2 if item.kind == "SCOORD" else 3
    values = floats_of(item.data, "GraphicData") or ()
    least = _POINTS_NEEDED.get(graphic, 1)
    points = np.array(values, dtype=np.float64)
    if len(values) % width or len(values) < least * width:
        raise InputError.at(
            item.where,
            f"has {len(values)} numbers for a {graphic or 'graphic'} of {width}-D points.",
            "Export the report anew.",
        )
    if not np.all(np.abs(points) < FARTHEST_MM):  # NaN compares as false
        raise InputError.at(
            item.where,
            f"has coordinates that are no place: {_shown(points)}.",
            "Export the report anew.",
        )
    return points.reshape(-1, width)


def _image(item: Item, around: Surroundings) -> tuple[Series, int]:
    """The series and the number of the slice that a SCOORD lies on."""
    named = [
        (text_of(one, "ReferencedSOPInstanceUID"), _frame(one))
        for image in item.of_kind("IMAGE")
        for one in items_of(image.data, "ReferencedSOPSequence")
    ]
    if not named:
        raise InputError.at(
            item.where,
            "gives pixels of no image: it refers to none.",
            "Points on an image need the image; export the report anew.",
        )
    uid, frame = named[0]
    for series in around.images.values():
        if (uid, frame) in series.number_of:
            return series, series.number_of[uid, frame]
    listed = around.series_of_image.get(uid)
    of_series = f" of series {listed}" if listed else ""
    held = ", ".join(around.images) or "none"
    raise InputError.at(
        item.where,
        f"lies on image {uid}{of_series}, which is not at hand (series at hand: {held}).",
        "Put the images beside the report, or give their folder as cases.",
    )


def _frame(reference: Any) -> int:
    """Which frame of the image is meant, from 0; reports count from 1, and name none of a file."""
    numbers = numbers_of(reference, "ReferencedFrameNumber")
    return int(numbers[0]) - 1 if numbers else 0


def _refuse_other_frame(item: Item, around: Surroundings) -> None:
    frame = text_of(item.data, "ReferencedFrameOfReferenceUID")
    listed = set(around.series_of_image.values())
    known = {
        series.frame_of_reference
        for uid, series in around.images.items()
        if uid in listed and series.frame_of_reference
    }
    if frame and known and frame not in known:
        raise InputError.at(
            item.where,
            f"is in the coordinates of frame of reference {frame}; the images have "
            f"{', '.join(sorted(known))}.",
            "Is it a report of another series?",
        )


def _circle(points: FloatArray) -> FloatArray:
    """A centre and a point on the circle -> a closed polygon."""
    spoke = points[1] - points[0]
    across = np.array([-spoke[1], spoke[0]])
    return _turned(points[0], spoke, across)


def _ellipse(points: FloatArray) -> FloatArray:
    """The ends of the major, then of the minor axis -> a closed polygon."""
    middle = points.mean(axis=0)
    return _turned(middle, (points[1] - points[0]) / 2, (points[3] - points[2]) / 2)


def _turned(middle: FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    angle = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)[:, None]
    rim: FloatArray = middle + np.cos(angle) * one + np.sin(angle) * other
    return np.concatenate([rim, rim[:1]])


def _without_repeats(points: FloatArray) -> FloatArray:
    """Points without those that repeat the one before."""
    is_new = np.ones(len(points), dtype=np.bool_)
    is_new[1:] = np.any(points[1:] != points[:-1], axis=1)
    return points[is_new]


def _shown(points: FloatArray) -> str:
    text = ", ".join(f"{value:g}" for value in points.ravel()[:6])
    return text if points.size <= 6 else f"{text}, ..."
