"""Surveys, counts, report ids, arrivals and tokens.

Databases of the time before there were migrations have these tables, too.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "surveys",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("status", sa.String(8), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "cells",
        sa.Column("survey_id", sa.String(64), sa.ForeignKey("surveys.id"), primary_key=True),
        sa.Column("cell", sa.LargeBinary, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "report_ids",
        sa.Column("survey_id", sa.String(64), sa.ForeignKey("surveys.id"), primary_key=True),
        sa.Column("report_id", sa.LargeBinary(16), primary_key=True),
        sa.Column("cell", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "arrivals",
        sa.Column("survey_id", sa.String(64), sa.ForeignKey("surveys.id"), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("outcome", sa.String(32), primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("hash", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
    )
