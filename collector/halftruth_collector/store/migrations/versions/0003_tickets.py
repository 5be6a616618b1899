"""Add the tickets of surveys that require them."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables of tickets, and count the tickets of each unused invitation."""
    op.create_table(
        "ticket_keys",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("issued", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("purged", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.create_table(
        "ticket_ids",
        sa.Column("survey", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("ticket_id", sa.LargeBinary(16), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.add_column(
        "invitations", sa.Column("tickets", sa.SmallInteger, nullable=False, server_default="0")
    )
