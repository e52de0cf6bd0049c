"""Describe an outside format: what it holds, how it is recognised, read and written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

import polars as pl

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError, Problem
from nodulebench.core.json_types import JsonValue
from nodulebench.core.readings import Readings
from nodulebench.core.tables import Reference, Submission
from nodulebench.io.csv_files import CsvFile, spelt
from nodulebench.io.json_files import read_json

_WORDS = {"csv": "comma-separated text", "json": "JSON", "dicom": "DICOM", "folder": "a folder"}


FAR, NEAR = 1000, 10
"""The distance of a file of another kind, and that of a refusal without one."""


class Refusal(str):
    """Why a file does not fit a format, and its distance from that format."""

    __slots__ = ("distance",)
    distance: int

    def __new__(cls, words: str, distance: int) -> Self:
        refusal = super().__new__(cls, words)
        refusal.distance = distance
        return refusal


def distance_of(reason: str) -> int:
    return getattr(reason, "distance", NEAR)


@dataclass(frozen=True, slots=True)
class FileProbe:
    """What a first look at a file or folder shows."""

    path: Path
    kind: Literal["folder", "csv", "json", "pickle", "parquet", "dicom", "other"]
    names: frozenset[str]
    """Files of a folder, columns of a CSV file, or keys of a JSON object."""
    document: JsonValue = field(default=None, repr=False)
    """The value that a JSON file holds."""
    error: InputError | None = field(default=None, repr=False)
    """Why a file of kind "other" is neither JSON nor comma-separated; a plug-in format may still
    know it."""

    def lacks(self, *names: str) -> str:
        held = spelt(sorted(self.names), names) if self.kind == "csv" else self.names
        missing = [f"'{name}'" for name in names if name not in held]
        kinds = {"folder": "file", "json": "key"}
        words = f"no {kinds.get(self.kind, 'column')} {', '.join(missing)}"
        return Refusal(words, len(missing)) if missing else ""

    def is_not(self, *kinds: str) -> str:
        """That the path is none of these kinds, as text; empty if it is one of them."""
        wanted = " or ".join(_WORDS.get(kind, kind) for kind in kinds)
        return "" if self.kind in kinds else Refusal(f"not {wanted}", FAR)


def probe_file(source: Path | CsvFile) -> FileProbe:
    file = CsvFile.of(source)
    path = file.path
    if path.is_dir():
        return FileProbe(path, "folder", frozenset(item.name for item in path.iterdir()))
    whole = file.start[:1024]
    if whole[128:132] == b"DICM":
        return FileProbe(path, "dicom", frozenset())
    start = whole.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"PAR1"):
        return FileProbe(path, "parquet", frozenset())
    if start.startswith(b"\x80"):
        return FileProbe(path, "pickle", frozenset())
    try:
        if start.startswith((b"{", b"[")):
            document = read_json(path)
            return FileProbe(path, "json", _keys(document), document)
        header = file.header()
    except InputError as error:
        return FileProbe(path, "other", frozenset(), error=error)
    if path.name.lower().endswith((".json", ".json.gz")):
        problem = Problem(str(path), "is not JSON: it starts with neither '{' nor '['.")
        return FileProbe(path, "other", frozenset(), error=InputError(problem))
    return FileProbe(path, "csv", frozenset(header))


def _keys(document: object) -> frozenset[str]:
    if isinstance(document, list) and document:
        document = document[0]
    return frozenset(document) if isinstance(document, dict) else frozenset()


Refuse = Callable[[FileProbe], str]
"""Why a file does not fit a format, from its probe; empty if it may fit."""
ReadMarks = Callable[[Path, pl.DataFrame | None], Submission]
ReadReference = Callable[[Path, pl.DataFrame | None], Reference]
ReadCsvMarks = Callable[[CsvFile, pl.DataFrame | None], Submission]
WriteMarks = Callable[[Submission, Path, pl.DataFrame | None], None]
WriteReference = Callable[[Reference, Path], None]
ReadReadings = Callable[[Path, pl.DataFrame | None], Readings]
WriteReadings = Callable[[Readings, Path, pl.DataFrame | None], None]
WriteCohorts = Callable[[Mapping[tuple[str, str], LabelledCohort], Path], None]
"""Labelled cohorts by treatment (or algorithm) and reader."""


@dataclass(frozen=True, slots=True)
class Format:
    """An outside format; operations that it does not support are None.

    Readers and writers of marks also take CASES, if the caller has them: formats in
    voxels need the geometry of the cases, and only CASES lists cases without marks.
    """

    name: str
    meaning: str
    suffixes: tuple[str, ...]
    """Endings of its file names; "/" means a folder."""
    refuse_marks: Refuse | None = None
    refuse_reference: Refuse | None = None
    read_marks: ReadMarks | None = None
    read_csv_marks: ReadCsvMarks | None = None
    """As ``read_marks``, from a file that was already opened to recognise it."""
    read_reference: ReadReference | None = None
    write_marks: WriteMarks | None = None
    write_reference: WriteReference | None = None
    write_cohorts: WriteCohorts | None = None
    read_readings: ReadReadings | None = None
    write_readings: WriteReadings | None = None
    needs_images: bool = False
    """Whether its files refer to the images of the cases."""
    precision_mm: float = 1e-6
    """How far a position may move when it is written and read again."""
    columns: tuple[str, ...] = ()
    """Columns of its files, if they are comma-separated text."""
    example: str = ""
    """A small example file, or the list of files in a folder."""
    loses: str = ""
    """What changes when it is written and read again; empty if only positions do."""
