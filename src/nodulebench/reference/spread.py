"""Readings + submission + protocol -> how much the score depends on the reference rule."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import LABEL_NAMES
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.core.readings import Readings
from nodulebench.core.results import Estimate
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.service import with_options
from nodulebench.i18n.translator import in_english
from nodulebench.io.formats import read_case_list, read_reference, read_submission
from nodulebench.io.readings import read_readings
from nodulebench.io.table_files import write_table
from nodulebench.matching import label_marks
from nodulebench.reference.build import build_reference
from nodulebench.reference.panel import Panel, measure_findings

ALTERNATIVES: tuple[tuple[str, str, Mapping[str, object]], ...] = (
    ("luna16, plain mean", "luna16", {"average": "mean"}),
    ("luna16, readers counted", "luna16", {"counts": "readers"}),
    ("majority, recursive merge", "majority", {}),
    ("majority, single linkage", "majority", {"grouping": "linkage"}),
    ("majority, shared voxels", "majority", {"grouping": "overlap"}),
    ("majority, closest pairs", "majority", {"grouping": "closest_pair"}),
    ("STAPLE", "staple", {}),
    ("unanimous", "unanimous", {}),
    ("union", "union", {}),
)
"""Name, rule and parameters of alternative references from the same readings."""


def by_agreement(panel: Panel, levels: range = range(1, 5)) -> Iterator[tuple[str, Reference]]:
    for level in levels:
        chosen = {"minimum_agreement": level}
        yield f"agreement >= {level}", build_reference(panel, "luna16", chosen, has_slices=False)


def leave_one_reader_out(
    readings: Readings, *, minimum_agreement: int = 2
) -> Iterator[tuple[str, Reference]]:
    """LUNA16's rule without one reader of each case: the first, the second, and so on.

    There are as many variants as most cases have readers.
    """
    chosen = {"minimum_agreement": minimum_agreement}
    seats = readings.sessions.group_by("case_id").len()["len"].mode().max()
    for seat in range(1, int(str(seats or 0)) + 1):
        panel = measure_findings(readings.without_seat(seat))
        yield f"without reader {seat}", build_reference(panel, "luna16", chosen, has_slices=False)


def by_rule(panel: Panel) -> Iterator[tuple[str, Reference]]:
    for name, rule, parameters in ALTERNATIVES:
        yield name, build_reference(panel, rule, parameters, has_slices=False)


_SPREAD = {
    "reference": pl.String,
    "nodules": pl.Int64,
    "hit": pl.Int64,
    "false_positive": pl.Int64,
    "ignored": pl.Int64,
    "value": pl.Float64,
    "reason": pl.String,
}


def reference_variants(readings: Readings) -> Iterator[tuple[str, Reference]]:
    """References by every threshold of agreement, without each reader, and by other rules."""
    panel = measure_findings(readings)
    return chain(by_agreement(panel), leave_one_reader_out(readings), by_rule(panel))


def score_under(
    references: Iterable[tuple[str, Reference]],
    submission: Submission,
    protocol: TestProtocol,
    metric: str = "cpm",
    progress: Progress = no_progress,
) -> pl.DataFrame:
    """One metric of a submission under each reference, by the protocol's first rule."""
    rows = []
    for number, (name, reference) in enumerate(references):
        progress(f"scoring under {name}", number, 0)
        evaluation = evaluate(reference, [submission], protocol).algorithms[0]
        result = evaluation.rules[protocol.rules[0].name]
        estimate = result.metrics.get(metric)
        if not isinstance(estimate, Estimate):
            estimate = Estimate(None, reason=Notice("not_computed"))
        counts = {key: result.counts.get(key) for key in _SPREAD if key in result.counts}
        rows.append(
            {
                "reference": name,
                **counts,
                "value": estimate.value,
                "reason": in_english(why) if (why := result.undefined or estimate.reason) else "",
            }
        )
    return pl.DataFrame(rows, schema=_SPREAD)


@dataclass(frozen=True, kw_only=True, slots=True)
class SpreadOptions:
    """The marks that are scored, and the readings whose references they are scored under."""

    source: Path
    marks: Path
    protocol: str = "luna16"
    metric: str = "cpm"
    series: Path | None = None
    cases: Path | None = None
    skips_bad_files: bool = False
    out: Path | None = None
    """CSV for the table, with the algorithm's name and the metric."""


def spread_files(options: SpreadOptions, *, progress: Progress = no_progress) -> pl.DataFrame:
    metric = options.metric
    readings = read_readings(
        options.source,
        cases=options.cases,
        series=None if options.series is None else read_case_list(options.series),
        skips_bad_files=options.skips_bad_files,
    )
    submission = read_submission(options.marks, readings.cases)
    table = score_under(
        reference_variants(readings),
        submission,
        with_options(load_protocol(options.protocol), bootstraps=0),
        metric,
        progress,
    )
    if options.out is not None:
        named = (pl.lit(submission.name).alias("algorithm"), pl.lit(metric).alias("metric"))
        write_table(table.select(*named, pl.all()), options.out)
    return table


def flipped_marks(
    first: Reference, second: Reference, submission: Submission, protocol: TestProtocol
) -> pl.DataFrame:
    """Marks whose label under the protocol's first rule depends on the reference.

    Both references are restricted to the cases they share. A mark that touches several nodules has
    the best of its labels. ``outside_mm`` is the distance to the nearest nodule (negative: inside;
    null: the case has none).
    """
    shared = first.cases.join(second.cases, on="case_id", how="semi", maintain_order="left")
    references = [
        reference.restricted(shared["case_id"], "shared cases") for reference in (first, second)
    ]
    marks = submission.marks.join(shared, on="case_id", how="semi", maintain_order="left")
    restricted = Submission(submission.name, marks)
    labels = []
    for reference in references:
        labelled = label_marks(reference, restricted, protocol, protocol.rules[0])
        best = np.full(restricted.marks.height, len(LABEL_NAMES) - 1, dtype=np.int64)
        np.minimum.at(best, labelled.mark, labelled.label)
        labels.append(best)
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
    first_reference, second_reference = (read_reference(path) for path in (first, second))
    submission = read_submission(marks, first_reference.cases)
    return flipped_marks(first_reference, second_reference, submission, load_protocol(protocol))


def _outside_mm(reference: Reference, marks: pl.DataFrame) -> FloatArray:
    """Distance of each mark to the nearest surface of a measured nodule; NaN without any."""
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
