"""Readings as readers hand them in -> SESSIONS, FINDINGS and FINDING_SLICES, as rules want them.

A finding's name has to be unique within its case, so it begins with who drew it. A box is an
outline of four corners that says so; a finding of boxes alone has the diameter that NIFDC gives it,
the largest mean of length and width.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from nodulebench.annotation.readings.reading import DrawnFinding, Reading, box_diameter_mm
from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.schema import TableSchema
from nodulebench.imaging.outlines import outline_text


def findings_of(name: str, cases: pl.DataFrame, readings: Sequence[Reading]) -> Readings:
    """What readers drew, as tables; every finding is taken for a nodule.

    Args:
        name: of the readings.
        cases: CASES; readings of other cases are left out.
        readings: one per case and reader, also where nothing was drawn.

    Raises:
        InputError: if a reader has read a case twice.
    """
    order = {case_id: number for number, case_id in enumerate(cases["case_id"])}
    listed = sorted(
        (one for one in readings if one.case_id in order),
        key=lambda one: (order[one.case_id], one.reader_id),
    )
    sessions = [{"case_id": one.case_id, "reader_id": one.reader_id} for one in listed]
    findings = [row for one in listed for row in _finding_rows(one)]
    slices = [row for one in listed for row in _slice_rows(one)]
    return Readings(
        name=name,
        cases=cases,
        sessions=_table(SESSIONS, sessions),
        findings=_table(FINDINGS, findings),
        slices=_table(FINDING_SLICES, slices),
    )


def finding_name(reader_id: str, finding_id: str) -> str:
    """What a reader's finding is called among those of all readers."""
    return f"{reader_id}:{finding_id}"


def _finding_rows(reading: Reading) -> Iterator[dict[str, Any]]:
    for one in reading.findings:
        yield {
            "case_id": reading.case_id,
            "finding_id": finding_name(reading.reader_id, one.finding_id),
            "reader_id": reading.reader_id,
            "kind": "nodule",
            "diameter_mm": None if _has_outline(one) else box_diameter_mm(one),
            "type": one.type,
            "source_id": one.finding_id,
        }


def _has_outline(finding: DrawnFinding) -> bool:
    """Whether outlines say more than boxes."""
    return any(drawn.contour for drawn in finding.slices)


def _slice_rows(reading: Reading) -> Iterator[dict[str, Any]]:
    for one in reading.findings:
        for drawn in one.slices:
            yield {
                "case_id": reading.case_id,
                "finding_id": finding_name(reading.reader_id, one.finding_id),
                "slice_index": drawn.slice_index,
                "outline_index": 0,
                "z_mm": drawn.z_mm,
                "is_hole": False,
                "convention": "boundary" if drawn.contour else "box",
                "contour": outline_text(drawn.outline.tolist()),
            }


def _table(schema: TableSchema, rows: list[dict[str, Any]]) -> pl.DataFrame:
    given = {column.name: column.dtype for column in schema.columns}
    return schema.conform(pl.DataFrame(rows, schema=given), schema.name)
