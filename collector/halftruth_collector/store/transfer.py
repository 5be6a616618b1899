"""Back-ups, and counts that go from one collector to another.

Both are SQLite files with the tables of a collector, whatever database they come from or go to,
with their rows in the order of their content. A file appears under its name only once it is whole,
and can be read by its owner alone.

Ids and counts are not linked, so reports that two stores have in common cannot be told from the
others: what is imported has to be new as a whole, or to be all of a collector that some was
imported from before. Everything else is refused.
"""

from __future__ import annotations

import glob
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from halftruth_shared import ParameterError, ReportSpace, Survey
from sqlalchemy import (
    URL,
    Connection,
    Select,
    SmallInteger,
    Table,
    func,
    insert,
    literal,
    select,
)
from sqlalchemy import cast as as_type

from ..errors import StoreUnavailable, SurveyExists
from . import schema
from .closing import COUNTED
from .counts import by_day, total
from .database import Database
from .rows import SHARDS, add_ids, add_outcomes
from .surveys import find
from .tables import (
    cells,
    daily_outcomes,
    imports,
    lineage,
    metadata,
    report_ids,
    revoked_keys,
    surveys,
)

if TYPE_CHECKING:
    # Who may do what builds upon the store.
    from ..access.audit import AuditLog

#: Bytes of a report's id.
_ID_SIZE = 16

#: Rows that are moved at a time.
_PAGE = 10_000

Progress = Callable[[int], object]


@dataclass(frozen=True)
class Imported:
    """How many reports of a file were counted now, and how many had been before."""

    counted: int
    repeated: int


def name_store(database: Database) -> None:
    """Give a new store a name of its own."""
    if database.read(_lineage):
        return

    def name(connection: Connection) -> None:
        database.exclude_others(connection)
        if not _lineage(connection):
            _add_name(connection)

    database.write(name)


def back_up(database: Database, file: Path, progress: Progress | None = None) -> int:
    """Write everything that a database holds into a new file.

    It shows one moment, and nobody has to wait meanwhile.

    Parameters
    ----------
    database : Database
    file : Path
    progress : callable, optional
        Told of so many more rows.

    Returns
    -------
    int
        Rows written.

    Raises
    ------
    ParameterError
        If the file exists or cannot be written.
    StoreUnavailable
    """
    with _new_file(file) as target, database.reading() as source, target.writing() as connection:
        database.keep_reports(source)
        return sum(
            _copy(source, select(table), connection, table, progress)
            for table in metadata.sorted_tables
        )


def restore(database: Database, file: Path, progress: Progress | None = None) -> int:
    """Read a back-up into an empty database, all of it or nothing.

    Returns
    -------
    int
        Rows read.

    Raises
    ------
    ParameterError
        If the file is no back-up, or the database is not empty.
    SchemaOutdated
        If the back-up is of another version.
    StoreUnavailable
    """
    with _existing_file(file) as backup, database.writing() as connection:
        database.exclude_others(connection)
        for table in metadata.sorted_tables:
            used = connection.execute(select(table).limit(1)).first() is not None
            if table is not lineage and used:
                raise ParameterError(
                    f"database: it has {table.name} already; expected an empty one",
                    field="database",
                )
        connection.execute(lineage.delete())
        with backup.reading() as source:
            rows = sum(
                _copy(source, select(table), connection, table, progress)
                for table in metadata.sorted_tables
            )
        if not database.is_sqlite:
            _advance_sequences(connection)
        # What is counted from now on, nobody else has who restores the same file.
        _add_name(connection)
    return rows


