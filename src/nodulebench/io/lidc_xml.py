"""Read and write LIDC-IDRI XML (folder, file or tar archive): marks of sessions, in pixels.

Armato et al., Medical Physics 38 (2011) 915-931. Only the second, unblinded read of each reader is
published. Sessions are anonymous: session 1 of two scans need not be the same person.
"""

import re
import tarfile
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.readings import CHARACTERISTICS, Readings
from nodulebench.core.tables import PLACE
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.rasters import enclosed_pixels, trace_outlines
from nodulebench.io.atomic import staged_folder
from nodulebench.io.cases import file_of_case
from nodulebench.io.format import Format
from nodulebench.io.images.label_files import Session, sessions_of
from nodulebench.io.lidc_readings import (
    CHARACTERISTIC_TAGS,
    PixelMark,
    PixelOutline,
    PixelReading,
    pixel_readings,
)

MOST_BYTES = 1 << 26
"""No file of LIDC-IDRI is larger than 2 MB; a file of more than 64 MB is not a reading."""

_EDGE_POINT = re.compile(
    rb"<edgeMap>\s*<xCoord>(\d{1,5})</xCoord>\s*<yCoord>(\d{1,5})</yCoord>\s*</edgeMap>\s*"
)
"""A point of an outline. Points are nine tenths of every file; as text 'x y' in their roi they
parse four times as fast as by elements. A point in another notation is read by its elements."""


@dataclass(frozen=True, slots=True)
class LidcFiles:
    """The content of a folder or archive of LIDC-IDRI XML."""

    readings: tuple[PixelReading, ...]
    """One per series, in the order of their files' paths."""
    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...]
    file_count: int
    xray_count: int
    """Number of chest X-ray reads, which are skipped."""


def read_lidc_files(source: Path, *, applies_corrections: bool = False) -> LidcFiles:
    """Read every XML file; a damaged file is reported and does not stop the rest.

    Files of one series with the same marks count once, the first in path order. With
    ``applies_corrections`` a file whose name contains "correction" replaces the others of its
    series; the published counts are without.
    """
    by_series: dict[str, PixelReading] = {}
    corrections: list[PixelReading] = []
    problems = Problems()
    repeats = files = xrays = 0
    for name, content in sorted(_contents(source), key=lambda item: item[0]):
        files += 1
        try:
            reading = _parse(name, content)
        except InputError as error:
            problems.extend(error.problems)
            continue
        if reading is None:
            xrays += 1
        elif "correction" in Path(name).name.lower():
            corrections.append(reading)
        elif (earlier := by_series.setdefault(reading.series, reading)) is not reading:
            repeats += 1
            if earlier.sessions != reading.sessions:
                problems.add(
                    name,
                    f"series '{reading.series}' was read before with other marks, in "
                    f"{earlier.source}.",
                    "Leave only one of the two files.",
                )
    if not files:
        raise InputError.at(
            source, "holds no XML file.", "Give the folder or archive of LIDC-IDRI."
        )
    notices = _notices(repeats, xrays, corrections, applies_corrections=applies_corrections)
    for correction in corrections:
        if applies_corrections or correction.series not in by_series:
            by_series[correction.series] = correction
    return LidcFiles(tuple(by_series.values()), tuple(problems), notices, files, xrays)


def _notices(
    repeats: int, xrays: int, corrections: list[PixelReading], *, applies_corrections: bool
) -> tuple[Notice, ...]:
    notices = []
    if xrays:
        notices.append(Notice("xrays_passed_over", {"count": xrays}))
    if repeats:
        notices.append(Notice("readings_repeated", {"count": repeats}))
    done = "applied" if applies_corrections else "not_applied"
    notices.extend(
        Notice(
            "reading_corrected",
            {"file": correction.source, "series": correction.series, "done": done},
        )
        for correction in corrections
    )
    return tuple(notices)


def _contents(source: Path) -> Iterator[tuple[str, bytes]]:
    if source.is_dir():
        for path in source.rglob("*.xml"):
            yield path.relative_to(source).as_posix(), _bounded(path)
        return
    if source.suffix.lower() == ".xml":
        yield source.name, _bounded(source)
        return
    try:
        with tarfile.open(source) as archive:
            for member in archive:
                if member.isfile() and member.name.lower().endswith(".xml"):
                    file = archive.extractfile(member) if member.size <= MOST_BYTES else None
                    yield member.name.removeprefix("./"), file.read() if file else b""
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise InputError.at(
            source, f"is neither a folder nor an XML file nor a readable tar archive ({error})."
        ) from error


def _bounded(path: Path) -> bytes:
    return path.read_bytes() if path.stat().st_size <= MOST_BYTES else b""


