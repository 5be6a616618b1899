"""Reports on disk: those still to be sent, and those a respondent has given.

The outbox holds perturbed reports only, never a record, and a report's invitation for as long as
the report waits. It is written before a report is sent, so
that a crash in between cannot lead to a second, fresh draw of the same answers.
"""

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

_SCHEMA = """
CREATE TABLE IF NOT EXISTS reports (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    survey TEXT NOT NULL,
    digest TEXT NOT NULL,
    report TEXT NOT NULL,
    respondent BLOB,
    waiting INTEGER NOT NULL DEFAULT 1,
    invitation TEXT,
    UNIQUE (url, survey, respondent)
) STRICT;
CREATE INDEX IF NOT EXISTS reports_waiting ON reports (url) WHERE waiting;
CREATE TABLE IF NOT EXISTS secret (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    key BLOB NOT NULL
) STRICT;
"""


@dataclass(frozen=True)
class StoredReport:
    """A perturbed report with the survey that it answers."""

    id: UUID
    survey: str
    digest: str
    values: tuple[int, ...] = field(repr=False)
    invitation: str | None = field(default=None, repr=False)


class Outbox:
    """An outbox in one file, which several threads and processes may share.

    Parameters
    ----------
    path : str or Path
        Created, readable by its owner alone, where it does not exist.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        with self._connect() as connection:
            connection.executescript(_SCHEMA)
            _upgrade(connection)
            connection.execute(
                "INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(32),)
            )
            [(self._key,)] = connection.execute("SELECT key FROM secret")

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._path, timeout=30)
        try:
            # What is deleted is overwritten too: a spent invitation leaves no trace in the file.
            connection.execute("PRAGMA secure_delete = ON")
            with connection:
                yield connection
        finally:
            connection.close()

    def _pseudonym(self, respondent: str) -> bytes:
        """Stands for a respondent in the file, so that no name or address is stored there."""
        return hashlib.blake2b(respondent.encode(), key=self._key, digest_size=32).digest()

    def find(self, url: str, survey: str, respondent: str) -> StoredReport | None:
        """The report that this respondent gave to this survey, if any."""
        with self._connect() as connection:
            rows = connection.execute(
                "SELECT id, survey, digest, report, invitation FROM reports"
                " WHERE url = ? AND survey = ? AND respondent = ?",
                (url, survey, self._pseudonym(respondent)),
            ).fetchall()
        return _stored(rows[0]) if rows else None

    def add(
        self, url: str, reports: Sequence[StoredReport], respondent: str | None = None
    ) -> list[StoredReport]:
        """Keep reports until they are sent.

        With a respondent there is one report, and if another thread or process has kept one of
        theirs in the meantime, that one stands and is returned.
        """
        pseudonym = None if respondent is None else self._pseudonym(respondent)
        with self._connect() as connection:
            connection.executemany(
                "INSERT INTO reports (id, url, survey, digest, report, respondent, invitation)"
                " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (url, survey, respondent) DO NOTHING",
                [
                    (
                        str(report.id),
                        url,
                        report.survey,
                        report.digest,
                        json.dumps(report.values),
                        pseudonym,
                        report.invitation,
                    )
                    for report in reports
                ],
            )
        if respondent is not None:
            kept = [self.find(url, report.survey, respondent) for report in reports]
            return [report for report in kept if report is not None]
        return list(reports)

    def invite(self, report: StoredReport, invitation: str) -> StoredReport:
        """Let a remembered report wait again, with this invitation."""
        with self._connect() as connection:
            connection.execute(
                "UPDATE reports SET waiting = 1, invitation = ? WHERE id = ?",
                (invitation, str(report.id)),
            )
        return replace(report, invitation=invitation)

    def waiting(self, url: str, limit: int) -> list[StoredReport]:
        """Reports still to be sent, those of one version of one survey, `limit` at most."""
        with self._connect() as connection:
            rows = connection.execute(
                "SELECT id, survey, digest, report, invitation FROM reports"
                " WHERE waiting AND url = :url"
                " AND (survey, digest) = (SELECT survey, digest FROM reports"
                " WHERE waiting AND url = :url LIMIT 1) LIMIT :limit",
                {"url": url, "limit": limit},
            ).fetchall()
        return [_stored(row) for row in rows]

    def settle(self, reports: Sequence[StoredReport]) -> None:
        """Send these no more.

        What a respondent gave stays remembered, without its invitation; the rest is deleted.
        """
        ids = [(str(report.id),) for report in reports]
        with self._connect() as connection:
            connection.executemany("DELETE FROM reports WHERE id = ? AND respondent IS NULL", ids)
            connection.executemany(
                "UPDATE reports SET waiting = 0, invitation = NULL WHERE id = ?", ids
            )


def _upgrade(connection: sqlite3.Connection) -> None:
    """Give a file of an earlier version the columns that it lacks."""
    connection.execute("BEGIN IMMEDIATE")
    columns = {name for _, name, *_ in connection.execute("PRAGMA table_info(reports)")}
    if "invitation" not in columns:
        connection.execute("ALTER TABLE reports ADD COLUMN invitation TEXT")


def _stored(row: tuple[str, str, str, str, str | None]) -> StoredReport:
    id_, survey, digest, report, invitation = row
    return StoredReport(UUID(id_), survey, digest, tuple(json.loads(report)), invitation)
