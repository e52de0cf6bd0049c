"""A batch, a person and a step -> why the step is not allowed; None where it is."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from nodulebench.annotation import actions
from nodulebench.annotation.actions import ASPECTS, ApproveBatch, ChangeKey, WorkflowRules
from nodulebench.annotation.batch import Batch, State
from nodulebench.annotation.consistency import check_consistency
from nodulebench.annotation.people import PROGRAM, Roster, commitment_of, possible_reviewers
from nodulebench.annotation.readings import DrawnFinding, Reading, check_reading
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.text import counted
from nodulebench.security.event_signers import Change
from nodulebench.security.keys import parse_public_key


def release_refusal(batch: Batch, actor_id: str, *, may: bool) -> Problem | None:
    where = f"batch '{batch.order.batch_id}'"
    if not may:
        who = "an arbitrator who has not read or reviewed it"
        who = who if batch.rules.has_arbitration else "an organiser"
        return Problem(where, f"'{actor_id}' is not {who}.")
    if not batch.is_approved:
        remedy = "A member of the commission has to inspect and approve it first."
        return Problem(where, "is not approved by the commission.", remedy)
    return _dispute_refusal(batch)


def approval_refusal(
    roster: Roster, batch: Batch, actor_id: str, action: ApproveBatch
) -> Problem | None:
    where = f"batch '{batch.order.batch_id}'"
    team = roster.team(batch.order.team_id)
    has_part = actor_id in {*team.member_ids, batch.order.reviewer_id}
    if actor_id == PROGRAM or not roster.has_role(actor_id, "commission") or has_part:
        who = "a member of the commission without a part in the batch"
        return Problem(where, f"'{actor_id}' is not {who}.")
    if batch.approval is not None and batch.approval.approves:
        return Problem(where, "was approved before.")
    if not action.approves:
        missing = "rejects it without a reason." if not action.comment else ""
        return Problem(where, f"the commission {missing}", "Give one.") if missing else None
    left = [aspect for aspect in ASPECTS if aspect not in action.inspected]
    if left:
        what = f"was not inspected for {', '.join(left)}."
        return Problem(where, what, "Inspect it for all four.")
    return _dispute_refusal(batch)


def _dispute_refusal(batch: Batch) -> Problem | None:
    if not batch.open_disputes:
        return None
    shown = ", ".join(f"{case_id} {name}" for case_id, name in batch.open_disputes[:5])
    what = f"has {counted(len(batch.open_disputes), 'open dispute')}: {shown}."
    return Problem(f"batch '{batch.order.batch_id}'", what, "Settle them first.")


_STEP = b'"step": "key"'


def key_refusal(roster: Roster, actor_id: str, action: ChangeKey) -> str:
    """Why a person may not change a key, as a verb phrase; empty: they may."""
    if not roster.keys:
        return "changes a key, though the project names none"
    if action.person_id not in {person.person_id for person in roster.people}:
        return f"changes the key of '{action.person_id}', who is not in the roster"
    if actor_id == action.person_id and action.key:
        return ""  # everyone may replace their own key
    if not roster.has_role(actor_id, "organiser"):
        return f"changes the key of '{action.person_id}', which only an organiser may do"
    if actor_id == action.person_id:
        return "revokes their own key: then they could not sign this step"
    return ""


def key_change(roster: Roster) -> Callable[[bytes], Change | None]:
    """A reader of key changes in events, for checking the events after them."""

    def change(content: bytes) -> Change | None:
        if _STEP not in content:  # within a text, quotation marks are escaped
            return None
        event = json.loads(content)
        action = ChangeKey.model_validate(event["payload"])
        why = key_refusal(roster, event["person"], action)
        if why:
            raise ValueError(why)
        return action.person_id, parse_public_key(action.key) if action.key else None

    return change


STATES_OF_STEP: dict[str, tuple[State, ...]] = {
    "read": ("reading",),
    "revise": ("reading", "revision"),
    "check": ("checking",),
    "type": ("typing",),
    "review": ("review",),
    "add": ("review",),
    "correct": ("review", "arbitration"),
    "finish": ("review",),
    "arbitrate": ("arbitration",),
    "approve": ("arbitration",),
    "release": ("arbitration",),
}


@dataclass(frozen=True)
class Permissions:
    """Who may do what in which state."""

    roster: Roster
    cases: pl.DataFrame
    rules: WorkflowRules

    def require(self, batches: Mapping[str, Batch], actor_id: str, action: actions.Action) -> None:
        if actor_id != PROGRAM:
            self.roster.person(actor_id)
        if isinstance(action, actions.ChangeKey):
            why = key_refusal(self.roster, actor_id, action)
            raise_problems([Problem(f"'{actor_id}'", f"{why}.")] if why else ())
            return
        if isinstance(action, actions.OpenBatch):
            raise_problems(self._open_problems(action, actor_id, batches))
            return
        batch = known_batch(batches, action.batch_id)
        if not isinstance(action, actions.DrawReviewer):
            _require_state(batch, action)
        problem = self._refusal(batch, actor_id, action)
        if problem is not None:
            raise InputError(problem)

    def may_arbitrate(self, batch: Batch, actor_id: str) -> bool:
        if actor_id == PROGRAM or not self.roster.has_role(actor_id, "arbitrator"):
            return False
        if self.rules.arbitrator_may_have_read:
            return True
        team = self.roster.team(batch.order.team_id)
        return actor_id not in {*team.member_ids, batch.order.reviewer_id}

    def may_release(self, batch: Batch, actor_id: str) -> bool:
        if self.rules.has_arbitration:
            return self.may_arbitrate(batch, actor_id)
        return actor_id != PROGRAM and self.roster.has_role(actor_id, "organiser")

    def _open_problems(
        self, action: actions.OpenBatch, actor_id: str, batches: Mapping[str, Batch]
    ) -> Iterator[Problem]:
        where = f"batch '{action.batch_id}'"
        if actor_id == PROGRAM or not self.roster.has_role(actor_id, "organiser"):
            yield Problem(where, f"'{actor_id}' is not an organiser and cannot open it.")
        if action.batch_id in batches:
            yield Problem(where, "was opened before.", "Choose another name.")
        if action.batch_id == actions.KEYS:
            yield Problem(where, "is a reserved name.", "Choose another name.")
        team = self.roster.team(action.team_id)
        if len(team.reader_ids) != self.rules.readers:
            what = f"{team.team_id} has {len(team.reader_ids)} readers, not {self.rules.readers}."
            yield Problem(where, what)
        known = set(self.cases["case_id"])
        for case_id in dict.fromkeys(action.case_ids):
            if case_id not in known:
                yield Problem(where, f"case '{case_id}' is not in the table of cases.")
            if action.case_ids.count(case_id) > 1:
                yield Problem(where, f"case '{case_id}' is listed more than once.")
        if not self.rules.has_review:
            if action.reviewer_id is not None or action.commitment is not None:
                yield Problem(where, f"the workflow '{self.rules.name}' has no review.")
        else:
            yield from reviewer_problems(self.roster, actor_id, action)

    def _refusal(self, batch: Batch, actor_id: str, action: actions.Action) -> Problem | None:
        match action:
            case actions.SubmitReading():
                return self._reading_refusal(batch, actor_id, action.reading)
            case actions.CheckBatch():
                return None if actor_id == PROGRAM else _not(batch, actor_id, "the program itself")
            case actions.DrawReviewer():
                may_arbitrate = self.may_arbitrate(batch, actor_id)
                return draw_refusal(
                    self.roster, batch, actor_id, action, may_arbitrate=may_arbitrate
                )
            case actions.AddNodule() | actions.FinishCase():
                return self._case_review_refusal(batch, actor_id, action)
            case actions.ReviseReading():
                return self._revision_refusal(batch, actor_id, action.reading)
            case actions.ApproveBatch():
                return approval_refusal(self.roster, batch, actor_id, action)
            case actions.ReleaseBatch():
                return release_refusal(batch, actor_id, may=self.may_release(batch, actor_id))
            case actions.CorrectOutline():
                return self._correction_refusal(batch, actor_id, action)
            case actions.TypeNodule() | actions.ReviewNodule() | actions.ArbitrateNodule():
                return self._candidate_refusal(batch, actor_id, action)
            case actions.OpenBatch() | actions.ChangeKey() | actions.Several():
                raise AssertionError("a batch is opened once, and steps are checked one by one")

    def _candidate_refusal(
        self,
        batch: Batch,
        actor_id: str,
        action: actions.TypeNodule | actions.ReviewNodule | actions.ArbitrateNodule,
    ) -> Problem | None:
        key = (action.case_id, action.candidate_id)
        where = f"{_case(batch, key[0])} '{key[1]}'"
        if key not in batch.candidates:
            return Problem(where, "is not among the candidates.")
        match action:
            case actions.TypeNodule():
                if actor_id not in batch.candidates[key].reader_ids:
                    return Problem(where, f"'{actor_id}' has not drawn it and cannot type it.")
                if actor_id in batch.typings.get(key, {}):
                    return Problem(where, f"'{actor_id}' has typed it before.")
            case actions.ReviewNodule():
                if actor_id != batch.order.reviewer_id:
                    return _not_reviewer(batch, actor_id)
                if key in batch.added:
                    return Problem(where, "was added in the review; the arbitration decides on it.")
                if key in batch.reviews:
                    return Problem(where, "was reviewed before.")
            case actions.ArbitrateNodule():
                return self._ruling_refusal(batch, actor_id, action, where)
        return None

    def _correction_refusal(
        self, batch: Batch, actor_id: str, action: actions.CorrectOutline
    ) -> Problem | None:
        key = (action.case_id, action.candidate_id)
        where = f"{_case(batch, key[0])} '{key[1]}'"
        if key not in batch.candidates:
            return Problem(where, "is not among the candidates.")
        if batch.state == "review":
            if actor_id != batch.order.reviewer_id:
                return _not_reviewer(batch, actor_id)
            if action.case_id in batch.finished:
                return Problem(where, "the review of its case is finished.")
        elif not self.may_arbitrate(batch, actor_id):
            return _not_arbitrator(batch, actor_id)
        elif key not in batch.open_disputes:
            return Problem(where, "is not in dispute, or is settled.")
        last = batch.corrected(key)
        if last is not None and last.step.slices == action.slices:
            return Problem(where, "already has this outline.")
        redrawn = DrawnFinding(finding_id=action.candidate_id, slices=action.slices)
        check_reading(
            Reading(case_id=action.case_id, reader_id=actor_id, findings=(redrawn,)), self.cases
        )
        if action.candidate_id not in same_candidates(batch, action.case_id, redrawn):
            what = "has a correction at another position: no slice matches the earlier outline."
            return Problem(where, what, "Correct its outline, or add another nodule.")
        return None

    def _reading_refusal(self, batch: Batch, actor_id: str, reading: Reading) -> Problem | None:
        if problem := self._reader_refusal(batch, actor_id, reading):
            return problem
        if (reading.case_id, actor_id) in batch.readings:
            what = f"'{actor_id}' has already submitted case '{reading.case_id}'."
            return Problem(f"batch '{batch.order.batch_id}'", what, "A reading cannot be changed.")
        check_reading(reading, self.cases)
        return None

    def _revision_refusal(self, batch: Batch, actor_id: str, reading: Reading) -> Problem | None:
        if self.rules.revision == "none":
            where = f"batch '{batch.order.batch_id}'"
            return Problem(where, f"the workflow '{self.rules.name}' has no second reading.")
        if problem := self._reader_refusal(batch, actor_id, reading):
            return problem
        where = _case(batch, reading.case_id)
        if not batch.is_unblinded(reading.case_id):
            return Problem(where, "is not read by all yet.", "Revise it when all have read it.")
        if (reading.case_id, actor_id) in batch.revised:
            return Problem(where, f"'{actor_id}' has already revised it.", "A revision is final.")
        check_reading(reading, self.cases)
        return None

    def _reader_refusal(self, batch: Batch, actor_id: str, reading: Reading) -> Problem | None:
        where = f"batch '{batch.order.batch_id}'"
        if actor_id != reading.reader_id:
            return Problem(where, f"'{actor_id}' submits a reading of '{reading.reader_id}'.")
        if actor_id not in batch.reader_ids:
            return _not(batch, actor_id, f"one of its readers ({', '.join(batch.reader_ids)})")
        if reading.case_id not in batch.order.case_ids:
            what = f"case '{reading.case_id}' is not one of its {len(batch.order.case_ids)} cases."
            return Problem(where, what, "Submit the reading to the batch it was made for.")
        return None

    def _case_review_refusal(
        self, batch: Batch, actor_id: str, action: actions.AddNodule | actions.FinishCase
    ) -> Problem | None:
        where = _case(batch, action.case_id)
        if actor_id != batch.order.reviewer_id:
            return _not_reviewer(batch, actor_id)
        if action.case_id not in batch.order.case_ids:
            return Problem(where, "is not one of its cases.")
        if action.case_id in batch.finished:
            return Problem(where, "its review is finished.")
        if isinstance(action, actions.AddNodule):
            return self._addition_refusal(batch, actor_id, action, where)
        waiting = [name for case_id, name in batch.unreviewed if case_id == action.case_id]
        if waiting:
            return Problem(
                where, f"is not reviewed yet: {', '.join(waiting)}.", "Review them first."
            )
        return None

    def _addition_refusal(
        self, batch: Batch, actor_id: str, action: actions.AddNodule, where: str
    ) -> Problem | None:
        if self.rules.typings and action.finding.type is None:
            return Problem(where, "a nodule is added without a type.", "Give its type.")
        before = [
            addition.finding
            for (case, _), addition in batch.added.items()
            if case == action.case_id
        ]
        drawn = Reading(
            case_id=action.case_id, reader_id=actor_id, findings=(*before, action.finding)
        )
        check_reading(drawn, self.cases)
        same = same_candidates(batch, action.case_id, action.finding)
        if same:
            what = f"finding '{action.finding.finding_id}' is {same[0]} already."
            return Problem(where, what, "Agree with it, or object to it.")
        return None

    def _ruling_refusal(
        self, batch: Batch, actor_id: str, action: actions.ArbitrateNodule, where: str
    ) -> Problem | None:
        key = (action.case_id, action.candidate_id)
        if not self.may_arbitrate(batch, actor_id):
            return _not_arbitrator(batch, actor_id)
        if not batch.dispute(key):
            return Problem(where, "is not in dispute.")
        if key in batch.rulings:
            return Problem(where, "was settled before.")
        if action.is_nodule and action.type is None and self.rules.typings:
            return Problem(where, "is decided to be a nodule without a type.", "Give its type.")
        for name in action.discussed_with:
            self.roster.person(name)
        return None


def same_candidates(batch: Batch, case_id: str, drawn: DrawnFinding) -> list[str]:
    new = Reading(case_id=case_id, reader_id="new", findings=(drawn,))
    owner = {
        finding: name
        for (of_case, name), candidate in batch.candidates.items()
        for finding in candidate.findings
        if of_case == case_id
    }
    same = []
    for reading in batch.drawn:
        for finding in reading.findings if reading.case_id == case_id else ():
            known = reading.model_copy(update={"reader_id": "known", "findings": (finding,)})
            if len(check_consistency([new, known], batch.rules.consistency).candidates) == 1:
                same.append(owner[reading.reader_id, finding.finding_id])
    return same


def known_batch(batches: Mapping[str, Batch], batch_id: str) -> Batch:
    if batch_id not in batches:
        known = ", ".join(batches) or "none"
        raise InputError.at(f"batch '{batch_id}'", "is not open.", f"Open: {known}.")
    return batches[batch_id]


def _require_state(batch: Batch, action: actions.Action) -> None:
    needed = STATES_OF_STEP[action.step]
    if batch.state not in needed:
        states = " or ".join(f"'{state}'" for state in needed)
        what = f"is in the state '{batch.state}'; '{action.step}' is a step of {states}."
        raise InputError.at(f"batch '{batch.order.batch_id}'", what)


def _case(batch: Batch, case_id: str) -> str:
    return f"batch '{batch.order.batch_id}' case '{case_id}'"


def _not(batch: Batch, actor_id: str, who: str) -> Problem:
    return Problem(f"batch '{batch.order.batch_id}'", f"'{actor_id}' is not {who}.")


def _not_arbitrator(batch: Batch, actor_id: str) -> Problem:
    return _not(batch, actor_id, "an arbitrator who has not read or reviewed it")


def _not_reviewer(batch: Batch, actor_id: str) -> Problem:
    return _not(batch, actor_id, f"the reviewer '{batch.order.reviewer_id}'")


def reviewer_problems(
    roster: Roster, actor_id: str, action: actions.OpenBatch
) -> Iterator[Problem]:
    where, members = f"batch '{action.batch_id}'", roster.team(action.team_id).member_ids
    given = [action.reviewer_id, action.commitment]
    if given.count(None) == 2:
        yield Problem(where, "has no reviewer.", "Name the leader of another team.")
    elif None not in given:
        yield Problem(where, "has a reviewer and a commitment to draw one.", "Give one of them.")
    elif action.reviewer_id is None:
        possible_reviewers(roster.teams, action.team_id)
        if actor_id in members:
            what = f"'{actor_id}' is in its team and would know the secret seed of the draw."
            yield Problem(where, what, "Let another organiser open it.")
    elif action.reviewer_id in members:
        remedy = "A batch is reviewed by the leader of another team."
        yield Problem(where, f"'{action.reviewer_id}' is in the team that reads it.", remedy)
    elif action.reviewer_id not in {team.leader_id for team in roster.teams}:
        what = f"'{action.reviewer_id}' leads no team."
        yield Problem(where, what, "Name the leader of another team.")


def draw_refusal(
    roster: Roster,
    batch: Batch,
    actor_id: str,
    action: actions.DrawReviewer,
    *,
    may_arbitrate: bool,
) -> Problem | None:
    where, order = f"batch '{batch.order.batch_id}'", batch.order
    is_office = actor_id != PROGRAM and roster.has_role(actor_id, "organiser")
    if not (may_arbitrate if action.redraw_reason else is_office):
        needed = "an arbitrator without a part in it" if action.redraw_reason else "an organiser"
        return Problem(where, f"'{actor_id}' is not {needed}.")
    if order.commitment is None or order.reviewer_id is not None:
        return Problem(where, "does not wait for the draw of a reviewer.")
    if not batch.waits_for_draw:
        return Problem(where, "is not read by all.", "Draw when all have read.")
    if not action.redraw_reason and commitment_of(action.seed) != order.commitment:
        what = "has a commitment that the seed does not match."
        return Problem(
            where, what, "Give the commitment file that was written when the batch was opened."
        )
    return None
