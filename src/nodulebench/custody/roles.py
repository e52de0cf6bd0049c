"""Role -> what it may do with a test set; a person and an action -> allowed, or the reason not."""

from collections.abc import Iterable
from typing import Literal, get_args

Role = Literal["collector", "curator", "reader", "operator", "auditor", "keeper", "reporter"]
Action = Literal[
    "collect",
    "curate",
    "read",
    "seal",
    "run",
    "evaluate",
    "export",
    "inspect",
    "manage",
    "retire",
    "withdraw",
    "report",
]
Room = Literal["reference", "archive", "images", "results"]
ROOMS: dict[Room, str] = {
    "reference": "the tables that scoring needs",
    "archive": "everything else of the plain set: readings, lists, provenance",
    "images": "the images, where they are encrypted",
    "results": "what is kept of evaluations",
}
"""Parts of a sealed set that have a key each."""

ROLES: tuple[Role, ...] = get_args(Role)
ACTIONS: dict[Action, str] = {
    "collect": "add images and their origin, before the set is sealed",
    "curate": "admit, exclude and describe cases, before the set is sealed",
    "read": "see images and draw findings, before the set is sealed",
    "seal": "seal the set: from then on the reference is encrypted",
    "run": "let an algorithm read the images, apart from everything else; nothing is scored",
    "evaluate": "score a submission; the policy says what feedback it gets",
    "export": "take the reference out of the sealed set in plain form",
    "inspect": "open the kept results of evaluations, and read the log",
    "manage": "admit people, replace lost keys and revoke keys",
    "retire": "end the use of the set",
    "withdraw": "take a patient out of the set",
    "report": "compare algorithms and make reports from kept results",
}

MAY: dict[Role, tuple[Action, ...]] = {
    "collector": ("collect",),
    "curator": ("curate", "seal", "export", "retire", "withdraw"),
    "reader": ("read",),
    "operator": ("run", "evaluate"),
    "auditor": ("inspect",),
    "keeper": ("manage",),
    "reporter": ("report",),
}
"""Who runs tests cannot take the reference out, and who checks them can do neither."""

NEEDS: dict[Action, tuple[Room, ...]] = {
    "seal": ("reference", "archive", "images"),
    "run": ("images",),
    "evaluate": ("reference", "images", "results"),
    "export": ("reference", "archive", "images"),
    "inspect": ("results",),
    "report": ("results",),
    "manage": tuple(ROOMS),
    "withdraw": ("reference", "archive", "images"),
}
"""What has to be opened to do something; who may do it gets the keys of it, and no others."""

APART: tuple[tuple[Role, Role, str], ...] = (
    ("operator", "auditor", "nobody checks their own work"),
    ("curator", "auditor", "nobody checks their own work"),
    ("operator", "curator", "who runs tests must not be able to take the reference out"),
    ("operator", "reader", "who drew the reference must not run the tests on it"),
    ("keeper", "operator", "the keeper's key opens everything and belongs in a safe"),
    ("keeper", "curator", "the keeper's key opens everything and belongs in a safe"),
    ("operator", "reporter", "who runs tests must not see more than developers are told"),
    ("auditor", "reporter", "nobody checks their own work"),
    ("keeper", "reporter", "the keeper's key opens everything and belongs in a safe"),
    ("keeper", "auditor", "the keeper's key opens everything and belongs in a safe"),
)
"""Two roles that nobody may have together, and why."""


def role_for(roles: tuple[Role, ...], action: Action) -> Role | None:
    """The role by which a person may do something; None: none of theirs allows it."""
    return next((role for role in roles if action in MAY[role]), None)


def rooms_of(roles: Iterable[Role]) -> tuple[Room, ...]:
    """The rooms whose keys somebody with these roles gets."""
    needed = {room for role in roles for action in MAY[role] for room in NEEDS.get(action, ())}
    return tuple(room for room in ROOMS if room in needed)


def roles_that_may(action: Action) -> tuple[Role, ...]:
    """Every role that allows an action."""
    return tuple(role for role in ROLES if action in MAY[role])
