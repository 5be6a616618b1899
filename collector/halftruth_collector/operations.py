"""What an operator can do, each action once.

Commands, HTTP calls and pages only translate to and from these functions. A function checks what it
is asked for and does it in one transaction, which also writes the entry of the audit log. One that
is about a survey raises UnknownSurvey if there is none of that id, and all raise StoreUnavailable
if the database does not answer.
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
from sqlalchemy import Connection, delete, exists, select, update

from .collector_store import Store
from .errors import SignatureRefused, SurveyClosed, SurveyExists, UnknownToken
from .store import files
from .store.audit import BACKUP
from .store.database import advisory_lock, check_version, insert, read_version
from .store.files import Imported
from .store.invitations import hash_invitation
from .store.reports import add_invitations, delete_invitations
from .store.retention import Deleted, delete_survey_rows, find_ended, purge_rows
from .store.sqlite_files import Progress, existing_file, new_file
from .store.surveys import (
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

#: All terms, or those that change by name.
Changes = Terms | Mapping[str, Any]

#: What changes the state of a survey.
Event = Literal["close", "reopen", "replace", "purge"]

#: State of a survey after an event; one that is not listed changes nothing.
TRANSITIONS: Mapping[Event, Mapping[State, State]] = {
    "close": {"open": "closed", "deadline": "closed", "quota": "closed"},
    "reopen": {"closed": "open", "purged": "open"},
    "replace": dict.fromkeys(get_args(State), "open"),
    "purge": {"deadline": "purged", "quota": "purged", "closed": "purged"},
}

#: Most characters of a token's name.
_NAME = 100

#: Longest validity of a token that expires.
_LONGEST = timedelta(days=3653)

#: Bytes of an invitation, and most invitations of one call.
_INVITATION_SIZE, _MOST_INVITATIONS = 16, 1_000_000

#: Most days that a survey can have ended ago.
MOST_DAYS = 36_500


def next_state(id: str, state: State, event: Event, *, has_reports: bool) -> State:
    """Return the state of a survey after an event.

    Once there are reports, the end of a survey is final: the order of their arrival is destroyed,
    its results were looked at, and their ids may have been purged.

    Raises
    ------
    SurveyClosed
        If a survey with reports is to be reopened.
    SurveyExists
        If a survey with reports is to be replaced by another one.
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
    """Publish a survey, or replace one of the same id that has no report yet.

    Terms that are not named, and whether it is listed, stay.

    Parameters
    ----------
    survey : Survey
    terms : Terms or mapping, optional
        For a new survey, neither invitations nor sealed reports by default.
    signature : Signature or None, optional
        Of the survey and its terms; by default the present one.
    listed : bool, optional
        Whether it is on the public list; a new survey is by default.

    Returns
    -------
    list of str
        The terms of a known survey that changed, with their old and new values.

    Raises
    ------
    SurveyExists
        If another survey of that id has reports.
    ParameterError
        If something of the survey was not confirmed after its import, respondents randomized their
        answers themselves, so that nobody sends reports, or the terms are refused.
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
        _lock_keys(connection, signature)
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
    """Change how the reports of a survey are taken from now on, and who signed that.

    Terms that are not named stay, and so does the signature where it is UNSET.

    Returns
    -------
    list of str
        The terms that changed, with their old and new values.

    Raises
    ------
    ParameterError
        If nothing here opens what is sealed to the key, or terms that are signed would change
        without a word about the signature.
    SignatureRefused
        If the signature does not hold, or is by a key that was revoked.
    """
    _check_sealing_key(store, _named(terms).get("sealing_key"))
    with store.database.writing() as connection:
        _lock_keys(connection, signature)
        stored = find(connection, id, lock=True)
        values, messages = _change_terms(
            connection, stored.survey(), stored.terms, stored.signature, terms, signature
        )
        if values:
            update_survey(connection, stored, **values)
            store.audit.record(connection, "survey terms", id, "; ".join(messages))
    return messages


def close_survey(store: Store, id: str) -> None:
    """Take no more reports, and destroy the order in which they arrived.

    Closing a closed survey changes nothing. Where the database is too busy for the latter, it is
    left to :func:`compact`, and a line in the log says so.
    """
    with store.database.writing() as connection:
        is_changed = _move(connection, find(connection, id, lock=True), "close")
        if is_changed:
            store.audit.record(connection, "survey close", id)
    if is_changed:
        store.database.compact_or_warn("order of arrival is not destroyed yet")


def finish_relayed(store: Store, id: str) -> None:
    """Note that a relay has passed on all that it will of a survey, and how many reports there are.

    Where the survey is closed, the order in which they came is destroyed.
    """
    action = "relay finish"
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        detail = f"{report_count(connection, stored.number)} reports"
        # A relay that was started again says it again.
        said = select(audit.c.detail).where(audit.c.action == action, audit.c.subject == id)
        last = connection.execute(said.order_by(audit.c.number.desc()).limit(1)).scalar()
        if last == detail:
            return
        store.audit.record(connection, action, id, detail)
    if stored.status == "closed":
        store.database.compact_or_warn("order of arrival is not destroyed yet")


def reopen_survey(store: Store, id: str) -> None:
    """Take reports again for a survey that was closed before its first one.

    Reopening an open survey changes nothing.

    Raises
    ------
    SurveyClosed
        If it has reports.
    ParameterError
        If its reports are sealed to a key whose private key is not here.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        _check_sealing_key(store, stored.terms.sealing_key)
        _check_relay_key(store, stored.survey())
        if _move(connection, stored, "reopen"):
            store.audit.record(connection, "survey reopen", id)


