"""Intake of a relay: open the outer seal, and store each report once, by group commit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from halftruth_collector.errors import SurveyClosed, UnknownSurvey
from halftruth_collector.intake.batching import GroupCommit
from halftruth_collector.store.database import Database, insert
from halftruth_collector.store.reports import add_ids, find_ids
from halftruth_collector.store.tables import relay_ids, relay_reports
from halftruth_shared import HalftruthError, ReportError
from halftruth_shared.protocol.reports import Receipt, SealedBatch
from halftruth_shared.protocol.sealing import SealingKeys, open_envelope
from halftruth_shared.protocol.tickets import ticket_size
from sqlalchemy import Connection

from .store import RegisteredSurvey, find

#: Largest number of reports in one transaction, and in the queue, unless one request has more.
_MAX_REPORTS, _MAX_QUEUED = 20_000, 200_000

#: Seconds after which a request stops waiting for its transaction.
_TIMEOUT = 30


@dataclass(frozen=True)
class Envelopes:
    """The reports of one request, without the outer seal, and still sealed for the collector.

    `sealed` has the first one of reports with the same id.
    """

    survey_id: str
    number: int
    sealed: dict[bytes, bytes]


def open_envelopes(survey: RegisteredSurvey, batch: SealedBatch, keys: SealingKeys) -> Envelopes:
    """Open the outer seal of reports; the inner seal stays closed.

    A ReportError names the index of the first report that cannot be opened.
    """
    whole = survey.survey()
    size = whole.report_space.packed_size + ticket_size(whole)
    sealed: dict[bytes, bytes] = {}
    for index, report in enumerate(batch.reports):
        try:
            inner = open_envelope(keys, survey.digest, report.id, report.sealed, size)
        except ReportError as error:
            raise ReportError(f"report {index}: {error}", field=error.field, index=index) from None
        sealed.setdefault(report.id.bytes, inner)
    return Envelopes(survey.id, len(batch.reports), sealed)


class Intake:
    """Stores reports by group commit."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._commits: GroupCommit[Envelopes, Receipt] = GroupCommit(
            self._commit, max_size=_MAX_REPORTS, max_queued=_MAX_QUEUED, timeout=_TIMEOUT
        )

    def keep(self, envelopes: Envelopes) -> Receipt:
        """Store the reports of a request, all or none, and return once they are durable.

        A report with a known id is a duplicate, whatever its content (deduplication).

        Raises
        ------
        UnknownSurvey, SurveyClosed
        StoreUnavailable
            If ``is_undone`` is false, they may have been stored; sending them again is safe.
        """
        return self._commits(envelopes, envelopes.number)

    def _commit(self, take: Callable[[], Sequence[Envelopes]]) -> Sequence[Receipt | Exception]:
        outcomes: dict[int, Receipt | Exception] = {}
        with self._database.writing() as connection:
            items = take()
            # Sorted, to avoid deadlocks between transactions.
            for name in sorted({item.survey_id for item in items}):
                own = [at for at, item in enumerate(items) if item.survey_id == name]
                kept = _keep(connection, name, [items[at] for at in own])
                outcomes.update(zip(own, kept, strict=True))
        return [outcomes[at] for at in range(len(items))]


def _keep(
    connection: Connection, survey_id: str, items: Sequence[Envelopes]
) -> list[Receipt | HalftruthError]:
    """Store the reports of several requests to one survey, and return the outcome of each."""
    try:
        survey = find(connection, survey_id, "shared")
    except UnknownSurvey as error:
        # A copy for each request, since raising an error modifies it.
        return [UnknownSurvey(str(error), field="survey") for _ in items]
    given: dict[bytes, bytes] = {}
    for item in items:
        given = item.sealed | given
    if not survey.is_open(datetime.now(UTC)):
        known = find_ids(connection, survey.number, given, relay_ids)
        return [
            Receipt(accepted=0, duplicates=item.number)
            if item.sealed.keys() <= known
            else SurveyClosed(f"survey '{survey_id}' is closed", field="survey")
            for item in items
        ]
    added = add_ids(connection, survey.number, given, relay_ids)
    rows = [
        {"survey": survey.number, "report_id": id, "sealed": given[id], "is_due": False}
        for id in sorted(added)
    ]
    if rows:
        connection.execute(insert(connection, relay_reports), rows)
    receipts: list[Receipt | HalftruthError] = []
    for item in items:
        new = item.sealed.keys() & added
        # If two requests have the same report, it is new for the first one only.
        added -= new
        receipts.append(Receipt(accepted=len(new), duplicates=item.number - len(new)))
    return receipts
