"""Actions of operators: one function for each, which commands, HTTP calls and pages call.

A function validates its arguments (ParameterError) and acts in one transaction, which also writes
the entry of the audit log. Functions raise UnknownSurvey and UnknownToken for unknown ids, and
StoreUnavailable if the database does not answer. What changes nothing writes no entry. Actions that
nothing can undo are declared as final, and raise NotConfirmed unless `confirm` repeats the id or
the key.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import msgspec
from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.terms import Signature, Terms
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, delete, exists, func, select, update
from sqlalchemy.exc import DataError, IntegrityError

from .collector_store import Store
from .confirmation import final, require
from .errors import SignatureRefused, SurveyClosed, SurveyExists, UnknownToken
from .store import files
from .store.audit import BACKUP
from .store.database import (
    advisory_lock,
    check_version,
    insert,
    lock_compacted,
    read_version,
)
from .store.files import Contents, Imported
from .store.invitations import hash_invitation
from .store.reports import add_invitations, delete_invitations
from .store.retention import Deleted, count_purged, delete_survey_rows, find_ended, purge_rows
from .store.sqlite_files import Progress, existing_file, new_file
from .store.surveys import (
    Closer,
    State,
    StoredSurvey,
    as_stored,
    find,
    has_reports,
    report_count,
    term_columns,
    update_survey,
)
from .store.tables import audit, invitations, revoked_keys, surveys, tokens
from .store.tokens import Role, hash_token

#: All terms, or the changed terms by name.
Changes = Terms | Mapping[str, Any]

#: Events that change the state of a survey.
Event = Literal["close", "finish", "reopen", "replace", "purge"]

#: State of a survey after an event, by its state before; other states do not change.
TRANSITIONS: Mapping[Event, Mapping[State, State]] = {
    "close": {"open": "closed", "deadline": "closed", "quota": "closed"},
    "finish": dict.fromkeys(("open", "deadline", "quota"), "relay"),
    "reopen": {"closed": "open", "purged": "open"},
    "replace": dict.fromkeys(get_args(State), "open"),
    "purge": dict.fromkeys(("deadline", "quota", "closed", "relay"), "purged"),
}

#: Largest length of a token's name.
_NAME = 100

#: Longest validity of a token that expires.
_LONGEST = timedelta(days=3653)

#: Size of an invitation in bytes, and largest number of invitations of one call.
_INVITATION_SIZE, _MOST_INVITATIONS = 16, 1_000_000

#: Largest number of days since the end of a survey.
MOST_DAYS = 36_500


def next_state(id: str, state: State, event: Event, *, has_reports: bool) -> State:
    """Return the state of a survey after an event.

    A survey with reports cannot be reopened: the order of arrival was erased, its results may have
    been read, and the ids of its reports may have been purged. It cannot be replaced either.

    Raises
    ------
    SurveyClosed, SurveyExists
    """
    new = TRANSITIONS[event].get(state, state)
    if has_reports and event == "reopen" and new != state:
        raise SurveyClosed(
            f"survey '{id}': it has reports already, so that its end is final; expected one that"
            " was closed before the first",
            field="survey",
        )
    if has_reports and event == "replace":
        raise SurveyExists(
            f"id: survey '{id}' has reports already and cannot be replaced; publish this one under"
            " another id",
            field="id",
        )
    return new


def publish_survey(
    store: Store,
    survey: Survey,
    terms: Changes = MappingProxyType({}),
    signature: Signature | UnsetType | None = UNSET,
    *,
    listed: bool | None = None,
) -> list[str]:
    """Publish a survey, or replace one with the same id that has no report yet.

    Omitted terms, signature and listing do not change; a new survey has neither invitations nor
    sealed reports, and is listed.

    Returns
    -------
    list of str
        Changed terms of an existing survey, with their old and new values.

    Raises
    ------
    SurveyExists
        If another survey of that id has reports.
    ParameterError
        If a part of an imported survey was not confirmed, if respondents randomize their answers
        themselves (devices send no reports then), or if the terms are invalid.
    SignatureRefused
        See :func:`set_terms`.
    """
    if survey.unconfirmed:
        more = len(survey.unconfirmed) - 1
        raise ParameterError(
            f"{survey.unconfirmed[0]}{f' (and {more} more)' if more else ''}; expected that"
            " somebody checks it and deletes the line 'unconfirmed'",
            field="attributes",
        )
    if survey.mechanism.randomized_by != "device":
        raise ParameterError(
            f"mechanism.randomized_by: respondents of '{survey.id}' randomized their answers"
            " themselves; expected 'halftruth reports read', which publishes it as closed",
            field="mechanism.randomized_by",
        )
    _check_sealing_key(store, _named(terms).get("sealing_key"))
    _check_relay_key(store, survey)
    document = {
        "digest": survey.digest,
        "document": survey.canonical_json.decode(),
        "published_at": datetime.now(UTC),
        **_columns("open"),
    }
    listing: dict[str, object] = {} if listed is None else {"unlisted": not listed}
    with store.database.writing() as connection:
        if signature:
            # Exclude revocations of its key until the commit.
            advisory_lock(connection)
        values, messages = _change_terms(connection, survey, Terms(), None, terms, signature)
        first = document | term_columns(Terms(), None) | values | listing
        added = connection.execute(
            insert(connection, surveys)
            .values(id=survey.id, invited=0, withdrawn=0, **first)
            .on_conflict_do_nothing(index_elements=[surveys.c.id])
            .returning(surveys.c.number)
        ).scalar()
        if added is not None:
            messages = []
        else:
            statement = select(surveys).where(surveys.c.id == survey.id).with_for_update()
            known = as_stored(connection.execute(statement).one())
            is_other = known.digest != survey.digest
            by = None if is_other and signature is UNSET else signature
            values, messages = _change_terms(
                connection, survey, known.terms, known.signature, terms, by
            )
            if is_other:
                counted = has_reports(connection, known.number)
                next_state(survey.id, known.state, "replace", has_reports=counted)
                values |= document
            elif not values and not listing:
                return []
            update_survey(connection, known, **values, **listing)
        detail = [survey.digest, *messages]
        detail += [] if listed is None else ["listed" if listed else "unlisted"]
        store.audit.record(connection, "survey publish", survey.id, "; ".join(detail))
    return messages


def set_terms(
    store: Store,
    id: str,
    terms: Changes,
    signature: Signature | UnsetType | None = UNSET,
) -> list[str]:
    """Change terms of a survey and their signature; return changes with old and new values.

    Omitted terms, and a signature that is UNSET, do not change.

    Raises
    ------
    ParameterError
        If the private key of a sealing key is missing, or signed terms would change without a new
        signature or its removal.
    SignatureRefused
        If the signature is invalid, or its key was revoked.
    """
    _check_sealing_key(store, _named(terms).get("sealing_key"))
    with store.database.writing() as connection:
        if signature:
            # Exclude revocations of its key until the commit.
            advisory_lock(connection)
        stored = find(connection, id, lock=True)
        values, messages = _change_terms(
            connection, stored.survey(), stored.terms, stored.signature, terms, signature
        )
        if values:
            update_survey(connection, stored, **values)
            store.audit.record(connection, "survey terms", id, "; ".join(messages))
    return messages


@final
def close_survey(store: Store, id: str, *, confirm: str | None = None) -> None:
    """Close a survey, and erase the order in which its reports arrived.

    It has to be confirmed if there are reports: such a survey cannot be reopened. If the database
    is too busy to erase the order, a warning is logged, and :func:`compact` does it later.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        is_changed = _move(connection, stored, "close")
        if is_changed:
            if reports := report_count(connection, stored.number):
                reason = f"with {_number(reports, 'report')} it cannot be opened again"
                require(confirm, id, reason=reason, done="closed")
            store.audit.record(connection, "survey close", id)
    if is_changed:
        store.database.compact_or_warn("order of arrival is not destroyed yet")


