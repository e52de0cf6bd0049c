"""Why a batch cannot be approved or released; nothing where it can."""

from nodulebench.annotation.people import PROGRAM, Roster
from nodulebench.annotation.workflow.actions import ASPECTS, ApproveBatch
from nodulebench.annotation.workflow.batch import Batch
from nodulebench.core.errors import Problem


def release_refusal(batch: Batch, actor_id: str, *, may: bool) -> Problem | None:
    """Why somebody may not release a batch; ``may``: whether their part in it lets them."""
    where = f"batch '{batch.order.batch_id}'"
    if not may:
        who = "an arbitrator who has not read or reviewed it"
        who = who if batch.rules.has_arbitration else "an organiser"
        return Problem(where, f"'{actor_id}' is not {who}.")
    if not batch.is_approved:
        return Problem(
            where,
            "is not approved by the commission.",
            "It inspects the batch, and says so with 'approve'.",
        )
    return _dispute_refusal(batch)


def approval_refusal(
    roster: Roster, batch: Batch, actor_id: str, action: ApproveBatch
) -> Problem | None:
    """Why the commission may not say what it says of a batch."""
    where = f"batch '{batch.order.batch_id}'"
    team = roster.team(batch.order.team_id)
    has_part = actor_id in {*team.member_ids, batch.order.reviewer_id}
    if actor_id == PROGRAM or not roster.has_role(actor_id, "commission") or has_part:
        who = "of the commission, without a part in the batch"
        return Problem(where, f"'{actor_id}' is not {who}.")
    if batch.approval is not None and batch.approval.approves:
        return Problem(where, "was approved before.")
    if not action.approves:
        missing = "says no without a reason." if not action.comment else ""
        return Problem(where, f"the commission {missing}", "Say why.") if missing else None
    left = [one for one in ASPECTS if one not in action.inspected]
    if left:
        told = f"was not inspected for {', '.join(left)}."
        return Problem(where, told, "Inspect it for all four.")
    return _dispute_refusal(batch)


def _dispute_refusal(batch: Batch) -> Problem | None:
    """Why a batch with open disputes goes no further."""
    if not batch.open_disputes:
        return None
    shown = ", ".join(f"{case_id} {name}" for case_id, name in batch.open_disputes[:5])
    return Problem(
        f"batch '{batch.order.batch_id}'",
        f"has {len(batch.open_disputes)} open dispute(s): {shown}.",
        "Settle them first.",
    )
