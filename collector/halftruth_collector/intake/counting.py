"""Step 5 of the intake: one transaction counts the reports of several requests.

Each report is counted exactly once: its id is inserted in the same transaction (deduplication), so
that sending a report again is idempotent.
"""

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from halftruth_shared import HalftruthError
from halftruth_shared.protocol.reports import Receipt, Report
from halftruth_shared.protocol.terms import Terms
from sqlalchemy import Connection, func, select

from ..errors import (
    DeadlinePassed,
    InvitationRefused,
    QuotaReached,
    StoreUnavailable,
    SurveyClosed,
    SurveyPlanned,
    TicketRefused,
    UnknownSurvey,
    slug,
)
from ..store import reports as rows
from ..store.database import Database, lock_compacted, run
from ..store.reports import CountStore, DailyOutcomes
from ..store.surveys import Closer, SurveyStore, read_terms, report_count, why_closed
from ..store.tables import COUNTED, REPEATED, ticket_ids
from ..store.trials import clear_test, find_test_of
from .batching import GroupCommit
from .checking import (
    Batch,
    check,
    stale_digest_error,
    ticket_refused,
    unexpected_invitation_error,
    unexpected_seal_error,
)

_log = logging.getLogger(__name__)

#: Largest number of reports in one transaction, unless a single request has more.
_MAX_REPORTS = 20_000

#: Largest number of queued reports, unless a single request has more.
_MAX_QUEUED = 10 * _MAX_REPORTS

#: Seconds after which a request stops waiting for its transaction.
_TIMEOUT = 30

#: Seconds between two writes of the numbers of refused requests.
_FLUSH_SECONDS = 60

#: Namespace of the PostgreSQL advisory locks on shards; no other program uses this number.
_SHARD_LOCK = 0x68617274

#: Namespace of the advisory locks on surveys with a quota, which are counted by one transaction
#: at a time.
_QUOTA_LOCK = 0x68617175

#: Lowest shard that no concurrent transaction uses; it is locked until the transaction ends.
_FREE_SHARD = f"""
(SELECT shard FROM generate_series(0, {rows.SHARDS - 1}) AS shard
 WHERE pg_try_advisory_xact_lock({_SHARD_LOCK}, shard) LIMIT 1)
"""

_COLUMNS = "number, id, digest, closed_by, terms, purged_at IS NOT NULL"
_SURVEY_IN_SQLITE = f"SELECT {_COLUMNS}, 0 FROM surveys WHERE id = ?"
_SURVEY_IN_POSTGRESQL = f"SELECT {_COLUMNS}, {_FREE_SHARD} FROM surveys WHERE id = %s FOR SHARE"


class Observer(Protocol):
    """Observer of commits and refusals."""

    def waiting(self, requests: int) -> None:
        """Observe the number of requests that wait for a transaction."""

    def committed(self, seconds: float, receipts: Sequence[tuple[str, Receipt]]) -> None:
        """Observe a committed transaction: its duration, and survey and receipt of each request."""

    def refused(self, reason: str) -> None:
        """Observe a refused request with reports."""


