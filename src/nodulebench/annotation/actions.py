"""The steps of the workflow, as people and the program send them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import Field, TypeAdapter, model_validator

from nodulebench.annotation.consistency import CaseCheck, ConsistencyRule
from nodulebench.annotation.people import PROGRAM, Name, PublicLine
from nodulebench.annotation.readings import DrawnFinding, DrawnSlice, Reading
from nodulebench.core.config_model import ConfigModel
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import NODULE_TYPES
from nodulebench.security.event_signers import EventSigner
from nodulebench.security.events import LogEvent
from nodulebench.security.keys import parse_public_key

NoduleType = Annotated[str, Field(pattern=f"^({'|'.join(NODULE_TYPES)})$")]


Seed = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class BatchStep(ConfigModel):
    """A step in a batch."""

    batch_id: Name


class CaseStep(BatchStep):
    """A step in a case of a batch."""

    case_id: str


class CandidateStep(CaseStep):
    """A step about a candidate of a case."""

    candidate_id: str


class OpenBatch(BatchStep):
    """Give cases to a team."""

    step: Literal["open"] = "open"
    team_id: Name
    case_ids: tuple[str, ...] = Field(min_length=1)
    reviewer_id: Name | None = None
    """The leader of another team who reviews it; None: drawn when all have read."""
    commitment: Seed | None = None
    """SHA-256 of the seed that the office reveals when all have read."""
    sealed: str = Field("", max_length=1 << 16)
    """The seed in an age file for the organisers, as base64; empty: it is stored elsewhere."""


class SubmitReading(BatchStep):
    """Submit a reading of one case."""

    step: Literal["read"] = "read"
    reading: Reading
    seed: Seed | None = None


class ReviseReading(BatchStep):
    """Submit a revised reading, after seeing what others drew; the log keeps both readings."""

    step: Literal["revise"] = "revise"
    reading: Reading
    """The complete revised reading, not only its changes."""


class CheckBatch(BatchStep):
    """Compare the readings; a step of the program."""

    step: Literal["check"] = "check"
    checks: tuple[CaseCheck, ...] = ()
    """The outcome; filled in by the program."""


class DrawReviewer(BatchStep):
    """Reveal the seed of the office and draw the reviewer, when all have read."""

    step: Literal["draw"] = "draw"
    seed: Seed
    redraw_reason: str = ""
    """Why the seed does not match the commitment (it is lost or withheld); empty: it matches."""
    reviewer_id: Name | None = None
    """Who was drawn; filled in by the program."""


class TypeNodule(CandidateStep):
    """Give the type of a nodule, as one of the readers who drew it."""

    step: Literal["type"] = "type"
    type: NoduleType


class ReviewNodule(CandidateStep):
    """Agree with a nodule and its type, or object."""

    step: Literal["review"] = "review"
    agrees: bool
    comment: str = ""


class AddNodule(CaseStep):
    """Draw a nodule that every reader missed, as reviewer."""

    step: Literal["add"] = "add"
    finding: DrawnFinding
    comment: str = ""
    candidate_id: str = ""
    """The candidate that it becomes; filled in by the program."""


class CorrectOutline(CandidateStep):
    """Correct a wrong outline; the log keeps the earlier one."""

    step: Literal["correct"] = "correct"
    slices: tuple[DrawnSlice, ...] = Field(min_length=1)
    """The complete corrected nodule, not only its changes."""
    comment: str = ""


class FinishCase(CaseStep):
    """Finish the review of a case: all candidates are reviewed and missed nodules added."""

    step: Literal["finish"] = "finish"


class ArbitrateNodule(CandidateStep):
    """Settle a dispute."""

    step: Literal["arbitrate"] = "arbitrate"
    is_nodule: bool
    type: NoduleType | None = None
    comment: str = ""
    discussed_with: tuple[Name, ...] = ()


Aspect = Literal["sufficiency", "heterogeneity", "labels", "ethics"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
"""What a commission inspects: enough cases, many kinds, good labels, lawful origin (ITU)."""


class ApproveBatch(BatchStep):
    """Approve a batch for release, as commission, or reject it with a reason."""

    step: Literal["approve"] = "approve"
    approves: bool = True
    inspected: tuple[Aspect, ...] = ()
    comment: str = ""


class ReleaseBatch(BatchStep):
    """Release the batch; after this it cannot change."""

    step: Literal["release"] = "release"


KEYS: Final = ".keys"
"""Used as the batch in steps that change the keys of people."""


class ChangeKey(ConfigModel):
    """Replace or revoke a person's key, because it is lost or may be stolen."""

    step: Literal["key"] = "key"
    batch_id: Literal[".keys"] = KEYS
    person_id: Name
    key: PublicLine = ""
    """The new public key; empty: the key is revoked."""
    reason: str = Field(min_length=1)


SingleStep = (
    SubmitReading
    | ReviseReading
    | CheckBatch
    | TypeNodule
    | ReviewNodule
    | AddNodule
    | CorrectOutline
    | FinishCase
    | ArbitrateNodule
    | ApproveBatch
    | ReleaseBatch
)


class Several(BatchStep):
    """Steps in one batch that are taken together: all of them or none."""

    step: Literal["several"] = "several"
    steps: tuple[Annotated[SingleStep, Field(discriminator="step")], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_same_batch(self) -> Self:
        if any(step.batch_id != self.batch_id for step in self.steps):
            raise ValueError("the steps are not all of one batch")
        return self


Action = SingleStep | OpenBatch | DrawReviewer | ChangeKey | Several
ACTIONS: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="step")])


