"""Rename columns, and keys of the problems of jobs, to plain names."""

import sqlalchemy as sa
from alembic import op

revision = "0006_plain_names"
down_revision = "0005_exams"
branch_labels = None
depends_on = None
COLUMNS = (
    ("entry", "terms", "accepted_rules"),
    ("account", "factor", "totp_secret"),
    ("account", "factor_step", "totp_step"),
    ("exam_edit", "of_case", "case_id"),
    ("project_edit", "of_case", "case_id"),
)
KEYS = {"told": "messages", "kept": "operator_message"}


def upgrade() -> None:
    """Rename five columns and two keys; no value changes."""
    for table, old, new in COLUMNS:
        op.execute(sa.text(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}"))
    connection = op.get_bind()
    job = sa.table("job", sa.column("id", sa.String()), sa.column("problems", sa.JSON()))
    for job_id, problems in connection.execute(sa.select(job.c.id, job.c.problems)).all():
        named = {KEYS.get(key, key): value for key, value in problems.items()}
        connection.execute(sa.update(job).where(job.c.id == job_id).values(problems=named))
