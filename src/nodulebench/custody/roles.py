"""Role -> what it may do with a test set; a person and an action -> allowed, or the reason not."""

from typing import Literal, get_args

Role = Literal["collector", "curator", "reader", "operator", "auditor"]
Action = Literal["collect", "curate", "read", "seal", "evaluate", "export", "inspect"]

ROLES: tuple[Role, ...] = get_args(Role)
ACTIONS: dict[Action, str] = {
    "collect": "add images and their origin, before the set is sealed",
    "curate": "admit, exclude and describe cases, before the set is sealed",
    "read": "see images and draw findings, before the set is sealed",
    "seal": "seal the set: from then on the reference is encrypted",
    "evaluate": "score a submission; the policy says what feedback it gets",
    "export": "take the reference out of the sealed set in plain form",
    "inspect": "open the kept results of evaluations, and read the log",
}

MAY: dict[Role, tuple[Action, ...]] = {
    "collector": ("collect",),
    "curator": ("curate", "seal", "export"),
    "reader": ("read",),
    "operator": ("evaluate",),
    "auditor": ("inspect",),
}
"""Who runs tests cannot take the reference out, and who checks them can do neither."""

APART: tuple[tuple[Role, Role, str], ...] = (
    ("operator", "auditor", "nobody checks their own work"),
    ("curator", "auditor", "nobody checks their own work"),
    ("operator", "curator", "who runs tests must not be able to take the reference out"),
    ("operator", "reader", "who drew the reference must not run the tests on it"),
)
"""Two roles that nobody may have together, and why."""


def role_for(roles: tuple[Role, ...], action: Action) -> Role | None:
    """The role by which a person may do something; None: none of theirs allows it."""
    return next((role for role in roles if action in MAY[role]), None)


def roles_that_may(action: Action) -> tuple[Role, ...]:
    """Every role that allows an action."""
    return tuple(role for role in ROLES if action in MAY[role])
