"""Workflow: who may do what in which state, and who sees what.

reading (-> revision) -> checking -> typing -> review -> arbitration -> released. An action is
refused with a reason and changes nothing, or becomes one event. No one sees another's reading
before all are in; no reader of a batch does before it is released, unless the workflow has them
revise theirs.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import polars as pl
from pydantic import ValidationError

from nodulebench.annotation.actions import (
    ACTIONS,
    NIFDC,
    Action,
    AddNodule,
    CheckBatch,
    DrawReviewer,
    Event,
    Several,
    WorkflowRules,
    taken_by,
)
from nodulebench.annotation.batch import Batch, after, batches_of
from nodulebench.annotation.consistency import Candidate, CaseCheck, check_consistency
from nodulebench.annotation.people import Roster, check_roster, random_reviewer
from nodulebench.annotation.permissions import Permissions, known_batch
from nodulebench.annotation.readings import Box, Reading
from nodulebench.core.errors import InputError

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letter_of(batch: Batch, reader_id: str) -> str:
    """The letter of a reader of a batch; drawn with the seed of the first submitted reading."""

    def drawn(name: str) -> bytes:
        secret = batch.seeds[0] if batch.seeds else ""
        return hashlib.sha256(f"{secret} {batch.order.batch_id} {name}".encode()).digest()

    return LETTERS[sorted(batch.reader_ids, key=drawn).index(reader_id)]


@dataclass(frozen=True, slots=True)
class SeenCandidate:
    """A candidate as a person sees it."""

    case_id: str
    candidate_id: str
    boxes: tuple[Box, ...]
    inconsistent_slices: tuple[int, ...] = ()
    """Highlighted for senior experts; empty for readers."""
    is_whole: bool = False
    """Whether all of it and its decision are shown; otherwise only the reader's part."""


