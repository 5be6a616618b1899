"""What a database holds, read by plain SQL and not by the program under test."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

_IDS = """
SELECT surveys.id, report_ids.report_id
FROM report_ids JOIN surveys ON surveys.number = report_ids.survey
"""
_COUNTS = """
SELECT surveys.id, cells.cell, cells.count
FROM cells JOIN surveys ON surveys.number = cells.survey
"""
_DAYS = """
SELECT surveys.id, daily_outcomes.day, daily_outcomes.count
FROM daily_outcomes JOIN surveys ON surveys.number = daily_outcomes.survey
WHERE daily_outcomes.outcome = 'counted'
"""
_INVITATIONS = "SELECT hash FROM invitations"

#: Answers one statement with its rows; all statements see the same moment.
Query = Callable[[str], Iterable[Sequence[Any]]]


class Entry(NamedTuple):
    """One report, as its client knows it: its survey, its id, and its packed values."""

    survey: str
    id: bytes
    cell: bytes

    @property
    def key(self) -> tuple[str, bytes]:
        """What the database knows it by."""
        return self.survey, self.id


@dataclass(frozen=True)
class Reading:
    """A database at one moment.

    Attributes
    ----------
    ids : list of tuple
        Survey and id of each report.
    counts : Counter
        By survey and cell.
    days : Counter
        Reports counted, by survey and day.
    invitations : set of bytes
        Hashes of those that are left.
    """

    ids: list[tuple[str, bytes]]
    counts: Counter[tuple[str, bytes]]
    days: Counter[tuple[str, date]]
    invitations: set[bytes]

    def counted(self, entries: Collection[Entry]) -> set[Entry]:
        """Those of some reports whose ids are stored."""
        ids = set(self.ids)
        # A copy: clients go on while this looks.
        return {entry for entry in list(entries) if entry.key in ids}


def read(query: Query) -> Reading:
    """Read everything that reports leave behind."""
    counts: Counter[tuple[str, bytes]] = Counter()
    for survey, cell, count in query(_COUNTS):
        counts[survey, bytes(cell)] += count
    days: Counter[tuple[str, date]] = Counter()
    for survey, day, count in query(_DAYS):
        days[survey, day if isinstance(day, date) else date.fromisoformat(day)] += count
    ids = [(survey, bytes(id_)) for survey, id_ in query(_IDS)]
    invitations = {bytes(hash_) for (hash_,) in query(_INVITATIONS)}
    return Reading(ids, counts, days, invitations)
