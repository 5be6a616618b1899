"""Decisions of operators: ends and listing of surveys, purged ids, names and ends of tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add columns; every survey stays as it is, and every token good for ever."""
    op.add_column("surveys", sa.Column("closes_at", sa.DateTime(timezone=True)))
    op.add_column("surveys", sa.Column("max_reports", sa.BigInteger))
    op.add_column(
        "surveys",
        sa.Column("shared_devices", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.add_column(
        "surveys", sa.Column("unlisted", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.add_column("surveys", sa.Column("purged_at", sa.DateTime(timezone=True)))
    op.add_column("tokens", sa.Column("name", sa.String(100)))
    op.add_column("tokens", sa.Column("expires_at", sa.DateTime(timezone=True)))