def export_reports(
    database: Database, survey_id: str, file: Path, progress: Progress | None = None
) -> int:
    """Write a survey, the ids of its reports and its counts into a new file, to be imported.

    Returns
    -------
    int
        Reports written.

    Raises
    ------
    ParameterError
        If the file exists or cannot be written, or the ids of the reports were purged.
    UnknownSurvey, StoreUnavailable
    """
    with _new_file(file) as target, database.reading() as source, target.writing() as connection:
        database.keep_reports(source)
        stored = find(source, survey_id)
        if stored.purged_at is not None:
            raise _purged(survey_id)
        number = stored.number
        _copy(source, select(surveys).where(surveys.c.number == number), connection, surveys)
        counts = (
            select(
                cells.c.survey,
                cells.c.cell,
                as_type(literal(0), SmallInteger).label("shard"),
                total(cells.c.count).label("count"),
            )
            .where(cells.c.survey == number)
            .group_by(cells.c.survey, cells.c.cell)
        )
        _copy(source, counts, connection, cells)
        for day, count in source.execute(by_day(number)).all():
            row = {"survey": number, "day": day, "outcome": COUNTED, "shard": 0, "count": count}
            connection.execute(insert(daily_outcomes), row)
        for store in sorted(_lineage(source) | _imported_from(source, number).keys()):
            connection.execute(insert(lineage).values(store=store))
        reports = select(report_ids).where(report_ids.c.survey == number)
        return _copy(source, reports, connection, report_ids, progress)


def import_reports(
    database: Database, audit: AuditLog, file: Path, progress: Progress | None = None
) -> Imported:
    """Count the reports of another collector's file, each once.

    So a file may be imported twice, and a later one of the same collector adds what is new there.
    The survey is published as the other collector has it, if it is not known here.

    Raises
    ------
    ParameterError
        If the file is no export of one survey, or its reports do not fit that; if some of them
        were counted here otherwise, or the ids of those that were counted here were purged; or if
        it comes from a back-up of this collector, or from another back-up of a collector that was
        imported: then they share reports or invitations. Nothing is imported then.
    SurveyExists
        If another survey of that id is published here.
    SchemaOutdated, StoreUnavailable
    """
    with _existing_file(file) as exported, exported.reading() as source:
        rows = source.execute(select(surveys)).all()
        if len(rows) != 1:
            raise ParameterError(
                f"file: expected an export of one survey, found {len(rows)}", field="file"
            )
        space = _report_space(rows[0])
        with database.writing() as connection:
            # No other import is under way, nor is a key revoked meanwhile.
            database.exclude_others(connection)
            number = _known_survey(database, connection, rows[0])
            done = _import_ids(source, connection, number, progress)
            if done.counted:
                shard = _source_shard(source, connection, number, done)
                _import_counts(source, connection, number, shard, space)
                _import_days(source, connection, number, shard, done.counted)
            audit.record(connection, "import", rows[0].id, f"{done.counted} reports counted")
            return done


def _import_ids(
    source: Connection, connection: Connection, number: int, progress: Progress | None
) -> Imported:
    counted = repeated = 0
    for page in _pages(source, select(report_ids.c.report_id), report_ids):
        ids = {row.report_id for row in page}
        if any(len(id_) != _ID_SIZE for id_ in ids):
            raise _damaged("one of its ids is no UUID")
        new = len(add_ids(connection, number, ids))
        counted += new
        repeated += len(page) - new
        if progress is not None:
            progress(len(page))
    return Imported(counted, repeated)


def _source_shard(source: Connection, connection: Connection, number: int, done: Imported) -> int:
    """The shard for counts of the file's store, which holds those imported from it before."""
    there = _lineage(source) | set(source.execute(select(imports.c.store)).scalars())
    shards = _imported_from(connection, number)
    known = {shards[store] for store in there & shards.keys()}
    if there & _lineage(connection) or len(known) > 1:
        raise ParameterError(
            "file: it and this collector go back to a common back-up, so that they share reports or"
            " invitations; expected counts of a collector of its own",
            field="file",
        )
    before = 0
    if known:
        [shard] = known
        where = (cells.c.survey == number, cells.c.shard == shard)
        before = connection.execute(select(func.sum(cells.c.count)).where(*where)).scalar() or 0
        connection.execute(cells.delete().where(*where))
    else:
        shard = max([SHARDS - 1, *shards.values()]) + 1
    if done.repeated != before:
        raise ParameterError(
            f"file: {done.repeated} of its reports were counted here before, and nothing says what"
            f" they said; expected {before}, as many as were imported from its collector",
            field="file",
        )
    for store in sorted(there - shards.keys()):
        connection.execute(insert(imports).values(survey=number, shard=shard, store=store))
    return shard


