"""What a database holds, read by plain SQL and not by the program under test."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

_IDS = """
SELECT surveys.id, report_ids.report_id, report_ids.cell
FROM report_ids JOIN surveys ON surveys.number = report_ids.survey
"""
_COUNTS = """
SELECT surveys.id, cells.cell, cells.count
FROM cells JOIN surveys ON surveys.number = cells.survey
"""
_ARRIVALS = """
SELECT surveys.id, arrivals.day, arrivals.count
FROM arrivals JOIN surveys ON surveys.number = arrivals.survey
WHERE arrivals.outcome = 'counted'
"""
_INVITATIONS = "SELECT hash FROM invitations"

#: Answers one statement with its rows; all statements see the same moment.
Query = Callable[[str], Iterable[Sequence[Any]]]


class Entry(NamedTuple):
    """One report: its survey, its id, and its packed values."""

    survey: str
    id: bytes
    cell: bytes


@dataclass(frozen=True)
class Reading:
    """A database at one moment.

    Attributes
    ----------
    entries : list of Entry
        One for each id that is stored.
    counts : Counter
        By survey and cell.
    arrivals : Counter
        Reports counted, by survey and day.
    invitations : set of bytes
        Hashes of those that are left.
    """

    entries: list[Entry]
    counts: Counter[tuple[str, bytes]]
    arrivals: Counter[tuple[str, date]]
    invitations: set[bytes]


def read(query: Query) -> Reading:
    """Read everything that reports leave behind."""
    counts: Counter[tuple[str, bytes]] = Counter()
    for survey, cell, count in query(_COUNTS):
        counts[survey, bytes(cell)] += count
    arrivals: Counter[tuple[str, date]] = Counter()
    for survey, day, count in query(_ARRIVALS):
        arrivals[survey, day if isinstance(day, date) else date.fromisoformat(day)] += count
    entries = [Entry(survey, bytes(id_), bytes(cell)) for survey, id_, cell in query(_IDS)]
    invitations = {bytes(hash_) for (hash_,) in query(_INVITATIONS)}
    return Reading(entries, counts, arrivals, invitations)
