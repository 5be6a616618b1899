"""Back-ups, and counts that go from one collector to another.

Both are SQLite files with the tables of a collector, whatever database they come from or go to. A
file appears under its name only once it is whole, and can be read by its owner alone.
"""

import glob
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from halftruth_shared import ParameterError, ReportShape, Survey
from sqlalchemy import URL, Connection, Select, Table, func, insert, select

from ..errors import ReportIdReused, StoreUnavailable, SurveyExists
from . import schema
from .audit import AuditLog
from .counting import COUNTED, IMPORT_SHARD
from .database import Database
from .report_rows import KnownIds, ReportRows
from .surveys import find
from .tables import metadata, report_ids, revoked_keys, surveys

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
            if connection.execute(select(table).limit(1)).first() is not None:
                raise ParameterError(
                    f"database: it has {table.name} already; expected an empty one",
                    field="database",
                )
        with backup.reading() as source:
            rows = sum(
                _copy(source, select(table), connection, table, progress)
                for table in metadata.sorted_tables
            )
        if not database.is_sqlite:
            _advance_sequences(connection)
    return rows


def export_reports(
    database: Database, survey_id: str, file: Path, progress: Progress | None = None
) -> int:
    """Write a survey and the ids and cells of its reports into a new file, to be imported.

    Returns
    -------
    int
        Reports written.

    Raises
    ------
    ParameterError
        If the file exists or cannot be written.
    UnknownSurvey, StoreUnavailable
    """
    with _new_file(file) as target, database.reading() as source, target.writing() as connection:
        number = find(source, survey_id).number
        chosen = select(surveys).where(surveys.c.number == number)
        _copy(source, chosen, connection, surveys, None)
        reports = select(report_ids).where(report_ids.c.survey == number)
        return _copy(source, reports, connection, report_ids, progress)


def import_reports(
    database: Database, audit: AuditLog, file: Path, progress: Progress | None = None
) -> Imported:
    """Count the reports of another collector's file, those that were not counted here before.

    So a file may be imported twice, or a report have reached both collectors: each counts once.
    The survey is published as the other collector has it, if it is not known here.

    Raises
    ------
    ParameterError
        If the file is no export of one survey, or its reports do not fit that.
    SurveyExists
        If another survey of that id is published here.
    ReportIdReused
        If an id belongs to one report there and to another here; nothing is imported then.
    SchemaOutdated, StoreUnavailable
    """
    with _existing_file(file) as exported, exported.reading() as source:
        rows = source.execute(select(surveys)).all()
        if len(rows) != 1:
            raise ParameterError(
                f"file: expected an export of one survey, found {len(rows)}", field="file"
            )
        shape = _report_shape(rows[0])
        while True:
            try:
                with database.writing() as connection:
                    # No other import counts in its shard, nor is a key revoked meanwhile.
                    database.exclude_others(connection)
                    number = _known_survey(database, connection, rows[0])
                    done = _import_pages(source, connection, number, shape, progress)
                    audit.record(
                        connection, "import", rows[0].id, f"{done.counted} reports counted"
                    )
                return done
            except KnownIds:
                # Somebody sent one of them at this very moment: the next round knows it.
                continue


def _import_pages(
    source: Connection,
    connection: Connection,
    number: int,
    shape: ReportShape,
    progress: Progress | None,
) -> Imported:
    counted = repeated = 0
    statement = select(report_ids.c.report_id, report_ids.c.cell).order_by(report_ids.c.report_id)
    here = ReportRows(connection, number, IMPORT_SHARD)
    for page in _pages(source, statement):
        packed = {row.report_id: row.cell for row in page}
        _check_reports(shape, packed)
        known = here.find(list(packed))
        for id_, cell in known.items():
            if packed[id_] != cell:
                raise ReportIdReused(
                    "file: one of its ids belongs to a different report here; expected reports of"
                    " the same survey",
                    index=0,
                )
        new = {id_: cell for id_, cell in packed.items() if id_ not in known}
        here.insert(new)
        here.count(new.values())
        here.arrive({COUNTED: len(new)})
        counted += len(new)
        repeated += len(known)
        if progress is not None:
            progress(len(page))
    return Imported(counted, repeated)


def _report_shape(exported: Any) -> ReportShape:
    """What the reports of an exported survey look like."""
    document = exported.document.encode()
    if hashlib.sha256(document).hexdigest() != exported.digest:
        raise _damaged("its survey does not have its digest")
    survey = Survey.from_json(document)
    return survey.mechanism.report_shape(survey.schema)


def _check_reports(shape: ReportShape, packed: Mapping[bytes, bytes]) -> None:
    cells = set(packed.values())
    if any(len(id_) != _ID_SIZE for id_ in packed):
        raise _damaged("one of its ids is no UUID")
    if any(len(cell) != shape.packed_size for cell in cells):
        raise _damaged("one of its reports does not fit its survey")
    values = np.frombuffer(b"".join(cells), dtype=shape.dtype)
    if (values.reshape(len(cells), len(shape.shape)) >= shape.shape).any():
        raise _damaged("one of its reports does not fit its survey")


def _damaged(what: str) -> ParameterError:
    return ParameterError(f"file: {what}; expected an export of a collector", field="file")


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
    number: int = known.number
    return number


def _copy(
    source: Connection,
    rows: Select[*tuple[Any, ...]],
    target: Connection,
    table: Table,
    progress: Progress | None,
) -> int:
    copied = 0
    for page in _pages(source, rows):
        target.execute(insert(table), [dict(row._mapping) for row in page])
        copied += len(page)
        if progress is not None:
            progress(len(page))
    return copied


def _pages(source: Connection, rows: Select[*tuple[Any, ...]]) -> Iterator[Sequence[Any]]:
    """Rows in parts, so that they need not all be in memory."""
    with source.execution_options(yield_per=_PAGE).execute(rows) as result:
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
            with database.engine.connect() as connection:
                connection.exec_driver_sql("COMMIT")
                connection.exec_driver_sql("PRAGMA journal_mode = DELETE")
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