def finish_relayed(store: Store, id: str) -> None:
    """Record that a relay has passed on its last reports, with the number of reports counted.

    The survey is closed, since the relay takes no more reports. The order of arrival is erased.
    """
    action = "relay finish"
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        is_closed = _move(connection, stored, "finish")
        detail = f"{report_count(connection, stored.number)} reports"
        # A restarted relay may repeat the message.
        said = select(audit.c.detail).where(audit.c.action == action, audit.c.subject == id)
        last = connection.execute(said.order_by(audit.c.number.desc()).limit(1)).scalar()
        if last == detail and not is_closed:
            return
        store.audit.record(connection, action, id, detail)
        if is_closed:
            store.audit.record(connection, "survey close", id, "its relay has ended")
    store.database.compact_or_warn("order of arrival is not destroyed yet")


def reopen_survey(store: Store, id: str) -> None:
    """Reopen a survey that was closed before its first report.

    Raises
    ------
    SurveyClosed
        If it has reports, or its relay takes no more.
    ParameterError
        If the private key of its sealing key is missing.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        if stored.closed_by == "relay":
            raise SurveyClosed(
                f"survey '{id}': its relay takes no more reports, so that its end is final;"
                " expected one that an operator closed",
                field="survey",
            )
        _check_sealing_key(store, stored.terms.sealing_key)
        _check_relay_key(store, stored.survey())
        if _move(connection, stored, "reopen"):
            store.audit.record(connection, "survey reopen", id)


def set_listing(store: Store, id: str, listed: bool) -> None:
    """Add a survey to the list of surveys, or publish it unlisted (link only)."""
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        if stored.listed != listed:
            update_survey(connection, stored, unlisted=not listed)
            action = "survey list" if listed else "survey unlist"
            store.audit.record(connection, action, id)


@final
def delete_survey(store: Store, id: str, *, confirm: str | None = None) -> Deleted:
    """Delete a survey with its reports, ids, counts, invitations and tokens.

    The files of the database are compacted, so that no deleted data remain in them.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        reports = _number(report_count(connection, stored.number), "report")
        reason = f"'{stored.survey().title_in()}' would be lost with {reports}"
        require(confirm, id, reason=reason, done="deleted")
        lock_compacted(connection)
        done = delete_survey_rows(connection, stored)
        detail = f"{stored.digest}; {done.in_words}"
        store.audit.record(connection, "survey delete", id, detail)
    store.database.compact_or_warn(_DATA_LEFT)
    return done


