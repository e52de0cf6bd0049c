"""Format: what an outside format holds, how it is told from others, how it is read and written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.readings import Readings
from nodulebench.core.tables import Reference, Submission
from nodulebench.io.sniff import Glimpse

Refuse = Callable[[Glimpse], str]
"""Why a file is not of a format, from a glimpse at it; empty: it may well be."""
ReadMarks = Callable[[Path, pl.DataFrame | None], Submission]
ReadReference = Callable[[Path, pl.DataFrame | None], Reference]
WriteMarks = Callable[[Submission, Path, pl.DataFrame | None], None]
WriteReference = Callable[[Reference, Path], None]
ReadReadings = Callable[[Path, pl.DataFrame | None], Readings]
WriteReadings = Callable[[Readings, Path, pl.DataFrame | None], None]
WriteCohorts = Callable[[Mapping[tuple[str, str], LabelledCohort], Path], None]
"""Labelled cohorts by treatment (or algorithm) and reader."""


@dataclass(frozen=True, slots=True)
class Format:
    """One outside format. What it cannot do is None.

    Readers and writers of marks are also given CASES, where the caller has them: formats in
    voxels need the geometry of the cases, and a case without marks is known from there only.
    """

    name: str
    meaning: str
    suffixes: tuple[str, ...]
    """Endings of its file names; "/" stands for a folder."""
    refuse_marks: Refuse | None = None
    refuse_reference: Refuse | None = None
    read_marks: ReadMarks | None = None
    read_reference: ReadReference | None = None
    write_marks: WriteMarks | None = None
    write_reference: WriteReference | None = None
    write_cohorts: WriteCohorts | None = None
    read_readings: ReadReadings | None = None
    write_readings: WriteReadings | None = None
    needs_images: bool = False
    """Whether what is written refers to the images of the cases."""
    precision_mm: float = 1e-6
    """How far a place may move when it is written and read again."""
    columns: tuple[str, ...] = ()
    """Columns of its files, where they are comma-separated text."""
    example: str = ""
    """What a small file of it looks like, or what lies in a folder."""
    loses: str = ""
    """What is not as before when it is written and read again; empty: nothing but places."""
