"""The invariant: each acknowledged report is counted exactly once, and no refused one is counted.

Databases are read by plain SQL, independently of the program under test.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from ledger import Entry, Ledger, hash_invitation

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
_TICKETS = "SELECT ticket_id FROM ticket_ids"

#: Runs a statement and returns its rows; all statements read the same snapshot.
Query = Callable[[str], Iterable[Sequence[Any]]]


class Broken(Exception):
    """The invariant, or a precondition of the suite, is violated."""


@dataclass(frozen=True)
class Reading:
    """A snapshot of a database.

    Attributes
    ----------
    ids : list of tuple
        Survey and id of each report.
    counts : Counter
        Counts by survey and cell.
    days : Counter
        Counted reports by survey and day.
    invitations : set of bytes
        Hashes of the unused invitations.
    tickets : set of bytes
        Ids of the spent tickets.
    """

    ids: list[tuple[str, bytes]]
    counts: Counter[tuple[str, bytes]]
    days: Counter[tuple[str, date]]
    invitations: set[bytes]
    tickets: set[bytes]

    def counted(self, entries: Collection[Entry]) -> set[Entry]:
        """Return those of the reports whose ids are stored."""
        ids = set(self.ids)
        # A copy, since clients continue meanwhile.
        return {entry for entry in list(entries) if entry.key in ids}


def read(query: Query) -> Reading:
    """Read all data that reports leave."""
    counts: Counter[tuple[str, bytes]] = Counter()
    for survey, cell, count in query(_COUNTS):
        counts[survey, bytes(cell)] += count
    days: Counter[tuple[str, date]] = Counter()
    for survey, day, count in query(_DAYS):
        days[survey, day if isinstance(day, date) else date.fromisoformat(day)] += count
    ids = [(survey, bytes(id_)) for survey, id_ in query(_IDS)]
    invitations = {bytes(hash_) for (hash_,) in query(_INVITATIONS)}
    tickets = {bytes(id_) for (id_,) in query(_TICKETS)}
    return Reading(ids, counts, days, invitations, tickets)


def check_agreement(reading: Reading) -> None:
    """Check that counts, ids and days of a snapshot agree."""
    expect(len(set(reading.ids)) == len(reading.ids), "an id is stored more than once")
    ids = Counter(survey for survey, _ in reading.ids)
    for what, counts in (("cells", reading.counts), ("days", reading.days)):
        counted: Counter[str] = Counter()
        for (survey, _), count in counts.items():
            counted[survey] += count
        expect(ids == +counted, f"the {what} have {dict(counted)} reports, the ids {dict(ids)}")


def check_acknowledged(reading: Reading, acknowledged: Collection[Entry]) -> None:
    """Check that these reports are counted."""
    missing = len(acknowledged) - len(reading.counted(acknowledged))
    expect(not missing, f"{missing} acknowledged reports are not counted")


def check_invitations(reading: Reading, ledger: Ledger) -> None:
    """Check that each counted report used its own invitation, and nothing else used any."""
    invited = reading.counted(ledger.invitations)
    spent = {hash_invitation(ledger.invitations[entry]) for entry in invited}
    kept = len(spent & reading.invitations)
    expect(not kept, f"{kept} invitations are left whose reports are counted")
    gone = len(ledger.issued - spent - reading.invitations)
    expect(not gone, f"{gone} invitations are gone that let no report in")
    issued, left = len(ledger.issued), len(reading.invitations)
    expect(
        issued - left == len(invited),
        f"of {issued} invitations {left} are left, but {len(invited)} reports came with one",
    )


def check_tickets(reading: Reading, ledger: Ledger) -> None:
    """Check that each counted report has spent its own ticket, and nothing else has spent any."""
    spent = {ledger.tickets[entry] for entry in reading.counted(ledger.tickets)}
    left, strange = len(spent - reading.tickets), len(reading.tickets - spent)
    expect(not left, f"{left} tickets are not spent whose reports are counted")
    expect(not strange, f"{strange} tickets are spent that let no report in")


def check_after_fault(reading: Reading, ledger: Ledger) -> None:
    """Check that all acknowledged reports, and only those or reports in flight, are counted."""
    check_agreement(reading)
    check_acknowledged(reading, ledger.acknowledged)
    forged = reading.counted(ledger.forged)
    expect(not forged, f"{len(forged)} reports of refused requests are counted")
    reached = reading.counted(ledger.acknowledged | ledger.in_flight)
    strange = len(reading.ids) - len(reached)
    expect(not strange, f"{strange} reports are counted that never reached the collector")
    _check_counts(reading, reached, ledger)


def check_after_retries(reading: Reading, ledger: Ledger) -> None:
    """Check that exactly the sent reports are counted."""
    check_agreement(reading)
    counted = reading.counted(ledger.sent)
    missing, strange = len(ledger.sent) - len(counted), len(reading.ids) - len(counted)
    expect(
        missing == strange == 0,
        f"after all retries {missing} reports sent are not counted, and {strange} are counted that"
        " were not sent",
    )
    _check_counts(reading, ledger.sent, ledger)


def check_answers(ledger: Ledger) -> None:
    """Check that no client received an invalid response."""
    expect(not ledger.complaints, "; ".join(sorted(set(ledger.complaints))))


def _check_counts(reading: Reading, counted: Collection[Entry], ledger: Ledger) -> None:
    """Check that the counts and receipts are those of exactly these reports."""
    cells = Counter((entry.survey, entry.cell) for entry in counted)
    differing = len((+reading.counts - cells) + (cells - reading.counts))
    expect(not differing, f"the counts of {differing} cells are not those of the reports")
    check_invitations(reading, ledger)
    check_tickets(reading, ledger)
    check_answers(ledger)
    # The receipt of a report in flight may have been lost.
    unreceipted = len(reading.ids) - ledger.accepted
    expect(
        0 <= unreceipted <= len(ledger.in_flight),
        f"{len(reading.ids)} reports are counted, receipts accept {ledger.accepted}, and"
        f" {len(ledger.in_flight)} were in flight",
    )


def expect(holds: bool, otherwise: str) -> None:
    """Raise Broken if a condition does not hold."""
    if not holds:
        raise Broken(otherwise)