#: Warning if the files cannot be compacted now.
_DATA_LEFT = "what was deleted may be left in files"


@final
def purge(store: Store, days: int, *, confirm: str | None = None) -> list[Deleted]:
    """Delete ids and unused invitations of surveys that ended at least `days` days ago.

    It is confirmed by the ids of the surveys that lose any, sorted and separated by commas, or by
    EVERY.

    A survey ends when an operator closes it, at its deadline, or when its quota is full. In the
    last two cases purging closes it for good: without ids there is no deduplication, so a later
    deadline or a larger quota could count a report twice. The reports can no longer be exported.
    """
    check_days(days)
    done = []
    with store.database.writing() as connection:
        lock_compacted(connection)
        ended = find_ended(connection, datetime.now(UTC), days)
        would = {stored.id: count_purged(connection, stored) for stored, _ in ended}
        require_purge(confirm, {id: w.in_words for id, w in would.items() if w.has_rows}, days)
        for stored, state in ended:
            _move(connection, stored, "purge", state)
            if stored.status == "open":
                detail = "its deadline had passed or its quota was full"
                store.audit.record(connection, "survey close", stored.id, detail)
            done.append(purge_rows(connection, stored))
            detail = done[-1].in_words
            store.audit.record(connection, "survey purge", stored.id, detail)
    if done:
        store.database.compact_or_warn(_DATA_LEFT)
    return done


def require_purge(confirm: str | None, losses: Mapping[str, str], days: int) -> None:
    """Raise NotConfirmed unless a purge was confirmed; `losses` describes its rows by survey."""
    if losses:
        require(
            confirm,
            ",".join(sorted(losses)),
            reason="; ".join(f"'{id}' would lose {rows}" for id, rows in sorted(losses.items())),
            done="purged",
            every=f"every survey that ended {days} days ago or earlier",
        )


def check_days(days: int) -> None:
    """Raise ParameterError if a number of days is out of range."""
    if not 0 <= days <= MOST_DAYS:
        raise ParameterError(f"days: expected 0 to {MOST_DAYS} days", field="days")


def compact(store: Store) -> None:
    """Erase the order in which reports arrived; see :meth:`.Database.compact`."""
    store.database.compact()
    store.audit.note("compact", "")


def create_invitations(store: Store, id: str, count: int) -> list[str]:
    """Issue invitations. Only hashes are stored, so they cannot be shown again."""
    if not 1 <= count <= _MOST_INVITATIONS:
        raise ParameterError(f"count: expected 1 to {_MOST_INVITATIONS} invitations", field="count")
    made = [secrets.token_bytes(_INVITATION_SIZE) for _ in range(count)]
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        add_invitations(connection, stored.number, map(hash_invitation, made))
        update_survey(connection, stored, invited=surveys.c.invited + count)
        store.audit.record(connection, "invite create", id, f"{count} invitations")
    return [invitation.hex() for invitation in made]


