"""One algorithm under one rule -> its figures, strata and tables, in parts that anybody can do.

A part is made by the same calls whoever makes it, and the result is put together by name, so that
every engine with any number of workers gives the same to the last bit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.errors import InputError, NoduleBenchError
from nodulebench.core.executor import Engine, Lost, Terms
from nodulebench.core.labels import LABEL_NAMES, Labels
from nodulebench.core.notices import Notice
from nodulebench.core.progress import Progress
from nodulebench.core.protocol import RuleChoice, SizeLimit, TestProtocol
from nodulebench.core.results import OperatingPoint, RuleResult
from nodulebench.evaluation.divisions import strata_notices
from nodulebench.evaluation.errors import error_analysis
from nodulebench.evaluation.estimates import estimate_all
from nodulebench.evaluation.extras import (
    figure_curves,
    figure_tables,
    matching_order,
    size_sweep,
)
from nodulebench.evaluation.strata import estimate_strata
from nodulebench.i18n.translator import english

TERMS = Terms(seconds=24 * 3600.0, memory_bytes=None, preload=(__name__,))
PLENTY = 4
"""So many rules for each worker keep all of them busy; of fewer, the parts are given out."""


@dataclass(frozen=True, eq=False)
class RuleTask:
    """What the parts of a rule's result are made of."""

    algorithm: str
    cohort: LabelledCohort
    protocol: TestProtocol
    choice: RuleChoice
    labels: Labels
    """Of the marks that count at the operating point."""
    parts: tuple[str, ...] = ()


PARTS: dict[str, Callable[[RuleTask], Any]] = {
    "figures": lambda task: estimate_all(task.cohort, task.protocol),
    "strata": lambda task: estimate_strata(task.cohort, task.protocol),
    "sizes": lambda task: size_sweep(task.cohort, task.protocol, task.choice),
    "curves": lambda task: figure_curves(task.cohort, task.protocol),
    "tables": lambda task: figure_tables(task.cohort, task.protocol),
    "errors": lambda task: error_analysis(task.cohort, task.protocol),
}
DEAR = (("figures",), ("strata",), ("sizes", "curves", "tables", "errors"))
"""What is given out apart: draws of the bootstrap make the first two."""


def evaluate_rules(
    tasks: Sequence[RuleTask], engine: Engine, progress: Progress
) -> list[RuleResult]:
    """The results of algorithms under rules, in the order of the tasks.

    Raises:
        InputError: if whoever made a part was lost.
    """
    is_plenty = engine.workers == 1 or len(tasks) >= PLENTY * engine.workers
    shares = (tuple(PARTS),) if is_plenty else DEAR
    given = [replace(task, parts=parts) for task in tasks for parts in shares]
    found: list[dict[str, Any]] = [{} for _ in tasks]
    for number, made in _told(engine, given, progress):
        found[number // len(shares)] |= made
    return [_result(task, parts) for task, parts in zip(tasks, found, strict=True)]


def _told(
    engine: Engine, given: Sequence[RuleTask], progress: Progress
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Parts as they come; which task is begun then is told."""
    for task in given[:1]:
        progress(task.algorithm, 0, len(given))
    for done, (number, made) in enumerate(engine.map(make_parts, given, TERMS), 1):
        task = given[number]
        if isinstance(made, Lost):
            where = f"submission '{task.algorithm}' rule '{task.choice.name}'"
            what = f"could not be evaluated: {english(made.why)}."
            raise InputError.at(where, what, "Try it with --workers 1, which needs less memory.")
        if isinstance(made, NoduleBenchError):
            raise made
        yield number, made
        if done < len(given):
            progress(given[done].algorithm, done, len(given))


def make_parts(task: RuleTask) -> dict[str, Any] | NoduleBenchError:
    """Some parts of a result, by their names; or what is wrong."""
    try:
        return {name: PARTS[name](task) for name in task.parts}
    except NoduleBenchError as error:
        return error


def _result(task: RuleTask, parts: Mapping[str, Any]) -> RuleResult:
    cohort, protocol, labels = task.cohort, task.protocol, task.labels
    counts = _counts(cohort, labels, protocol.size_limit)
    sizes, size_curves = parts["sizes"]
    return RuleResult(
        rule=task.choice.name,
        parameters=dict(task.choice.parameters),
        counts=counts,
        figures=parts["figures"].figures,
        strata=parts["strata"],
        curves=(*parts["figures"].curves, *parts["curves"], *size_curves),
        extras={**parts["tables"], **matching_order(labels), **sizes, **parts["errors"]},
        notices=(
            *labels.notices,
            *_cap_notices(counts["over_cap"], protocol),
            *strata_notices(cohort, protocol),
        ),
        remarks=labels.remarks,
        operating_point=_operating_point(cohort, protocol),
        cohort=cohort,
    )


def _operating_point(cohort: LabelledCohort, protocol: TestProtocol) -> OperatingPoint | None:
    threshold = cohort.threshold
    if threshold is None:
        return None
    return OperatingPoint(protocol.operating_point, threshold if isfinite(threshold) else None)


def _counts(cohort: LabelledCohort, labels: Labels, limit: SizeLimit | None) -> dict[str, int]:
    """Nodules hit and missed, and marks by label as the official program counts them."""
    return {
        "cases": cohort.case_count,
        "nodules": cohort.nodule_count,
        "hit": cohort.nodule_count - cohort.missed_count,
        "missed": cohort.missed_count,
        "marks": cohort.submission.marks.height,
        **{name: labels.count(number) for number, name in enumerate(LABEL_NAMES) if number},
        **(
            {}
            if limit is None
            else {"fp_oe": len(labels.overestimated), "fn_ue": len(labels.underestimated)}
        ),
    }


def _cap_notices(count: int, protocol: TestProtocol) -> tuple[Notice, ...]:
    if not count:
        return ()
    values = {"count": count, "cap": protocol.mark_cap, "ties": protocol.ties}
    return (Notice("marks_over_cap", values),)
