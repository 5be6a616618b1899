"""Outbox: waiting reports, and the reports and ledgers of known respondents, in one file.

An outbox stores perturbed reports, never records, and the invitation and the ticket of a report
while it waits; and tickets that were fetched beforehand. A
report is stored before it is sent, so that a crash in between cannot lead to a second draw for the
same answers: a retry sends the stored report.

A respondent's report is found by survey and respondent, independently of the collector's address.
"""

import hashlib
import json
import secrets
import sqlite3
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from uuid import UUID

import msgspec
from halftruth_shared import ParameterError
from halftruth_shared.private_files import create_private, tighten
from halftruth_shared.protocol.tickets import Ticket

from .drawing import DrawnReport
from .errors import SurveyRefused
from .ledger import Ledger, LedgerEntry

_SCHEMA = """
CREATE TABLE IF NOT EXISTS reports (
    id TEXT PRIMARY KEY,
    survey TEXT NOT NULL,
    digest TEXT NOT NULL,
    report TEXT NOT NULL,
    relay_id TEXT,
    respondent BLOB,
    collector TEXT NOT NULL,
    waiting INTEGER NOT NULL DEFAULT 1,
    invitation TEXT,
    ticket TEXT,
    UNIQUE (survey, respondent)
) STRICT;
CREATE INDEX IF NOT EXISTS reports_waiting ON reports (collector) WHERE waiting;
CREATE TABLE IF NOT EXISTS tickets (
    ticket TEXT PRIMARY KEY,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS ledger (
    respondent BLOB NOT NULL,
    digest TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (respondent, digest)
) STRICT;
CREATE TABLE IF NOT EXISTS secret (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    key BLOB NOT NULL
) STRICT;
"""


