"""An algorithm's false positives -> those that readers of an observer study classify."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.annotation.observer_study import (
    EARLIER_CALLS,
    PRESCREEN,
    READER_CALLS,
    STUDY,
    SUSPECTS,
    TO_READ,
)
from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.cohort import FALSE_POSITIVE
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.check import keep_listed
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.evaluation.result_folder import EVALUATION
from nodulebench.io.atomic import staged_folder
from nodulebench.io.formats import read_reference, read_submission
from nodulebench.io.json_files import write_json
from nodulebench.io.table_files import read_table, write_table
from nodulebench.matching import label_marks
from nodulebench.matching.pairs import pairs_within

UNMEASURED_MM = 10.0
"""The diameter of annotated lesions without one, as under the luna16 rule."""


@dataclass(frozen=True, eq=False)
class Selection:
    """What the readers are given, and how many marks each step left."""

    suspects: pl.DataFrame
    reused: pl.DataFrame
    """READER_CALLS taken from earlier readings."""
    reused_suspects: pl.DataFrame
    flow: dict[str, int]
    """How many marks there were at each step."""


def false_positives(
    reference: Reference, submission: Submission, protocol: TestProtocol, rate: float
) -> pl.DataFrame:
    """The highest-scored false positives, at most ``rate`` per case, without ties at the cut."""
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

    ``annotated`` holds all lesions of the source data, also rejected ones. A mark closer than
    ``same_place_mm`` to one of them (its radius, where larger), or to an earlier place, is on it.
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


REUSED, REUSED_CALLS, ADDITIONAL = "read_before.csv", "earlier_calls.csv", "additional_nodules.csv"


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectOptions:
    """Which false positives become an observer study."""

    marks: Path
    """A submission, or the folder of an evaluation."""
    out: Path
    reference: Path | None = None
    """The test set; None: the one of the evaluation."""
    rate: float = 0.25
    protocol: str | None = None
    """The protocol that labels the marks; None: that of the evaluation, else ``luna16``."""
    algorithm: str | None = None
    prescreen: Path | None = None
    """Table of marks that are obviously not nodules."""
    annotated: Path | None = None
    """Reference of all lesions in the source data."""
    earlier: Path | None = None


def select_files(options: SelectOptions) -> Selection:
    out = options.out
    if (out / STUDY).exists():
        what = "is a study that readers have already got."
        raise InputError.at(out, what, "Choose a new folder.")
    truth, submission, rules = _read_marks(options)
    prescreen, annotated, earlier = options.prescreen, options.annotated, options.earlier
    selection = select(
        false_positives(truth, submission, rules, options.rate),
        truth,
        prescreen=None if prescreen is None else read_table(prescreen, PRESCREEN),
        annotated=None if annotated is None else read_reference(annotated).nodules,
        earlier=None if earlier is None else read_table(earlier, EARLIER_CALLS),
    )
    with staged_folder(out, last="flow.json") as stage:
        write_table(selection.suspects, stage / TO_READ)
        write_table(selection.reused_suspects, stage / REUSED)
        write_table(selection.reused, stage / REUSED_CALLS)
        write_json(selection.flow, stage / "flow.json")
    return selection


def _read_marks(options: SelectOptions) -> tuple[Reference, Submission, TestProtocol]:
    marks, reference = options.marks, options.reference
    protocol, algorithm = options.protocol, options.algorithm
    if not (marks / EVALUATION).is_file():
        if reference is None or algorithm is not None:
            what = (
                "is not an evaluation: it needs a reference, and has no algorithms to choose from."
            )
            raise InputError.at(marks, what)
        truth = read_reference(reference)
        return truth, read_submission(marks, truth.cases), load_protocol(protocol or "luna16")
    if reference is not None:
        what = "is an evaluation, which has its own reference."
        raise InputError.at(marks, what, "Give no other reference.")
    evaluated = load_evaluated(marks)
    name = algorithm if algorithm is not None else next(iter(evaluated.submissions), "")
    if name not in evaluated.submissions or (algorithm is None and len(evaluated.submissions) > 1):
        known = ", ".join(evaluated.submissions)
        what = (
            "has several algorithms." if algorithm is None else f"has no algorithm '{algorithm}'."
        )
        raise InputError.at(marks, what, f"Choose one of these: {known}.")
    rules = evaluated.protocol if protocol is None else load_protocol(protocol)
    return evaluated.reference, evaluated.submissions[name], rules
