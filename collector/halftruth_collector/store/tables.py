"""Tables of the database, of collectors and of relays.

Counting a report inserts its id into `report_ids` and increments the `count` of its cell, in one
transaction. A known id is a duplicate and changes neither (deduplication). If the survey uses
invitations, the transaction also deletes a row of `invitations`; if it requires tickets, it inserts
the id of one into `ticket_ids`. No row links an id to a cell, an invitation or a ticket, and
neither address nor time of a report is stored. :meth:`.Database.compact` erases the order of rows
in the files. `daily_outcomes` has the numbers of reports that were counted,
repeated or refused each day. The quota of a survey is compared with its sum of counted reports.

A count is the sum of its shards. Concurrent transactions use different shards, so that they do not
wait for each other's commit to increment the same cell. Imports have a shard for themselves.

A relay stores its surveys and reports in the tables `relay_…`, which are empty in the database of a
collector. A report at a relay is a row in `relay_ids` and, until the collector has
acknowledged it, a row in `relay_reports`. The key of both is the relay's id of the report, which
the sender drew at random.
"""

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
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
    event,
    false,
    func,
)

#: Version of these tables, the last one of `migrations/versions`.
VERSION = "0004"

#: Outcomes of reports that were counted, and of reports that had been counted before.
COUNTED, REPEATED = "counted", "repeated"

metadata = MetaData()


class UtcDateTime(TypeDecorator[datetime]):
    """Time in UTC. SQLite does not store the time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time with its time zone, UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


#: Published surveys; `document` is the canonical JSON, and `digest` its SHA-256.
surveys = Table(
    "surveys",
    metadata,
    # Identifies the survey in the many rows of its reports; shorter than the id.
    Column("number", Integer, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("digest", String(64), nullable=False),
    Column("document", Text, nullable=False),
    Column("status", String(8), nullable=False),
    Column("published_at", UtcDateTime, nullable=False),
    Column("closed_at", UtcDateTime),
    # Who closed it, "operator" or "relay"; null while it is open.
    Column("closed_by", String(8)),
    # JSON of the terms with their signature; by default there are none.
    Column("terms", Text, nullable=False, server_default='{"terms":{}}'),
    # Numbers of invitations that were issued and withdrawn.
    Column("invited", BigInteger, nullable=False),
    Column("withdrawn", BigInteger, nullable=False),
    # Whether the front page and the list of surveys omit it.
    Column("unlisted", Boolean, nullable=False, server_default=false()),
    # When the ids of its reports and its unused invitations were deleted.
    Column("purged_at", UtcDateTime),
)

# The next tables grow with every report. They have no foreign keys, which would cost a lookup for
# each report: every transaction that writes to them or deletes a survey locks the survey's row.

#: Unused invitations; only the SHA-256 of an invitation is stored.
invitations = Table(
    "invitations",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("hash", LargeBinary(32), primary_key=True),
    # Number of tickets that it has admitted; neither their ids nor their commitments are stored.
    Column("tickets", SmallInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

#: Ids of the tickets that reports have spent, until they are purged.
ticket_ids = Table(
    "ticket_ids",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("ticket_id", LargeBinary(16), primary_key=True),
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

#: Number of reports in each cell of the report space; `cell` has the packed values of a report.
cells = Table(
    "cells",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("cell", LargeBinary, primary_key=True),
    Column("shard", SmallInteger, primary_key=True),
    Column("count", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


@event.listens_for(cells, "after_create")
def _leave_room(_: Table, connection: Connection, **__: object) -> None:
    # Counting updates rows in place where their page has room.
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE cells SET (fillfactor = 50)")


#: Numbers of reports counted and repeated, and of requests refused by reason, for each day (UTC).
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

#: Keys of the codes of tickets, and numbers of tickets that were issued, and spent and then purged.
ticket_keys = Table(
    "ticket_keys",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("key", LargeBinary(32), nullable=False),
    Column("issued", BigInteger, nullable=False, server_default="0"),
    Column("purged", BigInteger, nullable=False, server_default="0"),
)

#: Tables with rows of reports, in the order in which counting writes to them.
REPORT_TABLES = (invitations, ticket_ids, report_ids, cells, daily_outcomes)

#: Surveys for which a relay accepts reports; `token` authenticates the relay to their collector.
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
    # Number of reports that the collector acknowledged, and number of these that it could not open.
    Column("passed", BigInteger, nullable=False, server_default="0"),
    Column("unopened", BigInteger, nullable=False, server_default="0"),
    # The same numbers of the batch that was released last.
    Column("batch_passed", BigInteger, nullable=False, server_default="0"),
    Column("batch_unopened", BigInteger, nullable=False, server_default="0"),
    # Whether no further batch is released until the operator agrees.
    Column("is_stopped", Boolean, nullable=False, server_default=false()),
    # Number of tickets that were issued.
    Column("issued", BigInteger, nullable=False, server_default="0"),
)

#: Ids of the reports that a relay accepted, until they are purged.
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

#: Tables whose order of arrival compaction erases.
COMPACTED = (*REPORT_TABLES, relay_ids, relay_reports)

#: Bearer tokens; only the SHA-256 is stored. A token without a survey is valid for all surveys.
tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("role", String(16), nullable=False),
    Column("survey", ForeignKey("surveys.number")),
    Column("created_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
    # Owner or purpose.
    Column("name", String(100)),
    Column("expires_at", UtcDateTime),
)

#: Revoked public keys of operators; their signatures are neither served nor accepted.
revoked_keys = Table(
    "revoked_keys",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("revoked_at", UtcDateTime, nullable=False),
)

#: Actions of operators, with their origin: a token or the command line.
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
    """Return the sum of counts over their shards, as an integer (PostgreSQL returns a decimal)."""
    return cast(func.sum(count), BigInteger)