class Outbox:
    """Reports in one file, which several threads and processes of a machine may share.

    The file is created if needed, and readable by its owner only.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            # SQLite takes some relative names, such as ":memory:", for a database in memory.
            self._path = Path(path).absolute()
            create_private(self._path)
            with self._connect() as connection:
                connection.executescript(_SCHEMA)
                columns = {row[1] for row in connection.execute("PRAGMA table_info (reports)")}
                if "ticket" not in columns:
                    # A file of an earlier version.
                    connection.execute("ALTER TABLE reports ADD COLUMN ticket TEXT")
                connection.execute(
                    "INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(32),)
                )
                [(self._key,)] = connection.execute("SELECT key FROM secret")
            tighten(self._path)
        except (OSError, TypeError, sqlite3.Error) as error:
            raise ParameterError(
                f"outbox: {path}: expected a file for reports that can be written ({error})",
                field="outbox",
            ) from None

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._path, timeout=30)
        try:
            # Overwrite deleted data, so that a spent invitation leaves no trace in the file.
            connection.execute("PRAGMA secure_delete = ON")
            with connection:
                yield connection
        finally:
            connection.close()

    def _pseudonym(self, respondent: str) -> bytes:
        """Return a keyed hash of a respondent, so that no name or address is stored.

        Keys are compared in Unicode NFC.
        """
        name = unicodedata.normalize("NFC", respondent).encode(errors="surrogatepass")
        return hashlib.blake2b(name, key=self._key, digest_size=32).digest()

    def find(self, survey: str, respondent: str) -> DrawnReport | None:
        """Return the stored report of this respondent to this survey, if any."""
        with self._connect() as connection:
            rows = connection.execute(
                "SELECT id, survey, digest, report, invitation, relay_id, ticket FROM reports"
                " WHERE survey = ? AND respondent = ?",
                (survey, self._pseudonym(respondent)),
            ).fetchall()
        return _stored(rows[0]) if rows else None

    def ledger(self, respondent: str) -> Ledger:
        """Return the ledger of this respondent."""
        with self._connect() as connection:
            return self._ledger(connection, self._pseudonym(respondent))

    @staticmethod
    def _ledger(connection: sqlite3.Connection, pseudonym: bytes) -> Ledger:
        rows = connection.execute(
            "SELECT entry FROM ledger WHERE respondent = ? ORDER BY rowid", (pseudonym,)
        )
        try:
            entries = [msgspec.json.decode(entry, type=LedgerEntry) for (entry,) in rows]
        except msgspec.DecodeError:
            raise SurveyRefused(
                "ledger: what this outbox kept of earlier reports is damaged", field="ledger"
            ) from None
        return Ledger(tuple(entries))

    def forget_ledger(self, respondent: str) -> None:
        """Delete the ledger of this respondent."""
        with self._connect() as connection:
            connection.execute(
                "DELETE FROM ledger WHERE respondent = ?", (self._pseudonym(respondent),)
            )

    def add_once(
        self,
        collector: str,
        report: DrawnReport,
        respondent: str,
        entry: LedgerEntry,
        max_total_gamma: Fraction | None,
    ) -> DrawnReport:
        """Store a respondent's waiting report with its ledger entry in one transaction; return it.

        If another thread or process has stored one meanwhile, return that one. If the report would
        exceed a limit of the ledger, raise `SurveyRefused`, and store nothing.
        """
        pseudonym = self._pseudonym(respondent)
        with self._connect() as connection:
            connection.execute("BEGIN IMMEDIATE")
            key = (report.survey, pseudonym)
            taken = "SELECT 1 FROM reports WHERE survey = ? AND respondent = ?"
            if connection.execute(taken, key).fetchone() is None:
                self._ledger(connection, pseudonym).check(entry, max_total_gamma)
                connection.execute(
                    "INSERT OR REPLACE INTO ledger VALUES (?, ?, ?)",
                    (pseudonym, entry.digest, msgspec.json.encode(entry).decode()),
                )
            self._add(connection, collector, [report], pseudonym)
        kept = self.find(report.survey, respondent)
        return report if kept is None else kept

    def add(self, collector: str, reports: Sequence[DrawnReport]) -> None:
        """Store waiting reports; mark stored ones as waiting again."""
        with self._connect() as connection:
            self._add(connection, collector, reports)

    def _add(
        self,
        connection: sqlite3.Connection,
        collector: str,
        reports: Sequence[DrawnReport],
        pseudonym: bytes | None = None,
    ) -> None:
        connection.executemany(
            "INSERT INTO reports"
            " (id, survey, digest, report, relay_id, respondent, collector, ticket)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [
                (
                    str(report.id),
                    report.survey,
                    report.digest,
                    json.dumps(report.values),
                    None if report.relay_id is None else str(report.relay_id),
                    pseudonym,
                    collector,
                    None if report.ticket is None else report.ticket.to_text(),
                )
                for report in reports
            ],
        )
        connection.executemany(
            "UPDATE reports SET waiting = 1, collector = ?, invitation = ? WHERE id = ?",
            [(collector, report.invitation, str(report.id)) for report in reports],
        )

    def count_waiting(self, collector: str) -> list[tuple[str, str, int]]:
        """Return id, digest and number of waiting reports of each survey, the oldest first."""
        with self._connect() as connection:
            rows: list[tuple[str, str, int]] = connection.execute(
                "SELECT survey, digest, count(*) FROM reports WHERE waiting AND collector = ?"
                " GROUP BY survey, digest ORDER BY min(rowid)",
                (collector,),
            ).fetchall()
        return rows

    def waiting(self, collector: str, survey: str, digest: str, limit: int) -> list[DrawnReport]:
        """Return at most `limit` waiting reports of one version of one survey."""
        with self._connect() as connection:
            rows = connection.execute(
                "SELECT id, survey, digest, report, invitation, relay_id, ticket FROM reports"
                " WHERE waiting AND collector = ? AND survey = ? AND digest = ? LIMIT ?",
                (collector, survey, digest, limit),
            ).fetchall()
        return [_stored(row) for row in rows]

    def settle(self, reports: Sequence[DrawnReport], *, counted: bool = True) -> None:
        """Mark reports as settled, counted or refused.

        Reports of known respondents are kept without invitations, and without tickets if they were
        counted; other reports are deleted.
        """
        ids = [(str(report.id),) for report in reports]
        with self._connect() as connection:
            connection.executemany("DELETE FROM reports WHERE id = ? AND respondent IS NULL", ids)
            connection.executemany(
                "UPDATE reports SET waiting = 0, invitation = NULL WHERE id = ?", ids
            )
            if counted:
                connection.executemany("UPDATE reports SET ticket = NULL WHERE id = ?", ids)

    def has_ticket(self, digest: str) -> bool:
        """Return whether there is a ticket for a version of a survey."""
        with self._connect() as connection:
            found = "SELECT 1 FROM tickets WHERE digest = ? LIMIT 1"
            return connection.execute(found, (digest,)).fetchone() is not None

    def keep_tickets(self, digest: str, tickets: Sequence[Ticket]) -> None:
        """Keep tickets for later reports to a version of a survey."""
        with self._connect() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO tickets (ticket, digest) VALUES (?, ?)",
                [(ticket.to_text(), digest) for ticket in tickets],
            )

    def pop_tickets(self, digest: str, count: int) -> list[Ticket]:
        """Remove and return at most `count` tickets for a version of a survey."""
        with self._connect() as connection:
            connection.execute("BEGIN IMMEDIATE")
            rows = connection.execute(
                "SELECT ticket FROM tickets WHERE digest = ? LIMIT ?", (digest, count)
            ).fetchall()
            connection.executemany("DELETE FROM tickets WHERE ticket = ?", rows)
        return [Ticket.from_text(text) for (text,) in rows]


def _stored(
    row: tuple[str, str, str, str, str | None, str | None, str | None],
) -> DrawnReport:
    id_, survey, digest, report, invitation, relay_id, ticket = row
    return DrawnReport(
        UUID(id_),
        survey,
        digest,
        tuple(json.loads(report)),
        invitation,
        None if relay_id is None else UUID(relay_id),
        None if ticket is None else Ticket.from_text(ticket),
    )
