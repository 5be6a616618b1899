"""Numbered surveys with terms and signatures, sharded counts, invitations, tokens of one survey,
revoked keys and the audit log.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

#: Tables of the reports, whose rows named their survey by its id, with the columns that stay.
_BY_SURVEY = {
    "cells": ("cell", "count"),
    "report_ids": ("report_id", "cell"),
    "arrivals": ("day", "outcome", "count"),
}


def upgrade() -> None:
    """Create the tables anew and move every row."""
    for name in ("surveys", "tokens", *_BY_SURVEY):
        op.rename_table(name, f"old_{name}")
    _create()
    columns = "id, digest, document, status, published_at, closed_at"
    op.execute(
        f"INSERT INTO surveys ({columns}, invitations, invited, withdrawn)"
        f" SELECT {columns}, false, 0, 0 FROM old_surveys ORDER BY published_at, id"
    )
    columns = "id, hash, role, created_at, revoked_at"
    op.execute(f"INSERT INTO tokens ({columns}) SELECT {columns} FROM old_tokens")
    for name, kept in _BY_SURVEY.items():
        shard = ("", "") if name == "report_ids" else (", shard", ", 0")
        columns = ", ".join(kept)
        op.execute(
            f"INSERT INTO {name} (survey, {columns}{shard[0]})"
            f" SELECT s.number, {', '.join(f'o.{column}' for column in kept)}{shard[1]}"
            f" FROM old_{name} AS o JOIN surveys AS s ON s.id = o.survey_id"
        )
    for name in (*_BY_SURVEY, "tokens", "surveys"):
        op.drop_table(f"old_{name}")


def _create() -> None:
    # Constraints have names, since PostgreSQL keeps those of a renamed table.
    op.create_table(
        "surveys",
        sa.Column("number", sa.Integer),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("status", sa.String(8), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True)),
        sa.Column("invitations", sa.Boolean, nullable=False),
        sa.Column("sealing_key", sa.String(64)),
        sa.Column("signature_key", sa.String(64)),
        sa.Column("signature", sa.String(128)),
        sa.Column("invited", sa.BigInteger, nullable=False),
        sa.Column("withdrawn", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number", name="surveys_number"),
        sa.UniqueConstraint("id", name="surveys_id"),
    )
    op.create_table(
        "cells",
        sa.Column("survey", sa.Integer, autoincrement=False),
        sa.Column("cell", sa.LargeBinary),
        sa.Column("shard", sa.SmallInteger),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("survey", "cell", "shard", name="cells_key"),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        # Counting updates rows in place where their page has room.
        op.execute("ALTER TABLE cells SET (fillfactor = 50)")
    op.create_table(
        "report_ids",
        sa.Column("survey", sa.Integer, autoincrement=False),
        sa.Column("report_id", sa.LargeBinary(16)),
        sa.Column("cell", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("survey", "report_id", name="report_ids_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "arrivals",
        sa.Column("survey", sa.Integer, autoincrement=False),
        sa.Column("day", sa.Date),
        sa.Column("outcome", sa.String(32)),
        sa.Column("shard", sa.SmallInteger),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("survey", "day", "outcome", "shard", name="arrivals_key"),
    )
    op.create_table(
        "invitations",
        sa.Column("survey", sa.Integer, autoincrement=False),
        sa.Column("hash", sa.LargeBinary(32)),
        sa.PrimaryKeyConstraint("survey", "hash", name="invitations_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16)),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("survey", sa.Integer, sa.ForeignKey("surveys.number")),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="tokens_id"),
        sa.UniqueConstraint("hash", name="tokens_hash"),
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