def set_listing(store: Store, id: str, listed: bool) -> None:
    """Put a survey on the public list, or let only those find it who know its address."""
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        if stored.listed != listed:
            update_survey(connection, stored, unlisted=not listed)
            action = "survey list" if listed else "survey unlist"
            store.audit.record(connection, action, id)


def delete_survey(store: Store, id: str, *, confirm: str | None = None) -> Deleted:
    """Delete a survey with its reports, ids, counts, invitations and tokens.

    What the files of the database still hold of them is destroyed as when a survey is closed.
    Forms that are filled in meanwhile are told that there is no such survey.

    Raises
    ------
    ParameterError
        If somebody was asked to confirm the id and typed something else.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        if confirm not in (None, id):
            raise ParameterError(f"confirm: expected {id}; nothing was deleted", field="confirm")
        done = delete_survey_rows(connection, stored)
        detail = f"{stored.digest}; {done.in_words}"
        store.audit.record(connection, "survey delete", id, detail)
    store.database.compact_or_warn(_LEFT)
    return done


#: What a database that is too busy leaves to do.
_LEFT = "what was deleted may be left in files"


def purge(store: Store, days: int) -> list[Deleted]:
    """Delete ids and unused invitations of the surveys that ended so many days ago.

    A survey ends when an operator closes it, at its deadline, or when its quota is full. The last
    two are closed for good by this, since an id that is not known any more could be counted twice
    if the deadline or the quota were changed.

    A client that sends one of their reports again is told that the survey is closed, though the
    report had been counted. Their reports cannot be exported any more.

    Raises
    ------
    ParameterError
        If there cannot be so many days; 0 is for all surveys that have ended.
    """
    check_days(days)
    done = []
    with store.database.writing() as connection:
        ended = find_ended(connection, datetime.now(UTC), days)
        for stored, state in ended:
            _move(connection, stored, "purge", state)
            if stored.status == "open":
                detail = "its deadline had passed or its quota was full"
                store.audit.record(connection, "survey close", stored.id, detail)
            done.append(purge_rows(connection, stored))
            detail = done[-1].in_words
            store.audit.record(connection, "survey purge", stored.id, detail)
    if done:
        store.database.compact_or_warn(_LEFT)
    return done


def check_days(days: int) -> None:
    """Raise ParameterError unless something can have ended so many days ago."""
    if not 0 <= days <= MOST_DAYS:
        raise ParameterError(f"days: expected 0 to {MOST_DAYS} days", field="days")


def compact(store: Store) -> None:
    """Destroy the order in which reports arrived; see :meth:`.Database.compact`.

    Raises
    ------
    SchemaOutdated
    """
    store.database.compact()
    store.audit.note("compact", "")


def create_invitations(store: Store, id: str, count: int) -> list[str]:
    """Issue invitations to a survey, which are not stored and cannot be shown again.

    Raises
    ------
    ParameterError
        If there would be none, or more than a million.
    """
    if not 1 <= count <= _MOST_INVITATIONS:
        raise ParameterError(f"count: expected 1 to {_MOST_INVITATIONS} invitations", field="count")
    made = [secrets.token_bytes(_INVITATION_SIZE) for _ in range(count)]
    with store.database.writing() as connection:
        number = find(connection, id).number
        add_invitations(connection, number, [hash_invitation(each) for each in made])
        changed = connection.execute(
            update(surveys)
            .where(surveys.c.number == number)
            .values(invited=surveys.c.invited + count)
        )
        if not changed.rowcount:
            # It was deleted meanwhile, and these rows would be nobody's.
            find(connection, id)
        store.audit.record(connection, "invite create", id, f"{count} invitations")
    return [invitation.hex() for invitation in made]


def revoke_invitations(store: Store, id: str, chosen: Iterable[bytes] | None = None) -> int:
    """Withdraw the unused ones of some invitations, by default of all; return their number."""
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        if chosen is None:
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
    """Create a token, which is not stored and cannot be shown again.

    Parameters
    ----------
    role : {"analyst", "operator", "monitor", "relay"}
    survey : str, optional
        Of a relay, and of an analyst if wished: the id of the only survey that the token is for.
    name : str, optional
        For people: whose it is, or what it is for.
    expires : date, optional
        The last day (UTC) on which it is valid; by default it is until it is revoked.

    Raises
    ------
    ParameterError
        If a token of another role is to be for one survey, or that of a relay is for none or one
        without a relay, the name is no line of up to 100 characters, or the day is over or more
        than ten years away.
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
            # Locked against deletion of its survey.
            "survey": None if survey is None else find(connection, survey, lock=True).number,
            "created_at": now,
            "name": name,
            "expires_at": expires and datetime.combine(expires + timedelta(days=1), time(), UTC),
        }
        connection.execute(insert(connection, tokens).values(values))
        store.audit.record(connection, "token create", id, detail)
    return token


