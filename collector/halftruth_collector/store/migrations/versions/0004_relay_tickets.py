"""Add the number of tickets that a relay has issued for each survey."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the number of issued tickets."""
    op.add_column(
        "relay_surveys", sa.Column("issued", sa.BigInteger, nullable=False, server_default="0")
    )
