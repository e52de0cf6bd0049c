"""The records of a document: the test set, each algorithm under each rule, the plan."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, WrapValidator, with_config
from typing_extensions import TypedDict

from nodulebench.core.documents.notice_field import NoticeField, Reason
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.results import Estimate, OperatingPoint, Stratum


def as_json(value: Any) -> Any:
    """A value as JSON knows it: records as dictionaries, tables as rows, arrays as lists.

    A record that has a ``to_json`` says itself what is shown of it. JSON has no infinity and no
    NaN: they become ``"inf"``, ``"-inf"`` and null.

    Raises:
        TypeError: for a kind of value that has no place in a document.
    """
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            if math.isfinite(value):
                return value
            return None if math.isnan(value) else "inf" if value > 0 else "-inf"
        case dict():
            return {str(key): as_json(item) for key, item in value.items()}
        case list() | tuple():
            return [as_json(item) for item in value]
        case pl.DataFrame():
            return [as_json(row) for row in value.iter_rows(named=True)]
        case np.ndarray() | np.generic():
            return as_json(value.tolist())
        case BaseModel():
            return as_json(value.model_dump())
    if hasattr(value, "to_json"):
        return as_json(value.to_json())
    if is_dataclass(value):
        return record(value)
    raise TypeError(f"a {type(value).__name__} has no place in a document")


def record(value: Any) -> JsonObject:
    """Every field of a record by its name, in their order."""
    return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}


Verdict = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True, slots=True)
class DiameterHistogram:
    """How many nodules there are of each size."""

    from_mm: float
    """Where the first size of the histogram starts."""
    width_mm: float
    """Width of each of its bins."""
    counts: tuple[int, ...]
    """Nodules to find in each bin."""
    peak_mm: float
    """Upper edge of the fullest bin."""
    expected: tuple[float, ...]
    """Nodules in each bin by the exponential that fits those above the peak; empty with too few."""


@dataclass(frozen=True, slots=True)
class ReferenceSummary:
    """The test set."""

    name: str
    """Name of the test set."""
    cases: int
    """Cases tested."""
    patients: int | None = None
    """Patients; a case without one is its own."""
    findings: int | None = None
    """Rows of NODULES, ignored ones included."""
    ignored_findings: int | None = None
    """Findings on which a mark counts neither way."""
    rule: str = ""
    """How it was made of the readers' findings, as it says itself; empty: it does not."""
    diameters: DiameterHistogram | None = None
    """Histogram of the diameters, where any is known."""


class CaseErrors(TypedDict):
    """A case among the worst."""

    case_id: str
    """The case."""
    nodules: int
    """Nodules to find in it."""
    missed: int
    """Of these missed."""
    false_positive: int
    """False positives in it."""


class WorstCases(TypedDict):
    """The cases with most errors, the worst first."""

    missed: list[CaseErrors]
    """By nodules missed."""
    false_positive: list[CaseErrors]
    """By false positives."""


class CrossedCount(TypedDict):
    """Nodules and misses of one type and size."""

    type: str
    """The type."""
    size: str
    """The size."""
    nodules: int
    """Nodules of both."""
    missed: int
    """Of these missed."""


@with_config(ConfigDict(extra="allow"))
class Extras(TypedDict, total=False):
    """Tables that belong to a rule; metrics from outside may add their own."""

    order_sensitivity: dict[str, int]
    """Hits when nodules are matched in the reference's order, in reverse, and as many as
    possible."""
    size_tolerance: JsonObject
    """Counts, sensitivity and false positives for each tolerance of the sweep, and the tolerances
    beyond which they no longer change."""
    density_confusion: list[JsonObject]
    """Stated against true density class."""
    reliability: list[JsonObject]
    """Stated probability against observed share of malignant nodules."""
    malignancy_cuts: list[JsonObject]
    """Sensitivity and specificity at each cut of the malignancy grades."""
    category_cuts: list[JsonObject]
    """Nodules above and below each cut of the Lung-RADS categories, by the truth and by the
    statement of the algorithm."""
    misses_by_type_and_size: list[CrossedCount]
    """Nodules and misses for each type and size, where the protocol asks for both."""
    worst_cases: WorstCases
    """The ten cases with most misses, and with most false positives."""


def _as_it_is(value: Any, check: Callable[[Any], Any]) -> Any:
    """The value itself, once it is checked: its keys keep their order."""
    check(value)
    return value


