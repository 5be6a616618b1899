"""Counting reports, each exactly once: what one transaction does for several requests."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from halftruth_shared import HalftruthError, ReportError
from halftruth_shared.messages import Receipt
from sqlalchemy import ColumnElement, Connection, Row, bindparam, literal_column, select
from sqlalchemy.sql import Select

from ..errors import (
    InvitationRefused,
    StoreRefused,
    SurveyClosed,
    UnknownSurvey,
    slug,
)
from .commits import GroupCommit
from .database import Database
from .report_rows import KnownIds, ReportRows
from .shortcut import Shortcut
from .submissions import Submission, reused, stale
from .tables import surveys

#: Outcomes of reports that were not refused.
COUNTED, REPEATED = "counted", "repeated"

#: Transactions that may count at the same time without waiting for each other.
SHARDS = 16

#: Most reports in one transaction, unless one request has more.
_MOST = 20_000

#: The shard in which an import counts, which nobody else does: it may take long.
IMPORT_SHARD = SHARDS

#: Any number that no other program uses for advisory locks of this database.
_SHARD_LOCK = 0x68617274

#: The lowest shard that no other transaction counts in, for as long as this one runs.
_FREE_SHARD = f"""
(SELECT shard FROM generate_series(0, {SHARDS - 1}) AS shard
 WHERE pg_try_advisory_xact_lock({_SHARD_LOCK}, shard) LIMIT 1)