@dataclass(frozen=True)
class Workflow:
    """The people, the rules and the cases; the events hold what was done."""

    roster: Roster
    cases: pl.DataFrame
    rules: WorkflowRules = NIFDC

    def __post_init__(self) -> None:
        check_roster(
            self.roster,
            requires_seniority=self.rules.requires_seniority,
            least_years=self.rules.least_years,
            requires_training=self.rules.requires_training,
        )

    @cached_property
    def _teams(self) -> dict[str, tuple[str, ...]]:
        return {team.team_id: team.reader_ids for team in self.roster.teams}

    @cached_property
    def _permissions(self) -> Permissions:
        return Permissions(self.roster, self.cases, self.rules)

    def batches(self, events: Sequence[Event]) -> dict[str, Batch]:
        return batches_of(events, self._teams, self.rules)

    def replayed(self, events: Iterable[Event]) -> Iterator[tuple[Event, str]]:
        """Events that were not allowed, or do not hold the result that follows, with the reason.

        The events after it are checked as if it had been allowed.
        """
        batches: dict[str, Batch] = {}
        for event in events:
            try:
                action = ACTIONS.validate_python(event.payload)
                if self.allowed(batches, event.person, action) != action:
                    yield event, "has another result than follows from what was submitted"
            except (InputError, ValidationError) as error:
                yield event, f"was not allowed: {error}"
            with suppress(KeyError, AssertionError, ValidationError):
                batches |= batches_of([event], self._teams, self.rules, batches)

    def allowed(self, batches: Mapping[str, Batch], actor_id: str, action: Action) -> Action:
        if isinstance(action, Several):
            batch, steps = known_batch(batches, action.batch_id), []
            for wanted in action.steps:
                actor = taken_by(actor_id, wanted)
                permitted = self._allowed_step({action.batch_id: batch}, actor, wanted)
                batch = after(batch, actor, permitted)
                steps.append(permitted)
            return action.model_copy(update={"steps": tuple(steps)})
        return self._allowed_step(batches, actor_id, action)

    def _allowed_step(self, batches: Mapping[str, Batch], actor_id: str, action: Action) -> Action:
        self._permissions.require(batches, actor_id, action)
        if isinstance(action, CheckBatch):
            batch = batches[action.batch_id]
            return action.model_copy(update={"checks": _checks(batch)})
        if isinstance(action, DrawReviewer):
            batch = batches[action.batch_id]
            return action.model_copy(update={"reviewer_id": self._drawn(batch, action.seed)})
        if isinstance(action, AddNodule):
            known = batches[action.batch_id].candidates
            number = 1 + sum(case_id == action.case_id for case_id, _ in known)
            return action.model_copy(update={"candidate_id": f"candidate-{number}"})
        return action

    def _drawn(self, batch: Batch, seed: str) -> str:
        order, seeds = batch.order, (seed, *batch.seeds)
        return random_reviewer(self.roster.teams, order.team_id, order.batch_id, seeds)

    def seen_readings(self, batch: Batch, actor_id: str) -> list[Reading]:
        """The readings of a batch that a person may see now.

        Readers see only theirs until the batch is released; the reviewer sees all from the
        review on, an arbitrator who has not read from the arbitration on.
        """
        self.roster.person(actor_id)
        sees_all = batch.state == "released" or (
            actor_id not in batch.reader_ids and self._is_senior(batch, actor_id)
        )
        readings = sorted(batch.last_readings.items())
        return [reading for (_, reader), reading in readings if sees_all or reader == actor_id]

    def seen_of_others(self, batch: Batch, actor_id: str) -> list[Reading]:
        """What others first drew, by letters, in cases that a reader revises or has revised."""
        self.roster.person(actor_id)
        if actor_id not in batch.reader_ids or batch.state not in ("reading", "revision"):
            return []
        readings = [
            reading.model_copy(update={"reader_id": letter_of(batch, reader)})
            for (case_id, reader), reading in batch.readings.items()
            if reader != actor_id and batch.is_unblinded(case_id)
        ]
        return sorted(readings, key=lambda reading: (reading.case_id, reading.reader_id))

    def seen_candidates(self, batch: Batch, actor_id: str) -> list[SeenCandidate]:
        """The candidates of a batch that a person may see now, without who drew them.

        Readers see the candidates that they drew, with their boxes. The reviewer and arbitrators
        see all candidates in their states, with the inconsistent slices; an arbitrator who has read
        sees others' candidates only where they are in dispute.
        """
        self.roster.person(actor_id)
        is_senior = self._is_senior(batch, actor_id)
        is_reader = actor_id in batch.reader_ids
        seen = []
        for key, candidate in batch.candidates.items():
            sees_all = batch.state == "released" or (
                is_senior and (not is_reader or bool(batch.dispute(key)))
            )
            if sees_all:
                seen.append(
                    SeenCandidate(*key, candidate.boxes, candidate.inconsistent_slices, True)
                )
            elif actor_id in candidate.reader_ids:
                seen.append(
                    SeenCandidate(*key, _boxes_of_reader(batch, key[0], candidate, actor_id))
                )
        return seen

    def may_arbitrate(self, batch: Batch, actor_id: str) -> bool:
        return self._permissions.may_arbitrate(batch, actor_id)

    def may_release(self, batch: Batch, actor_id: str) -> bool:
        return self._permissions.may_release(batch, actor_id)

    def _is_senior(self, batch: Batch, actor_id: str) -> bool:
        if actor_id == batch.order.reviewer_id and batch.state in ("review", "arbitration"):
            return True
        return batch.state == "arbitration" and self.may_arbitrate(batch, actor_id)


def _boxes_of_reader(
    batch: Batch, case_id: str, candidate: Candidate, reader_id: str
) -> tuple[Box, ...]:
    own = {name for reader, name in candidate.findings if reader == reader_id}
    return tuple(
        drawn.box
        for finding in batch.last_readings[case_id, reader_id].findings
        if finding.finding_id in own
        for drawn in finding.slices
    )


def _checks(batch: Batch) -> tuple[CaseCheck, ...]:
    return tuple(
        check_consistency(
            [batch.last_readings[case_id, reader] for reader in batch.reader_ids],
            batch.rules.consistency,
        )
        for case_id in batch.order.case_ids
    )
