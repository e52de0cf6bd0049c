"""What ``compare`` and ``report`` do on a sealed test set: work from what was kept of looks."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nodulebench.cli.options import Opening
from nodulebench.cli.terminal import ProgressLine

if TYPE_CHECKING:
    from nodulebench.custody.study_reports import StudyOrder
    from nodulebench.evaluation.comparison.compare import AlgorithmComparison, ComparisonChoice
    from nodulebench.evaluation.report import ReportChoice

Command = TypeVar("Command", bound=Callable[..., Any])


def look_option(command: Command) -> Command:
    """Add --look: which kept results of a sealed set are wanted."""
    return click.option(
        "--look",
        "looks",
        multiple=True,
        help="On a sealed set: an alias or the number of a look; may be repeated.  [default: all]",
    )(command)


def is_sealed_set(folder: Path) -> bool:
    """Whether a folder is a sealed test set."""
    from nodulebench.custody import is_sealed

    return is_sealed(folder)


def study_order(sealed: Path, opening: Opening, looks: tuple[str, ...]) -> "StudyOrder":
    """Which kept results are wanted."""
    from nodulebench.custody.study_reports import StudyOrder

    return StudyOrder(sealed, opening.required(), opening.person, looks)


def compare_on_sealed(
    order: "StudyOrder", choice: "ComparisonChoice", out: Path | None
) -> "tuple[AlgorithmComparison, list[Path]]":
    """Compare algorithms from kept results."""
    from nodulebench.custody.study_reports import compare_stored

    with ProgressLine("comparing"):
        return compare_stored(order, choice, out)


def report_on_sealed(
    order: "StudyOrder", choice: "ReportChoice", out: Path | None, baselines: tuple[str, ...]
) -> list[Path]:
    """Make a report from kept results."""
    from nodulebench.custody.study_reports import report_stored

    if out is None:
        raise click.UsageError("a sealed set needs --out: nothing is written into it")
    with ProgressLine("writing the report"):
        return report_stored(order, choice, out, baselines)