def _parse(name: str, content: bytes) -> PixelReading | None:
    """The reading in one file; None for a chest X-ray read.

    A document type declaration is rejected unread: entities declared there can expand without
    end. The bytes of "<!DOCTYPE" are the same in every encoding of the parser, except
    encodings with zero bytes.
    """
    if not content:
        limit = MOST_BYTES >> 20
        raise InputError.at(name, f"is empty or larger than {limit} MB.", "Is it a reading?")
    if b"<!DOCTYPE" in content or b"\x00" in content:
        what = "has a document type declaration or zero bytes, which no LIDC file has."
        raise InputError.at(name, what, "Save it as UTF-8 without a DOCTYPE.")
    try:
        slim = _EDGE_POINT.sub(rb"\1 \2 ", content)
        root = ElementTree.fromstring(slim)  # noqa: S314 - entities cannot be declared
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise InputError.at(
            name, f"is not well-formed XML: {error}.", "Fetch the file again."
        ) from error
    space, _, tag = root.tag.rpartition("}")
    if tag == "IdriReadMessage":
        return None
    if tag != "LidcReadMessage":
        raise InputError.at(
            name, f"is a '{tag}', not a LidcReadMessage.", "Is it a file of LIDC-IDRI?"
        )
    return _Reader(name, f"{space}}}" if space else "").read(root)


class _Reader:
    """Reads one document and collects its problems."""

    def __init__(self, name: str, space: str) -> None:
        self.name = name
        self.space = space
        self.problems = Problems()

    def read(self, root: ElementTree.Element) -> PixelReading:
        header = root.find(f"{self.space}ResponseHeader")
        series = self._text(header, "SeriesInstanceUid", "header")
        study = "" if header is None else header.findtext(f"{self.space}StudyInstanceUID", "")
        sessions = tuple(
            tuple(self._marks(session, f"session {number}"))
            for number, session in enumerate(root.findall(f"{self.space}readingSession"), start=1)
        )
        if not sessions:
            self._wrong("", "has no readingSession.")
        raise_problems(self.problems)
        return PixelReading(self.name, series, study.strip(), sessions)

    def _marks(self, session: ElementTree.Element, where: str) -> Iterator[PixelMark]:
        for element in session:
            tag = element.tag.removeprefix(self.space)
            if tag == "unblindedReadNodule":
                yield self._nodule(element, where)
            elif tag == "nonNodule":
                source_id = self._text(element, "nonNoduleID", where)
                place = f"{where} non-nodule '{source_id}'"
                outline = self._outline(element, place)
                if len(outline.x) != 1:
                    self._wrong(place, f"has {len(outline.x)} points; a non-nodule has one.")
                yield PixelMark(source_id, "non_nodule", (outline,))

    def _nodule(self, element: ElementTree.Element, where: str) -> PixelMark:
        source_id = self._text(element, "noduleID", where)
        place = f"{where} nodule '{source_id}'"
        outlines = tuple(self._outline(roi, place) for roi in element.findall(f"{self.space}roi"))
        points = sum(len(outline.x) for outline in outlines)
        if not points:
            self._wrong(place, "has no point.")
        elif all(outline.is_hole for outline in outlines):
            self._wrong(place, "has only outlines to exclude.")
        kind = "nodule" if points > 1 else "small_nodule"
        return PixelMark(source_id, kind, outlines, self._characteristics(element, place))

    def _outline(self, element: ElementTree.Element, where: str) -> PixelOutline:
        height = self._text(element, "imageZposition", where)
        inclusion = element.findtext(f"{self.space}inclusion", "TRUE").strip().upper()
        if inclusion not in ("TRUE", "FALSE"):
            self._wrong(where, f"inclusion '{inclusion}' is neither TRUE nor FALSE.")
        try:
            z_mm = float(height or 0)
        except ValueError:
            self._wrong(where, f"imageZposition '{height}' is not a number.")
            z_mm = 0.0
        points = self._points(element, where)
        return PixelOutline(z_mm, inclusion == "FALSE", points[0::2], points[1::2])

    def _points(self, element: ElementTree.Element, where: str) -> "array[int]":
        texts: list[str] = []
        for child in element:
            if child.tag in (f"{self.space}edgeMap", f"{self.space}locus"):
                texts.extend(
                    (child.findtext(self.space + tag) or "").strip() for tag in ("xCoord", "yCoord")
                )
            texts.extend((child.tail or "").split())
        try:
            points = array("i", map(int, texts))
        except (ValueError, OverflowError):
            wrong = next(text for text in texts if not text.isdecimal() or len(text) > 5)
            self._wrong(where, f"coordinate '{wrong}' is not a pixel number.")
            return array("i", [0, 0])
        if len(points) % 2:
            self._wrong(where, "has a point without its y.")
        return points

    def _characteristics(self, element: ElementTree.Element, where: str) -> tuple[int | None, ...]:
        given = element.find(f"{self.space}characteristics")
        if given is None or not len(given):
            return ()
        ratings: list[int | None] = []
        for tag in CHARACTERISTIC_TAGS:
            text = given.findtext(self.space + tag, "").strip()
            if text and not (text.isdecimal() and int(text) <= 6):
                self._wrong(where, f"{tag} '{text}' is not a rating from 1 to 6.")
                text = ""
            ratings.append(int(text) if text else None)
        return tuple(ratings)

    def _text(self, element: ElementTree.Element | None, tag: str, where: str) -> str:
        text = "" if element is None else (element.findtext(self.space + tag) or "").strip()
        if not text:
            self._wrong(where, f"{tag} is missing.")
        return text

    def _wrong(self, where: str, what: str) -> None:
        self.problems.add(f"{self.name} {where}".strip(), what)


