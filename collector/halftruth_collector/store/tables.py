"""The tables, and how each report walks through them.

A report is one new row in `report_ids` and one more in the `count` of its cell, in the same
transaction; a repeated id changes neither. Nothing else of a report is kept: no address, no time,
no order (the rows of `report_ids` are stored by id). Of all reports of a day together, `arrivals`
keeps how many were counted, repeated or refused.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    DateTime,
    ForeignKey,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

#: Published surveys; `document` is the canonical JSON of which `digest` is the SHA-256.
surveys = Table(
    "surveys",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("document", Text, nullable=False),
    Column("status", String(8), nullable=False),
    Column("published_at", DateTime(timezone=True), nullable=False),
    Column("closed_at", DateTime(timezone=True)),
)

#: How often each perturbed record was reported; `cell` packs its values.
cells = Table(
    "cells",
    metadata,
    Column("survey_id", ForeignKey("surveys.id"), primary_key=True),
    Column("cell", LargeBinary, primary_key=True),
    Column("count", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

#: Ids of the reports counted, each with its cell to tell a retry from another report.
report_ids = Table(
    "report_ids",
    metadata,
    Column("survey_id", ForeignKey("surveys.id"), primary_key=True),
    Column("report_id", LargeBinary(16), primary_key=True),
    Column("cell", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

#: What became of the reports of each day (UTC): counted, repeated, or why requests were refused.
arrivals = Table(
    "arrivals",
    metadata,
    Column("survey_id", ForeignKey("surveys.id"), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("outcome", String(32), primary_key=True),
    Column("count", BigInteger, nullable=False),
)

#: Bearer tokens, of which only the SHA-256 is kept.
tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("role", String(16), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("revoked_at", DateTime(timezone=True)),
)