def at_once(batch_id: str, steps: Sequence[SingleStep]) -> Action:
    """Steps as one action; a single step stays as it is, unless it is a step of the program."""
    if len(steps) == 1 and not isinstance(steps[0], CheckBatch):
        return steps[0]
    return Several(batch_id=batch_id, steps=tuple(steps))


class Event(LogEvent):
    """One step of the workflow, by ``person``."""

    step: str
    batch_id: Name
    case_id: str | None = None
    change: str
    payload: JsonObject


@dataclass(frozen=True, slots=True)
class EventStep:
    """One step of an event, which may hold several."""

    actor_id: str
    step: str
    case_id: str | None
    change: str


def event_of(
    number: int,
    previous: str,
    actor_id: str,
    action: Action,
    at: datetime,
    seal: EventSigner | None = None,
) -> Event:
    case_id, change = _words(action)
    event = Event(
        number=number,
        at=at,
        person=actor_id,
        step=action.step,
        batch_id=action.batch_id,
        case_id=case_id,
        change=change,
        payload=action.model_dump(mode="json"),
        previous=previous,
    )
    if seal is None:
        return event
    return event.model_copy(update={"code": seal.make(event.unsigned_bytes, actor_id)})


def steps_of(event: Event) -> Iterator[EventStep]:
    if event.step != "several":
        yield EventStep(event.person, event.step, event.case_id, event.change)
        return
    for step in Several.model_validate(event.payload).steps:
        yield EventStep(taken_by(event.person, step), step.step, *_words(step))


def taken_by(actor_id: str, action: Action) -> str:
    return PROGRAM if isinstance(action, CheckBatch) else actor_id


def _words(action: Action) -> tuple[str | None, str]:
    match action:
        case OpenBatch():
            return None, f"{len(action.case_ids)} cases for {action.team_id}"
        case SubmitReading(reading=reading):
            return reading.case_id, f"{len(reading.findings)} findings"
        case ReviseReading(reading=reading):
            return reading.case_id, f"{len(reading.findings)} findings after seeing all"
        case CheckBatch(checks=checks):
            count = sum(len(check.inconsistent_slices) for check in checks)
            candidates = sum(len(check.candidates) for check in checks)
            return None, f"{candidates} candidates, {count} inconsistent slices"
        case DrawReviewer():
            drawn = "drawn again" if action.redraw_reason else "drawn"
            reason = _quoted(action.redraw_reason)
            return None, f"{action.reviewer_id} was {drawn} to review{reason}"
        case TypeNodule():
            return action.case_id, f"{action.candidate_id} is {action.type}"
        case ReviewNodule():
            verdict = "agreed" if action.agrees else "objected"
            return action.case_id, f"{action.candidate_id} {verdict}{_quoted(action.comment)}"
        case AddNodule(finding=finding):
            kind = f", {finding.type}" if finding.type else ""
            words = f"{action.candidate_id} added{kind}, on {len(finding.slices)} slices"
            return action.case_id, words + _quoted(action.comment)
        case CorrectOutline():
            words = f"{action.candidate_id} corrected on {len(action.slices)} slices"
            return action.case_id, words + _quoted(action.comment)
        case FinishCase():
            return action.case_id, "review finished"
        case ArbitrateNodule():
            ruling = f"a nodule, {action.type}" if action.is_nodule else "not a nodule"
            return action.case_id, f"{action.candidate_id} is {ruling}{_quoted(action.comment)}"
        case ApproveBatch(approves=approves):
            verdict = "approved" if approves else "not approved"
            return None, f"{verdict}{_quoted(action.comment)}"
        case ReleaseBatch():
            return None, "released"
        case ChangeKey():
            new = parse_public_key(action.key).fingerprint if action.key else "no key any more"
            return None, f"{action.person_id} has {new}{_quoted(action.reason)}"
        case Several(steps=steps):
            return None, f"{len(steps)} steps at once"


def _quoted(comment: str) -> str:
    return f": {comment}" if comment else ""


class WorkflowRules(ConfigModel):
    """The rules in which published workflows differ."""

    name: str = "nifdc-2022"
    readers: int = Field(default=3, ge=2)
    typings: int = Field(default=1, ge=0)
    """How many of the readers who drew a nodule give its type; 0: the step is left out."""
    has_review: bool = True
    """Whether the leader of another team reviews every case, with or without candidates."""
    arbitrator_may_have_read: bool = False
    requires_seniority: bool = True
    least_years: float = Field(default=0, ge=0)
    requires_training: bool = False
    requires_exam: bool = False
    requires_approval: bool = False
    revision: Literal["none", "case", "batch"] = "none"
    """Whether readers see what others drew, without names, and may revise: as soon as all
    have read the case, or the whole batch."""
    has_arbitration: bool = True
    """Whether disputes are arbitrated; otherwise every finding is a nodule, without consensus."""
    consistency: ConsistencyRule = ConsistencyRule()

    @model_validator(mode="after")
    def _has_arbitration_after_review(self) -> Self:
        if self.has_review and not self.has_arbitration:
            raise ValueError("a reviewer may object, which needs arbitration")
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
