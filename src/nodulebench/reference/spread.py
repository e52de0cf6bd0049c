"""Readings + submission + protocol -> how much its score depends on how the readers are heard."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import polars as pl

from nodulebench.core.notices import Notice
from nodulebench.core.progress import Progress, untold
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.protocols import load_protocol
from nodulebench.core.readings import Readings
from nodulebench.core.results import Estimate
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.service import with_options
from nodulebench.i18n.translator import english
from nodulebench.io.case_lists import read_case_list
from nodulebench.io.formats import read_submission
from nodulebench.io.readings import read_readings
from nodulebench.io.table_files import write_table
from nodulebench.reference.panel import measure_findings
from nodulebench.reference.variants import by_agreement, by_rule, leave_one_reader_out

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
    figure: str = "cpm",
    progress: Progress = untold,
) -> pl.DataFrame:
    """One figure of a submission under each reference, by the protocol's first rule.

    Returns:
        One row per reference: its name, nodules, hit, false_positive and ignored counts, the value
        of the figure, and the reason where it is undefined.
    """
    rows = []
    for number, (name, reference) in enumerate(references):
        progress(f"scoring under {name}", number, 0)
        judged = evaluate(reference, [submission], protocol).algorithms[0]
        result = judged.rules[protocol.rules[0].name]
        found = result.figures.get(figure)
        estimate = (
            found if isinstance(found, Estimate) else Estimate(None, reason=Notice("not_computed"))
        )
        counts = {key: result.counts.get(key) for key in _SPREAD if key in result.counts}
        rows.append(
            {
                "reference": name,
                **counts,
                "value": estimate.value,
                "reason": english(why) if (why := result.undefined or estimate.reason) else "",
            }
        )
    return pl.DataFrame(rows, schema=_SPREAD)


def spread_files(
    source: Path,
    marks: Path,
    protocol: str = "luna16",
    figure: str = "cpm",
    *,
    series: Path | None = None,
    cases: Path | None = None,
    skips_bad_files: bool = False,
    out: Path | None = None,
    progress: Progress = untold,
) -> pl.DataFrame:
    """Score the marks of a file under all variants of the reference that readings make.

    With ``out``, writes the table as CSV, with the algorithm's name and the figure.
    """
    readings = read_readings(
        source,
        cases=cases,
        series=None if series is None else read_case_list(series),
        skips_bad_files=skips_bad_files,
    )
    submission = read_submission(marks, readings.cases)
    table = score_under(
        reference_variants(readings),
        submission,
        with_options(load_protocol(protocol), bootstraps=0),
        figure,
        progress,
    )
    if out is not None:
        named = (pl.lit(submission.name).alias("algorithm"), pl.lit(figure).alias("figure"))
        write_table(table.select(*named, pl.all()), out)
    return table
