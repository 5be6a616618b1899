"""Imports of which all reports are new or all are known: no names of collectors are kept."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Drop the tables of collectors' names; what was imported stays counted."""
    op.drop_table("imports")
    op.drop_table("lineage")
