"""The reading of one case by one reader: boxes and outlines per slice, checked with the image."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from pydantic import Field

from nodulebench.annotation.people import Name
from nodulebench.core.arrays import FloatArray
from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.schema import TableSchema
from nodulebench.core.tables import NODULE_TYPES, Submission
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.imaging.outlines import box_outline, outline_text, read_outline
from nodulebench.imaging.rasters import DrawnOutline


@dataclass(frozen=True, slots=True)
class Box:
    """A box on one slice, in mm."""

    slice_index: int
    center_x_mm: float
    center_y_mm: float
    length_mm: float
    width_mm: float


class DrawnSlice(ConfigModel):
    """What a reader drew on one slice: a box, and an outline where there is one."""

    slice_index: int = Field(ge=0)
    """0-based from the feet."""
    z_mm: float | None = None
    center_x_mm: float
    center_y_mm: float
    length_mm: float = Field(ge=0)
    width_mm: float = Field(ge=0)
    outline: tuple[tuple[float, float], ...] = ()
    """Corners x, y in mm, the last joins the first; empty: only a box was drawn."""

    @property
    def box(self) -> Box:
        center = (self.center_x_mm, self.center_y_mm)
        return Box(self.slice_index, *center, self.length_mm, self.width_mm)

    @property
    def corners(self) -> FloatArray:
        """The corners of the outline; of the box where no outline was drawn."""
        if self.outline:
            return np.array(self.outline, dtype=np.float64)
        return box_outline(self.center_x_mm, self.center_y_mm, self.length_mm, self.width_mm)

    @property
    def as_drawn(self) -> DrawnOutline:
        return DrawnOutline(self.slice_index, self.corners)


class DrawnFinding(ConfigModel):
    """One finding of a reader."""

    finding_id: str = Field(min_length=1)
    slices: tuple[DrawnSlice, ...] = Field(min_length=1)
    type: str | None = Field(default=None, pattern=f"^({'|'.join(NODULE_TYPES)})$")


def type_number(finding: DrawnFinding) -> float:
    """The number of the type that a reader gave; NaN where none."""
    return float("nan") if finding.type is None else float(NODULE_TYPES.index(finding.type))


def box_diameter_mm(finding: DrawnFinding) -> float:
    """The largest mean of a box's length and width, as NIFDC measures."""
    return max((drawn.length_mm + drawn.width_mm) / 2 for drawn in finding.slices)


class Reading(ConfigModel):
    """Everything that one reader drew in one case; a reading may be empty."""

    case_id: str = Field(min_length=1)
    reader_id: Name
    findings: tuple[DrawnFinding, ...] = ()

    def typed(self, types: Mapping[str, str | None]) -> "Reading":
        named = tuple(
            finding.model_copy(update={"type": types.get(finding.finding_id) or finding.type})
            for finding in self.findings
        )
        return self.model_copy(update={"findings": named})


def readings_of(submission: Submission, cases: pl.DataFrame, reader_id: str) -> list[Reading]:
    problems = [
        Problem(
            f"reader '{reader_id}'",
            f"marks case '{case_id}', which is not among the {cases.height} cases to be read.",
            "Remove the marks, or submit the reading to the batch it was made for.",
        )
        for case_id in submission.marks["case_id"].unique(maintain_order=True)
        if case_id not in set(cases["case_id"])
    ]
    slices = (
        {}
        if submission.slices is None
        else submission.slices.partition_by("case_id", "mark_id", as_dict=True)
    )
    bare = [
        row for row in submission.marks.select("case_id", "mark_id").rows() if row not in slices
    ]
    problems += [
        Problem(f"reader '{reader_id}' case '{row[0]}' mark '{row[1]}'", "has no slice.")
        for row in bare
    ]
    raise_problems(problems)
    marks = submission.marks.partition_by("case_id", as_dict=True)
    empty = submission.marks.clear()
    return [
        Reading(
            case_id=case_id,
            reader_id=reader_id,
            findings=tuple(
                DrawnFinding(
                    finding_id=row["mark_id"],
                    type=row["type"],
                    slices=tuple(
                        map(
                            drawn_slice,
                            slices[case_id, row["mark_id"]].sort("slice_index").to_dicts(),
                        )
                    ),
                )
                for row in marks.get((case_id,), empty).iter_rows(named=True)
            ),
        )
        for case_id in cases["case_id"]
    ]


def drawn_slice(row: JsonObject) -> DrawnSlice:
    text = row["contour"]
    outline = read_outline(text, f"slice {row['slice_index']}").tolist() if text else ()
    fields = {name: row[name] for name in DrawnSlice.model_fields if name != "outline"}
    return DrawnSlice(**fields, outline=outline)