Metrics = dict[str, Estimate | dict[str, Estimate]]


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """One algorithm under one rule."""

    undefined: Reason = None
    """Why the rule could not be applied; then nothing else is there."""
    parameters: JsonObject = field(default_factory=dict)
    """Parameters that differ from the rule's defaults."""
    counts: dict[str, int] = field(default_factory=dict)
    """``cases`` and ``nodules`` of the test set; nodules ``hit`` and ``missed``; ``marks`` on its
    cases, and of these: ``false_positive``, ``duplicate`` (further marks on a nodule that do not
    count), ``ignored`` (on ignored findings), ``over_cap`` (beyond the cap of their case),
    ``uncounted`` (below the score threshold, or in a cell of the size table that does not count);
    with a size limit also ``fp_oe`` (false positives by over-estimated size) and ``fn_ue`` (nodules
    lost by under-estimated size)."""
    metrics: Metrics = field(default_factory=dict)
    """Metric -> an estimate, or an estimate for each operating point."""
    strata: dict[str, dict[str, Stratum]] = field(default_factory=dict)
    """Division -> stratum -> its misses."""
    extras: Annotated[Extras, WrapValidator(_as_it_is)] = field(default_factory=lambda: Extras())
    """Tables that belong to the rule."""
    notices: tuple[NoticeField, ...] = ()
    """What a reader must know before the rule's numbers."""
    remarks: tuple[NoticeField, ...] = ()
    """How the rule was applied: regions, overlap of the hits."""
    operating_point: OperatingPoint | None = None
    """Where everything that no curve gives is read; not there: every mark counts."""

    def metric(self, name: str) -> Estimate | None:
        """A metric by its name, or one reading of it by ``metric/point``."""
        metric, _, point = name.partition("/")
        estimate = self.metrics.get(metric)
        if isinstance(estimate, dict):
            return estimate.get(point)
        return None if point else estimate

    def value(self, name: str) -> float | None:
        """The value of such a metric, where it is defined."""
        estimate = self.metric(name)
        return None if estimate is None else estimate.value

    def readings(self, name: str) -> dict[str, Estimate]:
        """A metric by the points at which it is read; nothing if it is not read at several."""
        estimates = self.metrics.get(name)
        return estimates if isinstance(estimates, dict) else {}

    @property
    def single_metrics(self) -> dict[str, Estimate]:
        """The metrics that are one number."""
        return {
            name: metric for name, metric in self.metrics.items() if isinstance(metric, Estimate)
        }

    def to_json(self) -> JsonObject:
        """The result as written to evaluation.json."""
        if self.undefined:
            return {"undefined": self.undefined.to_json()}
        shown = record(self)
        del shown["undefined"]
        if self.operating_point is None:
            del shown["operating_point"]
        return shown


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """How much the counts change from one rule to another."""

    base_rule: str
    """The rule that the comparison starts from."""
    rule: str
    """The rule compared with it."""
    base_hit: int
    """Nodules hit under the base rule."""
    hit: int
    """Nodules hit under the other."""
    gained: int
    """Hit under the other only."""
    lost: int
    """Hit under the base rule only."""
    base_false_positive: int
    """False positives under the base rule."""
    false_positive: int
    """False positives under the other."""
    marks_changed: int
    """Marks whose label changes."""
    relative_difference: float | None
    """(hit - base_hit) / base_hit, null without base hits."""
    reason: Reason = None
    """Why it is null."""

    def to_json(self) -> JsonObject:
        """The difference as written to evaluation.json."""
        shown = record(self)
        if not self.reason:
            del shown["reason"]
        return shown


@dataclass(frozen=True, slots=True)
class AlgorithmSummary:
    """One algorithm under every rule of the protocol."""

    name: str
    """Name of the algorithm."""
    digest: str
    """SHA-256 of the submission as received."""
    facts: JsonObject
    """What the submission's manifest states."""
    notices: tuple[NoticeField, ...]
    """What was noticed on reading the submission."""
    rules: dict[str, RuleSummary]
    """Rule -> what was found under it."""
    rule_differences: tuple[RuleDifference, ...] = ()
    """Every two rules."""


PRIMARY = "primary"
"""The family of criteria on which the verdict of a plan rests: all have to be met."""


@dataclass(frozen=True, slots=True)
class CriterionSummary:
    """A criterion, and whether one algorithm meets it."""

    algorithm: str
    """The algorithm under test."""
    metric: str
    """The metric; one read at several points is written ``sensitivity_at_fp_rate@1``."""
    rule: str
    """The rule under which it is read."""
    stratum: str
    """A part of the cohort, written ``type=solid``; empty: all of it."""
    bound: Literal["value", "low", "high"]
    """What is compared: the value, or a bound of its interval."""
    comparison: Literal[">=", "<="]
    """How it has to lie to the limit."""
    limit: float
    """What it is compared with."""
    value: float | None
    """The metric found."""
    low: float | None
    """Lower bound of its interval."""
    high: float | None
    """Upper bound."""
    met: bool | None
    """Whether it is met; null: it cannot be decided."""
    reason: Reason
    """Why not."""
    replicates: int | None = None
    """Replicates of the bounds, where the verdict depends on one; null: those of the protocol."""
    p_value: float | None = None
    """One-sided, by inverting the interval, of a criterion that asks for evidence."""
    family: str = PRIMARY
    """What is claimed together; the verdict rests on ``primary``."""
    adjusted_p_value: float | None = None
    """The P value adjusted for the other criteria, of a plan with several families."""


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """What came of a test under a plan, as evaluation.json holds it."""

    digest: str
    """SHA-256 of everything that the plan fixes."""
    name: str
    """Name of the plan."""
    author: str
    """Who stated the criteria."""
    frozen_at: str
    """When it was frozen, UTC."""
    matches: bool
    """Whether protocol, cases and reference standard are the planned ones."""
    differences: tuple[NoticeField, ...]
    """Where they are not; then there is no verdict."""
    criteria: tuple[CriterionSummary, ...]
    """Each criterion for each algorithm."""
    verdict: Verdict
    """``passed`` if every algorithm meets every primary criterion, ``failed`` if one does not,
    ``undecided`` if the data do not decide."""
    verdicts: dict[str, Verdict]
    """The same for each algorithm separately."""
    laboratory: str = ""
    """Who issues the report."""

    @property
    def reason(self) -> Notice | None:
        """Why the verdict is undecided: the reason of the first primary criterion that is.

        None: the verdict is ``passed`` or ``failed``.
        """
        if self.verdict != "undecided":
            return None
        for criterion in self.criteria:
            if criterion.family == PRIMARY and criterion.met is None and criterion.reason:
                return criterion.reason
        return Notice("plan_undecided")
