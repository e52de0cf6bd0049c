"""Annotation projects: their people, the events of their logs, and drafts."""

import sqlalchemy as sa
from alembic import op

revision = "0004_projects"
down_revision = "0003_identities"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add five tables."""
    op.create_table(
        "project",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("images", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
    )
    op.create_table(
        "project_member",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_project_member_project_id")
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_project_member_account_id")
        ),
        sa.PrimaryKeyConstraint("project_id", "account_id", name=op.f("pk_project_member")),
        sa.UniqueConstraint(
            "project_id", "person", name=op.f("uq_project_member_project_id_person")
        ),
    )
    for name, number in (("project_event", "number"), ("project_head", "")):
        numbers = [sa.Column(number, sa.Integer(), autoincrement=False, nullable=False)]
        op.create_table(
            name,
            sa.Column("project_id", sa.String(), nullable=False),
            *(numbers if number else ()),
            sa.Column("content", sa.LargeBinary(), nullable=False),
            sa.ForeignKeyConstraint(
                ["project_id"], ["project.id"], name=op.f(f"fk_{name}_project_id")
            ),
            sa.PrimaryKeyConstraint(
                "project_id", *((number,) if number else ()), name=op.f(f"pk_{name}")
            ),
        )
    op.create_table(
        "project_edit",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("of_case", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_project_edit_project_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project_edit")),
    )
    op.create_index(
        op.f("ix_project_edit_project_id_person_id"),
        "project_edit",
        ["project_id", "person", "id"],
        unique=False,
    )
