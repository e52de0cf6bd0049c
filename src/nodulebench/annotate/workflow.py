"""Workflow: who may do what in which state, and who sees what.

reading -> checking -> typing -> review -> arbitration -> released. An action is refused with a
reason and changes nothing, or becomes one event. Nobody sees another's reading before all are in,
and no reader of a batch before it is released.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import polars as pl

from nodulebench.annotate.actions import (
    Action,
    ArbitrateNodule,
    CheckBatch,
    OpenBatch,
    ReleaseBatch,
    ReviewNodule,
    SubmitReading,
    TypeNodule,
)
from nodulebench.annotate.batch import NIFDC, Batch, State, WorkflowRules, after, batches_of
from nodulebench.annotate.consistency import Box, Candidate, check_consistency
from nodulebench.annotate.events import Event
from nodulebench.annotate.people import PROGRAM, Roster, check_roster
from nodulebench.annotate.reading import Reading, check_reading
from nodulebench.annotate.record import event_of
from nodulebench.errors import InputError, Problem

STATE_OF_STEP: dict[str, State] = {
    "read": "reading",
    "check": "checking",
    "type": "typing",
    "review": "review",
    "arbitrate": "arbitration",
    "release": "arbitration",
}
"""The only state in which each step can be taken."""


@dataclass(frozen=True, slots=True)
class SeenCandidate:
    """A candidate as someone is shown it."""

    case_id: str
    candidate_id: str
    boxes: tuple[Box, ...]
    inconsistent_slices: tuple[int, ...] = ()
    """Highlighted for senior experts; readers are shown none."""


@dataclass(frozen=True)
class Workflow:
    """The people, the rules and the cases; what happened is in the events."""

    roster: Roster
    cases: pl.DataFrame
    rules: WorkflowRules = NIFDC

    def __post_init__(self) -> None:
        check_roster(self.roster, requires_seniority=self.rules.requires_seniority)

    @cached_property
    def _teams(self) -> dict[str, tuple[str, ...]]:
        return {team.team_id: team.reader_ids for team in self.roster.teams}

    def batches(self, events: Sequence[Event]) -> dict[str, Batch]:
        """All batches as the events left them."""
        return batches_of(events, self._teams, self.rules)

    def perform(
        self, events: Sequence[Event], actor_id: str, action: Action, at: datetime
    ) -> Event:
        """The event that an action becomes.

        Raises:
            InputError: with the reason, if the action is not allowed or cannot be.
        """
        return self.perform_all(events, [(actor_id, action)], at)[0]

    def perform_all(
        self, events: Sequence[Event], actions: Iterable[tuple[str, Action]], at: datetime
    ) -> list[Event]:
        """The events that actions, one after another, become: all of them or none.

        Raises:
            InputError: with the reason, if one of them is not allowed or cannot be.
        """
        batches = self.batches(events)
        done = list(events)
        for actor_id, wanted in actions:
            action = self._allowed(batches, actor_id, wanted)
            done.append(event_of(done, actor_id, action, at))
            batches[action.batch_id] = (
                Batch(action, self._teams[action.team_id], self.rules)
                if isinstance(action, OpenBatch)
                else after(batches[action.batch_id], actor_id, action)
            )
        return done[len(events) :]

    def _allowed(self, batches: dict[str, Batch], actor_id: str, action: Action) -> Action:
        """The action, with what the program adds to it; refused with an InputError."""
        if actor_id != PROGRAM:
            self.roster.person(actor_id)
        if isinstance(action, OpenBatch):
            problems = list(self._open_problems(action, actor_id, batches))
            if problems:
                raise InputError(problems)
            return action
        batch = _known_batch(batches, action.batch_id)
        _require_state(batch, action)
        problem = self._refusal(batch, actor_id, action)
        if problem is not None:
            raise InputError(problem)
        if isinstance(action, CheckBatch):
            return action.model_copy(update={"checks": _checks(batch)})
        return action

    def visible_readings(
        self, events: Sequence[Event], actor_id: str, batch_id: str
    ) -> list[Reading]:
        """The readings that someone may see now.

        A reader sees the own ones until the batch is released; the reviewer sees all from the
        review on, an arbitrator who has not read from the arbitration on.
        """
        self.roster.person(actor_id)
        batch = _known_batch(self.batches(events), batch_id)
        sees_all = batch.state == "released" or (
            actor_id not in batch.reader_ids and self._is_senior(batch, actor_id)
        )
        return [
            reading
            for (_, reader), reading in sorted(batch.readings.items())
            if sees_all or reader == actor_id
        ]

    def visible_candidates(
        self, events: Sequence[Event], actor_id: str, batch_id: str
    ) -> list[SeenCandidate]:
        """The candidates that someone may see now, without who drew them.

        A reader sees those that are also the own, with the own boxes. The reviewer and arbitrators
        see all in their states, with the slices that are not consistent; an arbitrator who has
        read sees of the others' only what is in dispute.
        """
        self.roster.person(actor_id)
        batch = _known_batch(self.batches(events), batch_id)
        is_senior = self._is_senior(batch, actor_id)
        is_reader = actor_id in batch.reader_ids
        seen = []
        for key, one in batch.candidates.items():
            sees_all = batch.state == "released" or (
                is_senior and (not is_reader or bool(batch.dispute(key)))
            )
            if sees_all:
                slices = {part.box.slice_index for part in one.clusters if not part.is_consistent}
                seen.append(SeenCandidate(*key, one.boxes, tuple(sorted(slices))))
            elif actor_id in one.reader_ids:
                seen.append(SeenCandidate(*key, _own_boxes(batch, key[0], one, actor_id)))
        return seen

    def _is_senior(self, batch: Batch, actor_id: str) -> bool:
        """Whether someone reviews or arbitrates the batch in its present state."""
        if actor_id == batch.order.reviewer_id and batch.state in ("review", "arbitration"):
            return True
        return batch.state == "arbitration" and self._may_arbitrate(batch, actor_id)

    def _open_problems(
        self, action: OpenBatch, actor_id: str, batches: dict[str, Batch]
    ) -> Iterator[Problem]:
        where = f"batch '{action.batch_id}'"
        if actor_id == PROGRAM or not self.roster.has_role(actor_id, "organiser"):
            yield Problem(where, f"'{actor_id}' is no organiser and cannot open it.")
        if action.batch_id in batches:
            yield Problem(where, "was opened before.", "Choose another name.")
        team = self.roster.team(action.team_id)
        if len(team.reader_ids) != self.rules.readers:
            yield Problem(
                where,
                f"{team.team_id} has {len(team.reader_ids)} readers, not {self.rules.readers}.",
            )
        known = set(self.cases["case_id"])
        for case_id in dict.fromkeys(action.case_ids):
            if case_id not in known:
                yield Problem(where, f"case '{case_id}' is not in the table of cases.")
            if action.case_ids.count(case_id) > 1:
                yield Problem(where, f"case '{case_id}' is listed more than once.")
        if not self.rules.has_review:
            if action.reviewer_id is not None:
                yield Problem(where, f"the workflow '{self.rules.name}' has no review.")
        elif action.reviewer_id is None:
            yield Problem(where, "has no reviewer.", "Name the leader of another team.")
        else:
            yield from self._reviewer_problems(action, where)

    def _reviewer_problems(self, action: OpenBatch, where: str) -> Iterator[Problem]:
        reviewer = action.reviewer_id
        leads = [team.team_id for team in self.roster.teams if team.leader_id == reviewer]
        if reviewer in self.roster.team(action.team_id).member_ids:
            yield Problem(
                where,
                f"'{reviewer}' is of the team that reads it.",
                "A batch is reviewed by the leader of another team.",
            )
        elif not leads:
            yield Problem(where, f"'{reviewer}' leads no team.", "Name the leader of another team.")

    def _refusal(self, batch: Batch, actor_id: str, action: Action) -> Problem | None:
        """Why someone may not take a step that the state allows."""
        match action:
            case SubmitReading():
                return self._reading_refusal(batch, actor_id, action.reading)
            case CheckBatch():
                return None if actor_id == PROGRAM else _not(batch, actor_id, "the program itself")
            case ReleaseBatch():
                return self._release_refusal(batch, actor_id)
        key = (
            (action.case_id, action.candidate_id) if not isinstance(action, OpenBatch) else ("", "")
        )
        where = f"batch '{batch.order.batch_id}' case '{key[0]}' '{key[1]}'"
        if key not in batch.candidates:
            return Problem(where, "is not among the candidates.")
        match action:
            case TypeNodule():
                if actor_id not in batch.candidates[key].reader_ids:
                    return Problem(where, f"'{actor_id}' has not drawn it and cannot type it.")
                if actor_id in batch.typings.get(key, {}):
                    return Problem(where, f"'{actor_id}' has typed it before.")
            case ReviewNodule():
                if actor_id != batch.order.reviewer_id:
                    return _not(batch, actor_id, f"the reviewer '{batch.order.reviewer_id}'")
                if key in batch.reviews:
                    return Problem(where, "was reviewed before.")
            case ArbitrateNodule():
                return self._ruling_refusal(batch, actor_id, action, where)
        return None

    def _reading_refusal(self, batch: Batch, actor_id: str, reading: Reading) -> Problem | None:
        where = f"batch '{batch.order.batch_id}'"
        if actor_id != reading.reader_id:
            return Problem(where, f"'{actor_id}' hands in a reading of '{reading.reader_id}'.")
        if actor_id not in batch.reader_ids:
            return _not(batch, actor_id, f"one of its readers ({', '.join(batch.reader_ids)})")
        if reading.case_id not in batch.order.case_ids:
            return Problem(
                where,
                f"case '{reading.case_id}' is not one of its {len(batch.order.case_ids)} cases.",
                "Hand the reading in with the batch it was made for.",
            )
        if (reading.case_id, actor_id) in batch.readings:
            return Problem(
                where,
                f"'{actor_id}' has handed in case '{reading.case_id}' before.",
                "A reading cannot be changed.",
            )
        check_reading(reading, self.cases)
        return None

    def _ruling_refusal(
        self, batch: Batch, actor_id: str, action: ArbitrateNodule, where: str
    ) -> Problem | None:
        key = (action.case_id, action.candidate_id)
        if not self._may_arbitrate(batch, actor_id):
            return _not(batch, actor_id, "an arbitrator who has not read or reviewed it")
        if not batch.dispute(key):
            return Problem(where, "is not in dispute.")
        if key in batch.rulings:
            return Problem(where, "was settled before.")
        if action.is_nodule and action.type is None and self.rules.typings:
            return Problem(where, "is ruled a nodule without a type.", "Say which type it is.")
        for name in action.discussed_with:
            self.roster.person(name)
        return None

    def _release_refusal(self, batch: Batch, actor_id: str) -> Problem | None:
        if not self._may_arbitrate(batch, actor_id):
            return _not(batch, actor_id, "an arbitrator who has not read or reviewed it")
        if batch.open_disputes:
            shown = ", ".join(f"{case_id} {name}" for case_id, name in batch.open_disputes[:5])
            return Problem(
                f"batch '{batch.order.batch_id}'",
                f"has {len(batch.open_disputes)} open dispute(s): {shown}.",
                "Settle them first.",
            )
        return None

    def _may_arbitrate(self, batch: Batch, actor_id: str) -> bool:
        if actor_id == PROGRAM or not self.roster.has_role(actor_id, "arbitrator"):
            return False
        if self.rules.arbitrator_may_have_read:
            return True
        team = self.roster.team(batch.order.team_id)
        return actor_id not in {*team.member_ids, batch.order.reviewer_id}


def _known_batch(batches: dict[str, Batch], batch_id: str) -> Batch:
    if batch_id not in batches:
        known = ", ".join(batches) or "none"
        raise InputError(Problem(f"batch '{batch_id}'", "is not open.", f"Open: {known}."))
    return batches[batch_id]


def _require_state(batch: Batch, action: Action) -> None:
    needed = STATE_OF_STEP[action.step]
    if batch.state != needed:
        raise InputError(
            Problem(
                f"batch '{batch.order.batch_id}'",
                f"is in the state '{batch.state}'; '{action.step}' is a step of '{needed}'.",
            )
        )


def _not(batch: Batch, actor_id: str, who: str) -> Problem:
    return Problem(f"batch '{batch.order.batch_id}'", f"'{actor_id}' is not {who}.")


def _own_boxes(batch: Batch, case_id: str, one: Candidate, reader_id: str) -> tuple[Box, ...]:
    own = {name for reader, name in one.findings if reader == reader_id}
    return tuple(
        Box(
            drawn.slice_index,
            drawn.center_x_mm,
            drawn.center_y_mm,
            drawn.length_mm,
            drawn.width_mm,
        )
        for finding in batch.readings[case_id, reader_id].findings
        if finding.finding_id in own
        for drawn in finding.slices
    )


def _checks(batch: Batch) -> tuple[object, ...]:
    return tuple(
        check_consistency(
            [batch.readings[case_id, reader] for reader in batch.reader_ids],
            batch.rules.consistency,
        )
        for case_id in batch.order.case_ids
    )
