"""How a batch gets its reviewer: who may commit to a draw and reveal it, and audit notices."""

from collections.abc import Iterable, Iterator

from nodulebench.annotation.people import PROGRAM, Roster, commitment_of, possible_reviewers
from nodulebench.annotation.workflow import actions
from nodulebench.annotation.workflow.actions import Event
from nodulebench.annotation.workflow.batch import Batch
from nodulebench.core.errors import Problem
from nodulebench.core.notices import Notice


def reviewer_problems(
    roster: Roster, actor_id: str, action: actions.OpenBatch
) -> Iterator[Problem]:
    """What is wrong with the reviewer, or with the commitment to draw one, of a new batch.

    Raises:
        InputError: if no reviewer can be drawn, or the team is not known.
    """
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
        yield Problem(
            where,
            f"'{action.reviewer_id}' is in the team that reads it.",
            "A batch is reviewed by the leader of another team.",
        )
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
    """Why a person may not draw the reviewer of a batch now.

    Args:
        roster: who takes part.
        batch: its current state.
        actor_id: the person who draws.
        action: the revealed seed, or the reason for another one.
        may_arbitrate: whether that person may settle disputes of the batch.
    """
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
        return Problem(where, what, "Give the file that 'open' wrote.")
    return None


def draw_notices(events: Iterable[Event]) -> Iterator[Notice]:
    """Audit notices on how batches got their reviewers; all steps were allowed."""
    opened: dict[str, list[str]] = {}
    waiting: dict[str, str] = {}
    promised: set[str] = set()
    for event in events:
        batch_id = event.batch_id
        if event.step == "open":
            order = actions.OpenBatch.model_validate(event.payload)
            if order.reviewer_id is not None:
                yield Notice("reviewer_named", {"reader": order.reviewer_id, "batch": batch_id})
            if order.commitment is not None:
                promised.add(batch_id)
            for case_id in order.case_ids:
                opened.setdefault(case_id, []).append(batch_id)
        elif event.step == "draw":
            waiting.pop(batch_id, None)
            step = actions.DrawReviewer.model_validate(event.payload)
            if step.redraw_reason:
                values = {"batch": batch_id, "reader": event.person, "reason": step.redraw_reason}
                yield Notice("reviewer_drawn_again", values)
        elif batch_id in promised and _is_last_reading(event):
            waiting[batch_id] = event.at.isoformat(timespec="seconds")
    for batch_id, since in waiting.items():
        yield Notice("draw_waits", {"batch": batch_id, "since": since})
    again = sorted({name for names in opened.values() if len(names) > 1 for name in names})
    if again:
        yield Notice("cases_opened_again", {"batches": again})


def _is_last_reading(event: Event) -> bool:
    """Whether all have read with this event: the program compared the readings."""
    steps = event.payload["steps"] if event.step == "several" else [event.payload]
    return any(step["step"] == "check" for step in steps)
