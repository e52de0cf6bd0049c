"""A DICOM segmentation -> its segments: outlines along pixel edges, in millimetres."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, first_line
from nodulebench.imaging.geometry import FARTHEST_MM
from nodulebench.imaging.trace import trace_outlines
from nodulebench.io.dicom.codes import OUTLINES
from nodulebench.io.dicom.files import read_object
from nodulebench.io.dicom.sr_content import code_key
from nodulebench.io.dicom.sr_regions import Region
from nodulebench.io.dicom.values import (
    item_of,
    items_of,
    number_of,
    numbers_of,
    shared_item,
    text_of,
    whole_of,
)

SEG_CLASSES = ("1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7")
"""Segmentation and Label Map Segmentation."""
_OUTLINE = OUTLINES["boundary", False].key


@dataclass(frozen=True, slots=True)
class Segment:
    """One structure of a segmentation."""

    where: str
    number: int
    label: str
    code: str
    """Key of what it is."""
    meaning: str
    regions: tuple[Region, ...]
    """Its outline on each frame; empty: it has no pixels."""
    volume_mm3: float
    """0: the distance of slices is not told."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where the pixels of a frame are."""

    origin_mm: FloatArray
    across_mm: FloatArray
    """From one column to the next."""
    down_mm: FloatArray
    """From one row to the next."""
    depth_mm: float
    """From one slice to the next, as far as its header says; 0: it does not."""
    segment: int
    """The segment that it shows; 0: pixel values tell."""

    def world(self, pixels: FloatArray) -> FloatArray:
        """Millimetres of columns and rows; pixel centres are whole numbers."""
        return self.origin_mm + pixels[:, :1] * self.across_mm + pixels[:, 1:] * self.down_mm


def read_segments(file: Path) -> tuple[Any, list[Segment]]:
    """A segmentation's header and segments.

    Pixels of fractional segmentations count from one half on.

    Raises:
        InputError: if frames cannot be placed, or pixels not be read.
    """
    data = read_object(file)
    name = file.name
    frames, pixels = _frames(data, name), _pixels(data, name)
    if len(frames) != len(pixels):
        what = f"describes {len(frames)} frames and holds {len(pixels)}."
        raise InputError.at(name, what, "Copy or export it anew.")
    described = items_of(data, "SegmentSequence")
    return data, [_segment(one, frames, pixels, name) for one in described]


def _frames(data: Any, name: str) -> list[_Frame]:
    """The place of each frame: what it does not say itself, all frames share."""
    shared = item_of(data, "SharedFunctionalGroupsSequence")
    frames = []
    for number, own in enumerate(items_of(data, "PerFrameFunctionalGroupsSequence"), start=1):
        where, group = f"{name} frame {number}", partial(shared_item, own, shared)
        position = _numbers(group("PlanePositionSequence"), "ImagePositionPatient", 3, where)
        cosines = _numbers(group("PlaneOrientationSequence"), "ImageOrientationPatient", 6, where)
        measures = group("PixelMeasuresSequence")
        row_step, column_step = _numbers(measures, "PixelSpacing", 2, where)
        depth = number_of(measures, "SpacingBetweenSlices") or number_of(measures, "SliceThickness")
        shown = whole_of(group("SegmentIdentificationSequence"), "ReferencedSegmentNumber")
        across, down = cosines[:3] * column_step, cosines[3:] * row_step
        frames.append(_Frame(position, across, down, depth or 0.0, shown or 0))
    return frames


def _numbers(group: Any, keyword: str, count: int, where: str) -> FloatArray:
    found = np.array(numbers_of(group, keyword, count) or (), dtype=np.float64)
    if len(found) != count or not np.all(np.abs(found) < FARTHEST_MM):
        raise InputError.at(
            where, f"has no usable {keyword}.", "It cannot be placed; export it anew."
        )
    return found


def _pixels(data: Any, name: str) -> npt.NDArray[Any]:
    """Frames x rows x columns: 0 and 1, or numbers of segments in a label map."""
    try:
        stored = data.pixel_array
    except Exception as error:  # damage may break any part of the decoder
        what = f"its pixels cannot be read: {first_line(error)}."
        raise InputError.at(name, what, "Copy or export it anew.") from error
    stack: npt.NDArray[Any] = stored[None] if stored.ndim == 2 else stored
    if text_of(data, "SegmentationType") == "FRACTIONAL":
        return 2 * stack.astype(np.int64) >= (whole_of(data, "MaximumFractionalValue") or 255)
    return stack


def _segment(described: Any, frames: list[_Frame], pixels: npt.NDArray[Any], name: str) -> Segment:
    number = whole_of(described, "SegmentNumber") or 0
    where = f"{name} segment {number}"
    regions = []
    volume = 0.0
    for frame, stored in zip(frames, pixels, strict=True):
        if frame.segment not in (0, number):
            continue
        row, column = np.nonzero(stored if frame.segment else stored == number)
        if not len(row):
            continue
        _, corners = trace_outlines(np.zeros(len(row), dtype=np.int64), column, row)
        regions.append(Region(where, _OUTLINE, frame.world(corners), is_outline=True))
        area = float(np.linalg.norm(np.cross(frame.across_mm, frame.down_mm)))
        volume += len(row) * area * frame.depth_mm
    code = code_key(described, "SegmentedPropertyTypeCodeSequence")
    named = item_of(described, "SegmentedPropertyTypeCodeSequence")
    return Segment(
        where=where,
        number=number,
        label=text_of(described, "TrackingID") or text_of(described, "SegmentLabel") or str(number),
        code=code,
        meaning=(text_of(named, "CodeMeaning") or code) if named is not None else "unnamed",
        regions=tuple(regions),
        volume_mm3=volume,
    )
