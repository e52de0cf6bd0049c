"""Events -> Batch: the progress of a team's cases, and what is still open."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from nodulebench.annotation import actions
from nodulebench.annotation.actions import Event, WorkflowRules, taken_by
from nodulebench.annotation.consistency import Candidate, CaseCheck, lone_candidate
from nodulebench.annotation.readings import Reading
from nodulebench.core.notices import Notice

State = Literal["reading", "revision", "checking", "typing", "review", "arbitration", "released"]
"""In the order in which a batch passes through them; it never returns to an earlier state."""

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Correction:
    """A corrected outline of a candidate."""

    by: str
    step: actions.CorrectOutline


@dataclass(frozen=True)
class Batch:
    """The state of the cases that one team reads."""

    order: actions.OpenBatch
    reader_ids: tuple[str, ...]
    rules: WorkflowRules
    readings: Mapping[Key, Reading] = field(default_factory=dict)
    """By case and reader."""
    revised: Mapping[Key, Reading] = field(default_factory=dict)
    """By case and reader: as revised after seeing what others drew."""
    seeds: tuple[str, ...] = ()
    """The readers' seeds for the draw of the reviewer, in the order of submission."""
    checks: Mapping[str, CaseCheck] | None = None
    typings: Mapping[Key, Mapping[str, str]] = field(default_factory=dict)
    reviews: Mapping[Key, actions.ReviewNodule] = field(default_factory=dict)
    added: Mapping[Key, actions.AddNodule] = field(default_factory=dict)
    """What the reviewer drew because no reader had."""
    corrections: Mapping[Key, tuple[Correction, ...]] = field(default_factory=dict)
    """Every correction of an outline, in order; the last one counts."""
    finished: frozenset[str] = frozenset()
    rulings: Mapping[Key, actions.ArbitrateNodule] = field(default_factory=dict)
    approval: actions.ApproveBatch | None = None
    """The last answer of the commission."""
    is_released: bool = False

    @cached_property
    def candidates(self) -> dict[Key, Candidate]:
        by_key = {
            (case_id, candidate.candidate_id): candidate
            for case_id, check in (self.checks or {}).items()
            for candidate in check.candidates
        }
        for key, addition in self.added.items():
            by_key[key] = lone_candidate(self._reading(addition), key[1])
        return by_key

    @cached_property
    def last_readings(self) -> dict[Key, Reading]:
        """By case and reader the reading that counts: the revised one, else the first one."""
        return {**self.readings, **self.revised}

    @cached_property
    def drawn(self) -> list[Reading]:
        return [
            *self.last_readings.values(),
            *(self._reading(addition) for addition in self.added.values()),
        ]

    @cached_property
    def typed(self) -> list[Reading]:
        """Everything that was drawn, with the types that were given when they were asked for."""
        return self._typed(self.drawn)

    @cached_property
    def blind(self) -> list[Reading]:
        """What readers drew before they saw others' marks, with types like ``typed``."""
        return self._typed(self.readings.values())

    def _typed(self, readings: Iterable[Reading]) -> list[Reading]:
        types = {
            (key[0], *finding): self.typings.get(key, {}).get(finding[0])
            for key, candidate in self.candidates.items()
            for finding in candidate.findings
        }
        return [
            reading.typed(
                {
                    finding.finding_id: types.get(
                        (reading.case_id, reading.reader_id, finding.finding_id)
                    )
                    for finding in reading.findings
                }
            )
            for reading in readings
        ]

    def _reading(self, addition: actions.AddNodule) -> Reading:
        return Reading(
            case_id=addition.case_id,
            reader_id=self.order.reviewer_id or "",
            findings=(addition.finding,),
        )

    @cached_property
    def state(self) -> State:
        if self.is_released:
            return "released"
        if self.missing_readings:
            return "reading"
        if self.unrevised:
            return "revision"
        if self.checks is None:
            return "checking"
        if self.untyped:
            return "typing"
        return "review" if self.unreviewed or self.unfinished else "arbitration"

    @cached_property
    def missing_readings(self) -> list[Key]:
        return [
            (case_id, reader)
            for case_id in self.order.case_ids
            for reader in self.reader_ids
            if (case_id, reader) not in self.readings
        ]

    @cached_property
    def unrevised(self) -> list[Key]:
        if self.rules.revision == "none":
            return []
        every = [(case, reader) for case in self.order.case_ids for reader in self.reader_ids]
        return [key for key in every if key not in self.revised]

    def is_unblinded(self, case_id: str) -> bool:
        """Whether readers see what others drew in a case, because all have read it."""
        if self.rules.revision == "none":
            return False
        waits = [case for case, _ in self.missing_readings]
        return case_id not in waits if self.rules.revision == "case" else not waits

    @cached_property
    def untyped(self) -> list[Key]:
        return [
            key
            for key, candidate in self.candidates.items()
            if len(self.typings.get(key, ())) < min(self.rules.typings, len(candidate.reader_ids))
        ]

    @cached_property
    def unreviewed(self) -> list[Key]:
        if not self.rules.has_review:
            return []
        return [key for key in self.candidates if key not in self.reviews and key not in self.added]

    @cached_property
    def unfinished(self) -> list[str]:
        """Cases whose review is not finished, also those where readers found nothing."""
        if not self.rules.has_review:
            return []
        return [case_id for case_id in self.order.case_ids if case_id not in self.finished]

    @property
    def waits_for_draw(self) -> bool:
        is_open = self.order.commitment is not None and self.order.reviewer_id is None
        return is_open and self.checks is not None

    def dispute(self, key: Key) -> tuple[Notice, ...]:
        if not self.rules.has_arbitration:
            return ()
        reasons = []
        if key in self.added:
            reasons.append(Notice("added_in_review", {"reader": self.order.reviewer_id}))
        elif self.candidates[key].is_disputed:
            reasons.append(Notice("readers_inconsistent"))
        if len(set(self.typings.get(key, {}).values())) > 1:
            reasons.append(Notice("types_differ"))
        review = self.reviews.get(key)
        if review is not None and not review.agrees:
            reasons.append(Notice("reviewer_objects"))
        return tuple(reasons)

    @property
    def is_approved(self) -> bool:
        if self.approval is None:
            return not self.rules.requires_approval
        return self.approval.approves

    @cached_property
    def open_disputes(self) -> list[Key]:
        return [key for key in self.candidates if self.dispute(key) and key not in self.rulings]

    def corrected(self, key: Key) -> Correction | None:
        versions = self.corrections.get(key, ())
        return versions[-1] if versions else None

    def nodule_type(self, key: Key) -> str | None:
        ruling = self.rulings.get(key)
        if ruling is not None and ruling.type is not None:
            return ruling.type
        types = set(self.typings.get(key, {}).values())
        return types.pop() if len(types) == 1 else None

    @cached_property
    def nodules(self) -> list[Key]:
        return [
            key
            for key in self.candidates
            if key not in self.open_disputes
            and (key not in self.rulings or self.rulings[key].is_nodule)
        ]


