"""Create the tables of the first release."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "surveys",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.String(64), nullable=False, unique=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("status", sa.String(8), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True)),
        sa.Column("closed_by", sa.String(8)),
        sa.Column("invitations", sa.Boolean, nullable=False),
        sa.Column("sealing_key", sa.String(64)),
        sa.Column("closes_at", sa.DateTime(timezone=True)),
        sa.Column("max_reports", sa.BigInteger),
        sa.Column("shared_devices", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("signature_key", sa.String(64)),
        sa.Column("signature", sa.String(128)),
        sa.Column("invited", sa.BigInteger, nullable=False),
        sa.Column("withdrawn", sa.BigInteger, nullable=False),
        sa.Column("unlisted", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("purged_at", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "invitations",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("hash", sa.LargeBinary(32), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "report_ids",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("report_id", sa.LargeBinary(16), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "cells",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("cell", sa.LargeBinary, primary_key=True),
        sa.Column("shard", sa.SmallInteger, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "daily_outcomes",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("outcome", sa.String(32), primary_key=True),
        sa.Column("shard", sa.SmallInteger, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        # Counting updates rows in place where their page has room.
        op.execute("ALTER TABLE cells SET (fillfactor = 50)")
    op.create_table(
        "relay_surveys",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.String(64), nullable=False, unique=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("collector", sa.Text, nullable=False),
        sa.Column("token", sa.String(64), nullable=False),
        sa.Column("closes_at", sa.DateTime(timezone=True)),
        sa.Column("status", sa.String(8), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True)),
        sa.Column("passed", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("unopened", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("batch_passed", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("batch_unopened", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("is_stopped", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.create_table(
        "relay_ids",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("report_id", sa.LargeBinary(16), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "relay_reports",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("report_id", sa.LargeBinary(16), primary_key=True),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("is_due", sa.Boolean, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("hash", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("survey", sa.Integer, sa.ForeignKey("surveys.number")),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.Column("name", sa.String(100)),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
    )
    op.create_table(
        "revoked_keys",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("subject", sa.String(128), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
