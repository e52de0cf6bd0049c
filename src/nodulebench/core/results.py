"""What we compute: Estimate, Curve, Evaluation. Frozen; nothing is cached on them."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import polars as pl
from pydantic import Field

from nodulebench.core.arrays import FloatArray
from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.documents.notice_field import Method, Reason
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.tables import Reference, Submission

if TYPE_CHECKING:
    from nodulebench.core.plans import PlanOutcome


@dataclass(frozen=True, slots=True)
class GuardedInterval:
    """The interval of the verdicts, in addition to one that was requested by another method."""

    low: float | None = None
    high: float | None = None
    method: Method = None
    """How it was made."""
    reason: Reason = None
    """Why there is none, or what must be known of it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric with its interval; undefined is ``None`` with the reason, never 0."""

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    method: Method = None
    """How the interval was made."""
    reason: Reason = None
    mean: float | None = None
    """Mean of the bootstrap replicates, where there are any."""
    others: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Intervals by other methods: their name -> (low, high)."""
    sound: GuardedInterval | None = None
    """The guarded interval, where ``low`` and ``high`` are by another method."""

    @property
    def soundly(self) -> "Estimate":
        """The same with the interval that may be relied on; the other one is among ``others``."""
        if self.sound is None:
            return self
        others = dict(self.others)
        if self.low is not None and self.high is not None and self.method is not None:
            others = {self.method.code: (self.low, self.high), **others}
        sound = self.sound
        return replace(
            self,
            low=sound.low,
            high=sound.high,
            method=sound.method,
            reason=sound.reason,
            others=others,
            sound=None,
        )

    def __str__(self) -> str:
        """As 0.842 (0.813–0.869), or a dash where it is undefined."""
        if self.value is None:
            return "–"
        shown = self.soundly
        if shown.low is None or shown.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ({shown.low:.3f}–{shown.high:.3f})"

    @property
    def signed(self) -> str:
        """A difference as +0.012 (-0.003 to +0.027)."""
        if self.value is None:
            return "–"
        if self.low is None or self.high is None:
            return f"{self.value:+.3f}"
        return f"{self.value:+.3f} ({self.low:+.3f} to {self.high:+.3f})"

    def to_json(self) -> JsonObject:
        if self.value is None:
            return {"value": None, "reason": self.reason and self.reason.to_json()}
        shown: JsonObject = {"value": self.value}
        for name in ("low", "high", "mean", "level"):
            number = getattr(self, name)
            if number is not None:
                shown[name] = number
        if self.method:
            shown["method"] = self.method.to_json()
        if self.others:
            shown["others"] = {name: list(bounds) for name, bounds in self.others.items()}
        if self.reason:
            shown["reason"] = self.reason.to_json()
        if self.sound:
            bounds = (
                {} if self.sound.low is None else {"low": self.sound.low, "high": self.sound.high}
            )
            parts = {"method": self.sound.method, "reason": self.sound.reason}
            stated = {name: part.to_json() for name, part in parts.items() if part}
            shown["sound"] = {**bounds, **stated}
        return shown


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve by its points: the values on each axis, and the score threshold of each point."""

    name: str
    x_name: str
    y_name: str
    x: FloatArray
    y: FloatArray
    threshold: FloatArray

    def table(self, algorithm: str, rule: str) -> pl.DataFrame:
        return pl.DataFrame({"x": self.x, "y": self.y, "threshold": self.threshold}).select(
            pl.lit(algorithm).alias("algorithm"),
            pl.lit(rule).alias("rule"),
            pl.lit(self.name).alias("curve"),
            "x",
            "y",
            "threshold",
        )


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of the cohort: how many nodules it has and how many were missed."""

    nodules: int
    """Nodules of the stratum."""
    missed: int | None
    """Of these missed; null where so few are not disclosed."""
    miss_rate: Estimate
    """The share of them."""
    is_too_few: Annotated[bool, Field(alias="too_few")]
    """Whether it has fewer nodules than the protocol's ``minimum_stratum``."""
    cases: int | None = None
    """How many cases it has, where the stratum is one of whole cases."""
    metrics: dict[str, Estimate] = field(default_factory=dict)
    """Metrics on only these cases, or on all cases with only these nodules."""

    def to_json(self) -> JsonObject:
        shown: JsonObject = {
            "nodules": self.nodules,
            "missed": self.missed,
            "miss_rate": self.miss_rate.to_json(),
            "too_few": self.is_too_few,
        }
        if self.cases is not None:
            shown["cases"] = self.cases
        if self.cases is not None or self.metrics:
            shown["metrics"] = {name: metric.to_json() for name, metric in self.metrics.items()}
        return shown


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Where everything that no curve gives is read."""

    fp_per_case: float | None
    """As many false positives per case as were asked for, there may be fewer; null: none were, and
    the threshold is the one that the algorithm declares."""
    threshold: float | None
    """The lowest score that counts; null where so few are reached by no score, or not disclosed."""


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One algorithm under one rule."""

    rule: str
    parameters: JsonObject
    counts: dict[str, int]
    metrics: dict[str, Estimate | dict[str, Estimate]]
    strata: dict[str, dict[str, Stratum]] = field(default_factory=dict)
    curves: tuple[Curve, ...] = ()
    extras: JsonObject = field(default_factory=dict)
    """Tables that belong to the rule: size-tolerance sweep, confusion matrix, order sensitivity."""
    notices: tuple[Notice, ...] = ()
    remarks: tuple[Notice, ...] = ()
    """How the rule was applied; nothing a reader must know before the numbers."""
    undefined: Notice | None = None
    """Why the rule could not be applied at all."""
    operating_point: OperatingPoint | None = None
    """Where it is read; None: every mark counts."""
    cohort: LabelledCohort | None = field(default=None, compare=False, repr=False)
    """What the metrics saw, for the tables of single nodules and marks."""


@dataclass(frozen=True, slots=True)
class AlgorithmResult:
    """One algorithm under every rule of the protocol."""

    name: str
    digest: str
    rules: dict[str, RuleResult]
    labels: pl.DataFrame
    flips: pl.DataFrame | None = None
    rule_differences: list[JsonObject] = field(default_factory=list)
    facts: JsonObject = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    submission: Submission | None = None
    """The marks that were evaluated; stored with the results so that they can be recomputed."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that one evaluation found, with the digests that tie it to its inputs."""

    version: str
    protocol: TestProtocol
    digests: dict[str, str]
    reference: JsonObject
    algorithms: tuple[AlgorithmResult, ...]
    notices: tuple[Notice, ...] = ()
    test_set: Reference | None = None
    """The tables of the test set; stored with the results so that they can be recomputed."""
    plan: "PlanOutcome | None" = None
    """What came of the plan, where the test was made under one."""
