"""What people can do in the workflow, as they send it."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, Self, get_args

from pydantic import Field, TypeAdapter, model_validator

from nodulebench.annotation.people import Name, PublicLine
from nodulebench.annotation.readings.consistency import CaseCheck
from nodulebench.annotation.readings.reading import DrawnFinding, DrawnSlice, Reading
from nodulebench.core.config_model import Written
from nodulebench.core.tables import NODULE_TYPES

NoduleType = Annotated[str, Field(pattern=f"^({'|'.join(NODULE_TYPES)})$")]


Seed = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class OpenBatch(Written):
    """Give cases to a team."""

    step: Literal["open"] = "open"
    batch_id: Name
    team_id: Name
    case_ids: tuple[str, ...] = Field(min_length=1)
    reviewer_id: Name | None = None
    """The leader of another team who will review it; None: drawn when all have read."""
    promise: Seed | None = None
    """SHA-256 of what the office will add when all have read, which nobody knows before."""
    sealed: str = Field("", max_length=1 << 16)
    """That itself, in base64 an age file for the organisers; empty: it is kept elsewhere."""


class SubmitReading(Written):
    """Hand in what was drawn in one case."""

    step: Literal["read"] = "read"
    batch_id: Name
    reading: Reading
    seed: Seed | None = None
    """What the reader adds to the draw of the reviewer."""


class ReviseReading(Written):
    """Hand in a case once more, after having seen what others drew there; both are kept."""

    step: Literal["revise"] = "revise"
    batch_id: Name
    reading: Reading
    """The whole of it as it shall be, not its changes."""


class CheckBatch(Written):
    """Compare the readings; the program's own step."""

    step: Literal["check"] = "check"
    batch_id: Name
    checks: tuple[CaseCheck, ...] = ()
    """The outcome; filled in by the program."""


class DrawReviewer(Written):
    """Tell what was promised for the draw of the reviewer, when all have read."""

    step: Literal["draw"] = "draw"
    batch_id: Name
    seed: Seed
    anew: str = ""
    """Why the seed is not the one that was promised: it is lost, or kept back; empty: it is."""
    reviewer_id: Name | None = None
    """Who was drawn; filled in by the program."""


class TypeNodule(Written):
    """Say of which type a nodule is that one drew."""

    step: Literal["type"] = "type"
    batch_id: Name
    case_id: str
    candidate_id: str
    type: NoduleType


class ReviewNodule(Written):
    """Agree with a nodule and its type, or object."""

    step: Literal["review"] = "review"
    batch_id: Name
    case_id: str
    candidate_id: str
    agrees: bool
    comment: str = ""


class AddNodule(Written):
    """Draw a nodule that every reader missed, as reviewer."""

    step: Literal["add"] = "add"
    batch_id: Name
    case_id: str
    finding: DrawnFinding
    comment: str = ""
    candidate_id: str = ""
    """The candidate that it becomes; filled in by the program."""


class CorrectOutline(Written):
    """Draw a nodule anew whose outline is wrong; what was drawn before is kept."""

    step: Literal["correct"] = "correct"
    batch_id: Name
    case_id: str
    candidate_id: str
    slices: tuple[DrawnSlice, ...] = Field(min_length=1)
    """The whole nodule as it shall be, not its changes."""
    comment: str = ""


class FinishCase(Written):
    """Say, as reviewer, that a case holds nothing more than was judged or added."""

    step: Literal["finish"] = "finish"
    batch_id: Name
    case_id: str


class ArbitrateNodule(Written):
    """Settle a dispute."""

    step: Literal["arbitrate"] = "arbitrate"
    batch_id: Name
    case_id: str
    candidate_id: str
    is_nodule: bool
    type: NoduleType | None = None
    comment: str = ""
    discussed_with: tuple[Name, ...] = ()


Aspect = Literal["sufficiency", "heterogeneity", "labels", "ethics"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
"""What a commission inspects: enough cases, of many kinds, well labelled, lawfully got (ITU)."""


class ApproveBatch(Written):
    """Approve a batch for release, as commission; or say why not."""

    step: Literal["approve"] = "approve"
    batch_id: Name
    approves: bool = True
    inspected: tuple[Aspect, ...] = ()
    comment: str = ""


class ReleaseBatch(Written):
    """Release the batch; from then on nothing changes."""

    step: Literal["release"] = "release"
    batch_id: Name


KEYS: Final = ".keys"
"""What stands in the place of a batch where keys of people are changed."""


class ChangeKey(Written):
    """Replace somebody's key, or take it back: it was lost, or may be in other hands."""

    step: Literal["key"] = "key"
    batch_id: Literal[".keys"] = KEYS
    person_id: Name
    key: PublicLine = ""
    """The new public key; empty: the person has none from then on."""
    reason: str = Field(min_length=1)


OneStep = Annotated[
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
    | ReleaseBatch,
    Field(discriminator="step"),
]


class Several(Written):
    """Steps in one batch that are taken at once: all of them or none."""

    step: Literal["several"] = "several"
    batch_id: Name
    steps: tuple[OneStep, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_of_one_batch(self) -> Self:
        if any(one.batch_id != self.batch_id for one in self.steps):
            raise ValueError("the steps are not all of one batch")
        return self


Action = (
    OpenBatch
    | SubmitReading
    | ReviseReading
    | CheckBatch
    | DrawReviewer
    | TypeNodule
    | ReviewNodule
    | AddNodule
    | CorrectOutline
    | FinishCase
    | ArbitrateNodule
    | ApproveBatch
    | ReleaseBatch
    | ChangeKey
    | Several
)
ACTIONS: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="step")])


def at_once(batch_id: str, steps: Sequence[OneStep]) -> Action:
    """Steps as one action; one step is itself, unless it is the program's, whom somebody calls."""
    if len(steps) == 1 and not isinstance(steps[0], CheckBatch):
        return steps[0]
    return Several(batch_id=batch_id, steps=tuple(steps))