SPACE = "http://www.nih.gov"
_MICROMETRE = 6


def write_readings(readings: Readings, path: Path, cases: pl.DataFrame | None = None) -> None:
    """Write ``<case>.xml`` with a session for each reader, in pixels, as in LIDC-IDRI.

    An outline becomes the first pixels outside it, one region for each part and one to exclude
    for each hole. Nodules below 3 mm and non-nodules are one pixel. Slices must be axial.
    """
    by_case: dict[str, list[Session]] = {}
    for session in sessions_of(readings, cases):
        by_case.setdefault(session.case_id, []).append(session)
    with staged_folder(path) as stage:
        for case_id, sessions in by_case.items():
            if not sessions[0].grid.is_axial:
                what = "has tilted slices, but LIDC-IDRI's files identify a slice by its height."
                raise InputError.at(f"case '{case_id}'", what, "Write seg_nrrd or dicom_seg.")
            root = Element("LidcReadMessage", xmlns=SPACE)
            header = SubElement(root, "ResponseHeader")
            _texts(header, SeriesInstanceUid=case_id, TaskDescription="Readings of NoduleBench")
            for session in sessions:
                _session(SubElement(root, "readingSession"), session)
            ElementTree.indent(root)
            content = ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True)
            (stage / file_of_case(case_id, ".xml")).write_bytes(content)


def read_readings(path: Path, cases: pl.DataFrame | None = None) -> Readings:
    """Read readings in pixels; ``cases`` must give the geometry of each series.

    Readers are anonymous: they are numbered in the order of their sessions.
    """
    if cases is None:
        what = "LIDC-IDRI XML gives pixels but not their size."
        raise InputError.at(path, what, "Give a table of cases with their geometry.")
    files = read_lidc_files(path)
    if files.problems:
        raise InputError(files.problems)
    return pixel_readings(path.resolve().name, files.readings, cases, files.notices)


def _session(element: Element, session: Session) -> None:
    _texts(element, servicingRadiologistID="anonymous")
    voxels = session.voxels
    for name, row in session.rows.items():
        where = f"case '{session.case_id}' finding '{name}'"
        if row["kind"] == "nodule":
            nodule = SubElement(element, "unblindedReadNodule")
            _texts(nodule, noduleID=row["source_id"] or name)
            _ratings(nodule, row)
            if name not in voxels:
                what = "is a nodule of 3 mm or more, but has no outline."
                raise InputError.at(where, what, "Outline it, or change its kind to small_nodule.")
            _outlines(nodule, voxels[name], session.grid, where)
            continue
        column, line, z_mm = _pixel(row, voxels.get(name), session.grid)
        is_small = row["kind"] == "small_nodule"
        mark = SubElement(element, "unblindedReadNodule" if is_small else "nonNodule")
        _texts(mark, **{"noduleID" if is_small else "nonNoduleID": row["source_id"] or name})
        region = SubElement(mark, "roi") if is_small else mark
        _texts(region, imageZposition=_height(z_mm), **({"inclusion": "TRUE"} if is_small else {}))
        point = SubElement(region, "edgeMap" if is_small else "locus")
        _texts(point, xCoord=str(column), yCoord=str(line))


def _ratings(nodule: Element, row: dict[str, object]) -> None:
    pairs = zip(CHARACTERISTIC_TAGS, CHARACTERISTICS, strict=True)
    given = {tag: str(row[name]) for tag, name in pairs if row.get(name) is not None}
    if given:
        _texts(SubElement(nodule, "characteristics"), **given)


