"""nodulebench.evaluate and compare: marks and a reference in any form -> a Result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import polars as pl

from nodulebench.api.inputs import reference_of, submissions_of
from nodulebench.api.results import Result, as_pandas, text_table
from nodulebench.core.documents.comparison import ComparisonDocument
from nodulebench.core.errors import InputError
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.plans import TestPlan
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.results import Evaluation
from nodulebench.core.tables import without_images
from nodulebench.evaluation.comparison.compare import (
    PERMUTATIONS,
    ComparisonChoice,
    compare_algorithms,
)
from nodulebench.evaluation.comparison.service import comparison_document, gate_of, side_by_side
from nodulebench.evaluation.evaluate import evaluate as evaluate_tables
from nodulebench.evaluation.plans import evaluated_under
from nodulebench.evaluation.recompute import Evaluated, evaluated_of, load_unchanged
from nodulebench.evaluation.service import EvaluateOptions, choose_protocol, with_options
from nodulebench.evaluation.service import evaluate_files as evaluate_with_options
from nodulebench.report.csv_tables import differences_table
from nodulebench.report.pages.cells import html_table

if TYPE_CHECKING:
    import pandas as pd


class ProtocolOptions(TypedDict, total=False):
    """The values of a protocol that a call may change."""

    bootstraps: int | None
    seed: int | None
    at_fp: float | None


def evaluate(
    reference: Any,
    marks: Any = None,
    protocol: TestProtocol | str | PathLike[str] | None = None,
    progress: Callable[[str], object] | None = None,
    *,
    cases: Any = None,
    plan: str | PathLike[str] | None = None,
    **options: Unpack[ProtocolOptions],
) -> Result:
    """Evaluate the marks of one or several algorithms against a reference under a protocol.

    A table is a frame of polars or pandas, a structured array, or a dict of columns, with the
    columns of MARKS or NODULES or those of LUNA16's files; it is checked as a file would be.

    Args:
        reference: a path, a ``Reference``, or a table of nodules (then give ``cases``).
        marks: a path, a ``Submission`` or a table; several in a list, or by name in a dict.
        protocol: a name, a TOML file or a ``TestProtocol``; by default luna16, or the plan's.
        progress: called with the name of each algorithm before it is evaluated.
        cases: every case that was tested: a list of ``case_id``, a table or a file.
        plan: a frozen test plan; the result then has its verdict.
        options: values instead of the protocol's: ``bootstraps``, the number of resamples;
            ``seed``, their seed; ``at_fp``, false positives per case at which recall, precision
            and the like are read.

    Raises:
        InputError: with every problem, by the name of the argument or the line of the file.
        UnknownNameError: if there is no such protocol, rule or metric.
    """
    if marks is None:
        raise InputError.at("marks", "are missing.", "Give a path, a table, or several.")
    chosen, frozen = _protocol(protocol, plan, options)
    read = reference_of(reference, cases)
    submissions = submissions_of(marks, read.cases)
    truth = replace(read, cases=without_images(read.cases))
    evaluation = evaluate_tables(truth, submissions, chosen, _by_name(progress))
    return Result.of(evaluation if frozen is None else evaluated_under(frozen, evaluation))


def evaluate_files(
    marks: Sequence[Path],
    reference: Path,
    protocol: str | None = None,
    *,
    progress: Callable[[str], object] | None = None,
    **options: Any,
) -> tuple[Result, list[Path]]:
    """Read, evaluate and, with ``out``, write, as the command ``evaluate`` does.

    Args:
        marks: one file or folder per algorithm.
        reference: the test set.
        protocol: a name or a TOML file; by default luna16, or the plan's.
        progress: called with the name of each algorithm before it is evaluated.
        options: the other fields of ``EvaluateOptions``: ``plan``, ``series``, ``cases``, ``out``…

    Returns:
        The result and the files written.
    """
    chosen = EvaluateOptions(marks=tuple(marks), reference=reference, protocol=protocol, **options)
    evaluation, written = evaluate_with_options(chosen, progress=_by_name(progress))
    return Result.of(evaluation), written


def _by_name(progress: Callable[[str], object] | None) -> Progress:
    return no_progress if progress is None else lambda what, _done, _of: progress(what)


def _protocol(
    protocol: TestProtocol | str | PathLike[str] | None,
    plan: str | PathLike[str] | None,
    options: ProtocolOptions,
) -> tuple[TestProtocol, TestPlan | None]:
    if not isinstance(protocol, TestProtocol):
        name = None if protocol is None else fspath(protocol)
        frozen = None if plan is None else Path(plan)
        return choose_protocol(name, frozen, **options)
    if plan is not None:
        raise InputError.at("protocol", "is fixed by the plan.", "Give only one of the two.")
    return with_options(protocol, **options), None


HEADS = ("algorithm", "rule", "metric", "difference")
Given = Evaluation | str | PathLike[str]


@dataclass(frozen=True, repr=False, slots=True)
class Compared:
    """The result of ``compare``. Tables are polars frames."""

    document: ComparisonDocument
    """The content of comparison.json."""
    is_no_worse: bool | None
    """Whether every metric is shown to be within the margin; None: no margin was given."""

    def differences(self) -> pl.DataFrame:
        """Every difference from the baseline, with its interval, P values and margin."""
        return differences_table([self.document])

    def to_pandas(self) -> "pd.DataFrame":
        """``differences()`` as a frame of pandas, which must be installed."""
        return as_pandas(self.differences())

    def __repr__(self) -> str:
        return text_table(f"<Compared: {self._title()}>", HEADS, self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._title(), HEADS, self._rows())

    def _title(self) -> str:
        words = {None: "", True: "; shown to be no worse", False: "; not shown to be no worse"}
        return f"differences from {self.document.baseline}{words[self.is_no_worse]}"

    def _rows(self) -> list[list[str]]:
        return [
            [difference.algorithm, difference.rule, difference.metric, difference.difference.signed]
            for difference in self.document.differences
            if difference.point is None
        ]


def compare(
    new: Given,
    old: Given | None = None,
    *,
    baseline: str | None = None,
    metrics: tuple[str, ...] = (),
    margin: float | None = None,
    bootstraps: int | None = None,
    permutations: int = PERMUTATIONS,
) -> Compared:
    """Compare two results with each other, or the algorithms of one result with one of them.

    Args:
        new: a result, or the folder it was written to.
        old: the result with which it is compared, of the same test set and protocol.
        baseline: without ``old``: the algorithm with which the others are compared.
        metrics: the metrics; by default those of the protocol.
        margin: the largest loss that does not matter; it applies to ``metrics``, by default to the
            CPM or the protocol's first metric that is better when higher.
        bootstraps: the number of paired resamples; by default the protocol's.
        permutations: the number of random swaps of each permutation test; 0: none.

    Raises:
        InputError: if there is nothing to compare, or test set or protocol differ.
        UnknownNameError: if there is no such algorithm or metric.
    """
    if (old is None) == (baseline is None):
        raise InputError.at("old", "and baseline exclude each other.", "Give one of the two.")
    evaluated = _evaluated(new)
    if old is not None:
        evaluated, _, baseline = side_by_side(evaluated, _evaluated(old))
    choice = ComparisonChoice(baseline or "", metrics, margin, bootstraps, permutations)
    comparison = compare_algorithms(evaluated.cohorts, evaluated.protocol, choice)
    return Compared(
        comparison_document(comparison, evaluated),
        None if margin is None else gate_of(comparison).is_met,
    )


def _evaluated(given: Given) -> Evaluated:
    return evaluated_of(given) if isinstance(given, Evaluation) else load_unchanged(Path(given))
