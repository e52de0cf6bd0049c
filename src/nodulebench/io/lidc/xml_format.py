"""Read and write files like those of LIDC-IDRI: rims of pixels around the outlined findings."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import InputError
from nodulebench.core.readings import CHARACTERISTICS, Readings
from nodulebench.core.tables import PLACE
from nodulebench.imaging.geometry import Geometry
from nodulebench.imaging.rasters import enclosed_pixels, trace_outlines
from nodulebench.io.atomic import staged_folder
from nodulebench.io.cases import file_of_case
from nodulebench.io.format import Format
from nodulebench.io.lidc.readings import pixel_readings
from nodulebench.io.lidc.xml_reader import CHARACTERISTIC_TAGS, read_lidc_files
from nodulebench.io.viewers.label_files import Session, sessions_of

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
    """Column, row and height of a finding that is one pixel."""
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
