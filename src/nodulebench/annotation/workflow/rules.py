"""What differs between published workflows of annotation."""

from typing import Literal, Self

from pydantic import Field, model_validator

from nodulebench.annotation.readings.consistency import ConsistencyRule
from nodulebench.core.config_model import Written


class WorkflowRules(Written):
    """What differs between published workflows."""

    name: str = "nifdc-2022"
    readers: int = Field(default=3, ge=2)
    """Readers in a team."""
    typings: int = Field(default=1, ge=0)
    """How many of those who drew a nodule say its type; 0: the step is left out."""
    has_review: bool = True
    """Whether the leader of another team reviews every case, with or without candidates."""
    arbitrator_may_have_read: bool = False
    requires_seniority: bool = True
    """Whether titles and years of reading are checked."""
    least_years: float = Field(default=0, ge=0)
    """Years of reading that everybody who reads, reviews or arbitrates has at least."""
    requires_training: bool = False
    """Whether everybody who reads, reviews or arbitrates has a training on record."""
    requires_exam: bool = False
    """Whether everybody who reads, reviews or arbitrates has passed the exam."""
    requires_approval: bool = False
    """Whether a commission approves a batch before it is released."""
    revision: Literal["none", "case", "batch"] = "none"
    """Whether readers see what others drew, without names, and may change their own: as soon as all
    have read the case, or the whole batch."""
    has_arbitration: bool = True
    """Whether disputes are settled; else whatever anybody drew is kept, and nothing is forced."""
    consistency: ConsistencyRule = ConsistencyRule()

    @model_validator(mode="after")
    def _settles_what_is_reviewed(self) -> Self:
        if self.has_review and not self.has_arbitration:
            raise ValueError("who reviews may object, and nobody would settle it")
        return self


NIFDC = WorkflowRules()
ITU = WorkflowRules(
    name="fg-ai4h",
    has_review=False,
    arbitrator_may_have_read=True,
    requires_seniority=False,
    least_years=10,
    requires_training=True,
    requires_approval=True,
)
"""At least three experts of ten years, trained beforehand, one of whom decides disputed marks; a
commission inspects what was labelled (ITU FG-AI4H)."""
LIDC = WorkflowRules(
    name="lidc-idri",
    readers=4,
    typings=0,
    has_review=False,
    has_arbitration=False,
    requires_seniority=False,
    revision="case",
)
"""Four readers, first blind, then with the marks of all before them; no consensus is forced
(Armato et al., Medical Physics 38, 2011)."""
WORKFLOWS = {rules.name: rules for rules in (NIFDC, ITU, LIDC)}
