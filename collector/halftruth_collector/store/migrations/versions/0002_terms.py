"""Put the terms of a survey and their signature into one column."""

import json
from datetime import UTC

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

#: Columns of the terms, and of their signature.
_TERMS = (
    sa.Column("invitations", sa.Boolean),
    sa.Column("sealing_key", sa.String(64)),
    sa.Column("closes_at", sa.DateTime(timezone=True)),
    sa.Column("max_reports", sa.BigInteger),
    sa.Column("shared_devices", sa.Boolean),
)
_SIGNATURE = (sa.Column("signature_key", sa.String(64)), sa.Column("signature", sa.String(128)))

_SURVEYS = sa.table("surveys", sa.column("number"), sa.column("terms"), *_TERMS, *_SIGNATURE)


def upgrade() -> None:
    """Write the terms of each survey into the new column, and drop the others."""
    op.add_column(
        "surveys",
        sa.Column("terms", sa.Text, nullable=False, server_default='{"terms":{}}'),
    )
    connection = op.get_bind()
    for row in connection.execute(sa.select(_SURVEYS)).all():
        terms = {column.name: getattr(row, column.name) for column in _TERMS}
        if row.closes_at is not None:
            # SQLite stores times without their zone, which is UTC.
            moment = row.closes_at.replace(tzinfo=row.closes_at.tzinfo or UTC).astimezone(UTC)
            terms["closes_at"] = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        signature = None
        if row.signature_key is not None:
            signature = {"key": row.signature_key, "value": row.signature}
        text = json.dumps({"terms": terms, "signature": signature})
        where = _SURVEYS.c.number == row.number
        connection.execute(sa.update(_SURVEYS).where(where).values(terms=text))
    for column in (*_TERMS, *_SIGNATURE):
        op.drop_column("surveys", column.name)
