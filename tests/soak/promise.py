"""The promise: every acknowledged report is counted exactly once, nothing refused is counted."""

from collections import Counter
from collections.abc import Collection

from ledger import Ledger, hash_invitation
from processes import Broken
from reading import Entry, Reading


def check_agreement(reading: Reading) -> None:
    """Hold counts, ids and arrivals of one moment against each other.

    Raises
    ------
    Broken
    """
    ids = Counter((entry.survey, entry.id) for entry in reading.entries)
    _expect(len(ids) == len(reading.entries), "an id is stored more than once")
    cells = Counter((entry.survey, entry.cell) for entry in reading.entries)
    _expect(
        cells == +reading.counts,
        f"{sum(reading.counts.values())} reports are counted in {len(reading.counts)} cells, but"
        f" the {len(reading.entries)} ids make {len(cells)} cells, or other ones",
    )
    surveys = Counter(entry.survey for entry in reading.entries)
    arrived: Counter[str] = Counter()
    for (survey, _), count in reading.arrivals.items():
        arrived[survey] += count
    _expect(surveys == +arrived, f"{dict(surveys)} are counted, but {dict(arrived)} arrived")


def check_acknowledged(reading: Reading, acknowledged: Collection[Entry]) -> None:
    """Make sure that these reports are counted, each with its own values.

    Raises
    ------
    Broken
    """
    missing = set(acknowledged).difference(reading.entries)
    _expect(not missing, f"{len(missing)} acknowledged reports are not counted")


def check_invitations(reading: Reading, ledger: Ledger) -> None:
    """Make sure that every report counted spent its own invitation, and nothing else spent any.

    Raises
    ------
    Broken
    """
    invited = [entry for entry in reading.entries if entry in ledger.invitations]
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
    """What is counted was acknowledged or in flight, and all that was acknowledged is counted.

    Raises
    ------
    Broken
    """
    check_agreement(reading)
    check_acknowledged(reading, ledger.acknowledged)
    strange = set(reading.entries) - ledger.acknowledged - ledger.in_flight
    forged = strange & ledger.forged
    _expect(not forged, f"{len(forged)} reports of refused requests are counted")
    _expect(not strange, f"{len(strange)} reports are counted that never reached the collector")
    check_invitations(reading, ledger)
    _check_receipts(reading, ledger)


def check_after_retries(reading: Reading, ledger: Ledger) -> None:
    """Exactly what was sent is counted.

    Raises
    ------
    Broken
    """
    check_agreement(reading)
    counted = set(reading.entries)
    _expect(
        counted == ledger.sent,
        f"after all retries {len(ledger.sent - counted)} reports sent are not counted, and"
        f" {len(counted - ledger.sent)} are counted that were not sent",
    )
    check_invitations(reading, ledger)
    _check_receipts(reading, ledger)


def check_answers(ledger: Ledger) -> None:
    """Make sure that no client got an answer that it should not get.

    Raises
    ------
    Broken
    """
    _expect(not ledger.complaints, "; ".join(sorted(set(ledger.complaints))))


def _check_receipts(reading: Reading, ledger: Ledger) -> None:
    """Receipts accept every report counted once, but for those whose receipts were lost."""
    check_answers(ledger)
    unreceipted = len(reading.entries) - ledger.accepted
    _expect(
        0 <= unreceipted <= len(ledger.in_flight),
        f"{len(reading.entries)} reports are counted, receipts accept {ledger.accepted}, and"
        f" {len(ledger.in_flight)} were in flight",
    )


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)
