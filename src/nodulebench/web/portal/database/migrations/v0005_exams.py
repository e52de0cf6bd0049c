"""Exams: what people draw in them, and their sheets; projects that ask for one."""

import sqlalchemy as sa
from alembic import op

revision = "0005_exams"
down_revision = "0004_projects"
branch_labels = None
depends_on = None
OWNERS = {"exam_id": "exam.id", "account_id": "account.id"}


def upgrade() -> None:
    """Add four tables."""
    op.create_table(
        "exam",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("images", sa.String(), nullable=False),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.Column("made_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("ended_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["made_by"], ["account.id"], name=op.f("fk_exam_made_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exam")),
    )
    op.create_table(
        "exam_edit",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        *_owners(),
        sa.Column("of_case", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        *_known("exam_edit"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exam_edit")),
    )
    op.create_index(
        op.f("ix_exam_edit_exam_id_account_id_id"), "exam_edit", ["exam_id", "account_id", "id"]
    )
    op.create_table(
        "exam_result",
        *_owners(),
        sa.Column("has_passed", sa.Boolean(), nullable=False),
        sa.Column("sheet", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        *_known("exam_result"),
        sa.PrimaryKeyConstraint("exam_id", "account_id", name=op.f("pk_exam_result")),
    )
    op.create_table(
        "project_exam",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("exam_id", sa.String(), nullable=False),
        *_known("project_exam", {"project_id": "project.id", "exam_id": "exam.id"}),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_project_exam")),
    )


def _owners() -> list[sa.Column[str]]:
    return [sa.Column(name, sa.String(), nullable=False) for name in OWNERS]


def _known(table: str, owners: dict[str, str] = OWNERS) -> list[sa.ForeignKeyConstraint]:
    return [
        sa.ForeignKeyConstraint([own], [of], name=op.f(f"fk_{table}_{own}"))
        for own, of in owners.items()
    ]