def revoke_token(store: Store, id: str) -> None:
    """Revoke a token. Revoking it twice changes nothing.

    Raises
    ------
    UnknownToken
    """
    with store.database.writing() as connection:
        if not connection.execute(select(exists().where(tokens.c.id == id))).scalar():
            raise UnknownToken(
                f"token: there is none with the id '{id}'; see token list", field="token"
            )
        connection.execute(
            update(tokens)
            .where(tokens.c.id == id, tokens.c.revoked_at.is_(None))
            .values(revoked_at=datetime.now(UTC))
        )
        store.audit.record(connection, "token revoke", id)


def revoke_key(store: Store, key: str) -> list[str]:
    """Revoke an operator's public key: remove its signatures and accept no new ones.

    Returns the ids of the surveys that are no longer signed.

    Raises
    ------
    ParameterError
        If it is not a public key.
    """
    if len(key) != 64 or set(key) - set("0123456789abcdef"):
        raise ParameterError("key: expected a public key of 64 hexadecimal digits", field="key")
    with store.database.writing() as connection:
        # Locked against new signatures of it.
        advisory_lock(connection)
        statement = select(surveys.c.id).where(surveys.c.signature_key == key)
        # In the order in which counting holds them, so that neither waits for the other.
        statement = statement.order_by(surveys.c.id).with_for_update()
        unsigned = sorted(connection.execute(statement).scalars())
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
    """Put a new private key into the file of sealing keys, and return its public key.

    Raises
    ------
    KeyFileError
    """
    # Imported here and below: only a collector with sealed surveys needs the cryptography.
    from halftruth_shared.protocol.sealing import create_sealing_key

    public = create_sealing_key(file)
    store.audit.note("sealing-key create", public)
    return public


def retire_sealing_key(store: Store, file: Path, key: str) -> None:
    """Take a key out of the file of sealing keys, so that nothing sealed to it is opened again.

    Raises
    ------
    ParameterError
        If the reports of a survey are sealed to it that takes reports, or may be reopened.
    KeyFileError
    """
    from halftruth_shared.protocol.sealing import retire_sealing_key

    for state in store.surveys.states():
        has_ended = state.closed_at is not None and state.reports > 0
        used = state.terms.sealing_key
        if (relay := store.surveys.get(state.id).survey().relay) is not None:
            # A relay passes reports on after a survey was closed.
            used, has_ended = relay.sealing_key, state.purged_at is not None
        if used == key and not has_ended:
            raise ParameterError(
                f"key: the reports of '{state.id}' are sealed to it; expected one that no survey"
                " uses which is open or has no report yet",
                field="key",
            )
    retire_sealing_key(file, key)
    store.audit.note("sealing-key retire", key)


