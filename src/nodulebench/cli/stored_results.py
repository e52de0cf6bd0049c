"""``compare`` and ``report`` on a sealed test set: they use the stored results of evaluations."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from nodulebench.cli.options import OwnKey
from nodulebench.cli.terminal import ProgressLine

if TYPE_CHECKING:
    from nodulebench.custody.study_reports import StudyOptions
    from nodulebench.evaluation.comparison.compare import AlgorithmComparison, ComparisonChoice
    from nodulebench.evaluation.report import ReportChoice

Command = TypeVar("Command", bound=Callable[..., object])


def evaluation_option(command: Command) -> Command:
    """Add --evaluation: the stored results of a sealed set to use."""
    return click.option(
        "--evaluation",
        "evaluations",
        multiple=True,
        help="Stored evaluation to use; may be repeated.  [default: all]",
    )(command)


def is_sealed_set(folder: Path) -> bool:
    from nodulebench.custody import is_sealed

    return is_sealed(folder)


def study_options(sealed: Path, own_key: OwnKey, evaluations: tuple[str, ...]) -> "StudyOptions":
    """The stored results to use, and the key that opens them."""
    from nodulebench.custody.study_reports import StudyOptions

    return StudyOptions(sealed, own_key.required(), evaluations)


def compare_on_sealed(
    order: "StudyOptions", choice: "ComparisonChoice", out: Path | None
) -> "tuple[AlgorithmComparison, list[Path]]":
    from nodulebench.custody.study_reports import compare_stored

    with ProgressLine("comparing"):
        return compare_stored(order, choice, out)


def report_on_sealed(
    order: "StudyOptions", choice: "ReportChoice", out: Path | None, baselines: tuple[str, ...]
) -> list[Path]:
    from nodulebench.custody.study_reports import report_stored

    if out is None:
        raise click.UsageError("a sealed set needs --out: reports are not written into it")
    with ProgressLine("writing the report"):
        return report_stored(order, choice, out, baselines)
