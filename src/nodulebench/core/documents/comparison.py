"""ComparisonDocument: what comparison.json holds, and the records that statistics fill it with."""

from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from pydantic import Field

from nodulebench.core.documents.notice_field import Method, NoticeField, Reason
from nodulebench.core.documents.records import record
from nodulebench.core.json_types import JsonObject
from nodulebench.core.results import Estimate


@dataclass(frozen=True, slots=True)
class UseGroup:
    """Algorithms that are meant for the same."""

    use: str
    """What they are meant for, as the first of them says it; empty: not stated."""
    types: tuple[str, ...]
    """The nodule types that they are declared for; none: all."""
    algorithms: tuple[str, ...]
    """Their names."""


@dataclass(frozen=True, slots=True)
class MissedNodule:
    """A nodule by its names."""

    case_id: str
    nodule_id: str
    diameter_mm: float | None
    """Null where nobody measured it."""


@dataclass(frozen=True, slots=True)
class MissedByOne:
    """The nodules that one of two algorithms missed, the largest first."""

    algorithm: tuple[MissedNodule, ...]
    """Missed by the algorithm, found by the baseline."""
    baseline: tuple[MissedNodule, ...]
    """Missed by the baseline, found by the algorithm."""


SCHEMA: Final = "nodulebench/comparison@1"
MOST_RESAMPLES = 1_000_000
"""A document that asks for more is refused: recomputing it would take for ever."""
Resamples = Annotated[int, Field(ge=0, le=MOST_RESAMPLES)]


@dataclass(frozen=True, slots=True)
class Significance:
    """The answer of one test."""

    method: NoticeField
    """The test by its full name, with its variant."""
    statistic: float
    p_value: float
    degrees_of_freedom: tuple[float, ...] = ()

    @property
    def mark(self) -> str:
        """``**`` for P <= 0.01, ``*`` for P <= 0.05, else ``ns``."""
        return significance_mark(self.p_value)


def significance_mark(p_value: float) -> str:
    """The mark that the NIFDC box plots print beside a P value."""
    if p_value <= 0.01:
        return "**"
    return "*" if p_value <= 0.05 else "ns"


@dataclass(frozen=True, slots=True)
class Permutation:
    """The difference first - second, and how often swapping labels makes one as large."""

    difference: float
    p_value: float
    """Two-sided."""
    swaps: int
    is_exact: bool
    """Every possible swap was tried; otherwise swaps were drawn at random."""
    method: NoticeField


