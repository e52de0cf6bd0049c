"""Make every table of the site.

The tables are listed here as they were in this version; those of ``models`` may change later.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from nodulebench.web.portal.database.models import NAMING

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TYPES: dict[str, type[sa.types.TypeEngine[Any]]] = {
    "text": sa.String,
    "long_text": sa.Text,
    "integer": sa.Integer,
    "serial": sa.Integer,
    "big_integer": sa.BigInteger,
    "boolean": sa.Boolean,
    "time": sa.DateTime,
    "json": sa.JSON,
    "bytes": sa.LargeBinary,
}
"""``serial``: numbered by the database."""
TABLES = {
    "account": (
        "id text key, login text unique, name text, roles json, password text?, "
        "totp_secret text?, totp_step integer, created_at time, closed_at time?"
    ),
    "attempt": "id serial key, aim text, at time",
    "benchmark": (
        "id text key, title text, about long_text, reference text, is_sealed boolean, "
        "protocol text, rules json, version integer, opens_at time?, closes_at time?, "
        "is_shown boolean, created_at time"
    ),
    "event": "number integer key, content bytes",
    "event_head": "id integer key, content bytes",
    "project": "id text key, title text, images text, created_at time",
    "setting": "name text key, value json",
    "worker": "name text key, opens_sealed boolean, started_at time, seen_at time",
    "announcement": (
        "id text key, benchmark_id text? -> benchmark.id, text long_text, created_at time, "
        "ended_at time?"
    ),
    "entry": (
        "id text key, benchmark_id text index -> benchmark.id, "
        "account_id text index -> account.id, name text, track text, kind text, file text, "
        "digest text, size big_integer, declared json, accepted_rules json, receipt json, "
        "is_baseline boolean, created_at time, withdrawn_at time?"
    ),
    "exam": (
        "id text key, title text, images text, rules json, made_by text -> account.id, "
        "created_at time, ended_at time?"
    ),
    "identity": (
        "issuer text key, subject text key, account_id text index -> account.id, created_at time"
    ),
    "invitation": (
        "digest text key, id text unique, roles json, account_id text? -> account.id, "
        "made_by text, created_at time, expires_at time, used_at time?"
    ),
    "project_edit": (
        "id serial key, project_id text -> project.id, person text, case_id text, "
        "content json, created_at time"
    ),
    "project_event": "project_id text key -> project.id, number integer key, content bytes",
    "project_head": "project_id text key -> project.id, content bytes",
    "project_member": (
        "project_id text key -> project.id, account_id text key -> account.id, person text"
    ),
    "release": (
        "id text key, benchmark_id text index -> benchmark.id, file text, kind text, "
        "size big_integer, changed big_integer, digest text, created_at time, "
        "ended_at time?"
    ),
    "session": (
        "digest text key, id text unique, account_id text index -> account.id, csrf text, "
        "created_at time, seen_at time, agent text"
    ),
    "token": (
        "digest text key, id text unique, account_id text index -> account.id, name text, "
        "created_at time, used_at time?, ended_at time?"
    ),
    "exam_edit": (
        "id serial key, exam_id text -> exam.id, account_id text -> account.id, "
        "case_id text, content json, created_at time"
    ),
    "exam_result": (
        "exam_id text key -> exam.id, account_id text key -> account.id, has_passed boolean, "
        "sheet json, created_at time"
    ),
    "job": (
        "id text key, entry_id text -> entry.id, version integer, state text index, "
        "claim text, worker text, lease_until time?, attempts integer, progress json, "
        "problems json, is_cancelling boolean, created_at time, ended_at time?"
    ),
    "project_exam": "project_id text key -> project.id, exam_id text -> exam.id",
    "result": (
        "id text key, entry_id text -> entry.id, version integer, folder text, digest text, "
        "metrics json, created_at time"
    ),
    "certificate": (
        "number integer key, result_id text unique -> result.id, content json, created_at time"
    ),
}
"""Table -> its columns: name, type (``?``: may be null), then whether it is (part of) the key, is
unique or has an index, and the column that it refers to."""
UNIQUE = {
    "project_member": ("project_id", "person"),
    "job": ("entry_id", "version"),
    "result": ("entry_id", "version"),
}
INDEXES = {
    "attempt": ("aim", "at"),
    "project_edit": ("project_id", "person", "id"),
    "exam_edit": ("exam_id", "account_id", "id"),
}


def upgrade() -> None:
    tables = sa.MetaData(naming_convention=NAMING)
    for name, columns in TABLES.items():
        table = sa.Table(name, tables, *map(_column, columns.split(", ")))
        if name in UNIQUE:
            table.append_constraint(sa.UniqueConstraint(*UNIQUE[name]))
        if name in INDEXES:
            sa.Index(None, *(table.c[column] for column in INDEXES[name]))
    tables.create_all(op.get_bind(), checkfirst=False)


def _column(stated: str) -> sa.Column[Any]:
    words, _, target = stated.partition(" -> ")
    name, kind, *marks = words.split()
    return sa.Column(
        name,
        TYPES[kind.rstrip("?")](),
        *([sa.ForeignKey(target)] if target else []),
        primary_key="key" in marks,
        unique="unique" in marks or None,
        index="index" in marks or None,
        nullable=kind.endswith("?"),
        autoincrement=kind == "serial",
    )