"""


class Observer(Protocol):
    """Who is told how counting goes."""

    def waiting(self, requests: int) -> None:
        """So many requests wait for a transaction now."""

    def committed(self, seconds: float, requests: int, counted: int, repeated: int) -> None:
        """A transaction was committed."""

    def refused(self, reason: str) -> None:
        """A request with reports was refused."""


@dataclass(frozen=True)
class Refusal:
    """A request with reports that was refused before it came to the store."""

    survey_id: str
    reason: str


Item = Submission | Refusal


@dataclass
class _Plan:
    """What a transaction writes for one survey.

    Attributes
    ----------
    ids : dict of bytes to bytes
        Cell by id of the reports that are new.
    spent : set of bytes
        Hashes of the invitations that let them in.
    arrivals : Counter of str
    """

    ids: dict[bytes, bytes] = field(default_factory=dict)
    spent: set[bytes] = field(default_factory=set)
    arrivals: Counter[str] = field(default_factory=Counter)


#: Cells of the ids that are known to be counted, by number of the survey.
_Known = dict[int, dict[bytes, bytes]]


class ReportCounter:
    """Counts reports, with those of other threads in one transaction.

    Parameters
    ----------
    database : Database
    observer : Observer, optional
    """

    def __init__(self, database: Database, observer: Observer | None = None) -> None:
        self._database = database
        self._observer = observer
        self._commits: GroupCommit[Item, Receipt] = GroupCommit(
            self._commit, most=_MOST, waiting=None if observer is None else observer.waiting
        )
        self._lock_survey = _survey_row(database.is_sqlite)
        self._shortcut = None if database.is_sqlite else Shortcut(database, _FREE_SHARD, COUNTED)

    def count(self, submission: Submission) -> Receipt:
        """Count the reports of a request, all of them or none; return once that is durable.

        Raises
        ------
        UnknownSurvey, SurveyClosed, StaleDigest, ReportError, ReportIdReused, InvitationRefused
        StoreUnavailable
            Whether they were counted is then unknown; sending them again is safe.
        """
        return self._commits(submission, len(submission.ids))

    def refuse(self, survey_id: str, reason: str) -> None:
        """Write down that a request was refused, and why.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        self._commits(Refusal(survey_id, reason))

    def _commit(self, items: Sequence[Item]) -> Sequence[Receipt | Exception]:
        """Commit a group; the outcome of each of its items."""
        started = time.perf_counter()
        outcomes = self._commit_new(items) or self._commit_any(items)
        self._tell(items, outcomes, time.perf_counter() - started)
        return outcomes

    def _commit_new(self, items: Sequence[Item]) -> Sequence[Receipt | Exception]:
        """The same for items that only have new reports to one survey; none where it cannot be."""
        group = [item for item in items if isinstance(item, Submission)]
        if self._shortcut is None or len(group) < len(items) or not self._shortcut.count(group):
            return []
        return [Receipt(accepted=len(item.ids), duplicates=0) for item in group]

    def _commit_any(self, items: Sequence[Item]) -> Sequence[Receipt | Exception]:
        known: _Known = {}
        while True:
            try:
                with self._database.writing() as connection:
                    outcomes = self._write(connection, items, known)
                break
            except KnownIds as found:
                # Retries are rare, so they are looked for only where an insert met one. What is
                # known stays known, so every further round starts with more of it.
                with self._database.reading() as connection:
                    more = ReportRows(connection, found.number).find(found.ids)
                before = known.get(found.number, {})
                if not more:
                    raise StoreRefused("the database took fewer reports than it has") from None
                known[found.number] = before | more
        return outcomes

    def _write(
        self, connection: Connection, items: Sequence[Item], known: _Known
    ) -> list[Receipt | Exception]:
        """Everything that the items of a group come to, in one transaction."""
        # In order, so that two transactions cannot wait for each other.
        names = sorted({item.survey_id for item in items})
        found = {
            name: row
            for name in names
            if (row := connection.execute(self._lock_survey, {"id": name}).first()) is not None
        }
        rows = list(found.values())
        # Where all shards are taken, one waits for another's commit.
        shard = (rows[0].shard or 0) if rows else 0
        unspent = {
            row.number: ReportRows(connection, row.number).unspent(_invitations_of(items, row.id))
            for row in rows
            if row.invitations
        }
        for row in rows:
            # After the invitations: whoever spent one of them has committed its report by now.
            doubtful = _doubtful(items, row, unspent.get(row.number, set()))
            counted = ReportRows(connection, row.number).find(doubtful)
            known[row.number] = known.get(row.number, {}) | counted
        plans: dict[int, _Plan] = {row.number: _Plan() for row in rows}
        outcomes = [_decide(item, found, known, unspent, plans) for item in items]
        # In order of their keys, so that two transactions cannot wait for each other.
        written = {number: ReportRows(connection, number, shard) for number in plans}
        for number, plan in plans.items():
            written[number].insert(plan.ids)
        for number, plan in plans.items():
            written[number].spend(plan.spent)
            written[number].count(plan.ids.values())
            written[number].arrive(plan.arrivals)
        return outcomes

    def _tell(
        self, items: Sequence[Item], outcomes: Sequence[Receipt | Exception], seconds: float
    ) -> None:
        if self._observer is None:
            return
        receipts = [outcome for outcome in outcomes if isinstance(outcome, Receipt)]
        self._observer.committed(
            seconds,
            len(items),
            sum(receipt.accepted for receipt in receipts),
            sum(receipt.duplicates for receipt in receipts),
        )
        for item, outcome in zip(items, outcomes, strict=True):
            if isinstance(item, Refusal):
                self._observer.refused(item.reason)
            elif isinstance(outcome, HalftruthError):
                self._observer.refused(slug(outcome))


def _survey_row(is_sqlite: bool) -> Select[*tuple[Any, ...]]:
    """A survey, which nobody may close or replace before the transaction ends."""
    shard: ColumnElement[int | None] = literal_column("0" if is_sqlite else _FREE_SHARD).label(
        "shard"
    )
    return (
        select(
            surveys.c.number,
            surveys.c.id,
            surveys.c.digest,
            surveys.c.status,
            surveys.c.invitations,
            surveys.c.sealing_key,
            shard,
        )
        .where(surveys.c.id == bindparam("id"))
        .with_for_update(read=True)
    )


