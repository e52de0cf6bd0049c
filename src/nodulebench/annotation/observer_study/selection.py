"""An algorithm's false positives -> those that readers of an observer study classify."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.annotation.observer_study.calls import CALLS
from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.labels import FALSE_POSITIVE
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.schema import Column, TableSchema
from nodulebench.core.tables import MARKS, Reference, Submission
from nodulebench.evaluation.check.cases import keep_listed
from nodulebench.matching import label_marks
from nodulebench.matching.pairs import pairs_within

UNMEASURED_MM = 10.0
"""The diameter of annotated lesions without one, as under the luna16 rule."""

_PLACE = tuple(column for column in MARKS.columns if column.name in ("x_mm", "y_mm", "z_mm"))
_CALL = (
    Column("reader_id", pl.String, "the reader"),
    Column("call", pl.String, "what the reader called it", allowed=CALLS),
    Column("diameter_mm", pl.Float64, "as measured", "mm", is_required=False, minimum=0),
)
_MARK = (Column("case_id", pl.String, "the CT series"), Column("mark_id", pl.String, "the mark"))

SUSPECTS = TableSchema(
    "SUSPECTS",
    "One row per false positive that is to be read.",
    (*_MARK, *_PLACE, Column("score", pl.Float64, "the algorithm's score")),
    key=("case_id", "mark_id"),
)
PRESCREEN = TableSchema(
    "PRESCREEN",
    "One row per false positive that a scientist checked.",
    (*_MARK, Column("is_obvious", pl.Boolean, "whether it is obviously not a nodule")),
    key=("case_id", "mark_id"),
)
READER_CALLS = TableSchema(
    "READER_CALLS",
    "One row per false positive and reader: what the reader called it.",
    (*_MARK, *_CALL),
    key=("case_id", "mark_id", "reader_id"),
)
EARLIER_CALLS = TableSchema(
    "EARLIER_CALLS",
    "One row per place and reader of an earlier study.",
    (Column("case_id", pl.String, "the CT series"), *_PLACE, *_CALL),
    key=("case_id", "x_mm", "y_mm", "z_mm", "reader_id"),
)


@dataclass(frozen=True, eq=False)
class Selection:
    """What the readers are given, and how many marks each step left."""

    suspects: pl.DataFrame
    """SUSPECTS that are still to be read."""
    reused: pl.DataFrame
    """READER_CALLS taken from earlier readings."""
    reused_suspects: pl.DataFrame
    """SUSPECTS of these calls."""
    flow: dict[str, int]
    """How many marks there were at each step."""


def false_positives(
    reference: Reference, submission: Submission, protocol: TestProtocol, rate: float
) -> pl.DataFrame:
    """The highest-scored false positives, at most ``rate`` per case, as SUSPECTS.

    False positives of equal score across the cut are all left out.

    Raises:
        InputError: if the marks have no scores.
    """
    listed, _ = keep_listed(reference, submission, protocol)
    labels = label_marks(reference, listed, protocol, protocol.rules[0])
    rows = np.unique(labels.mark[labels.label == FALSE_POSITIVE])
    marks = listed.marks[rows].sort("score", descending=True, maintain_order=True)
    if marks["score"].null_count():
        raise InputError.at(
            f"submission '{submission.name}'", "has false positives without a score."
        )
    # a product such as 0.1 x 30 may fall short of the whole number by rounding
    allowed = math.floor(rate * reference.cases.height + 1e-9)
    if allowed < marks.height:
        marks = marks.filter(pl.col("score") > marks["score"][allowed])
    return SUSPECTS.arrange(marks)


def select(
    suspects: pl.DataFrame,
    reference: Reference,
    *,
    prescreen: pl.DataFrame | None = None,
    annotated: pl.DataFrame | None = None,
    earlier: pl.DataFrame | None = None,
    same_place_mm: float = 5.0,
) -> Selection:
    """Leave out what need not be read.

    Args:
        suspects: false positives at the chosen rate.
        reference: the test set.
        prescreen: which of them are obviously no nodules.
        annotated: NODULES of all lesions in the source data, also those that were rejected.
        earlier: what readers called places before.
        same_place_mm: a mark closer than this to an annotated lesion or an earlier place is on it;
            for a lesion its radius, where larger.
    """
    flow = {"false_positives": suspects.height}
    if prescreen is not None:
        require_known_cases(prescreen, suspects, "prescreen")
        obvious = prescreen.filter("is_obvious")
        suspects = suspects.join(obvious, on=["case_id", "mark_id"], how="anti")
    flow["obvious"] = flow["false_positives"] - suspects.height
    before = suspects.height
    if annotated is not None:
        diameter = annotated["diameter_mm"].to_numpy()
        radius = np.where(np.isnan(diameter), UNMEASURED_MM, diameter) / 2
        on_lesion, _ = _near(suspects, annotated, reference, np.maximum(radius, same_place_mm))
        suspects = suspects.filter(~pl.Series(np.isin(np.arange(before), on_lesion)))
    flow["already_annotated"] = before - suspects.height
    reused = READER_CALLS.empty()
    is_reused = np.zeros(suspects.height, dtype=np.bool_)
    if earlier is not None:
        reused = _reuse(suspects, earlier, reference, same_place_mm)
        known = suspects.select("case_id", "mark_id").join(
            reused.select("case_id", "mark_id", is_known=True).unique(),
            on=["case_id", "mark_id"],
            how="left",
            maintain_order="left",
        )
        is_reused = known["is_known"].fill_null(False).to_numpy()
    flow["read_before"] = int(is_reused.sum())
    flow["to_read"] = suspects.height - flow["read_before"]
    return Selection(
        suspects.filter(~pl.Series(is_reused)), reused, suspects.filter(pl.Series(is_reused)), flow
    )


def _reuse(
    suspects: pl.DataFrame, earlier: pl.DataFrame, reference: Reference, reach_mm: float
) -> pl.DataFrame:
    """Earlier calls on each suspect: of each reader the nearest one within reach."""
    mark, call = _near(suspects, earlier, reference, np.full(earlier.height, reach_mm))
    place = ["x_mm", "y_mm", "z_mm"]
    apart = suspects[mark].select(place).to_numpy() - earlier[call].select(place).to_numpy()
    near_calls = (
        earlier[call]
        .select("reader_id", "call", "diameter_mm")
        .with_columns(
            suspects[mark].select("case_id", "mark_id"),
            distance=pl.Series(np.linalg.norm(apart, axis=1)),
        )
    )
    nearest = near_calls.sort("distance", maintain_order=True).unique(
        ["case_id", "mark_id", "reader_id"], keep="first", maintain_order=True
    )
    return READER_CALLS.arrange(nearest.drop("distance").sort("case_id", "mark_id", "reader_id"))


def _near(
    marks: pl.DataFrame, places: pl.DataFrame, reference: Reference, radius_mm: FloatArray
) -> tuple[IntArray, IntArray]:
    """Marks strictly within the radius of places of the same case: rows of both."""
    xyz = ("x_mm", "y_mm", "z_mm")
    case = reference.rows_of(places["case_id"])
    known_rows = np.flatnonzero(case >= 0)
    mark, place = pairs_within(
        reference.rows_of(marks["case_id"]),
        marks.select(xyz).to_numpy(),
        case[known_rows],
        places[known_rows].select(xyz).to_numpy(),
        radius_mm[known_rows],
    )
    return mark, known_rows[place]


def require_known_cases(table: pl.DataFrame, suspects: pl.DataFrame, source: str) -> None:
    """Refuse a table about marks that are not in the study."""
    strange = table.select("case_id", "mark_id").join(
        suspects, on=["case_id", "mark_id"], how="anti", maintain_order="left"
    )
    raise_problems(
        Problem(
            source,
            f"mark '{mark_id}' of case '{case_id}' is not among the false positives.",
            "Use the list that was given to the readers.",
        )
        for case_id, mark_id in strange.unique(maintain_order=True).rows()
    )
