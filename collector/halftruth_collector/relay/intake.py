"""An envelope's way in: opened, and kept once; 202 is answered after the commit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from halftruth_shared import HalftruthError, ReportError
from halftruth_shared.protocol.reports import Receipt, SealedBatch
from halftruth_shared.protocol.sealing import SealingKeys, open_envelope
from sqlalchemy import Connection

from ..errors import SurveyClosed, UnknownSurvey
from ..intake.batching import GroupCommit
from ..store.database import Database, insert
from ..store.reports import add_ids, find_ids
from ..store.tables import relay_ids, relay_reports
from .store import RegisteredSurvey, find

#: Most reports in one transaction, and that wait, unless one request has more.
_MOST, _MOST_WAITING = 20_000, 200_000

#: Seconds for which a request waits for its transaction.
_PATIENCE = 30


@dataclass(frozen=True)
class Envelopes:
    """The reports of one request, out of their envelopes and sealed to the collector.

    Attributes
    ----------
    survey_id : str
    ids : list of bytes
        Of every report, in order, repeated ones included.
    sealed : dict of bytes to bytes
        Report by id; of reports with the same id, the first one.
    """

    survey_id: str
    ids: list[bytes]
    sealed: dict[bytes, bytes]


def open_envelopes(survey: RegisteredSurvey, batch: SealedBatch, keys: SealingKeys) -> Envelopes:
    """Take reports out of their envelopes; what is inside stays sealed.

    Raises
    ------
    ReportError
        If an envelope cannot be opened, naming its index.
    """
    size = survey.survey().report_space.packed_size
    sealed: dict[bytes, bytes] = {}
    for index, report in enumerate(batch.reports):
        try:
            inner = open_envelope(keys, survey.digest, report.id, report.sealed, size)
        except ReportError as error:
            raise ReportError(f"report {index}: {error}", field=error.field, index=index) from None
        sealed.setdefault(report.id.bytes, inner)
    return Envelopes(survey.id, [report.id.bytes for report in batch.reports], sealed)


class Intake:
    """Keeps the reports of requests, several of them in one transaction.

    Parameters
    ----------
    database : Database
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._commits: GroupCommit[Envelopes, Receipt] = GroupCommit(
            self._commit, max_size=_MOST, max_queued=_MOST_WAITING, timeout=_PATIENCE
        )

    def keep(self, envelopes: Envelopes) -> Receipt:
        """Keep the reports of a request, all of them or none; return once that is durable.

        A report whose id was kept before is a duplicate, whatever it says.

        Raises
        ------
        UnknownSurvey, SurveyClosed
        StoreUnavailable
            Unless it says ``is_undone``, they may have been kept; sending them again is safe.
        """
        return self._commits(envelopes, len(envelopes.ids))

    def _commit(self, items: Sequence[Envelopes]) -> Sequence[Receipt | Exception]:
        outcomes: dict[int, Receipt | Exception] = {}
        with self._database.writing() as connection:
            # In order, so that two transactions cannot wait for each other.
            for name in sorted({item.survey_id for item in items}):
                own = [at for at, item in enumerate(items) if item.survey_id == name]
                kept = _keep(connection, name, [items[at] for at in own])
                outcomes.update(zip(own, kept, strict=True))
        return [outcomes[at] for at in range(len(items))]


def _keep(
    connection: Connection, survey_id: str, items: Sequence[Envelopes]
) -> list[Receipt | HalftruthError]:
    """Keep the reports of several requests of one survey; the outcome of each."""
    try:
        survey = find(connection, survey_id, "shared")
    except UnknownSurvey as error:
        # One for each, since raising an error changes it.
        return [UnknownSurvey(str(error), field="survey") for _ in items]
    given: dict[bytes, bytes] = {}
    for item in items:
        given = item.sealed | given
    if not survey.is_open(datetime.now(UTC)):
        known = find_ids(connection, survey.number, given, relay_ids)
        return [
            Receipt(accepted=0, duplicates=len(item.ids))
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
        # Of two requests with the same report, the first one brought it.
        added -= new
        receipts.append(Receipt(accepted=len(new), duplicates=len(item.ids) - len(new)))
    return receipts