def _decide(
    item: Item,
    found: dict[str, Row[*tuple[Any, ...]]],
    known: _Known,
    unspent: dict[int, set[bytes]],
    plans: dict[int, _Plan],
) -> Receipt | Exception:
    """What becomes of one item, after those before it; what is to be written goes to the plans."""
    row = found.get(item.survey_id)
    if row is None:
        return UnknownSurvey(f"there is no survey '{item.survey_id}'", field="survey")
    plan = plans[row.number]
    if isinstance(item, Refusal):
        plan.arrivals[item.reason] += 1
        return Receipt(accepted=0, duplicates=0)
    counted = known.get(row.number, {})
    new = {id_: cell for id_, cell in item.packed.items() if id_ not in counted}
    new = {id_: cell for id_, cell in new.items() if id_ not in plan.ids}
    error = (
        _check_survey(item, row, new)
        or _check_repeated(item, counted, plan.ids)
        or (_check_invitations(item, new, unspent[row.number]) if row.invitations else None)
    )
    if error is not None:
        plan.arrivals[slug(error)] += 1
        return error
    spent = {item.invitations[id_] for id_ in new} if row.invitations else set()
    if row.invitations:
        unspent[row.number] -= spent
    plan.ids.update(new)
    plan.spent |= spent
    receipt = Receipt(accepted=len(new), duplicates=len(item.ids) - len(new))
    plan.arrivals[COUNTED] += receipt.accepted
    plan.arrivals[REPEATED] += receipt.duplicates
    return receipt


def _check_survey(
    item: Submission, row: Row[*tuple[Any, ...]], new: dict[bytes, bytes]
) -> HalftruthError | None:
    if item.digest != row.digest:
        return stale(item.survey_id)
    if row.status == "closed" and (new or not item.ids):
        return SurveyClosed(f"survey '{item.survey_id}' is closed", field="survey")
    if row.sealing_key is not None and not item.sealed and new:
        return ReportError(
            "report 0: expected 'sealed': this survey takes sealed reports only",
            field="sealed",
            index=0,
        )
    if row.sealing_key is None and item.sealed and new:
        return ReportError(
            "report 0: expected 'values': this survey takes no sealed reports",
            field="values",
            index=0,
        )
    needless = [] if row.invitations else [id_ for id_ in new if id_ in item.invitations]
    if needless:
        index = item.ids.index(needless[0])
        return ReportError(
            f"report {index}: invitation: this survey asks for none",
            field="invitation",
            index=index,
        )
    return None


def _check_repeated(
    item: Submission, counted: dict[bytes, bytes], ahead: dict[bytes, bytes]
) -> HalftruthError | None:
    """Make sure that ids that were counted before came with the same report."""
    for id_, cell in item.packed.items():
        if counted.get(id_, cell) != cell or ahead.get(id_, cell) != cell:
            return reused(item.ids.index(id_))
    return None


def _check_invitations(
    item: Submission, new: dict[bytes, bytes], unspent: set[bytes]
) -> HalftruthError | None:
    """Make sure that every new report has an invitation of its own that nobody used."""
    free = set(unspent)
    for id_ in new:
        hash_ = item.invitations.get(id_)
        if hash_ is None:
            said = "this survey needs one, of 32 hexadecimal digits, for each report"
        elif hash_ not in free:
            said = "it is not known here, or was used before; expected one of your own"
        else:
            free.remove(hash_)
            continue
        index = item.ids.index(id_)
        return InvitationRefused(f"report {index}: invitation: {said}", index=index)
    return None


def _doubtful(
    items: Sequence[Item], row: Row[*tuple[Any, ...]], unspent: set[bytes]
) -> list[bytes]:
    """Ids of the reports that would be refused as new ones, in order.

    A retry of what was counted is told so even where nothing new is taken.
    """
    ids: set[bytes] = set()
    for item in items:
        if not isinstance(item, Submission) or item.survey_id != row.id:
            continue
        if row.status == "closed" or (row.sealing_key is not None) != item.sealed:
            ids |= item.packed.keys()
        elif row.invitations:
            ids |= {id_ for id_ in item.packed if item.invitations.get(id_) not in unspent}
        else:
            ids |= item.invitations.keys()
    return sorted(ids)


def _invitations_of(items: Sequence[Item], survey_id: str) -> list[bytes]:
    """The hash of every invitation that is brought to one survey, in order."""
    return sorted(
        {
            hash_
            for item in items
            if isinstance(item, Submission) and item.survey_id == survey_id
            for hash_ in item.invitations.values()
        }
    )