def _import_counts(
    source: Connection, connection: Connection, number: int, shard: int, space: ReportSpace
) -> None:
    """Count all reports of the file in a shard of their own."""
    ids = source.execute(select(func.count()).select_from(report_ids)).scalar_one()
    counted = 0
    counts = select(cells.c.cell, total(cells.c.count).label("count")).group_by(cells.c.cell)
    for page in _pages(source, counts, cells):
        _check_cells(space, [row.cell for row in page])
        if any(row.count < 1 for row in page):
            raise _damaged("one of its counts is not positive")
        counted += sum(row.count for row in page)
        connection.execute(
            insert(cells),
            [
                {"survey": number, "cell": row.cell, "shard": shard, "count": row.count}
                for row in page
            ],
        )
    if counted != ids:
        raise _damaged("it does not have as many ids as reports")


def _import_days(
    source: Connection, connection: Connection, number: int, shard: int, new: int
) -> None:
    """Count the reports of the file on the days on which they were counted there."""
    try:
        days = dict(source.execute(by_day()).all())
    except ValueError:
        raise _damaged("one of its days is none") from None
    if not days:
        # An export of a collector that did not tell: they are counted today.
        add_outcomes(connection, number, shard, {COUNTED: new})
        return
    ids = source.execute(select(func.count()).select_from(report_ids)).scalar_one()
    if min(days.values()) < 1 or sum(days.values()) != ids:
        raise _damaged("its days do not have as many reports as ids")
    table = daily_outcomes.c
    connection.execute(daily_outcomes.delete().where(table.survey == number, table.shard == shard))
    rows = [
        {"survey": number, "day": day, "outcome": COUNTED, "shard": shard, "count": count}
        for day, count in days.items()
    ]
    connection.execute(insert(daily_outcomes), rows)


def _report_space(exported: Any) -> ReportSpace:
    """What the reports of an exported survey look like."""
    document = exported.document.encode()
    if hashlib.sha256(document).hexdigest() != exported.digest:
        raise _damaged("its survey does not have its digest")
    return Survey.from_json(document).report_space


def _check_cells(space: ReportSpace, packed: Sequence[bytes]) -> None:
    if any(len(cell) != space.packed_size for cell in packed):
        raise _damaged("one of its reports does not fit its survey")
    values = np.frombuffer(b"".join(packed), dtype=space.dtype)
    if (values.reshape(len(packed), len(space.shape)) >= space.shape).any():
        raise _damaged("one of its reports does not fit its survey")


def _purged(survey_id: str) -> ParameterError:
    return ParameterError(
        f"survey: the ids of '{survey_id}' were purged, so that nobody can tell which reports were"
        " counted here; expected a survey with its ids",
        field="survey",
    )


def _damaged(what: str) -> ParameterError:
    return ParameterError(f"file: {what}; expected an export of a collector", field="file")


def _lineage(connection: Connection) -> set[str]:
    """Every name that a store has had or, in an export, that its counts come from."""
    return set(connection.execute(select(lineage.c.store)).scalars())


def _add_name(connection: Connection) -> None:
    connection.execute(insert(lineage).values(store=secrets.token_hex(16)))


def _imported_from(connection: Connection, number: int) -> dict[str, int]:
    """The shards of a survey's imported counts, by the stores that they came from."""
    statement = select(imports.c.store, imports.c.shard).where(imports.c.survey == number)
    return {row.store: row.shard for row in connection.execute(statement)}


