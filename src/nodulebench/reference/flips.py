"""Two references + submission + protocol -> the marks that each of them labels differently."""

from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray, IntArray
from nodulebench.core.labels import LABEL_NAMES
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.protocols import load_protocol
from nodulebench.core.tables import Reference, Submission
from nodulebench.io.formats import read_reference, read_submission
from nodulebench.matching import label_marks


def flipped_marks(
    first: Reference, second: Reference, submission: Submission, protocol: TestProtocol
) -> pl.DataFrame:
    """Marks whose label under the protocol's first rule depends on the reference.

    Both references are restricted to the cases they share. A mark that touches several nodules has
    the best of its labels.

    Returns:
        case_id, mark_id, score, the labels, and how far the mark lies outside the nearest nodule
        of each reference in mm (negative: inside; null: the case has none).
    """
    shared = first.cases.join(second.cases, on="case_id", how="semi", maintain_order="left")
    references = [one.restricted(shared["case_id"], "shared cases") for one in (first, second)]
    marks = submission.marks.join(shared, on="case_id", how="semi", maintain_order="left")
    judged = Submission(submission.name, marks)
    labels = [_labels(reference, judged, protocol) for reference in references]
    flipped = np.flatnonzero(labels[0] != labels[1])
    names = np.array(LABEL_NAMES)
    chosen = marks[flipped]
    columns = {
        f"{what}_{which}": values
        for which, reference, codes in zip(("first", "second"), references, labels, strict=True)
        for what, values in (
            ("label", names[codes[flipped]]),
            ("outside_mm", _outside_mm(reference, chosen)),
        )
    }
    return (
        chosen.select("case_id", "mark_id", "score")
        .with_columns(pl.Series(name, values) for name, values in columns.items())
        .with_columns(pl.col("outside_mm_first", "outside_mm_second").fill_nan(None))
        .sort("score", descending=True, nulls_last=True, maintain_order=True)
    )


def flipped_marks_of_files(
    first: Path, second: Path, marks: Path, protocol: str = "luna16"
) -> pl.DataFrame:
    """The same from files."""
    one, other = (read_reference(path) for path in (first, second))
    submission = read_submission(marks, one.cases)
    return flipped_marks(one, other, submission, load_protocol(protocol))


def _labels(reference: Reference, submission: Submission, protocol: TestProtocol) -> IntArray:
    """The best label of each mark."""
    found = label_marks(reference, submission, protocol, protocol.rules[0])
    best = np.full(submission.marks.height, len(LABEL_NAMES) - 1, dtype=np.int64)
    np.minimum.at(best, found.mark, found.label)
    return best


def _outside_mm(reference: Reference, marks: pl.DataFrame) -> FloatArray:
    """How far each mark lies from the nearest surface of a measured nodule; NaN without any."""
    nodules = reference.nodules.filter(~pl.col("is_ignored"))
    places = nodules.select("x_mm", "y_mm", "z_mm").to_numpy()
    radius = nodules["diameter_mm"].to_numpy() / 2
    case = nodules["case_id"].to_numpy()
    outside = np.full(marks.height, np.nan)
    for row, (case_id, *place) in enumerate(
        marks.select("case_id", "x_mm", "y_mm", "z_mm").iter_rows()
    ):
        near = np.flatnonzero(case == case_id)
        if len(near):
            apart = np.linalg.norm(places[near] - place, axis=1) - radius[near]
            outside[row] = np.fmin.reduce(apart)
    return outside
