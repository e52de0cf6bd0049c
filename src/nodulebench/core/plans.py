"""TestPlan: what was fixed before a test was run, and what came of it."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.documents.records import PRIMARY, CriterionSummary, Verdict
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]


DEMANDS = {("low", ">="), ("high", "<=")}
"""Criteria that ask for evidence: a bound and how it has to lie to the limit."""


class Criterion(ConfigModel):
    """One acceptance criterion: a metric, or a bound of its interval, against a limit."""

    metric: str
    """Name of the metric as evaluation.json has it; one read at several points is written
    ``sensitivity_at_fp_rate@1``."""
    rule: str
    """Name of the mark rule under which it is read."""
    stratum: str = ""
    """A part of the cohort, written ``type=solid``; empty: all of it."""
    bound: Literal["value", "low", "high"] = "value"
    """What is compared: the value itself, or the lower or upper bound of its interval."""
    comparison: Literal[">=", "<="]
    """How it has to lie to the limit."""
    limit: Annotated[float, Field(allow_inf_nan=False)]
    """What it is compared with; the limit itself is good enough."""
    family: Annotated[str, Field(min_length=1)] = PRIMARY
    """What is claimed together. The verdict rests on ``primary``; further families are tested in
    the order of their first criterion, each only if all before it were met, with P values adjusted
    within the family by Holm's method."""

    @model_validator(mode="after")
    def _check_evidence(self) -> Self:
        if self.family != PRIMARY and (self.bound, self.comparison) not in DEMANDS:
            raise ValueError(
                f"a criterion of the family '{self.family}' has to ask for evidence: bound \"low\" "
                'with ">=", or bound "high" with "<="'
            )
        return self

    def __str__(self) -> str:
        return criterion_text(self)


def criterion_text(criterion: Criterion | CriterionSummary) -> str:
    bounds = {"value": "", "low": "lower bound of ", "high": "upper bound of "}
    part = f" in {criterion.stratum}" if criterion.stratum else ""
    named = f"{bounds[criterion.bound]}{criterion.metric}{part} ({criterion.rule})"
    family = "" if criterion.family == PRIMARY else f" [{criterion.family}]"
    return f"{named} {criterion.comparison} {criterion.limit:g}{family}"


class AcceptanceCriteria(ConfigModel):
    """What people write before a test: the criteria, and who states them."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the plan, shown in every result."""
    author: str = ""
    """Who states the criteria."""
    laboratory: str = ""
    """Who issues the report of the test; does not affect the verdict."""
    notes: str = ""
    """Why these criteria, and what else a reader should know."""
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    """All of the family ``primary`` have to be met."""

    @model_validator(mode="after")
    def _check_primary(self) -> Self:
        if all(criterion.family != PRIMARY for criterion in self.criteria):
            raise ValueError(f"no criterion is of the family '{PRIMARY}', so nothing is decided")
        return self


class PlanDigests(ConfigModel):
    """What a test has to be made of to be the planned one."""

    protocol: Digest
    cohort: Digest
    reference: Digest


class TestPlan(AcceptanceCriteria):
    """Protocol, test set and acceptance criteria, frozen before a run."""

    __test__ = False  # not a test class, although its name looks like one

    frozen_at: AwareDatetime
    """When it was frozen."""
    test_set: str
    """Name of the test set."""
    cases: Annotated[int, Field(ge=0)]
    """How many cases it has."""
    digests: PlanDigests
    """Digests of the protocol, the cases and the findings."""
    protocol: TestProtocol
    """The protocol itself, with its effective values."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything that is fixed; the protocol is in it by its own digest."""
        return self.digest_without("protocol")


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """What came of a test under a plan."""

    plan: TestPlan
    differences: tuple[Notice, ...]
    """Where the test was not the planned one; then there is no verdict."""
    criteria: tuple[CriterionSummary, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether every algorithm meets every primary criterion."""
        return self._verdict([outcome.met for outcome in self._primary])

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The same for each algorithm separately."""
        found: dict[str, list[bool | None]] = {}
        for outcome in self._primary:
            found.setdefault(outcome.algorithm, []).append(outcome.met)
        return {algorithm: self._verdict(are_met) for algorithm, are_met in found.items()}

    @property
    def _primary(self) -> list[CriterionSummary]:
        return [criterion for criterion in self.criteria if criterion.family == PRIMARY]

    def _verdict(self, are_met: list[bool | None]) -> Verdict:
        if self.differences or not are_met:
            return "undecided"
        if False in are_met:
            return "failed"
        return "undecided" if None in are_met else "passed"
