"""Roles of accounts, and the one table that says which roles may use which route.

A route without an entry here is not available to anyone: it responds with "not found".
"""

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
PUBLIC: Final = frozenset(ROLES)
SIGNED_IN: Final = frozenset(ASSIGNABLE_ROLES)
PARTICIPANTS: Final[frozenset[Role]] = frozenset({"participant", "organiser"})
ORGANISERS: Final[frozenset[Role]] = frozenset({"organiser"})
OPERATORS: Final[frozenset[Role]] = frozenset({"organiser", "operator"})
READERS: Final[frozenset[Role]] = frozenset({"reader", "team_leader", "arbitrator"})
AUDITORS: Final[frozenset[Role]] = frozenset({"organiser", "auditor"})

RULES: Final[dict[str, frozenset[Role]]] = {
    # public pages
    "home": PUBLIC,
    "static": PUBLIC,
    "health": PUBLIC,
    "public_key": PUBLIC,
    "choose_language": PUBLIC,
    "benchmark": PUBLIC,
    "leaderboard_table": PUBLIC,
    "entry": PUBLIC,
    "badge": PUBLIC,
    "report": PUBLIC,
    "report_print": PUBLIC,
    "certificate": PUBLIC,
    "certificate_statement": PUBLIC,
    "certificate_print": PUBLIC,
    "compare": SIGNED_IN,
    "download": SIGNED_IN,
    "download_sums": SIGNED_IN,
    "download_rules": SIGNED_IN,
    # accounts
    "sign_in_page": PUBLIC,
    "sign_in": PUBLIC,
    "link_page": PUBLIC,
    "use_link": PUBLIC,
    "register_page": PUBLIC,
    "register": PUBLIC,
    "oidc_begin": PUBLIC,
    "oidc_return": PUBLIC,
    "oidc_connect": SIGNED_IN,
    "oidc_end": SIGNED_IN,
    "sign_out": SIGNED_IN,
    "account": SIGNED_IN,
    "change_password": SIGNED_IN,
    "end_session": SIGNED_IN,
    "begin_totp": SIGNED_IN,
    "confirm_totp": SIGNED_IN,
    "remove_totp": SIGNED_IN,
    "make_token": SIGNED_IN,
    "end_token": SIGNED_IN,
    "close_own_account": SIGNED_IN,
    # submissions
    "submit_page": PARTICIPANTS,
    "validate": PARTICIPANTS,
    "submit": PARTICIPANTS,
    "own_entries": PARTICIPANTS,
    "receipt": PARTICIPANTS,
    "withdraw": PARTICIPANTS,
    "certify": PARTICIPANTS,
    "progress": SIGNED_IN,
    "view": PARTICIPANTS,
    # programs
    "api_description": PUBLIC,
    "api_benchmarks": PUBLIC,
    "api_benchmark": PUBLIC,
    "api_leaderboard": PUBLIC,
    "api_entry": PUBLIC,
    "api_files": PUBLIC,
    "api_check": PARTICIPANTS,
    "api_submit": PARTICIPANTS,
    # the organiser's dashboard
    "dashboard": OPERATORS,
    "test_set": ORGANISERS,
    "entries_table": ORGANISERS,
    "mark_baseline": ORGANISERS,
    "cancel_job": OPERATORS,
    "retry_job": OPERATORS,
    "people": ORGANISERS,
    "invite": ORGANISERS,
    "end_link": ORGANISERS,
    "reset_link": ORGANISERS,
    "change_roles": ORGANISERS,
    "close_account": ORGANISERS,
    "open_registration": ORGANISERS,
    "new_benchmark_page": ORGANISERS,
    "new_benchmark": ORGANISERS,
    "change_benchmark": ORGANISERS,
    "rescore": ORGANISERS,
    "save_rules": ORGANISERS,
    "release": ORGANISERS,
    "end_release": ORGANISERS,
    "announce": ORGANISERS,
    "end_announcement": ORGANISERS,
    # annotation projects and exams
    "projects": READERS | AUDITORS,
    "project": READERS | AUDITORS,
    "project_session": READERS,
    "new_project_page": ORGANISERS,
    "new_project": ORGANISERS,
    "assign_person": ORGANISERS,
    "open_batch": ORGANISERS,
    "draw_reviewer": ORGANISERS,
    "approve_batch": AUDITORS,
    "release_batch": ORGANISERS,
    "project_files": ORGANISERS,
    "project_reference": ORGANISERS,
    "exam": READERS | AUDITORS,
    "exam_session": READERS,
    "new_exam_page": ORGANISERS,
    "new_exam": ORGANISERS,
    "end_exam": ORGANISERS,
    "exam_sheets": AUDITORS,
    "log": AUDITORS,
    "verify_log": AUDITORS,
    "log_events": AUDITORS,
}
"""Route -> roles that may use it. Access is decided only here."""


def may(roles: frozenset[str], route: str) -> bool:
    return bool(RULES.get(route, frozenset()) & roles)
