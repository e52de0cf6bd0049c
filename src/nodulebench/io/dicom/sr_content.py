"""Parse a DICOM structured report into its content tree, with references resolved."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError, Problems, raise_problems
from nodulebench.core.optional_packages import needs
from nodulebench.imaging.geometry import FARTHEST_MM
from nodulebench.io.dicom.codes import Concept
from nodulebench.io.dicom.files import (
    floats_of,
    item_of,
    items_of,
    number_of,
    numbers_of,
    read_header,
    text_of,
)
from nodulebench.io.dicom.series import Series

if TYPE_CHECKING:
    from pydicom import Dataset

_OLD_SNOMED = ("SRT", "SNM3", "99SDM")
MOST_LEVELS = 50


@dataclass(frozen=True, slots=True)
class Item:
    """One content item: a concept and its value."""

    where: str
    """The file, and the item's number in its tree."""
    kind: str
    """Value type: CODE, NUM, SCOORD, ..."""
    name: str
    """Key of the concept; empty if it has none."""
    data: "Dataset"
    children: list["Item"] = field(default_factory=list)

    def named(self, concept: Concept) -> list["Item"]:
        return [child for child in self.children if child.name == concept.key]

    def of_kind(self, *kinds: str) -> list["Item"]:
        return [child for child in self.children if child.kind in kinds]

    def text_of(self, concept: Concept) -> str:
        for child in self.named(concept):
            for keyword in ("TextValue", "PersonName", "UID"):
                text = text_of(child.data, keyword).strip()
                if text:
                    return text
        return ""

    @property
    def code(self) -> str:
        return code_key(self.data, "ConceptCodeSequence")

    @property
    def meaning(self) -> str:
        return text_of(item_of(self.data, "ConceptCodeSequence"), "CodeMeaning")


def code_key(data: "Dataset | None", keyword: str) -> str:
    """The key of the first code of a sequence, as 'SCT:27925004'; older SNOMED is translated."""
    code = item_of(data, keyword)
    if code is None:
        return ""
    names = ("CodeValue", "LongCodeValue", "URNCodeValue")
    value = next(filter(None, (text_of(code, name) for name in names)), "")
    scheme = text_of(code, "CodingSchemeDesignator").upper()
    if scheme in _OLD_SNOMED:
        with needs("images", "DICOM"):
            from pydicom.sr._snomed_dict import mapping
        scheme, value = "SCT", mapping["SRT"].get(value, value)
    return f"{scheme}:{value}"


def content_tree(report: "Dataset", name: str) -> Item:
    if not items_of(report, "ContentSequence"):
        raise InputError.at(name, "has no content: its tree is empty.", "Export the report again.")
    by_path: dict[tuple[int, ...], Item] = {}
    references: list[tuple[Item, tuple[int, ...]]] = []
    root = _item(report, name, (1,), by_path, references)
    problems = Problems()
    for owner, path in references:
        if path in by_path:
            owner.children.append(by_path[path])
        else:
            number = ".".join(map(str, path))
            problems.add(owner.where, f"refers to item {number}, which does not exist.")
    raise_problems(problems)
    return root


def _item(
    data: "Dataset",
    name: str,
    path: tuple[int, ...],
    by_path: dict[tuple[int, ...], Item],
    references: list[tuple[Item, tuple[int, ...]]],
) -> Item:
    where = f"{name} item {'.'.join(map(str, path))}"
    if len(path) > MOST_LEVELS:
        raise InputError.at(where, f"is more than {MOST_LEVELS} levels deep.")
    concept = code_key(data, "ConceptNameCodeSequence")
    item = Item(where, text_of(data, "ValueType"), concept, data)
    by_path[path] = item
    for number, child in enumerate(items_of(data, "ContentSequence"), start=1):
        if "ReferencedContentItemIdentifier" not in child:
            item.children.append(_item(child, name, (*path, number), by_path, references))
        else:
            steps = numbers_of(child, "ReferencedContentItemIdentifier") or ()
            references.append((item, tuple(int(step) for step in steps)))
    return item


def descendants(item: Item) -> Iterator[Item]:
    seen = {id(item)}
    waiting = list(reversed(item.children))
    while waiting:
        current = waiting.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            waiting.extend(reversed(current.children))


def referenced_series(report: "Dataset") -> dict[str, dict[str, str]]:
    """The images that a report lists as its evidence: series -> SOP Instance UID -> SOP class."""
    evidence: dict[str, dict[str, str]] = {}
    for keyword in ("CurrentRequestedProcedureEvidenceSequence", "PertinentOtherEvidenceSequence"):
        for study in items_of(report, keyword):
            for series in items_of(study, "ReferencedSeriesSequence"):
                held = evidence.setdefault(text_of(series, "SeriesInstanceUID"), {})
                for item in items_of(series, "ReferencedSOPSequence"):
                    uid = text_of(item, "ReferencedSOPInstanceUID")
                    held[uid] = text_of(item, "ReferencedSOPClassUID")
    return evidence


CORNERS = 64
"""Corners of the polygon that replaces a circle or ellipse."""
_CLOSED = ("POLYGON", "ELLIPSE", "CIRCLE")
_POINTS_NEEDED = {"POINT": 1, "CIRCLE": 2, "ELLIPSE": 4, "ELLIPSOID": 6}


