"""The rows of reports inside a transaction: every statement that reads or writes them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, text

from .slices import POSITIONS, at
from .tables import arrivals

_INSERT_IDS = text(
    f"""
    INSERT INTO report_ids (survey, report_id, cell) {POSITIONS}
    SELECT :survey, {at("ids", "16")}, {at("cells", ":width")} FROM position WHERE true
    ON CONFLICT DO NOTHING
    """
)

_FIND_IDS = text(
    f"""{POSITIONS}
    SELECT report_id, cell FROM position
    JOIN report_ids ON survey = :survey AND report_id = {at("ids", "16")}
    """
)

_COUNT = text(
    f"""
    INSERT INTO cells (survey, cell, shard, count) {POSITIONS}, counted(cell, added) AS (
        SELECT cell, count(*) FROM (SELECT {at("cells", ":width")} AS cell FROM position) AS cut
        GROUP BY cell
    )
    SELECT :survey, cell, :shard, added FROM counted WHERE true ORDER BY cell
    ON CONFLICT (survey, cell, shard) DO UPDATE SET count = cells.count + excluded.count
    """
)

_UNSPENT = f"""
    SELECT hash FROM invitations WHERE survey = :survey
    AND hash IN ({POSITIONS} SELECT {at("hashes", "32")} FROM position) ORDER BY hash
    """

#: SQLite has one writer, so that nothing needs to be locked there.
_FIND_INVITATIONS = {"sqlite": text(_UNSPENT), "postgresql": text(f"{_UNSPENT} FOR UPDATE")}

_SPEND = text(
    f"""
    DELETE FROM invitations WHERE survey = :survey
    AND hash IN ({POSITIONS} SELECT {at("hashes", "32")} FROM position)
    """
)

_ARRIVE = text(
    """
    INSERT INTO arrivals (survey, day, outcome, shard, count)
    VALUES (:survey, :day, :outcome, :shard, :count)
    ON CONFLICT (survey, day, outcome, shard) DO UPDATE SET count = arrivals.count + excluded.count
    """
).bindparams(bindparam("day", type_=arrivals.c.day.type))


class KnownIds(Exception):
    """Some ids that seemed new were counted already: the transaction is to be undone.

    Attributes
    ----------
    number : int
        Of the survey.
    ids : sequence of bytes
        All that were to be inserted.
    """

    def __init__(self, number: int, ids: Sequence[bytes]) -> None:
        self.number = number
        self.ids = ids


class ReportRows:
    """The rows of one survey's reports.

    Parameters
    ----------
    connection : Connection
        With a transaction that holds the survey's row, if anything is to be written.
    number : int
        Of the survey.
    shard : int
        In which this transaction counts.
    """

    def __init__(self, connection: Connection, number: int, shard: int = 0) -> None:
        self._connection = connection
        self._number = number
        self._shard = shard

    def find(self, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        """The cells of those ids that were counted."""
        if not ids:
            return {}
        parameters = {"survey": self._number, "ids": b"".join(ids), "size": len(ids)}
        rows = self._connection.execute(_FIND_IDS, parameters)
        return {row.report_id: row.cell for row in rows}

    def insert(self, packed: Mapping[bytes, bytes]) -> None:
        """Record ids that seem new, with their cells.

        Raises
        ------
        KnownIds
            If one of them is not new.
        """
        if not packed:
            return
        # In order, so that two transactions with common ids cannot wait for each other.
        ids = sorted(packed)
        parameters = {
            "survey": self._number,
            "ids": b"".join(ids),
            "cells": b"".join([packed[id_] for id_ in ids]),
            "width": len(packed[ids[0]]),
            "size": len(ids),
        }
        if self._connection.execute(_INSERT_IDS, parameters).rowcount != len(ids):
            raise KnownIds(self._number, ids)

    def count(self, added: Iterable[bytes]) -> None:
        """Count one more report in each of these cells."""
        cells = list(added)
        if not cells:
            return
        parameters = {
            "survey": self._number,
            "cells": b"".join(cells),
            "width": len(cells[0]),
            "shard": self._shard,
            "size": len(cells),
        }
        self._connection.execute(_COUNT, parameters)

    def unspent(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Those of some invitations that nobody used, nor can before this transaction ends."""
        if not hashes:
            return set()
        statement = _FIND_INVITATIONS[self._connection.dialect.name]
        parameters = {"survey": self._number, "hashes": b"".join(hashes), "size": len(hashes)}
        return set(self._connection.execute(statement, parameters).scalars())

    def spend(self, hashes: Iterable[bytes]) -> None:
        """Delete invitations that let a report in."""
        spent = sorted(hashes)
        if spent:
            parameters = {"survey": self._number, "hashes": b"".join(spent), "size": len(spent)}
            self._connection.execute(_SPEND, parameters)

    def arrive(self, outcomes: Mapping[str, int]) -> None:
        """Add to what became of the reports of this day."""
        today = datetime.now(UTC).date()
        arrived = [
            {
                "survey": self._number,
                "day": today,
                "outcome": outcome,
                "shard": self._shard,
                "count": count,
            }
            for outcome, count in sorted(outcomes.items())
            if count
        ]
        if arrived:
            self._connection.execute(_ARRIVE, arrived)
