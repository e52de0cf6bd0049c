"""What an entry was taken under; certificates, files to download, workers that live."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column and three tables; entries of before were taken under nothing."""
    with op.batch_alter_table("entry") as table:
        table.add_column(
            sa.Column("terms", sa.JSON(), nullable=False, server_default=sa.text("'{}'"))
        )
    op.create_table(
        "certificate",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("result_id", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["result_id"], ["result.id"], name=op.f("fk_certificate_result_id")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_certificate")),
        sa.UniqueConstraint("result_id", name=op.f("uq_certificate_result_id")),
    )
    op.create_table(
        "release",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("benchmark_id", sa.String(), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("ended_at", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["benchmark_id"], ["benchmark.id"], name=op.f("fk_release_benchmark_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_release")),
    )
    op.create_index(op.f("ix_release_benchmark_id"), "release", ["benchmark_id"], unique=False)
    op.create_table(
        "worker",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("opens_sealed", sa.Boolean(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("seen_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_worker")),
    )