@dataclass(frozen=True, slots=True)
class Region:
    """A point or outline in a report."""

    where: str
    purpose: str
    """Key of its geometric purpose; empty if unknown."""
    points_mm: FloatArray
    """n x 3; the corners of an outline, without repeating the first at the end."""
    is_outline: bool
    series_uid: str = ""
    """The series of its image; empty if unknown."""
    diameter_mm: float | None = None
    """Of a circle or ellipsoid."""

    @property
    def center_mm(self) -> FloatArray:
        middle: FloatArray = (self.points_mm.min(axis=0) + self.points_mm.max(axis=0)) / 2
        return middle


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The known images and segmentations of a report."""

    name: str
    series_of_image: dict[str, str]
    """SOP Instance UID -> series, from the report's evidence."""
    images: dict[str, Series]
    segmentations: dict[str, Path] = field(default_factory=dict)


def region(item: Item, purpose: str, around: Surroundings) -> Region:
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
        _require_same_frame(item, around)
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
    width = 2 if item.kind == "SCOORD" else 3
    values = floats_of(item.data, "GraphicData") or ()
    least = _POINTS_NEEDED.get(graphic, 1)
    points = np.array(values, dtype=np.float64)
    if len(values) % width or len(values) < least * width:
        what = f"has {len(values)} numbers for a {graphic or 'graphic'} of {width}-D points."
        raise InputError.at(item.where, what, "Export the report again.")
    if not np.all(np.abs(points) < FARTHEST_MM):  # NaN compares as false
        what = f"has coordinates that are not a position: {_shown(points)}."
        raise InputError.at(item.where, what, "Export the report again.")
    return points.reshape(-1, width)


def _image(item: Item, around: Surroundings) -> tuple[Series, int]:
    named = [
        (text_of(reference, "ReferencedSOPInstanceUID"), _frame(reference))
        for image in item.of_kind("IMAGE")
        for reference in items_of(image.data, "ReferencedSOPSequence")
    ]
    if not named:
        remedy = "Points on an image need the image; export the report again."
        raise InputError.at(item.where, "has pixel coordinates, but refers to no image.", remedy)
    uid, frame = named[0]
    for series in around.images.values():
        if (uid, frame) in series.number_of:
            return series, series.number_of[uid, frame]
    listed = around.series_of_image.get(uid)
    of_series = f" of series {listed}" if listed else ""
    held = ", ".join(around.images) or "none"
    what = f"is on image {uid}{of_series}, which was not found (series found: {held})."
    remedy = "Put the images next to the report, or give their folder as cases."
    raise InputError.at(item.where, what, remedy)


def _frame(reference: "Dataset") -> int:
    """The frame of the image, from 0; reports count from 1, and name no frame of a single image."""
    numbers = numbers_of(reference, "ReferencedFrameNumber")
    return int(numbers[0]) - 1 if numbers else 0


def _require_same_frame(item: Item, around: Surroundings) -> None:
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


def _turned(middle: FloatArray, first_axis: FloatArray, second_axis: FloatArray) -> FloatArray:
    angle = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)[:, None]
    rim: FloatArray = middle + np.cos(angle) * first_axis + np.sin(angle) * second_axis
    return np.concatenate([rim, rim[:1]])


def _without_repeats(points: FloatArray) -> FloatArray:
    is_new = np.ones(len(points), dtype=np.bool_)
    is_new[1:] = np.any(points[1:] != points[:-1], axis=1)
    return points[is_new]


def _shown(points: FloatArray) -> str:
    text = ", ".join(f"{value:g}" for value in points.ravel()[:6])
    return text if points.size <= 6 else f"{text}, ..."


DOSE_REPORT_STORAGE = "1.2.840.10008.5.1.4.1.1.88.67"
ACQUISITION, EVENT, DOSE = "113819", "113769", "113829"
CTDI_VOL, DLP = "113830", "113838"
"""DICOM codes: CT acquisition, irradiation event UID, CT dose, mean CTDIvol, DLP."""


class ReportedDose(NamedTuple):
    """The dose of one irradiation; None means unknown."""

    ctdi_vol_mgy: float | None
    dlp_mgy_cm: float | None


def dose_events(path: Path) -> dict[str, ReportedDose]:
    """The dose of every irradiation event by its UID; empty if the file is not a dose report."""
    try:
        data = read_header(path)
    except InputError:
        return {}  # curation lists the damaged file
    return dict(_events(data)) if text_of(data, "SOPClassUID") == DOSE_REPORT_STORAGE else {}


def _events(data: "Dataset") -> Iterator[tuple[str, ReportedDose]]:
    for acquisition in _items(data, ACQUISITION):
        event = next((text_of(item, "UID") for item in _items(acquisition, EVENT)), "")
        dose = next(iter(_items(acquisition, DOSE)), None)
        if event and dose is not None:
            yield event, ReportedDose(_number(dose, CTDI_VOL), _number(dose, DLP))


def _items(item: "Dataset", code: str) -> "list[Dataset]":
    return [child for child in item.get("ContentSequence") or () if _concept(child) == code]


def _concept(item: "Dataset") -> str:
    for name in item.get("ConceptNameCodeSequence") or ():
        return text_of(name, "CodeValue")
    return ""


def _number(item: "Dataset", code: str) -> float | None:
    for child in _items(item, code):
        for value in child.get("MeasuredValueSequence") or ():
            return number_of(value, "NumericValue")
    return None