class ReportStore(CountStore):
    """Counts reports by group commit, and reads the counts.

    Parameters
    ----------
    database : Database
    surveys : SurveyStore
    observer : Observer, optional
    """

    def __init__(
        self,
        database: Database,
        surveys: SurveyStore,
        observer: Observer | None = None,
    ) -> None:
        super().__init__(database)
        self._surveys = surveys
        self._observer = observer
        self._commits: GroupCommit[Batch, Receipt] = GroupCommit(
            self._commit,
            max_size=_MAX_REPORTS,
            max_queued=_MAX_QUEUED,
            timeout=_TIMEOUT,
            on_queue_change=None if observer is None else observer.waiting,
        )
        #: Numbers of refused requests by survey and reason that are not yet written.
        self._refused: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._flushed = -math.inf
        #: Openings of surveys whose test this process has cleared since.
        self._begun: set[tuple[str, datetime]] = set()

    def add(self, survey_id: str, digest: str, reports: Sequence[Report]) -> Receipt:
        """Check and count plain reports, all or none, and return once the counts are durable.

        Raises
        ------
        ReportError
            If a report does not fit the survey.
        UnknownSurvey, SurveyClosed, StaleDigest, InvitationRefused, StoreUnavailable
        """
        space = self._surveys.get(survey_id).survey().report_space
        with self.recording_refusals(survey_id):
            return self.count(check(survey_id, digest, space, reports))

    def count(self, batch: Batch) -> Receipt:
        """Count the reports of a request, all or none, and return once the counts are durable.

        A report with a known id is a duplicate, whatever its values.

        Raises
        ------
        UnknownSurvey, SurveyClosed, StaleDigest, ReportError, InvitationRefused
        StoreUnavailable
            If ``is_undone`` is false, they may have been counted; sending them again is safe.
        """
        return self._commits(batch, len(batch.ids))

    @contextmanager
    def recording_refusals(self, survey_id: str) -> Iterator[None]:
        """Record the error with which the block refuses a request to an existing survey.

        Unknown ids of surveys are not recorded, since there is no limit to their number. Refusals
        are written at most once a minute, so that a refusal costs less than a report. Refusals that
        are not yet written when the process is killed are lost.
        """
        try:
            yield
        except StoreUnavailable:
            raise
        except HalftruthError as error:
            if self._surveys.last_read(survey_id) is not None:
                self._refuse(survey_id, slug(error))
            raise

    def _refuse(self, survey_id: str, reason: str) -> None:
        self._observe(lambda observer: observer.refused(reason))
        with self._lock:
            self._refused[survey_id, reason] += 1
        if time.monotonic() - self._flushed >= _FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the recorded refusals; keep them if the database is unavailable."""
        with self._lock:
            refused, self._refused = self._refused, Counter()
            self._flushed = time.monotonic()
        if not refused:
            return
        try:
            self._write_refused(refused)
        except StoreUnavailable:
            with self._lock:
                self._refused.update(refused)

    def daily_outcomes(self, survey_id: str) -> list[DailyOutcomes]:
        """Return the outcomes of the reports of each day, including refusals not yet written."""
        self.flush()
        return super().daily_outcomes(survey_id)

    def _write_refused(self, refused: Counter[tuple[str, str]]) -> None:
        with self._database.writing() as connection:
            for name in sorted({survey for survey, _ in refused}):
                row = _lock_survey(connection, name)
                if row is not None:
                    outcomes = {why: n for (survey, why), n in refused.items() if survey == name}
                    rows.add_outcomes(connection, row.number, row.shard or 0, outcomes)

    def _commit(self, take: Callable[[], Sequence[Batch]]) -> Sequence[Receipt | Exception]:
        """Commit a group of batches, and return the outcome of each."""
        started = time.perf_counter()
        with self._database.in_turn(), self._database.writing() as connection:
            # Batches that arrive while SQLite waits for its only writer share this transaction.
            items = take()
            outcomes, begun, omitted = self._write(connection, items)
        self._begun |= begun
        for survey_id, reason, reports in omitted:
            _log.warning("%s: omitted %d reports of its relay: %s", survey_id, reports, reason)
        seconds = time.perf_counter() - started
        receipts = [
            (item.survey_id, outcome)
            for item, outcome in zip(items, outcomes, strict=True)
            if isinstance(outcome, Receipt)
        ]
        self._observe(lambda observer: observer.committed(seconds, receipts))
        return outcomes

    def _observe(self, call: Callable[[Observer], None]) -> None:
        """Call the observer; its errors do not fail a request, whose reports are counted."""
        if self._observer is None:
            return
        try:
            call(self._observer)
        except Exception as error:
            # Log only the type, since the message can contain values.
            _log.error("what observes commits failed: %s", type(error).__name__)

    def _write(
        self, connection: Connection, items: Sequence[Batch]
    ) -> tuple[list[Receipt | Exception], set[tuple[str, datetime]], list[tuple[str, str, int]]]:
        """Count the batches of a group in one transaction.

        Returns the outcome of each, the openings of surveys whose tests it has cleared, and survey,
        reason and number of the reports of relays that were omitted.
        """
        plans: dict[str, _Plan] = {}
        begun: set[tuple[str, datetime]] = set()
        # Lock surveys, and write all rows below, in sorted order to avoid deadlocks.
        for name in sorted({item.survey_id for item in items}):
            row = _lock_survey(connection, name)
            if row is not None:
                terms = read_terms(row.terms).terms
                # The time is read with the lock, so that no test report follows its clearing.
                now = datetime.now(UTC)
                # The quota is checked against the number of new reports.
                closed = why_closed(row.closed_by, terms, now)
                plans[name] = _Plan(row, terms, closed, now)
                opening = (name, terms.opens_at or now)
                if terms.opens_at is None or terms.is_early(now) or opening in self._begun:
                    continue
                begun.add(opening)
                # Before the test itself is locked, if there are reports of both.
                if (test := find_test_of(connection, name)) is not None:
                    clear_test(connection, test)
        if len(plans) > 1 or any(plan.terms.max_reports is not None for plan in plans.values()):
            # Only a single survey without a quota uses the tables in the order of a compaction.
            lock_compacted(connection)
        for plan in plans.values():
            plan.load(connection, [item for item in items if item.survey_id == plan.row.id])
        decided = [_decide(item, plans.get(item.survey_id)) for item in items]
        # If all shards are locked, use shard 0 and wait for another transaction's commit.
        shard = next((plan.row.shard or 0 for plan in plans.values()), 0)
        for plan in plans.values():
            # Ids that a concurrent transaction has inserted since `load` are not counted again.
            plan.counted = rows.add_ids(connection, plan.row.number, plan.cells)
        outcomes = [
            each if isinstance(each, Exception) else _receipt(item, each, plans[item.survey_id])
            for item, each in zip(items, decided, strict=True)
        ]
        for plan in plans.values():
            plan.write(connection, shard)
        omitted = [
            (name, reason, reports)
            for name, plan in plans.items()
            for reason, reports in sorted(plan.omitted.items())
        ]
        return outcomes, begun, omitted


class _SurveyRow(NamedTuple):
    """Locked row of a survey, and a free shard, if there is one."""

    number: int
    id: str
    digest: str
    closed_by: Closer | None
    terms: str
    is_purged: bool
    shard: int | None


@dataclass
class _Plan:
    """State of one survey in a transaction, and the rows that the transaction will write.

    Attributes
    ----------
    row : _SurveyRow
        Row of the survey, locked (shared) against closing and replacing until the transaction ends.
    terms : Terms
    closed : str or None
        Reason why the survey is closed, apart from its quota.
    now : datetime
        Time of the transaction.
    remaining_quota : int or None
        Number of further reports that the survey accepts; None without a quota.
    known : set of bytes
        Ids of earlier reports, among those that `_ids_to_check` looks up.
    unused : set of bytes
        Hashes of the unused invitations among those that came with reports.
    offered, unspent : set of bytes
        Ids of tickets that this transaction has marked as spent, and those among them that no
        report has spent yet.
    cells, invitations, tickets : dict of bytes to bytes
        Cell, hash of the invitation, and id of the ticket, of the new reports by id.
    counted : set of bytes
        Ids of the new reports that were inserted by this transaction.
    outcomes : Counter of str
        Number of reports by outcome.
    omitted : Counter of str
        Number of omitted reports of the survey's relay by reason.
    """

    row: _SurveyRow
    terms: Terms
    closed: str | None
    now: datetime
    remaining_quota: int | None = None
    known: set[bytes] = field(default_factory=set)
    unused: set[bytes] = field(default_factory=set)
    cells: dict[bytes, bytes] = field(default_factory=dict)
    invitations: dict[bytes, bytes] = field(default_factory=dict)
    tickets: dict[bytes, bytes] = field(default_factory=dict)
    offered: set[bytes] = field(default_factory=set)
    unspent: set[bytes] = field(default_factory=set)
    counted: set[bytes] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    omitted: Counter[str] = field(default_factory=Counter)

    def load(self, connection: Connection, items: Sequence[Batch]) -> None:
        """Read remaining quota, unused invitations and known ids for these batches."""
        number = self.row.number
        if self.terms.max_reports is not None:
            if connection.dialect.name != "sqlite":
                # SQLite has one writer. In PostgreSQL the lock on the survey's row is shared.
                connection.execute(select(func.pg_advisory_xact_lock(_QUOTA_LOCK, number)))
            self.remaining_quota = max(0, self.terms.max_reports - report_count(connection, number))
        if self.terms.invitations:
            hashes = {hash_ for batch in items for hash_ in batch.invitations.values()}
            self.unused = rows.lock_unused(connection, number, hashes)
        # Mark all tickets as spent, which waits for other transactions with one of them; `write`
        # removes the marks of those that no report has spent.
        tickets = {ticket for batch in items for ticket in batch.tickets.values()}
        self.offered = rows.add_ids(connection, number, tickets, ticket_ids)
        self.unspent = set(self.offered)
        # After locking invitations and tickets: a transaction that spent one has committed its
        # report, so that the report is found here and is a duplicate.
        ids = {id_ for batch in items for id_ in self._ids_to_check(batch)}
        self.known = rows.find_ids(connection, number, ids)

    def _ids_to_check(self, batch: Batch) -> Iterable[bytes]:
        """Return the ids of reports that would be refused if they were new.

        Duplicates are accepted even then, so only these ids are looked up before the insert. All
        other duplicates are found by the insert itself.
        """
        terms = self.terms
        may_be_full = self.closed is not None or self.remaining_quota is not None
        if terms.invitations or may_be_full or (terms.sealing_key is None) == batch.sealed:
            return batch.cells
        if batch.needs_tickets and not self.unspent.issuperset(map(batch.tickets.get, batch.cells)):
            return batch.cells
        return batch.invitations

    def write(self, connection: Connection, shard: int) -> None:
        """Count the new reports, spend their invitations, and add to the outcomes of the day."""
        number = self.row.number
        spent = [hash_ for id_, hash_ in self.invitations.items() if id_ in self.counted]
        rows.delete_invitations(connection, number, spent)
        kept = {ticket for id_, ticket in self.tickets.items() if id_ in self.counted}
        rows.delete_ids(connection, number, self.offered - kept, ticket_ids)
        cells = [cell for id_, cell in self.cells.items() if id_ in self.counted]
        rows.add_counts(connection, number, shard, cells)
        rows.add_outcomes(connection, number, shard, self.outcomes)


def _lock_survey(connection: Connection, id: str) -> _SurveyRow | None:
    """Lock the row of a survey against closing and replacing (FOR SHARE), and return it.

    Several transactions can count reports of the survey at the same time.
    """
    statement = _SURVEY_IN_SQLITE if connection.dialect.name == "sqlite" else _SURVEY_IN_POSTGRESQL
    found = run(connection, statement, (id,)).fetchall()
    return _SurveyRow(*found[0]) if found else None


@dataclass
class _Decision:
    """The new reports of a batch; and why others of a relay are omitted, by their ids."""

    new: dict[bytes, bytes]
    omitted: dict[bytes, str]


def _decide(item: Batch, plan: _Plan | None) -> _Decision | Exception:
    """Return the new reports of a batch and add them to the plan, or return the error."""
    if plan is None:
        return UnknownSurvey(f"there is no survey '{item.survey_id}'", field="survey")
    new = {
        id_: cell
        for id_, cell in item.cells.items()
        if id_ not in plan.known and id_ not in plan.cells
    }
    error = _check_survey(item, plan, new) or (
        _check_invitations(item, new, plan.unused) if plan.terms.invitations else None
    )
    if error is not None:
        return error
    faults = dict(_find_ticket_faults(item, new, plan.unspent))
    if faults and not item.relayed:
        [id_, *_] = faults
        return ticket_refused(item.ids.index(id_), faults[id_])
    # A relay cannot look into reports, so that the others count.
    new = {id_: cell for id_, cell in new.items() if id_ not in faults}
    plan.cells.update(new)
    if plan.remaining_quota is not None:
        plan.remaining_quota -= len(new)
    if plan.terms.invitations:
        spent = {id_: item.invitations[id_] for id_ in new}
        plan.invitations.update(spent)
        plan.unused.difference_update(spent.values())
    tickets = {id_: item.tickets[id_] for id_ in new if id_ in item.tickets}
    plan.tickets.update(tickets)
    plan.unspent.difference_update(tickets.values())
    return _Decision(new, faults)


def _receipt(item: Batch, decision: _Decision, plan: _Plan) -> Receipt:
    accepted = len(decision.new.keys() & plan.counted)
    omitted = decision.omitted
    refused = [
        *item.refused,
        *[TicketRefused(f"ticket: {omitted[id_]}", index=0) for id_ in item.ids if id_ in omitted],
    ]
    duplicates = len(item.ids) - accepted - (len(refused) - len(item.refused))
    plan.outcomes[COUNTED] += accepted
    plan.outcomes[REPEATED] += duplicates
    plan.outcomes.update(map(slug, refused))
    plan.omitted.update(map(str, refused))
    return Receipt(accepted=accepted, duplicates=duplicates, refused=len(refused))


def _check_survey(item: Batch, plan: _Plan, new: dict[bytes, bytes]) -> HalftruthError | None:
    terms = plan.terms
    if item.digest != plan.row.digest:
        return stale_digest_error(item.survey_id)
    closed = _check_open(item, plan, new)
    if closed is not None:
        return closed
    if item.relayed:
        # The digest fixes the relay and its keys, and was compared before the reports were opened.
        return None
    if new and item.sealed == (terms.sealing_key is None):
        return unexpected_seal_error(0, sealed=item.sealed)
    needless = [] if terms.invitations else [id_ for id_ in new if id_ in item.invitations]
    if needless:
        return unexpected_invitation_error(item.ids.index(needless[0]))
    return None


def _check_open(item: Batch, plan: _Plan, new: dict[bytes, bytes]) -> HalftruthError | None:
    """Check that the survey accepts this number of new reports; duplicates are always accepted."""
    if (item.ids and not new) or (item.relayed and not plan.row.is_purged):
        return None
    survey = f"survey '{item.survey_id}'"
    if plan.closed in ("operator", "relay"):
        return SurveyClosed(f"{survey} is closed", field="survey")
    if plan.closed == "deadline":
        moment = plan.terms.closes_at
        return DeadlinePassed(
            f"{survey} is closed since {moment:%Y-%m-%d %H:%M:%S} UTC", field="closes_at"
        )
    opens_at = plan.terms.opens_at
    if opens_at is not None and plan.terms.is_early(plan.now):
        left_seconds = math.ceil((opens_at - plan.now).total_seconds())
        return SurveyPlanned(
            f"{survey} opens at {opens_at:%Y-%m-%d %H:%M:%S} UTC; send the same reports again then,"
            " nothing of this request was counted",
            retry_after=left_seconds,
        )
    left = plan.remaining_quota
    if left is None or len(new) <= left:
        return None
    detail = (
        f"takes {left} more reports; expected no more in one request"
        if left
        else "is closed, since it has all the reports that it asked for"
    )
    return QuotaReached(f"{survey} {detail}", field="max_reports")


def _check_invitations(
    item: Batch, new: dict[bytes, bytes], unused: set[bytes]
) -> HalftruthError | None:
    """Check that every new report has a different, unused invitation."""
    used: set[bytes] = set()
    for id_ in new:
        hash_ = item.invitations.get(id_)
        if hash_ is None:
            detail = "this survey needs one, of 32 hexadecimal digits, for each report"
        elif hash_ not in unused or hash_ in used:
            detail = "it is not known here, or was used before; expected one of your own"
        else:
            used.add(hash_)
            continue
        index = item.ids.index(id_)
        return InvitationRefused(f"report {index}: invitation: {detail}", index=index)
    return None


def _find_ticket_faults(
    item: Batch, new: dict[bytes, bytes], unspent: set[bytes]
) -> Iterator[tuple[bytes, str]]:
    """Yield the id of each new report without a different, unspent ticket, and what is wrong."""
    used: set[bytes] = set()
    for id_ in new:
        ticket = item.tickets.get(id_)
        if ticket is None and not item.needs_tickets:
            continue
        if ticket is None:
            yield id_, "this survey needs one for each report"
        elif ticket not in unspent or ticket in used:
            yield id_, "it was used before; expected one of your own"
        else:
            used.add(ticket)