@final
def revoke_invitations(
    store: Store,
    id: str,
    chosen: Iterable[bytes] | None = None,
    *,
    confirm: str | None = None,
) -> int:
    """Withdraw the unused invitations among those given, by default all; return their number.

    Withdrawing all of a survey has to be confirmed if there are any.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        if chosen is None:
            if unused := count_purged(connection, stored).invitations:
                reason = f"{_number(unused, 'unused invitation')} would not be accepted any more"
                require(confirm, id, reason=reason, done="withdrawn")
            statement = delete(invitations).where(invitations.c.survey == stored.number)
            count = connection.execute(statement).rowcount
        else:
            hashes = {hash_invitation(invitation) for invitation in chosen}
            count = delete_invitations(connection, stored.number, hashes)
        update_survey(connection, stored, withdrawn=surveys.c.withdrawn + count)
        store.audit.record(connection, "invite revoke", id, f"{count} invitations")
    return count


def create_token(
    store: Store,
    role: Role,
    survey: str | None = None,
    *,
    name: str | None = None,
    expires: date | None = None,
) -> str:
    """Create a token. Only its hash is stored, so it cannot be shown again.

    Parameters
    ----------
    survey : str, optional
        Id of the only survey that the token is valid for: required for a relay, optional for an
        analyst.
    name : str, optional
        Owner or purpose.
    expires : date, optional
        Last day (UTC) of validity; by default it is valid until it is revoked.
    """
    if survey is not None and role not in ("analyst", "relay"):
        raise ParameterError("survey: expected none, but for an analyst or a relay", field="survey")
    if role == "relay" and (survey is None or store.surveys.get(survey).survey().relay is None):
        raise ParameterError(
            "survey: expected the id of a survey that has a relay, which alone the token is for",
            field="survey",
        )
    if name is not None and not (0 < len(name) <= _NAME and name.isprintable()):
        raise ParameterError(f"name: expected a line of up to {_NAME} characters", field="name")
    now = datetime.now(UTC)
    last = now.date() + _LONGEST
    if expires is not None and not now.date() <= expires <= last:
        raise ParameterError(
            f"expires: expected a day from {now.date()} to {last}", field="expires"
        )
    token, id = f"ht_{secrets.token_urlsafe(32)}", secrets.token_hex(4)
    detail = role if survey is None else f"{role} of {survey}"
    detail += "" if name is None else f"; {name}"
    detail += "" if expires is None else f"; until {expires}"
    with store.database.writing() as connection:
        values = {
            "id": id,
            "hash": hash_token(token),
            "role": role,
            # Lock the survey against deletion.
            "survey": None if survey is None else find(connection, survey, lock=True).number,
            "created_at": now,
            "name": name,
            "expires_at": expires and datetime.combine(expires + timedelta(days=1), time(), UTC),
        }
        connection.execute(insert(connection, tokens).values(values))
        store.audit.record(connection, "token create", id, detail)
    return token


def revoke_token(store: Store, id: str) -> None:
    """Revoke a token. Revoking it twice changes nothing."""
    with store.database.writing() as connection:
        first = func.coalesce(tokens.c.revoked_at, datetime.now(UTC))
        revoked = update(tokens).where(tokens.c.id == id).values(revoked_at=first)
        if not connection.execute(revoked).rowcount:
            raise UnknownToken(
                f"token: there is none with the id '{id}'; see token list", field="token"
            )
        store.audit.record(connection, "token revoke", id)


@final
def revoke_key(store: Store, key: str, *, confirm: str | None = None) -> list[str]:
    """Revoke an operator's public key: remove its signatures and accept no new ones.

    Returns the ids of the surveys that are no longer signed.
    """
    if len(key) != 64 or set(key) - set("0123456789abcdef"):
        raise ParameterError("key: expected a public key of 64 hexadecimal digits", field="key")
    with store.database.writing() as connection:
        # Prevent new signatures by the key until the commit.
        advisory_lock(connection)
        statement = select(surveys.c.id).where(surveys.c.signature_key == key)
        # Lock surveys in the same order as counting does, to avoid deadlocks.
        statement = statement.order_by(surveys.c.id).with_for_update()
        unsigned = sorted(connection.execute(statement).scalars())
        signed = f"{_number(len(unsigned), 'survey')} would lose its own"
        reason = f"its signatures would never be accepted again, and {signed}"
        require(confirm, key, reason=reason, done="revoked")
        connection.execute(
            insert(connection, revoked_keys)
            .values(key=key, revoked_at=datetime.now(UTC))
            .on_conflict_do_nothing()
        )
        connection.execute(
            update(surveys)
            .where(surveys.c.signature_key == key)
            .values(signature_key=None, signature=None)
        )
        store.audit.record(connection, "key revoke", key, ", ".join(unsigned))
    return unsigned


def create_sealing_key(store: Store, file: Path) -> str:
    """Add a new private key to the file of sealing keys, and return its public key."""
    # Imported here and below: only collectors with sealed surveys import cryptography.
    from halftruth_shared.protocol.sealing import create_sealing_key

    public = create_sealing_key(file)
    store.audit.note("sealing-key create", public)
    return public


@final
def retire_sealing_key(store: Store, file: Path, key: str, *, confirm: str | None = None) -> None:
    """Remove a key from the file of sealing keys; reports sealed to it can no longer be opened.

    It is refused while a survey uses the key that is open, or can be reopened.
    """
    from halftruth_shared.protocol.sealing import retire_sealing_key

    for state in store.surveys.states():
        has_ended = state.closed_at is not None and state.reports > 0
        used = state.terms.sealing_key
        if (relay := store.surveys.get(state.id).survey().relay) is not None:
            # A relay also passes on reports after the survey was closed.
            used, has_ended = relay.sealing_key, state.purged_at is not None
        if used == key and not has_ended:
            raise ParameterError(
                f"key: the reports of '{state.id}' are sealed to it; expected one that no survey"
                " uses which is open or has no report yet",
                field="key",
            )
    reason = "reports that are sealed to it could never be opened again"
    require(confirm, key, reason=reason, done="retired")
    retire_sealing_key(file, key)
    store.audit.note("sealing-key retire", key)


def back_up(store: Store, file: Path, progress: Progress | None = None) -> int:
    """Write a snapshot of all tables into a new file, and return the number of rows.

    Other transactions do not wait for it.
    """
    with store.database.reading() as connection:
        check_version(read_version(connection))
    with (
        new_file(file) as target,
        store.database.reading_reports() as source,
        target.writing() as connection,
    ):
        rows = files.copy_tables(source, connection, progress)
    store.audit.note(BACKUP, "")
    return rows


def check_backup(file: Path) -> Contents:
    """Verify the checksum of a back-up and that its tables agree; return what it contains.

    Raises
    ------
    ParameterError
        If the file is no back-up, damaged or inconsistent.
    SchemaOutdated
        If it is of another version.
    """
    with existing_file(file) as backup, backup.reading() as source:
        return files.check_contents(source, file)


def restore(store: Store, file: Path, progress: Progress | None = None) -> int:
    """Restore a back-up into an empty database in one transaction; return the number of rows.

    The file is checked before, see :func:`check_backup`.
    """
    with existing_file(file) as backup, backup.reading() as source:
        files.check_contents(source, file)
        with store.database.writing() as connection:
            advisory_lock(connection)
            if not files.is_empty(connection):
                raise ParameterError(
                    "database: it is not empty; expected an empty one, such as a new file",
                    field="database",
                )
            try:
                rows = files.copy_tables(source, connection, progress)
            except (DataError, IntegrityError):
                raise ParameterError(
                    f"file: {file} has rows that contradict each other; expected a back-up of a"
                    " collector",
                    field="file",
                ) from None
            files.advance_sequences(connection)
    return rows


def export_reports(store: Store, id: str, file: Path, progress: Progress | None = None) -> int:
    """Write a survey with its counts and ids into a new file, and return the number of reports."""
    with (
        new_file(file) as target,
        store.database.reading_reports() as source,
        target.writing() as connection,
    ):
        return files.export_survey(source, find(source, id), connection, progress)


def import_reports(store: Store, file: Path, progress: Progress | None = None) -> Imported:
    """Count the reports of another collector's file, each once.

    Importing a file again changes nothing (idempotent). If the survey is unknown, it is published
    as it is in the file.

    Raises
    ------
    ParameterError
        If the file is not an export of one survey, or its reports do not fit the survey; if some
        but not all of its reports were counted before, or the ids of the survey were purged; or if
        both collectors may have counted a report for the same invitation. Nothing is imported then.
    SurveyExists
        If another survey of that id is published here.
    """
    with files.open_export(file) as (source, ids), store.database.writing() as connection:
        # Exclude concurrent imports and revocations of keys.
        advisory_lock(connection)
        id, done = files.import_survey(source, ids, connection, progress, of_files=file.is_dir())
        store.audit.record(connection, "import", id, f"{done.counted} reports counted")
    return done


def count_rows(
    store: Store,
    survey: Survey,
    pages: Iterable[tuple[Sequence[bytes], Sequence[bytes]]],
    progress: Progress | None = None,
) -> Imported:
    """Count packed reports in one transaction, each id once (deduplication).

    Unlike in an export, each report comes with its id, so known reports are skipped. If the survey
    is unknown, it is published. `pages` yields ids and their packed reports.
    """
    with store.database.writing() as connection:
        # Exclude concurrent revocations of keys.
        advisory_lock(connection)
        done = files.count_rows(connection, survey, pages, progress)
        store.audit.record(connection, "read", survey.id, f"{done.counted} reports counted")
    return done


def _number(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _move(
    connection: Connection, stored: StoredSurvey, event: Event, state: State | None = None
) -> bool:
    """Change the state of a survey by an event, and return whether it changed."""
    before = state or stored.state
    after = next_state(stored.id, before, event, has_reports=has_reports(connection, stored.number))
    if after == before:
        return False
    update_survey(connection, stored, **_columns(after, stored.closed_at, stored.closed_by))
    return True


def _columns(
    state: State, closed_at: datetime | None = None, closed_by: Closer | None = None
) -> dict[str, object]:
    """Return the columns of a survey that enters a state now."""
    now = datetime.now(UTC)
    if state == "open":
        return {"status": "open", "closed_at": None, "closed_by": None, "purged_at": None}
    return {
        "status": "closed",
        "closed_at": closed_at or now,
        "closed_by": closed_by or ("relay" if state == "relay" else "operator"),
        "purged_at": now if state == "purged" else None,
    }


def _named(changes: Changes) -> Mapping[str, Any]:
    """Return terms by name."""
    return msgspec.structs.asdict(changes) if isinstance(changes, Terms) else changes


def _check_sealing_key(store: Store, key: str | None, field: str = "sealing_key") -> None:
    """Raise an error if this collector lacks the private key of a sealing key."""
    if key is not None and store.sealing_keys is not None and key not in store.sealing_keys():
        raise ParameterError(
            f"{field}: its private key is not here; expected one of the file that"
            " HALFTRUTH_SEALING_KEYS names",
            field=field,
        )


def _check_relay_key(store: Store, survey: Survey) -> None:
    if survey.relay is not None:
        _check_sealing_key(store, survey.relay.sealing_key, "relay.sealing_key")


def _change_terms(
    connection: Connection,
    survey: Survey,
    terms: Terms,
    signed: Signature | None,
    changes: Changes,
    signature: Signature | UnsetType | None,
) -> tuple[dict[str, object], list[str]]:
    """Return the changed columns of a survey, and the changed terms with old and new values."""
    new = msgspec.structs.replace(terms, **_named(changes))
    if survey.relay is not None:
        survey.relay.check_terms(new)
    if survey.series is not None:
        survey.series.check_terms(new)
    if signature is UNSET:
        signature = signed
        if signed is not None and new != terms:
            raise ParameterError(
                f"signature: the terms are signed by {signed.key}; expected a signature of the"
                " new ones, or none (--no-signature, or null)",
                field="signature",
            )
    elif signature is not None:
        _check_signature(connection, survey.digest, new, signature)
    old = term_columns(terms, signed)
    row = {
        name: value for name, value in term_columns(new, signature).items() if value != old[name]
    }
    messages = [
        f"{name.replace('signature_key', 'signature')}: "
        f"{_describe_term(old[name])} → {_describe_term(value)}"
        for name, value in row.items()
        if name != "signature"
    ]
    return row, messages


def _describe_term(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return f"{value:%Y-%m-%dT%H:%M:%SZ}"
    return str(value)


def _check_signature(
    connection: Connection, digest: str, terms: Terms, signature: Signature
) -> None:
    # Imported here: most collectors have no signed survey.
    from halftruth_shared import SignatureError
    from halftruth_shared.protocol.base import check_hexadecimal
    from halftruth_shared.protocol.signing import verify

    check_hexadecimal("signature.key", signature.key)
    is_revoked = select(exists().where(revoked_keys.c.key == signature.key))
    if connection.execute(is_revoked).scalar():
        raise SignatureRefused(
            "signature: its key was revoked; expected one by another key", field="signature"
        )
    try:
        verify(signature, digest, terms, {signature.key})
    except SignatureError as error:
        raise SignatureRefused(str(error), field="signature") from None