def _pixel(
    row: dict[str, object], voxel: IntArray | None, grid: Geometry
) -> tuple[int, int, float]:
    if row[PLACE[0]] is None and voxel is not None:
        index = (voxel.min(axis=0) + voxel.max(axis=0))[None] / 2
    else:
        index = grid.to_index(np.array([[row[axis] for axis in PLACE]], dtype=np.float64))
    nearest = np.rint(index)
    i, j, _ = nearest[0].astype(int).tolist()
    return i, j, float(grid.to_world(nearest)[0, 2])


def _outlines(nodule: Element, voxel: IntArray, grid: Geometry, where: str) -> None:
    for k in np.unique(voxel[:, 2]).tolist():
        pixel = voxel[voxel[:, 2] == k, :2]
        height = float(grid.to_world(np.array([[0.0, 0.0, k]]))[0, 2])
        for rim, is_hole in rims(pixel):
            if rim.min() < 0 or (grid.size is not None and np.any(rim >= grid.size[:2])):
                what = "reaches the edge of the image, so no pixel outside it is left."
                raise InputError.at(where, what, "Write seg_nrrd or dicom_seg.")
            region = SubElement(nodule, "roi")
            inclusion = "FALSE" if is_hole else "TRUE"
            _texts(region, imageZposition=_height(height), inclusion=inclusion)
            for column, line in rim.tolist():
                _texts(SubElement(region, "edgeMap"), xCoord=str(column), yCoord=str(line))


def rims(pixel: IntArray) -> Iterator[tuple[IntArray, bool]]:
    """Yield rims of pixels around these (n x 2), in walking order, and whether each is a hole.

    A hole that contains something is given pixel by pixel: a rim would also cut its content.
    """
    from scipy import ndimage

    low = pixel.min(axis=0) - 1
    mask: BoolArray = np.zeros(np.ptp(pixel, axis=0)[::-1] + 3, dtype=np.bool_)
    mask[tuple((pixel - low).T[::-1])] = True
    parts, count = ndimage.label(mask)
    for number in range(1, count + 1):
        part = ndimage.binary_fill_holes(parts == number)
        yield _without_pockets(_walk(part, is_outside=True), part) + low, False
    holes, count = ndimage.label(ndimage.binary_fill_holes(mask) & ~mask)
    for number in range(1, count + 1):
        hole = holes == number
        if np.array_equal(ndimage.binary_fill_holes(hole), hole):
            yield _walk(hole, is_outside=False) + low, True
        else:
            yield from ((corner[None, ::-1] + low, True) for corner in np.argwhere(hole))


def _without_pockets(rim: IntArray, part: BoolArray) -> IntArray:
    """The walk with a step to and from every pixel that it encloses in addition to the part."""
    while True:
        _, i, j, is_rim = enclosed_pixels(np.zeros(len(rim), dtype=np.int64), *rim.T)
        others = np.column_stack([i, j])[~is_rim & ~part[j, i]]
        if not len(others):
            return rim
        away = np.abs(others[:, None] - rim[None]).sum(axis=2)
        other, at = np.argwhere(away == 1)[0]
        rim = np.insert(rim, at + 1, [others[other], rim[at]], axis=0)


def _walk(mask: BoolArray, *, is_outside: bool) -> IntArray:
    """The pixels (column, row) along the edge of a region in order, outside or inside it."""
    row, column = np.nonzero(mask)
    _, corner = trace_outlines(np.zeros(len(row), dtype=np.int64), column, row)
    step = np.roll(corner, -1, axis=0) - corner
    length = np.abs(step).sum(axis=1).round().astype(np.int64)
    way: FloatArray = np.repeat(step / length[:, None], length, axis=0)
    along = np.concatenate([np.arange(count) for count in length]) + 0.5
    middle = np.repeat(corner, length, axis=0) + way * along[:, None]
    side = np.column_stack([way[:, 1], -way[:, 0]]) / 2  # regions are left of their edge
    pixel = np.rint(middle + (side if is_outside else -side)).astype(np.int64)
    is_next = np.any(pixel != np.roll(pixel, 1, axis=0), axis=1)
    return pixel[is_next] if is_next.any() else pixel[:1]


def _texts(element: Element, **texts: str) -> None:
    for tag, text in texts.items():
        SubElement(element, tag).text = text


def _height(z_mm: float) -> str:
    return repr(round(z_mm, _MICROMETRE))


FORMAT = Format(
    name="lidc_xml",
    meaning="readings in XML as in LIDC-IDRI, one file per case, in pixels",
    suffixes=("/", ".xml"),
    example="readings/\n  scan-1.xml  a readingSession for each reader",
    read_readings=read_readings,
    write_readings=write_readings,
    loses="outlines become pixels, points the nearest pixel; readers become numbers; types and "
    "densities are lost",
)