def _known_survey(database: Database, connection: Connection, exported: Any) -> int:
    """Number of the survey here, which is published if need be and kept for this transaction."""
    row = {column.name: getattr(exported, column.name) for column in surveys.c}
    # Its invitations stay where they were issued.
    row |= {"invited": 0, "withdrawn": 0}
    del row["number"]
    revoked = select(revoked_keys).where(revoked_keys.c.key == exported.signature_key)
    if connection.execute(revoked).first() is not None:
        row |= {"signature_key": None, "signature": None}
    connection.execute(
        database.insert(surveys).values(row).on_conflict_do_nothing(index_elements=[surveys.c.id])
    )
    statement = select(surveys).where(surveys.c.id == exported.id).with_for_update(read=True)
    known = connection.execute(statement).one()
    if known.digest != exported.digest:
        raise SurveyExists(
            f"file: another survey '{exported.id}' is published here; expected the same digest",
            field="file",
        )
    if known.purged_at is not None:
        raise _purged(exported.id)
    number: int = known.number
    return number


def _copy(
    source: Connection,
    rows: Select[*tuple[Any, ...]],
    target: Connection,
    table: Table,
    progress: Progress | None = None,
) -> int:
    copied = 0
    for page in _pages(source, rows, table):
        target.execute(insert(table), [dict(row._mapping) for row in page])
        copied += len(page)
        if progress is not None:
            progress(len(page))
    return copied


def _pages(
    source: Connection, rows: Select[*tuple[Any, ...]], table: Table
) -> Iterator[Sequence[Any]]:
    """Rows of a table in parts, so that they need not all be in memory, by their keys."""
    chosen = rows.selected_columns
    ordered = rows.order_by(*(chosen[key.name] for key in table.primary_key if key.name in chosen))
    with source.execution_options(yield_per=_PAGE).execute(ordered) as result:
        yield from result.partitions()


def _advance_sequences(connection: Connection) -> None:
    """Let PostgreSQL number new rows after those that were restored with their numbers."""
    for table in metadata.sorted_tables:
        if "number" in table.c:
            last = connection.execute(select(func.max(table.c.number))).scalar()
            if last is not None:
                sequence = func.pg_get_serial_sequence(table.name, "number")
                connection.execute(select(func.setval(sequence, last)))


@contextmanager
def _new_file(file: Path) -> Iterator[Database]:
    """A database in a file that gets its name once the block is left without an error."""
    if file.exists():
        raise ParameterError(f"file: {file} exists; expected a new name", field="file")
    unfinished = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        database = Database(URL.create("sqlite", database=str(unfinished)))
        try:
            schema.migrate(database)
            yield database
            # One file, whose log is part of it.
            with database.outside() as cursor:
                cursor.execute("PRAGMA journal_mode = DELETE")
        finally:
            database.close()
        os.replace(unfinished, file)
    except OSError as error:
        raise ParameterError(
            f"file: {file} cannot be written: {error.strerror}", field="file"
        ) from None
    finally:
        for leftover in unfinished.parent.glob(f"{glob.escape(unfinished.name)}*"):
            leftover.unlink()


@contextmanager
def _existing_file(file: Path) -> Iterator[Database]:
    """The database in a file, which is opened for reading only."""
    if not file.is_file():
        raise ParameterError(f"file: {file} is not there; expected a back-up", field="file")
    name = f"file:{quote(str(file.absolute()))}"
    database = Database(URL.create("sqlite", database=name, query={"mode": "ro", "uri": "true"}))
    try:
        try:
            with database.reading() as connection:
                found = schema.version(connection)
        except StoreUnavailable:
            found = None
        if found is None:
            raise ParameterError(
                f"file: {file} is no back-up or export of a collector", field="file"
            )
        schema.check(found)
        yield database
    finally:
        database.close()
