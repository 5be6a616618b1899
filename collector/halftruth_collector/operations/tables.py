"""Whole tables: purging, compaction, the audit log, back-ups and files of reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.base import Message, Request
from msgspec import Meta
from sqlalchemy.exc import DataError, IntegrityError

from ..collector_store import Store
from ..confirmation import require
from ..store import files
from ..store.audit import BACKUP, AuditEntry
from ..store.database import advisory_lock, check_version, lock_compacted, read_version
from ..store.files import Contents, Imported
from ..store.retention import (
    DATA_LEFT,
    KEEP_DAYS,
    Deleted,
    count_purged,
    delete_survey_rows,
    find_ended,
    purge_rows,
)
from ..store.sqlite_files import Progress, existing_file, new_file
from ..store.surveys import find
from .base import SURVEY, Call, Command, Done, action
from .surveys import close_survey, move

#: Largest number of days since the end of a survey, and of log entries in one answer.
MOST_DAYS, MOST_ENTRIES = 36_500, 1_000


class PurgeRequest(Request, frozen=True, kw_only=True):
    """Minimum age of the surveys to be purged."""

    closed_for: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_DAYS,
            description="Days since the end of a survey, at least.",
            extra={"written": "days"},
        ),
    ] = KEEP_DAYS


class Purged(Message, frozen=True, kw_only=True):
    """Purged data, by survey."""

    surveys: list[Deleted]


class AuditQuery(Request, frozen=True, kw_only=True):
    """Selection of entries of the audit log."""

    before: Annotated[int, Meta(ge=1, description="Only entries with a smaller number.")] | None = (
        None
    )
    most: Annotated[
        int, Meta(ge=1, le=MOST_ENTRIES, description="Largest number of entries, newest first.")
    ] = 100


class AuditLogPage(Message, frozen=True, kw_only=True):
    """Entries of the audit log, newest first."""

    entries: list[AuditEntry]


def _say_purged(done: Done) -> Iterator[str]:
    for each in done.result:
        yield f"{each.id}: {each.ids} ids and {each.invitations} unused invitations deleted"
    if not done.result:
        yield f"no survey that ended {done.arguments.closed_for} days ago still has ids"


@action(
    "survey purge",
    arguments=PurgeRequest,
    call=Call("POST", "/v1/purge", Purged, answered=lambda store, _, done: Purged(surveys=done)),
    command=Command("admin purge", _say_purged),
)
def purge(store: Store, closed_for: int, *, confirm: str | None = None) -> list[Deleted]:
    """Purge ended surveys.

    The ids of their reports and their unused invitations are deleted; counts and results stay. A
    survey ends when it is closed, at its deadline, or when its quota is full. After a purge, its
    deadline and quota cannot be extended, and its reports cannot be exported. A client that repeats
    a counted report receives the error that the survey is closed.

    Together with a person's device, ids show who took part. They are needed to count no report
    twice, so wait until the last retries have arrived.

    If there are any, it has to be confirmed with the ids of the surveys that lose some, sorted and
    separated by commas, or with '*' for all surveys that ended so long ago, as a timer does.
    """
    # A survey that ended by its terms is closed for good: without ids there is no deduplication, so
    # a later deadline or a larger quota could count a report twice.
    check_days(closed_for)
    done = []
    with store.database.writing() as connection:
        lock_compacted(connection)
        ended = find_ended(connection, datetime.now(UTC), closed_for)
        would = {stored.id: count_purged(connection, stored) for stored in ended}
        require_purge(
            confirm, {id: w.in_words for id, w in would.items() if w.has_rows}, closed_for
        )
        for stored in ended:
            if stored.survey().test_of is not None:
                # Its results are of no use once the survey has opened.
                done.append(delete_survey_rows(connection, stored))
                purge.log(store, connection, stored.id, f"test; {done[-1].in_words}")
                continue
            move(connection, stored, "purge")
            if stored.status == "open":
                detail = "its deadline had passed or its quota was full"
                close_survey.log(store, connection, stored.id, detail)
            done.append(purge_rows(connection, stored))
            detail = done[-1].in_words
            purge.log(store, connection, stored.id, detail)
    if done:
        store.database.compact_or_warn(DATA_LEFT)
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
        raise ParameterError(
            f"closed_for: expected an integer from 0 to {MOST_DAYS}", field="closed_for"
        )


@action(
    "compact",
    command=Command("admin compact", "compacted; arrival order erased"),
    undone="it keeps every count and id",
)
def compact(store: Store) -> None:
    """Erase the order of arrival of reports from a database.

    Closing a survey does this, too. Reports that arrive in the meantime wait.
    """
    store.database.compact()
    store.audit.note(compact.name, "")


@action(
    arguments=AuditQuery,
    call=Call(
        "GET",
        "/v1/audit-log",
        AuditLogPage,
        answered=lambda store, _, entries: AuditLogPage(entries=entries),
    ),
    command=Command("admin audit-log"),
    undone="it reads",
)
def get_audit_log(store: Store, before: int | None, most: int) -> list[AuditEntry]:
    """Read the audit log.

    Actions of operators, newest first.
    """
    return store.audit.latest(most, before)


@action(BACKUP, command=Command("admin backup"), undone="it changes nothing")
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
    store.audit.note(back_up.name, "")
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


@action(command=Command("admin restore"), undone="it changes only an empty database")
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


@action(about=SURVEY, command=Command("reports export"), undone="it changes nothing")
def export_reports(store: Store, id: str, file: Path, progress: Progress | None = None) -> int:
    """Write a survey with its counts and ids into a new file, and return the number of reports."""
    with (
        new_file(file) as target,
        store.database.reading_reports() as source,
        target.writing() as connection,
    ):
        return files.export_survey(source, find(source, id), connection, progress)


@action("import", command=Command("reports import"), undone="it adds reports, as respondents do")
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
        import_reports.log(store, connection, id, f"{done.counted} reports counted")
    return done


@action("read", command=Command("reports read"), undone="it adds reports, as respondents do")
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
        count_rows.log(store, connection, survey.id, f"{done.counted} reports counted")
    return done
