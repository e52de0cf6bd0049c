"""What readers drew: SESSIONS, FINDINGS and FINDING_SLICES, and the Readings made of them."""

from dataclasses import dataclass, replace

import polars as pl

from nodulebench.core.notices import Notice
from nodulebench.core.schema import Column, TableSchema, optional
from nodulebench.core.tables import (
    IN_CASE,
    OF_DENSITY,
    OF_TYPE,
    PLACE,
    SLICE_HEIGHT,
    SLICE_INDEX,
    Reference,
)

FINDING_KINDS = ("nodule", "small_nodule", "non_nodule")
"""LIDC's three categories: nodule >= 3 mm, nodule < 3 mm, non-nodule."""

OUTLINE_CONVENTIONS = ("boundary", "outside_pixels", "box")
"""boundary: the nodule is what the polygon encloses. outside_pixels: the points are the centres
of the first pixels outside the nodule (LIDC-IDRI), so the nodule is what is strictly inside. box:
the corners of a box around the nodule, whose sides are its axes (its diagonals measure nothing)."""

_SCALES = {
    "subtlety": "1 extremely subtle ... 5 obvious",
    "internal_structure": "1 soft tissue, 2 fluid, 3 fat, 4 air",
    "calcification": "1 popcorn, 2 laminated, 3 solid, 4 non-central, 5 central, 6 absent",
    "sphericity": "1 linear, 3 ovoid, 5 round",
    "margin": "1 poorly defined ... 5 sharp",
    "lobulation": "1 none ... 5 marked",
    "spiculation": "1 none ... 5 marked",
    "texture": "1 non-solid (ground glass), 3 part-solid, 5 solid",
    "malignancy_rating": "1 highly unlikely ... 5 highly suspicious",
}
CHARACTERISTICS = tuple(_SCALES)
"""The nine characteristics of LIDC-IDRI, in the order of its files."""

SESSIONS = TableSchema(
    "SESSIONS",
    "One row per case and reader: who has read what, whether or not anything was found.",
    (
        IN_CASE,
        Column("reader_id", pl.String, "the reader; anonymous readers are numbered by case"),
        optional("source", pl.String, "the file the reading came in"),
    ),
    key=("case_id", "reader_id"),
    is_open=True,
)

FINDINGS = TableSchema(
    "FINDINGS",
    "One row per finding of one reader, in the order of reading.",
    (
        IN_CASE,
        Column("finding_id", pl.String, "unique within the case"),
        Column("reader_id", pl.String, "who drew it"),
        Column("kind", pl.String, "what the reader called it", allowed=FINDING_KINDS),
        *(
            optional(name, pl.Float64, "the point marked, LPS; empty: outlined", "mm")
            for name in PLACE
        ),
        optional(
            "diameter_mm",
            pl.Float64,
            "as the reader measured it; empty: from the outlines",
            "mm",
            minimum=0,
        ),
        OF_TYPE,
        OF_DENSITY,
        *(
            optional(
                name,
                pl.Int64,
                f"LIDC characteristic: {scale}; 0 or empty: not rated",
                minimum=0,
                maximum=6,
            )
            for name, scale in _SCALES.items()
        ),
        optional("source_id", pl.String, "the finding's name in its file"),
    ),
    key=("case_id", "finding_id"),
    is_open=True,
)

FINDING_SLICES = TableSchema(
    "FINDING_SLICES",
    "One row per outline: a finding can have several on a slice, and holes.",
    (
        IN_CASE,
        Column("finding_id", pl.String, "the finding"),
        SLICE_INDEX,
        Column("outline_index", pl.Int64, "0-based within finding and slice", minimum=0),
        SLICE_HEIGHT,
        Column("is_hole", pl.Boolean, "whether it cuts out of the finding"),
        Column(
            "convention", pl.String, "what the outline's points are", allowed=OUTLINE_CONVENTIONS
        ),
        Column("contour", pl.String, "outline as 'x y;x y;...' in mm, LPS"),
    ),
    key=("case_id", "finding_id", "slice_index", "outline_index"),
)


@dataclass(frozen=True)
class Readings:
    """What several readers drew in a set of cases, each without regard to the others."""

    name: str
    cases: pl.DataFrame
    sessions: pl.DataFrame
    findings: pl.DataFrame
    slices: pl.DataFrame
    notices: tuple[Notice, ...] = ()
    """What users of the readings must know about how the files were read."""

    def restricted(self, case_ids: pl.Series, source: str) -> "Readings":
        """The readings of these cases only, in this order."""
        cases = Reference(self.name, self.cases, self.findings).restricted(case_ids, source).cases
        sessions, findings, slices = (
            table.join(cases, on="case_id", how="semi", maintain_order="left")
            for table in (self.sessions, self.findings, self.slices)
        )
        return replace(self, cases=cases, sessions=sessions, findings=findings, slices=slices)

    def without_seat(self, seat: int) -> "Readings":
        """The readings as if the ``seat``-th reader of every case (1, 2, ...) had not taken part.

        Readers who are anonymous, or do not read all cases, can be left out by their seats only.
        """
        number = pl.int_range(1, pl.len() + 1).over("case_id")
        return self._with_sessions(self.sessions.filter(number != seat))

    def _with_sessions(self, sessions: pl.DataFrame) -> "Readings":
        """What was drawn in these sessions."""
        reading, finding = ["case_id", "reader_id"], ["case_id", "finding_id"]
        findings = self.findings.join(sessions, on=reading, how="semi", maintain_order="left")
        slices = self.slices.join(findings, on=finding, how="semi", maintain_order="left")
        return replace(self, sessions=sessions, findings=findings, slices=slices)

    @property
    def reader_ids(self) -> list[str]:
        return sorted(self.sessions["reader_id"].unique().to_list())
