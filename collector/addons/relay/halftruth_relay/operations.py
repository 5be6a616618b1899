"""Actions of a relay and of its operator, one function for each.

A function validates its arguments and acts in one transaction, which also writes the entry of the
audit log. All raise StoreUnavailable if the database does not answer.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal
from urllib.parse import urlsplit

from halftruth_client.catalog import Catalog
from halftruth_client.transport import Transport
from halftruth_collector.confirmation import require
from halftruth_collector.operations import action, check_days, require_purge
from halftruth_collector.store.database import insert, lock_compacted
from halftruth_collector.store.tables import relay_ids, relay_reports, relay_surveys
from halftruth_shared import ParameterError
from halftruth_shared.protocol.reports import Receipt, RelayedBatch
from halftruth_shared.protocol.surveys import survey_path
from sqlalchemy import Connection, delete, func, select, update

from .store import RegisteredSurvey, RelayStore, count_held, find

_log = logging.getLogger(__name__)

#: Hosts for which http is accepted.
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")

#: Tables whose rows are kept until a purge.
_KEPT = (relay_ids, relay_reports)

#: Reason why a survey is closed.
Reason = Literal["operator", "deadline", "collector"]


@action("relay register", undone="it changes only what a relay accepts")
def register(
    store: RelayStore,
    collector: str,
    id: str,
    token: str,
    *,
    url: str,
    keys: Collection[str],
    tickets_keys: Collection[str] = (),
    digest: str | None = None,
    operator_keys: Collection[str] = (),
) -> RegisteredSurvey:
    """Register a survey of a collector, so that the relay accepts reports to its current version.

    The digest of a registered survey never changes; registering again updates token and deadline.

    Parameters
    ----------
    store : RelayStore
    collector : str
        Address of the collector.
    id : str
        Id of the survey.
    token : str
        Token with the role relay for this survey.
    url : str
        Address of this relay.
    keys : collection of str
        Public keys of this relay.
    tickets_keys : collection of str
        Public keys by which this relay signs tickets.
    digest : str, optional
        Expected digest; by default that of the collector.
    operator_keys : collection of str
        Pinned public keys, one of which must have signed the survey; none by default.

    Raises
    ------
    ParameterError
        If the digest differs, or the survey has no relay, another relay or another key.
    SurveyRefused, RequestRefused, CollectorUnavailable
        If digest or signature is invalid, or the collector does not know the survey or the token.
    """
    transport = Transport(collector, token=token)
    parts = urlsplit(transport.url)
    if parts.scheme != "https" and parts.hostname not in _THIS_MACHINE:
        raise ParameterError(
            "collector: expected an address with https, since the token is sent there",
            field="collector",
        )
    entry = Catalog(transport, operator_keys).fetch(id)
    survey, relay = entry.survey, entry.survey.relay
    if digest not in (None, survey.digest):
        raise ParameterError(
            f"digest: the collector publishes '{id}' with {survey.digest}", field="digest"
        )
    if relay is None:
        raise ParameterError(
            f"relay: survey '{id}' has none; expected one that names {url}", field="relay"
        )
    if relay.url != url:
        raise ParameterError(
            f"relay.url: expected {url}, the address of this relay; got {relay.url}",
            field="relay.url",
        )
    if relay.key not in keys:
        raise ParameterError(
            "relay.key: its private key is not here; expected one of the file that"
            " HALFTRUTH_RELAY_KEYS names",
            field="relay.key",
        )
    if relay.tickets_key is not None and relay.tickets_key not in tickets_keys:
        raise ParameterError(
            "relay.tickets_key: its private key is not here; expected one that 'halftruth relay key"
            " list' prints for the file that HALFTRUTH_RELAY_KEYS names",
            field="relay.tickets_key",
        )
    # An empty batch, to check the token.
    empty = RelayedBatch(digest=survey.digest, relayed=[])
    transport.post(survey_path(id, "reports"), Receipt, empty)
    values = {
        "collector": transport.url,
        "token": token,
        "closes_at": entry.terms.closes_at,
    }
    first = {
        "id": id,
        "digest": survey.digest,
        "document": survey.canonical_json.decode(),
        "status": "open",
        **values,
    }
    with store.database.writing() as connection:
        added = connection.execute(
            insert(connection, relay_surveys)
            .values(first)
            .on_conflict_do_nothing(index_elements=[relay_surveys.c.id])
            .returning(relay_surveys.c.number)
        ).scalar()
        known = find(connection, id, "alone")
        if known.digest != survey.digest:
            raise ParameterError(
                f"digest: '{id}' is registered here with {known.digest} for good; expected that"
                " survey, or another id",
                field="digest",
            )
        if added is None:
            _change(connection, known, **values)
        store.audit.record(connection, "relay register", id, f"{survey.digest}; {transport.url}")
        return find(connection, id)


@action("relay close")
def close(
    store: RelayStore, id: str, reason: Reason = "operator", *, confirm: str | None = None
) -> None:
    """Close a survey. Closing a closed survey changes nothing (idempotent).

    The operator of the relay has to confirm it, since a relay never opens a survey again.
    """
    with store.database.writing() as connection:
        survey = find(connection, id, "alone")
        if survey.status == "open":
            if reason == "operator":
                _require_close(connection, survey, confirm)
            _change(connection, survey, status="closed", closed_at=datetime.now(UTC))
            store.audit.record(connection, "relay close", id, f"by its {reason}")
            _log.info("%s is closed by its %s", id, reason)


@action("relay release", undone="the relay does it when a batch is full")
def release(store: RelayStore, id: str) -> None:
    """Release a batch of reports, so that they are passed on, if the batch is full.

    When the survey is closed, all reports are released, or withheld if they are fewer than a batch.
    With ``release = "batches"``, reports are also released before, whenever a batch is full. One
    batch is released after the other, once the collector has acknowledged all of its reports.
    """
    with store.database.writing() as connection:
        survey = find(connection, id, "alone")
        is_over = survey.status == "closed"
        if not is_over and (survey.status != "open" or survey.relay.release != "batches"):
            return
        # Only once all reports of a batch are acknowledged, it is known whether it is doubtful.
        if survey.is_stopped or count_held(connection, survey, due=True):
            return
        waiting, least = count_held(connection, survey, due=False), survey.relay.batch
        is_full = waiting >= least
        if is_full:
            connection.execute(
                update(relay_reports)
                .where(relay_reports.c.survey == survey.number, ~relay_reports.c.is_due)
                .values(is_due=True)
            )
            _change(connection, survey, batch_passed=0, batch_unopened=0)
            store.audit.record(connection, "relay release", id, f"{waiting} reports")
        if is_over:
            _change(connection, survey, status="released" if is_full else "withheld")
            if not is_full:
                detail = f"{waiting} reports, fewer than the {least} of a batch"
                store.audit.record(connection, "relay withhold", id, detail)
    if is_full:
        _log.info("%d reports of %s are passed on", waiting, id)
    elif is_over:
        _log.warning(
            "%s has %d reports, fewer than the %d of a batch: none of them is passed on",
            *(id, waiting, least),
        )


@action("relay stop", undone="the relay does it when the collector has the reports")
def acknowledge(
    store: RelayStore, survey: RegisteredSurvey, ids: Sequence[bytes], receipt: Receipt
) -> None:
    """Delete reports that the collector has acknowledged; keep their ids for deduplication.

    If the batch is complete, and more than a tenth of it could not be opened, no further batch is
    released until :func:`resume`.
    """
    with store.database.writing() as connection:
        find(connection, survey.id, "alone")
        deleted = connection.execute(
            delete(relay_reports).where(
                relay_reports.c.survey == survey.number, relay_reports.c.report_id.in_(ids)
            )
        ).rowcount
        # Another process of this relay can have passed on some of them at the same time.
        refused = min(receipt.refused, deleted)
        _change(
            connection,
            survey,
            passed=relay_surveys.c.passed + deleted,
            unopened=relay_surveys.c.unopened + refused,
            batch_passed=relay_surveys.c.batch_passed + deleted,
            batch_unopened=relay_surveys.c.batch_unopened + refused,
        )
        now = find(connection, survey.id)
        is_complete = deleted > 0 and not count_held(connection, survey, due=True)
        if not is_complete or not now.is_doubtful:
            return
        _log.warning("%s", describe_doubt(now))
        if now.status in ("open", "closed"):
            _change(connection, survey, is_stopped=True)
            detail = f"{now.batch_unopened} of {now.batch_passed} reports could not be opened"
            store.audit.record(connection, "relay stop", survey.id, detail)


def describe_doubt(survey: RegisteredSurvey) -> str:
    """Say how many reports of the last batch could not be opened."""
    return (
        f"{survey.id}: the collector could not open {survey.batch_unopened} of the"
        f" {survey.batch_passed} reports of the last batch, so they hid nobody"
    )


def describe_stop(survey: RegisteredSurvey) -> str:
    """Say that no further batch is released, and how to go on."""
    return (
        f"{survey.id}: no further batch is released until 'halftruth relay resume {survey.id}',"
        " since more than a tenth of the last one could not be opened"
    )


@action("relay resume", undone="it releases reports that were to be passed on anyway")
def resume(store: RelayStore, id: str) -> bool:
    """Release further batches after a doubtful one; return whether they had been stopped."""
    with store.database.writing() as connection:
        survey = find(connection, id, "alone")
        if survey.is_stopped:
            _change(connection, survey, is_stopped=False)
            store.audit.record(connection, "relay resume", id)
    return survey.is_stopped


def _require_close(connection: Connection, survey: RegisteredSurvey, confirm: str | None) -> None:
    waiting, least = count_held(connection, survey, due=False), survey.relay.batch
    reason = f"a relay cannot open it again, and would now pass on {waiting} reports"
    if waiting < least:
        reason = (
            f"a relay cannot open it again, and {waiting} reports, fewer than the {least} of a"
            " batch, would never be passed on"
        )
    require(confirm, survey.id, reason=reason, done="closed")


@action("relay purge")
def purge(
    store: RelayStore, days: int, *, confirm: str | None = None
) -> list[tuple[str, int, int]]:
    """Delete ids and withheld reports of surveys that were closed at least `days` days ago.

    Surveys with reports that the collector has not yet acknowledged are skipped. It is confirmed by
    the ids of the other ones that lose any, sorted and separated by commas, or by EVERY.

    Returns
    -------
    list of tuple
        Id of each survey, and the numbers of ids and of reports that were deleted.

    Raises
    ------
    ParameterError
        If the number of days is out of range; 0 selects all closed surveys.
    """
    check_days(days)
    limit = datetime.now(UTC) - timedelta(days=days)
    # Open surveys are not locked, since they accept reports.
    names = [survey.id for survey in store.all() if _is_over(survey, limit)]
    done = []
    with store.database.writing() as connection:
        ended = [find(connection, name, "alone") for name in names]
        ended = [survey for survey in ended if _is_over(survey, limit)]
        lock_compacted(connection)
        chosen = [survey for survey in ended if not count_held(connection, survey, due=True)]
        would = {survey.id: _describe_rows(connection, survey) for survey in chosen}
        require_purge(confirm, {id: rows for id, rows in would.items() if rows}, days)
        for survey in chosen:
            ids, reports = (
                connection.execute(delete(table).where(table.c.survey == survey.number)).rowcount
                for table in _KEPT
            )
            _change(connection, survey, status="purged")
            detail = f"{ids} ids, {reports} reports"
            store.audit.record(connection, "relay purge", survey.id, detail)
            done.append((survey.id, ids, reports))
    if done:
        store.database.compact_or_warn("what was deleted may be left in files")
    return done


def _is_over(survey: RegisteredSurvey, limit: datetime) -> bool:
    """Return whether a survey was closed at a moment, and has not been purged."""
    is_over = survey.status in ("released", "withheld")
    return is_over and survey.closed_at is not None and survey.closed_at <= limit


def _describe_rows(connection: Connection, survey: RegisteredSurvey) -> str:
    """Describe the rows of a survey that a purge deletes; empty if there are none."""
    ids, reports = (
        connection.execute(
            select(func.count()).select_from(table).where(table.c.survey == survey.number)
        ).scalar_one()
        for table in _KEPT
    )
    return f"{ids} ids and {reports} reports" if ids or reports else ""


def _change(connection: Connection, survey: RegisteredSurvey, **values: object) -> None:
    connection.execute(
        update(relay_surveys).where(relay_surveys.c.number == survey.number).values(values)
    )