def check_reading(reading: Reading, cases: pl.DataFrame) -> None:
    where = f"reader '{reading.reader_id}' case '{reading.case_id}'"
    rows = cases.filter(pl.col("case_id") == reading.case_id)
    if not rows.height:
        raise InputError.at(where, "the case is not among those to be read.")
    names = [finding.finding_id for finding in reading.findings]
    problems = [
        Problem(
            f"{where} finding '{name}'",
            "occurs more than once.",
            "Give each finding a different id.",
        )
        for name in dict.fromkeys(name for name in names if names.count(name) > 1)
    ]
    place = geometries(rows).get(reading.case_id)
    for finding in reading.findings:
        problems += _slice_problems(finding, place, rows.row(0, named=True), where)
    raise_problems(problems)


def _slice_problems(
    finding: DrawnFinding, place: Geometry | None, case: dict[str, object], where: str
) -> Iterator[Problem]:
    seen: set[int] = set()
    size_z = case["size_z"]
    for drawn in finding.slices:
        here = f"{where} finding '{finding.finding_id}' slice {drawn.slice_index}"
        if drawn.slice_index in seen:
            yield Problem(here, "occurs more than once.", "Draw one outline per finding and slice.")
        seen.add(drawn.slice_index)
        outline = drawn.corners
        if not np.isfinite(outline).all():
            yield Problem(here, "has a coordinate that is not a finite number.")
        elif isinstance(size_z, int) and drawn.slice_index >= size_z:
            yield Problem(here, f"is outside the image, which has {size_z} slices.")
        elif place is not None and not _is_inside(place, drawn.slice_index, outline):
            remedy = "Is it a reading of another series, or in pixels instead of millimetres?"
            yield Problem(here, "the outline is outside the image.", remedy)


def _is_inside(place: Geometry, slice_index: int, outline: FloatArray) -> bool:
    heights = place.height_on(np.full(len(outline), float(slice_index)), outline)
    return bool(place.contains(np.column_stack([outline, heights])).all())


def findings_of(name: str, cases: pl.DataFrame, readings: Sequence[Reading]) -> Readings:
    """Readings of these cases as tables, one per reader and case; every finding is a nodule."""
    order = {case_id: number for number, case_id in enumerate(cases["case_id"])}
    listed = sorted(
        (reading for reading in readings if reading.case_id in order),
        key=lambda reading: (order[reading.case_id], reading.reader_id),
    )
    sessions = [{"case_id": reading.case_id, "reader_id": reading.reader_id} for reading in listed]
    findings = [row for reading in listed for row in _finding_rows(reading)]
    slices = [row for reading in listed for row in _slice_rows(reading)]
    return Readings(
        name=name,
        cases=cases,
        sessions=table_of(SESSIONS, sessions),
        findings=table_of(FINDINGS, findings),
        slices=table_of(FINDING_SLICES, slices),
    )


def finding_name(reader_id: str, finding_id: str) -> str:
    return f"{reader_id}:{finding_id}"


def _finding_rows(reading: Reading) -> Iterator[JsonObject]:
    for finding in reading.findings:
        yield {
            "case_id": reading.case_id,
            "finding_id": finding_name(reading.reader_id, finding.finding_id),
            "reader_id": reading.reader_id,
            "kind": "nodule",
            "diameter_mm": None if _has_outline(finding) else box_diameter_mm(finding),
            "type": finding.type,
            "source_id": finding.finding_id,
        }


def _has_outline(finding: DrawnFinding) -> bool:
    return any(drawn.outline for drawn in finding.slices)


def _slice_rows(reading: Reading) -> Iterator[JsonObject]:
    for finding in reading.findings:
        for drawn in finding.slices:
            yield {
                "case_id": reading.case_id,
                "finding_id": finding_name(reading.reader_id, finding.finding_id),
                "slice_index": drawn.slice_index,
                "outline_index": 0,
                "z_mm": drawn.z_mm,
                "is_hole": False,
                "convention": "boundary" if drawn.outline else "box",
                "contour": outline_text(drawn.corners.tolist()),
            }


def table_of(
    schema: TableSchema,
    rows: list[JsonObject],
    further: Mapping[str, type[pl.DataType]] | None = None,
) -> pl.DataFrame:
    types = {column.name: column.dtype for column in schema.columns}
    return schema.conform(pl.DataFrame(rows, schema={**types, **(further or {})}), schema.name)