@dataclass(frozen=True, slots=True)
class MarginTest:
    """Whether a difference keeps within a margin that was fixed before the test."""

    margin: float
    is_non_inferior: bool = False
    """The whole interval lies on the good side of the margin."""
    is_equivalent: bool = False
    """The whole interval lies between minus and plus the margin."""
    is_superior: bool = False
    """The whole interval lies on the good side of zero."""
    non_inferiority_p: float | None = None
    """One-sided P value by the bootstrap."""
    non_inferiority_normal_p: float | None = None
    equivalence_p: float | None = None
    """The larger of two one-sided P values by the bootstrap."""
    equivalence_normal_p: float | None = None
    """Both by the normal approximation; percentile intervals only."""
    method: Method = None
    reason: Reason = None
    """Why it cannot be assessed: no interval, or too few patients even if both were perfect."""

    def to_json(self) -> JsonObject:
        """The test as it stands in comparison.json: what is empty is left out."""
        return {name: value for name, value in record(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Ranked:
    """One line of a leaderboard."""

    name: str
    value: float
    rank: int
    """1 is best; equal values share the better rank."""
    best_rank: int
    """Best rank within the interval of ranks over replicates."""
    worst_rank: int
    """Worst rank within that interval."""
    share_first: float
    """In how many replicates it is first, alone or with others."""
    group: int
    """Algorithms with the same number cannot be told apart from their group's leader."""


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """Mean ± SD of a group, as papers print it."""

    mean: float
    sd: float
    """Sample standard deviation (n - 1)."""
    count: int


@dataclass(frozen=True, slots=True)
class RepeatedMeasures:
    """Repeated-measures analysis of variance, with its correction for lack of sphericity."""

    uncorrected: Significance
    corrected: Significance
    """Degrees of freedom times the Greenhouse-Geisser epsilon."""
    epsilon: float
    """1: spherical; 1 / (conditions - 1): as far from it as can be."""


@dataclass(frozen=True, slots=True)
class PairOfRules:
    """Two rules on the same algorithms, first minus second; an undefined test is None."""

    first: str
    second: str
    mean_difference: float
    unpaired_t: Significance | None
    """As published, without adjustment."""
    paired_t: Significance | None
    paired_t_holm: float | None
    """The paired test's P value, Holm-adjusted over all pairs of rules."""
    wilcoxon: Significance | None
    wilcoxon_holm: float | None


@dataclass(frozen=True, slots=True)
class EffectSummary:
    """What the rules do to one metric of a group of algorithms; an undefined test is null."""

    metric: str
    point: str | None
    """The operating point, of a metric that is read at several."""
    groups: dict[str, GroupSummary] = field(default_factory=dict)
    """Rule -> mean ± SD over the algorithms; nothing but ``reasons`` where there is none."""
    one_way: Significance | None = None
    """As published: the rules as independent groups."""
    repeated: RepeatedMeasures | None = None
    """The same algorithms under each rule."""
    friedman: Significance | None = None
    """The same by ranks."""
    pairs: tuple[PairOfRules, ...] = ()
    """Every two rules."""
    reasons: tuple[NoticeField, ...] = ()
    """Why tests are undefined."""

    def to_json(self) -> JsonObject:
        """The effect as it stands in comparison.json: an undefined one has only its reasons."""
        shown = record(self)
        return shown if self.groups else _only(shown, "metric", "point", "reasons")


@dataclass(frozen=True, slots=True)
class RuleEffectsSummary:
    """What the rules do to all algorithms together."""

    algorithms: tuple[str, ...]
    """Those to which every rule could be applied."""
    baseline_rule: str
    """The rule that relative differences start from."""
    relative_differences: dict[str, dict[str, float | None]]
    """Rule -> algorithm -> (hits - hits under the baseline rule) / the latter; null without any."""
    metrics: tuple[EffectSummary, ...]
    """Each metric, and each point of it, with its tests."""


def _name(self: "DifferenceSummary | RankingSummary") -> str:
    """The metric as reports name it: ``metric`` or ``metric/point``."""
    return f"{self.metric}/{self.point}" if self.point else self.metric


@dataclass(frozen=True, slots=True)
class DifferenceSummary:
    """One algorithm against the baseline in one metric under one rule."""

    rule: str
    metric: str
    point: str | None
    """The operating point, of a metric that is read at several."""
    algorithm: str
    difference: Estimate
    """Algorithm minus baseline; where it is undefined nothing of what follows is there."""
    better: Literal["higher", "lower"] | None = None
    """Which values of the metric are better; null: neither."""
    value: float | None = None
    baseline_value: float | None = None
    """The metric itself, of the algorithm and of the baseline."""
    standard_error: float | None = None
    """Standard deviation of the replicates of the difference."""
    p_value: float | None = None
    """Two-sided, by inverting the interval; 1 where there is none."""
    normal_p_value: float | None = None
    """Two-sided, difference / standard error as a normal deviate; percentile intervals only."""
    adjusted_p_value: dict[str, float] = field(default_factory=dict)
    """The bootstrap P value adjusted over all algorithms and rules, by method."""
    permutation: Permutation | None = None
    """The permutation test, for a metric that is one number."""
    margin: MarginTest | None = None
    """The test against the margin, where one was asked for."""
    undefined_replicates: int = 0
    """Replicates left out because the metric is undefined in them for either algorithm."""
    reason: Reason = None
    """Why there is no permutation test."""
    delong: Significance | None = None
    """DeLong's test (Obuchowski's, of clusters), of an area where both rated the same."""

    name = property(_name)

    @property
    def holm(self) -> float:
        """The P value adjusted by Holm's method."""
        return self.adjusted_p_value["holm"]

    def to_json(self) -> JsonObject:
        """The difference as it stands in comparison.json."""
        named = ("rule", "metric", "point", "algorithm")
        shown = {name: one for name, one in record(self).items() if name != "delong" or one}
        if self.difference.value is None:
            return _only(shown, *named, "difference")
        return {**_only(shown, *named, "better", "value", "baseline_value"), **shown}


@dataclass(frozen=True, slots=True)
class NodulesFound:
    """How many of the nodules that both had to find each of two algorithms found."""

    both: int
    algorithm_only: int
    baseline_only: int
    neither: int


@dataclass(frozen=True, slots=True)
class DetectionSummary:
    """Which nodules one algorithm finds and the baseline does not, under one rule."""

    rule: str
    algorithm: str
    nodules: NodulesFound
    difference: Estimate
    """In sensitivity; where no nodule tells the two apart nothing of what follows is there."""
    tests: dict[str, Significance] = field(default_factory=dict)
    """McNemar's test: exact, and in three forms for clustered nodules."""
    adjusted_p_value: dict[str, float] = field(default_factory=dict)
    """Obuchowski's P value adjusted over all algorithms and rules, by method."""
    missed_by_one: MissedByOne | None = None
    """Which nodules they are; not there where nothing tells the two apart."""

    def to_json(self) -> JsonObject:
        """The comparison as it stands in comparison.json."""
        shown = record(self)
        if self.missed_by_one is None:
            del shown["missed_by_one"]
        return shown if self.tests else _only(shown, "rule", "algorithm", "nodules", "difference")


@dataclass(frozen=True, slots=True)
class RankingSummary:
    """A leaderboard by one metric under one rule."""

    rule: str
    metric: str
    point: str | None
    """The operating point, of a metric that is read at several."""
    lines: tuple[Ranked, ...]
    """From the best down."""
    kendall_tau: Estimate
    """Mean of Kendall's tau-b between this order and the order in each replicate."""
    tie_rule: NoticeField
    """When algorithms count as not separable."""

    name = property(_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonDocument:
    """Several algorithms compared with one of them, as comparison.json holds it."""

    schema: Literal["nodulebench/comparison@1"] = SCHEMA
    """Name and version of this layout."""
    version: str = ""
    """Version of NoduleBench."""
    digests: dict[str, str] = field(default_factory=dict)
    """Those of the evaluation."""
    baseline: str
    """The algorithm that the others are compared with."""
    metrics: tuple[str, ...]
    """The metrics that were asked for; none: those of the protocol."""
    margin: float | None
    """The largest loss that does not matter, where one was stated."""
    level: float
    """Confidence level."""
    bootstraps: Resamples
    """Number of resamples."""
    permutations: Resamples
    """Number of random swaps."""
    seed: int
    """Seed of both."""
    unit: str
    """What is resampled and swapped: patient or case."""
    method: Literal["guarded", "percentile"]
    """How intervals, P values and verdicts were made."""
    notices: tuple[NoticeField, ...]
    """What a reader must know before the numbers."""
    groups: tuple[UseGroup, ...] = ()
    """Algorithms by their intended use, where there are several: the baseline's group is compared,
    and only the rules' effects are of all. Not there: all have the same."""
    differences: tuple[DifferenceSummary, ...]
    """Each algorithm against the baseline in each metric under each rule."""
    detection: tuple[DetectionSummary, ...]
    """Which nodules each finds."""
    rankings: tuple[RankingSummary, ...]
    """A leaderboard for each rule and metric."""
    rule_effects: RuleEffectsSummary | None
    """What the rules do to all algorithms, where there are enough of both."""

    def to_json(self) -> JsonObject:
        """The comparison as it stands in comparison.json."""
        return {name: one for name, one in record(self).items() if name != "groups" or one}


def _only(shown: JsonObject, *names: str) -> JsonObject:
    return {name: shown[name] for name in names}
