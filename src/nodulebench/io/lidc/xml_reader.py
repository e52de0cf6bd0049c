"""Read LIDC-IDRI XML (folder, file or tar archive): the marks of each session, in pixels.

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

from nodulebench.core.errors import InputError, Problem, Problems, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.readings import CHARACTERISTICS

MOST_BYTES = 1 << 26
"""No file of LIDC-IDRI is larger than 2 MB; a file of more than 64 MB is not a reading."""

_EDGE_POINT = re.compile(
    rb"<edgeMap>\s*<xCoord>(\d{1,5})</xCoord>\s*<yCoord>(\d{1,5})</yCoord>\s*</edgeMap>\s*"
)
"""A point of an outline. Points are nine tenths of every file; as text 'x y' in their roi they
parse four times as fast as by elements. A point in another notation is read by its elements."""

_OTHER_TAGS = {"internal_structure": "internalStructure", "malignancy_rating": "malignancy"}
CHARACTERISTIC_TAGS = tuple(_OTHER_TAGS.get(name, name) for name in CHARACTERISTICS)


@dataclass(frozen=True, slots=True)
class PixelOutline:
    """One outline on one slice, or a single point; x and y are 0-based pixels."""

    z_mm: float
    is_hole: bool
    x: "array[int]"
    y: "array[int]"


@dataclass(frozen=True, slots=True)
class PixelMark:
    """One finding of a session."""

    source_id: str
    kind: str
    """One of FINDING_KINDS."""
    outlines: tuple[PixelOutline, ...]
    characteristics: tuple[int | None, ...] = ()
    """In the order of CHARACTERISTIC_TAGS; empty if missing."""


@dataclass(frozen=True, slots=True)
class PixelReading:
    """All sessions of one CT series."""

    source: str
    series: str
    study: str
    sessions: tuple[tuple[PixelMark, ...], ...]


@dataclass(frozen=True, slots=True)
class LidcFiles:
    """The content of a folder or archive of LIDC-IDRI XML."""

    readings: tuple[PixelReading, ...]
    """One per series, in the order of their files' paths."""
    problems: tuple[Problem, ...]
    """The problems of the other files."""
    notices: tuple[Notice, ...]
    file_count: int
    xray_count: int
    """Number of chest X-ray reads, which are skipped."""


def read_lidc_files(source: Path, *, applies_corrections: bool = False) -> LidcFiles:
    """Read every XML file; a damaged file is reported and does not stop the rest.

    Files of one series with the same marks count once, the first in path order. A file whose
    name contains "correction" replaces the others of its series if requested.

    Args:
        source: a folder, an .xml file, or a tar archive (.tar, .tar.gz, .tar.xz).
        applies_corrections: whether corrections replace what they correct. The published counts
            are without corrections.

    Raises:
        InputError: if the source cannot be read at all, or holds no XML.
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
    """Yield name and bytes of the XML files of a source."""
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
        raise InputError.at(
            name,
            "has a document type declaration or zero bytes, which no LIDC file has.",
            "Save it as UTF-8 without a DOCTYPE.",
        )
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
        """x, y, x, y, ... of a roi or a non-nodule."""
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
