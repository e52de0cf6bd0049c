"""Files -> Evaluation -> files: what ``nodulebench evaluate`` does."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from nodulebench.errors import InputError
from nodulebench.formats import read_reference, read_submission
from nodulebench.formats.folder import staged_folder
from nodulebench.formats.luna16_csv import read_series
from nodulebench.model.protocol import TestProtocol
from nodulebench.model.results import Evaluation
from nodulebench.model.tables import Reference, Submission
from nodulebench.protocols import load_protocol
from nodulebench.report.document import evaluation_document
from nodulebench.report.html import render_html
from nodulebench.workflows.evaluate import evaluate


def evaluate_files(
    marks: tuple[Path, ...],
    reference: Path,
    protocol: str,
    *,
    series: Path | None = None,
    cases: Path | None = None,
    candidates: Path | None = None,
    bootstraps: int | None = None,
    seed: int | None = None,
    out: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Evaluation, list[Path]]:
    """Read, evaluate and, with ``out``, write; nothing is written if anything is wrong.

    Returns:
        The evaluation and the files written.
    """
    chosen = with_options(load_protocol(protocol), bootstraps=bootstraps, seed=seed)
    truth = read_reference(reference, cases=cases)
    if series is not None:
        truth = truth.restricted(read_series(series), series.name)
    submissions = [read_submission(path, truth.cases) for path in marks]
    if candidates is not None:
        submissions = keep_to_candidates(submissions, candidates, truth)
    evaluation = evaluate(truth, submissions, chosen, progress)
    return evaluation, [] if out is None else write_evaluation(evaluation, out)


def keep_to_candidates(
    submissions: list[Submission], candidates: Path, reference: Reference
) -> list[Submission]:
    """Submissions to the false-positive-reduction track: each mark scores a listed candidate.

    A candidate without a mark counts as not shown and is told in a notice.

    Raises:
        InputError: for marks that are no candidates, and candidates scored more than once.
    """
    from nodulebench.formats.luna16_candidates import check_candidate_track, read_candidates

    listed = read_candidates(candidates, reference.cases)
    checked = []
    for submission in submissions:
        check = check_candidate_track(submission, listed)
        if check.unlisted or check.repeated:
            raise InputError(check.problems)
        notice = f"The marks score {check.candidates - check.missing} of the {check.candidates} "
        notice += f"candidates in {candidates.name}."
        checked.append(replace(submission, notices=(*submission.notices, notice)))
    return checked


def with_options(
    protocol: TestProtocol, *, bootstraps: int | None = None, seed: int | None = None
) -> TestProtocol:
    """The protocol as the command line changed it; its digest covers the change."""
    if bootstraps is not None:
        interval = protocol.interval.model_copy(update={"bootstraps": bootstraps})
        protocol = protocol.model_copy(update={"interval": interval})
    if seed is not None:
        protocol = protocol.model_copy(update={"seed": seed})
    return protocol


def write_evaluation(evaluation: Evaluation, out: Path) -> list[Path]:
    """Write evaluation.json, the tables and the report into a folder, all or nothing."""
    document = evaluation_document(evaluation)
    curves = _curves(evaluation)
    flips = [one.flips for one in evaluation.algorithms if one.flips is not None]
    flip_table = pl.concat(flips) if flips else None
    page = render_html(document, curves, flip_table)
    with staged_folder(out) as stage:
        (stage / "evaluation.json").write_text(
            json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False), encoding="utf-8"
        )
        pl.concat([one.labels for one in evaluation.algorithms]).write_parquet(
            stage / "labels.parquet", compression="lz4"
        )
        curves.write_parquet(stage / "curves.parquet")
        if flip_table is not None:
            flip_table.write_parquet(stage / "flips.parquet")
        (stage / "report.html").write_text(page, encoding="utf-8")
        names = sorted(path.name for path in stage.iterdir())
    return [out / name for name in names]


def _curves(evaluation: Evaluation) -> pl.DataFrame:
    empty = pl.DataFrame(
        schema={
            "algorithm": pl.String,
            "rule": pl.String,
            "curve": pl.String,
            "x": pl.Float64,
            "y": pl.Float64,
            "threshold": pl.Float64,
        }
    )
    return pl.concat(
        [
            empty,
            *(
                curve.table(algorithm.name, result.rule)
                for algorithm in evaluation.algorithms
                for result in algorithm.rules.values()
                for curve in result.curves
            ),
        ]
    )
