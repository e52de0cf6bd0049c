"""Roles of accounts, and the one table (roles.toml) that says which roles may use which route.

A route without an entry there is not available to anyone: it responds with "not found".
"""

import tomllib
from pathlib import Path
from typing import Final, Literal, get_args

Role = Literal[
    "organiser",
    "operator",
    "reader",
    "team_leader",
    "arbitrator",
    "participant",
    "auditor",
    "public",
]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
ASSIGNABLE_ROLES: Final = tuple(role for role in ROLES if role != "public")
"""The roles that an account can have; "public" includes everyone."""
_READERS: Final[frozenset[Role]] = frozenset({"reader", "team_leader", "arbitrator"})
_AUDITORS: Final[frozenset[Role]] = frozenset({"organiser", "auditor"})
_USERS: Final[dict[str, frozenset[Role]]] = {
    "public": frozenset(ROLES),
    "signed_in": frozenset(ASSIGNABLE_ROLES),
    "participants": frozenset({"participant", "organiser"}),
    "readers": _READERS,
    "readers_and_auditors": _READERS | _AUDITORS,
    "auditors": _AUDITORS,
    "operators": frozenset({"organiser", "operator"}),
    "organisers": frozenset({"organiser"}),
}
_TABLE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
RULES: Final[dict[str, frozenset[Role]]] = {
    route: _USERS[users] for users, routes in _TABLE.items() for route in routes
}
"""Route -> roles that may use it. Access is decided only here."""


def may(roles: frozenset[str], route: str) -> bool:
    return bool(RULES.get(route, frozenset()) & roles)
