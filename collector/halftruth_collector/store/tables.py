"""The tables, and how each report walks through them.

A report is one new row in `report_ids` and one more in the `count` of its cell, in the same
transaction; a known id changes neither. Where its survey asks for invitations, that transaction
also deletes one row of `invitations`. No row says which id came with which cell or invitation, and
nothing else of a report is kept: no address, no time. The order in which rows lie in the database's
files is destroyed by :meth:`.Database.compact`. Of all reports of a day together, `daily_outcomes`
keeps how many were counted, repeated or refused; those counted, of all days, are the reports that a
quota is held against.

Every count is the sum of its shards: transactions that run at the same time take different ones,
so that none waits for another's commit to count the same cell. What is imported has a shard of its
own.

A relay has tables of its own, which are empty in a collector's database and the other way round. A
report that is sent to it is one row in `relay_ids` and, until its collector has acknowledged it, in
`relay_reports`; both are keyed by an id that the sender drew at random.

The migrations in `migrations/versions` lead here; a test holds these tables against them.
"""

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Date,
    DateTime,
    Dialect,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    TypeDecorator,
    cast,
    false,
    func,
)

#: Version of these tables, the last one of `migrations/versions`.
VERSION = "0001"

#: Outcomes of reports that were counted, and of reports that had been counted before.
COUNTED, REPEATED = "counted", "repeated"

metadata = MetaData()


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite forgets the time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Say the time zone that the moment was written in."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


#: Published surveys; `document` is the canonical JSON of which `digest` is the SHA-256.
surveys = Table(
    "surveys",
    metadata,
    # Names a survey in the rows of its reports, of which there are many.
    Column("number", Integer, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("digest", String(64), nullable=False),
    Column("document", Text, nullable=False),
    Column("status", String(8), nullable=False),
    Column("published_at", UtcDateTime, nullable=False),
    Column("closed_at", UtcDateTime),
    Column("invitations", Boolean, nullable=False),
    Column("sealing_key", String(64)),
    Column("closes_at", UtcDateTime),
    Column("max_reports", BigInteger),
    Column("shared_devices", Boolean, nullable=False, server_default=false()),
    Column("signature_key", String(64)),
    Column("signature", String(128)),
    # How many invitations were issued, and how many of them withdrawn.
    Column("invited", BigInteger, nullable=False),
    Column("withdrawn", BigInteger, nullable=False),
    # Whether only those find it who know its address.
    Column("unlisted", Boolean, nullable=False, server_default=false()),
    # When the ids of its reports and its unused invitations were deleted.
    Column("purged_at", UtcDateTime),
)

# The next tables grow with every report. Whoever writes to them or deletes a survey holds its row,
# so they do without foreign keys that would be looked up once for each report.

#: Invitations that nobody used yet, of which only the SHA-256 is kept.
invitations = Table(
    "invitations",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("hash", LargeBinary(32), primary_key=True),
    sqlite_with_rowid=False,
)

#: Ids of the reports counted, until they are purged.
report_ids = Table(
    "report_ids",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("report_id", LargeBinary(16), primary_key=True),
    sqlite_with_rowid=False,
)

#: How often each report space's cell was reported; `cell` packs its values.
cells = Table(
    "cells",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("cell", LargeBinary, primary_key=True),
    Column("shard", SmallInteger, primary_key=True),
    Column("count", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

#: What became of the reports of each day (UTC): counted, repeated, or why requests were refused.
daily_outcomes = Table(
    "daily_outcomes",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("day", Date, primary_key=True),
    Column("outcome", String(32), primary_key=True),
    Column("shard", SmallInteger, primary_key=True),
    Column("count", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

#: Tables with rows of reports, in the order in which a transaction that counts comes to them.
REPORT_TABLES = (invitations, report_ids, cells, daily_outcomes)

#: Surveys that a relay takes reports for; `token` is shown to their collector.
relay_surveys = Table(
    "relay_surveys",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("digest", String(64), nullable=False),
    Column("document", Text, nullable=False),
    Column("collector", Text, nullable=False),
    Column("token", String(64), nullable=False),
    Column("closes_at", UtcDateTime),
    Column("status", String(8), nullable=False),
    Column("closed_at", UtcDateTime),
    # Reports that the collector acknowledged, and those of them that it could not open.
    Column("passed", BigInteger, nullable=False, server_default="0"),
    Column("unopened", BigInteger, nullable=False, server_default="0"),
)

#: Ids of the reports that a relay took, until they are purged.
relay_ids = Table(
    "relay_ids",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("report_id", LargeBinary(16), primary_key=True),
    sqlite_with_rowid=False,
)

#: Reports that a relay holds, still sealed to their collector; `is_due` once their batch is full.
relay_reports = Table(
    "relay_reports",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("report_id", LargeBinary(16), primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("is_due", Boolean, nullable=False),
    sqlite_with_rowid=False,
)

#: Tables whose rows must not lie in the order in which they came.
COMPACTED = (*REPORT_TABLES, relay_ids, relay_reports)

#: Bearer tokens, of which only the SHA-256 is kept; one without a survey is for all of them.
tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("role", String(16), nullable=False),
    Column("survey", ForeignKey("surveys.number")),
    Column("created_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
    # For people: what it is for.
    Column("name", String(100)),
    Column("expires_at", UtcDateTime),
)

#: Public keys of operators whose signatures are served no more.
revoked_keys = Table(
    "revoked_keys",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("revoked_at", UtcDateTime, nullable=False),
)

#: What operators did, and by which token or from which command line.
audit = Table(
    "audit",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("actor", String(64), nullable=False),
    Column("action", String(32), nullable=False),
    Column("subject", String(128), nullable=False),
    Column("detail", Text, nullable=False),
)


def sum_shards(count: Column[int]) -> ColumnElement[int]:
    """Return the sum of counts over their shards; PostgreSQL would make it a decimal number."""
    return cast(func.sum(count), BigInteger)
