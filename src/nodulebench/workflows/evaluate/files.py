"""Files -> Evaluation -> files: what ``nodulebench evaluate`` does."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from nodulebench.errors import InputError, Problem
from nodulebench.formats import read_reference, read_submission
from nodulebench.formats.marks.luna16_csv import read_series
from nodulebench.model.protocol import TestProtocol
from nodulebench.model.results import Evaluation
from nodulebench.model.tables import LABELS, Reference, Submission, without_images
from nodulebench.protocols import load_protocol
from nodulebench.report.document import evaluation_document
from nodulebench.report.html_page.html import render_html
from nodulebench.storage.manifest import SIGNATURE, listed_files, write_manifest
from nodulebench.storage.staging import staged_folder
from nodulebench.workflows.evaluate.evaluate import evaluate
from nodulebench.workflows.evaluate.result_folder import (
    EVALUATION,
    INPUTS,
    LABEL_FILE,
    write_document,
    write_inputs,
)

if TYPE_CHECKING:
    from nodulebench.model.plan import TestPlan

CURVE_FILE, FLIP_FILE = "curves.parquet", "flips.parquet"
PLAN = "plan.json"
"""The plan of the test beside its results, where there was one."""


def evaluate_files(
    marks: tuple[Path, ...],
    reference: Path,
    protocol: str | None = None,
    *,
    plan: Path | None = None,
    series: Path | None = None,
    cases: Path | None = None,
    candidates: Path | None = None,
    bootstraps: int | None = None,
    seed: int | None = None,
    out: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Evaluation, list[Path]]:
    """Read, evaluate and, with ``out``, write; nothing is written if anything is wrong.

    The protocol is the plan's where there is a plan, else the one named, else ``luna16``.

    Returns:
        The evaluation and the files written.
    """
    chosen, frozen = choose_protocol(protocol, plan, bootstraps=bootstraps, seed=seed)
    truth = read_reference(reference, cases=cases)
    if series is not None:
        truth = truth.restricted(read_series(series), series.name)
    submissions = [read_submission(path, truth.cases) for path in marks]
    truth = replace(truth, cases=without_images(truth.cases))
    if candidates is not None:
        submissions = keep_to_candidates(submissions, candidates, truth)
    evaluation = evaluate(truth, submissions, chosen, progress)
    if frozen is not None:
        from nodulebench.workflows.plan.judge import evaluated_under

        evaluation = evaluated_under(frozen, evaluation)
    return evaluation, [] if out is None else write_evaluation(evaluation, out)


def choose_protocol(
    protocol: str | None,
    plan: Path | None,
    *,
    bootstraps: int | None = None,
    seed: int | None = None,
) -> "tuple[TestProtocol, TestPlan | None]":
    """The protocol of a test, and its frozen plan where there is one."""
    if plan is not None:
        frozen = _read_plan(plan, protocol, bootstraps, seed)
        return frozen.protocol, frozen
    named = load_protocol(protocol or "luna16")
    return with_options(named, bootstraps=bootstraps, seed=seed), None


def _read_plan(
    path: Path, protocol: str | None, bootstraps: int | None, seed: int | None
) -> "TestPlan":
    """A frozen plan, whose protocol no option may change."""
    from nodulebench.workflows.plan.freeze import read_plan

    plan = read_plan(path)
    planned = plan.protocol
    differing = []
    if protocol is not None and load_protocol(protocol).digest != planned.digest:
        differing.append(f"the protocol '{planned.name}', not '{protocol}'")
    if bootstraps not in (None, planned.interval.bootstraps):
        differing.append(f"{planned.interval.bootstraps} bootstraps, not {bootstraps}")
    if seed not in (None, planned.seed):
        differing.append(f"the seed {planned.seed}, not {seed}")
    if differing:
        raise InputError(
            Problem(str(path), f"fixes {what}.", "Leave the option out, or the plan.")
            for what in differing
        )
    return plan


def keep_to_candidates(
    submissions: list[Submission], candidates: Path, reference: Reference
) -> list[Submission]:
    """Submissions to the false-positive-reduction track: each mark scores a listed candidate.

    A candidate without a mark counts as not shown and is told in a notice.

    Raises:
        InputError: for marks that are no candidates, and candidates scored more than once.
    """
    from nodulebench.formats.marks.luna16_candidates import check_candidate_track, read_candidates

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
    """Write evaluation.json, the tables and the report into a folder, all or nothing.

    The manifest names every file with its digest; those of an older run in the same folder are
    removed.
    """
    document = evaluation_document(evaluation)
    tables = result_tables(evaluation)
    older = listed_files(out)
    with staged_folder(out, last=EVALUATION) as stage:
        for name, table in tables.items():
            table.write_parquet(stage / name, compression="lz4", statistics=False)
        write_inputs(evaluation, stage / INPUTS)
        write_document(document, stage / EVALUATION)
        page = render_html(document, tables[CURVE_FILE], tables.get(FLIP_FILE))
        (stage / "report.html").write_text(page, encoding="utf-8")
        if evaluation.plan is not None:
            from nodulebench.workflows.plan.freeze import write_plan

            write_plan(evaluation.plan.plan, stage / PLAN)
        listed = write_manifest(stage).files
        names = sorted(path.name for path in stage.iterdir())
    for name in (*(older - listed.keys()), SIGNATURE):  # those of an older run in the same place
        (out / name).unlink(missing_ok=True)
    return [out / name for name in names]


def result_tables(evaluation: Evaluation) -> dict[str, pl.DataFrame]:
    """The tables that an evaluation found, by their files: labels, curves, and flips if any."""
    labels = [one.labels for one in evaluation.algorithms if one.labels.width]
    flips = [one.flips for one in evaluation.algorithms if one.flips is not None]
    return {
        LABEL_FILE: pl.concat(labels) if labels else LABELS.empty(),
        CURVE_FILE: _curves(evaluation),
        **({FLIP_FILE: pl.concat(flips)} if flips else {}),
    }


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