def batches_of(
    events: Iterable[Event],
    teams: Mapping[str, tuple[str, ...]],
    rules: WorkflowRules,
    before: Mapping[str, Batch] | None = None,
) -> dict[str, Batch]:
    batches: dict[str, Batch] = dict(before or {})
    for event in events:
        action = actions.ACTIONS.validate_python(event.payload)
        if isinstance(action, actions.OpenBatch):
            batches[action.batch_id] = Batch(action, teams[action.team_id], rules)
        elif not isinstance(action, actions.ChangeKey):
            batches[action.batch_id] = after(batches[action.batch_id], event.person, action)
    return batches


def after(batch: Batch, actor_id: str, action: actions.Action) -> Batch:
    match action:
        case actions.SubmitReading(reading=reading):
            key = (reading.case_id, reading.reader_id)
            seeds = batch.seeds if action.seed is None else (*batch.seeds, action.seed)
            return replace(batch, readings={**batch.readings, key: reading}, seeds=seeds)
        case actions.ReviseReading(reading=reading):
            key = (reading.case_id, reading.reader_id)
            return replace(batch, revised={**batch.revised, key: reading})
        case actions.CheckBatch(checks=checks):
            return replace(batch, checks={check.case_id: check for check in checks})
        case actions.DrawReviewer(reviewer_id=drawn):
            order = batch.order.model_copy(update={"reviewer_id": drawn})
            return replace(batch, order=order)
        case actions.TypeNodule(case_id=case_id, candidate_id=candidate_id, type=given_type):
            key = (case_id, candidate_id)
            types = {**batch.typings.get(key, {}), actor_id: given_type}
            return replace(batch, typings={**batch.typings, key: types})
        case actions.ReviewNodule(case_id=case_id, candidate_id=candidate_id):
            return replace(batch, reviews={**batch.reviews, (case_id, candidate_id): action})
        case actions.AddNodule(case_id=case_id, candidate_id=candidate_id, finding=finding):
            key = (case_id, candidate_id)
            types = {actor_id: finding.type} if finding.type else {}
            return replace(
                batch, added={**batch.added, key: action}, typings={**batch.typings, key: types}
            )
        case actions.CorrectOutline(case_id=case_id, candidate_id=candidate_id):
            key = (case_id, candidate_id)
            versions = (*batch.corrections.get(key, ()), Correction(actor_id, action))
            return replace(batch, corrections={**batch.corrections, key: versions})
        case actions.FinishCase(case_id=case_id):
            return replace(batch, finished=batch.finished | {case_id})
        case actions.ArbitrateNodule(case_id=case_id, candidate_id=candidate_id):
            return replace(batch, rulings={**batch.rulings, (case_id, candidate_id): action})
        case actions.ApproveBatch():
            return replace(batch, approval=action)
        case actions.ReleaseBatch():
            return replace(batch, is_released=True)
        case actions.Several(steps=steps):
            for step in steps:
                batch = after(batch, taken_by(actor_id, step), step)
            return batch
        case actions.OpenBatch() | actions.ChangeKey():
            raise AssertionError("a batch is opened once, and a key does not belong to a batch")