def back_up(store: Store, file: Path, progress: Progress | None = None) -> int:
    """Write everything that a database holds into a new file, and return the number of rows.

    It shows one moment, and nobody has to wait meanwhile.

    Raises
    ------
    ParameterError
        If the file exists or cannot be written.
    SchemaOutdated
        If there are no tables, or those of another version.
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


def restore(store: Store, file: Path, progress: Progress | None = None) -> int:
    """Read a back-up into an empty database, all of it or nothing; return the number of rows.

    Raises
    ------
    ParameterError
        If the file is no back-up, or the database is not empty.
    SchemaOutdated
        If the back-up has tables of another version.
    """
    with existing_file(file) as backup, store.database.writing() as connection:
        advisory_lock(connection)
        if not files.is_empty(connection):
            raise ParameterError(
                "database: it is not empty; expected an empty one, such as a new file",
                field="database",
            )
        with backup.reading() as source:
            rows = files.copy_tables(source, connection, progress)
        files.advance_sequences(connection)
    return rows


def export_reports(store: Store, id: str, file: Path, progress: Progress | None = None) -> int:
    """Write a survey with its counts and ids into a new file, and return the number of reports.

    Raises
    ------
    ParameterError
        If the file exists or cannot be written, or the ids of the reports were purged.
    """
    with (
        new_file(file) as target,
        store.database.reading_reports() as source,
        target.writing() as connection,
    ):
        return files.export_survey(source, find(source, id), connection, progress)


def import_reports(store: Store, file: Path, progress: Progress | None = None) -> Imported:
    """Count the reports of another collector's file, each once.

    So a file may be imported twice. The survey is published as the other collector has it, if it is
    not known here.

    Raises
    ------
    ParameterError
        If the file is no export of one survey, or its reports do not fit that; if some of them were
        counted here but not all, or the ids of those that were counted here were purged; or if two
        collectors may have taken a report each for one invitation. Nothing is imported then.
    SurveyExists
        If another survey of that id is published here.
    SchemaOutdated
    """
    with files.exported(file) as (source, ids), store.database.writing() as connection:
        # No other import is under way, nor is a key revoked meanwhile.
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
    """Count reports whose ids and cells are at hand, each id once, all of them or none.

    Unlike those of an export, some may have been counted before: the others are told by their ids.
    The survey is published, if it is not known here. `pages` are ids with their packed reports.

    Raises
    ------
    ParameterError
        If the ids of the survey's reports were purged, or it takes them sealed or with invitations.
    SurveyExists
        If another survey of that id is published here.
    """
    with store.database.writing() as connection:
        # No key is revoked meanwhile.
        advisory_lock(connection)
        done = files.count_rows(connection, survey, pages, progress)
        store.audit.record(connection, "read", survey.id, f"{done.counted} reports counted")
    return done


def _move(
    connection: Connection, stored: StoredSurvey, event: Event, state: State | None = None
) -> bool:
    """Bring a survey into its state after an event, and return whether that is another one."""
    before = state or stored.state
    after = next_state(stored.id, before, event, has_reports=has_reports(connection, stored.number))
    if after == before:
        return False
    update_survey(connection, stored, **_columns(after, stored.closed_at))
    return True


def _columns(state: State, closed_at: datetime | None = None) -> dict[str, object]:
    """Return the columns of a survey that is in a state from now on."""
    now = datetime.now(UTC)
    return {
        "status": "open" if state == "open" else "closed",
        "closed_at": None if state == "open" else closed_at or now,
        "purged_at": now if state == "purged" else None,
    }


def _named(changes: Changes) -> Mapping[str, Any]:
    """Return terms by name."""
    return msgspec.structs.asdict(changes) if isinstance(changes, Terms) else changes


def _check_sealing_key(store: Store, key: str | None, field: str = "sealing_key") -> None:
    """Raise unless this collector has the private key that reports would be sealed to."""
    if key is not None and store.sealing_keys is not None and key not in store.sealing_keys():
        raise ParameterError(
            f"{field}: its private key is not here; expected one of the file that"
            " HALFTRUTH_SEALING_KEYS names",
            field=field,
        )


def _check_relay_key(store: Store, survey: Survey) -> None:
    if survey.relay is not None:
        _check_sealing_key(store, survey.relay.sealing_key, "relay.sealing_key")


def _lock_keys(connection: Connection, signature: Signature | UnsetType | None) -> None:
    """Let nobody revoke the key of a signature before this transaction ends."""
    if signature:
        advisory_lock(connection)


def _change_terms(
    connection: Connection,
    survey: Survey,
    terms: Terms,
    signed: Signature | None,
    changes: Changes,
    signature: Signature | UnsetType | None,
) -> tuple[dict[str, object], list[str]]:
    """Return the columns of a survey that change, and each term with its old and new value."""
    new = msgspec.structs.replace(terms, **_named(changes))
    if survey.relay is not None:
        survey.relay.check_terms(new)
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
