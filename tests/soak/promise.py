"""The promise: every acknowledged report is counted exactly once, nothing refused is counted."""

from collections import Counter
from collections.abc import Collection

from ledger import Ledger, hash_invitation
from processes import Broken
from reading import Entry, Reading


def check_agreement(reading: Reading) -> None:
    """Hold counts, ids and days of one moment against each other."""
    _expect(len(set(reading.ids)) == len(reading.ids), "an id is stored more than once")
    ids = Counter(survey for survey, _ in reading.ids)
    for what, counts in (("cells", reading.counts), ("days", reading.days)):
        counted: Counter[str] = Counter()
        for (survey, _), count in counts.items():
            counted[survey] += count
        _expect(ids == +counted, f"the {what} have {dict(counted)} reports, the ids {dict(ids)}")


def check_acknowledged(reading: Reading, acknowledged: Collection[Entry]) -> None:
    """Make sure that these reports are counted."""
    missing = len(acknowledged) - len(reading.counted(acknowledged))
    _expect(not missing, f"{missing} acknowledged reports are not counted")


def check_invitations(reading: Reading, ledger: Ledger) -> None:
    """Make sure that every report counted spent its own invitation, and nothing else spent any."""
    invited = reading.counted(ledger.invitations)
    spent = {hash_invitation(ledger.invitations[entry]) for entry in invited}
    kept = len(spent & reading.invitations)
    _expect(not kept, f"{kept} invitations are left whose reports are counted")
    gone = len(ledger.issued - spent - reading.invitations)
    _expect(not gone, f"{gone} invitations are gone that let no report in")
    issued, left = len(ledger.issued), len(reading.invitations)
    _expect(
        issued - left == len(invited),
        f"of {issued} invitations {left} are left, but {len(invited)} reports came with one",
    )


def check_after_fault(reading: Reading, ledger: Ledger) -> None:
    """What is counted was acknowledged or in flight, and all that was acknowledged is counted."""
    check_agreement(reading)
    check_acknowledged(reading, ledger.acknowledged)
    forged = reading.counted(ledger.forged)
    _expect(not forged, f"{len(forged)} reports of refused requests are counted")
    reached = reading.counted(ledger.acknowledged | ledger.in_flight)
    strange = len(reading.ids) - len(reached)
    _expect(not strange, f"{strange} reports are counted that never reached the collector")
    _check_cells(reading, reached)
    check_invitations(reading, ledger)
    _check_receipts(reading, ledger)


def check_after_retries(reading: Reading, ledger: Ledger) -> None:
    """Exactly what was sent is counted."""
    check_agreement(reading)
    counted = reading.counted(ledger.sent)
    missing, strange = len(ledger.sent) - len(counted), len(reading.ids) - len(counted)
    _expect(
        missing == strange == 0,
        f"after all retries {missing} reports sent are not counted, and {strange} are counted that"
        " were not sent",
    )
    _check_cells(reading, ledger.sent)
    check_invitations(reading, ledger)
    _check_receipts(reading, ledger)


def check_answers(ledger: Ledger) -> None:
    """Make sure that no client got an answer that it should not get."""
    _expect(not ledger.complaints, "; ".join(sorted(set(ledger.complaints))))


def _check_cells(reading: Reading, counted: Collection[Entry]) -> None:
    """The counts are those of exactly these reports, each with its own values."""
    cells = Counter((entry.survey, entry.cell) for entry in counted)
    differing = len((+reading.counts - cells) + (cells - reading.counts))
    _expect(not differing, f"the counts of {differing} cells are not those of the reports")


def _check_receipts(reading: Reading, ledger: Ledger) -> None:
    """Receipts accept every report counted once, but for those whose receipts were lost."""
    check_answers(ledger)
    unreceipted = len(reading.ids) - ledger.accepted
    _expect(
        0 <= unreceipted <= len(ledger.in_flight),
        f"{len(reading.ids)} reports are counted, receipts accept {ledger.accepted}, and"
        f" {len(ledger.in_flight)} were in flight",
    )


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)
