"""Back-ups of a whole database, and exports of the reports of one survey.

Both are SQLite files with the tables of a collector, with rows sorted by primary key, whatever the
database that they come from or go to.

Ids and counts are not linked, so the counts of reports that two databases have in common are
unknown. An import is therefore idempotent as a whole: if all reports of a file are new, they are
counted; if all are known, nothing changes; otherwise the file is refused. Counts of files
(:mod:`~.counts_folder`) are imported in the same way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
from halftruth_shared import ParameterError, ReportSpace, Survey
from halftruth_shared.protocol.terms import SignedTerms
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    SmallInteger,
    Table,
    func,
    literal,
    select,
)
from sqlalchemy import cast as as_type

from ..errors import SurveyExists
from . import counts_folder
from .database import insert
from .reports import SHARDS, add_counts, add_ids, add_outcomes, by_day
from .sqlite_files import PAGE, Progress, copy, existing_file, pages
from .surveys import StoredSurvey, has_reports, read_terms, write_terms
from .tables import (
    COUNTED,
    cells,
    daily_outcomes,
    metadata,
    relay_surveys,
    report_ids,
    revoked_keys,
    sum_shards,
    surveys,
    ticket_ids,
)

#: Size of a report's id in bytes.
_ID_SIZE = 16

#: Shard of imports, so that they do not wait for reports that arrive meanwhile.
_SHARD = SHARDS


@dataclass(frozen=True)
class Contents:
    """Numbers of rows and of counted reports in a back-up."""

    rows: int
    reports: int


@dataclass(frozen=True)
class Imported:
    """Numbers of a file's reports that were counted, and that had been counted before."""

    counted: int
    repeated: int


def copy_tables(source: Connection, target: Connection, progress: Progress | None) -> int:
    """Copy the rows of all tables, and return their number."""
    return sum(
        copy(source, select(table), target, table, progress) for table in metadata.sorted_tables
    )


def check_contents(source: Connection, file: Path) -> Contents:
    """Check that the tables of a back-up agree with each other, and count their rows.

    The checksum of a file shows that it did not change; this shows that what was written is
    consistent.

    Raises
    ------
    ParameterError
        If a survey does not have its digest, or an unpurged one not as many ids as reports.
    """
    ids = _sums(source, report_ids.c.survey, func.count())
    counts = _sums(source, cells.c.survey, sum_shards(cells.c.count))
    for row in source.execute(select(surveys)):
        _check_digest(row, f"{file}: survey '{row.id}'")
        found, counted = ids.get(row.number, 0), counts.get(row.number, 0)
        if row.purged_at is None and found != counted:
            raise ParameterError(
                f"file: {file}: survey '{row.id}' has {found} ids of reports, but the counts of"
                f" {counted}; expected as many",
                field="file",
            )
    for row in source.execute(select(relay_surveys)):
        _check_digest(row, f"{file}: survey '{row.id}'")
    rows = sum(
        source.execute(select(func.count()).select_from(table)).scalar_one()
        for table in metadata.sorted_tables
    )
    return Contents(rows, sum(counts.values()))


def _sums(source: Connection, survey: Column[int], value: ColumnElement[int]) -> dict[int, int]:
    return dict(source.execute(select(survey, value).group_by(survey)).all())


def _check_digest(row: Any, subject: str) -> None:
    if hashlib.sha256(row.document.encode()).hexdigest() != row.digest:
        raise ParameterError(f"file: {subject} does not have its digest", field="file")


def is_empty(connection: Connection) -> bool:
    """True if no table has a row."""
    return all(
        connection.execute(select(table).limit(1)).first() is None
        for table in metadata.sorted_tables
    )


def advance_sequences(connection: Connection) -> None:
    """Set PostgreSQL's sequences to continue after the restored numbers."""
    for table in metadata.sorted_tables:
        if "number" in table.c and connection.dialect.name != "sqlite":
            last = connection.execute(select(func.max(table.c.number))).scalar()
            if last is not None:
                sequence = func.pg_get_serial_sequence(table.name, "number")
                connection.execute(select(func.setval(sequence, last)))


def export_survey(
    source: Connection, stored: StoredSurvey, target: Connection, progress: Progress | None
) -> int:
    """Copy a survey, its counts, and the ids of reports and tickets; return how many reports."""
    if stored.purged_at is not None:
        raise _purged(stored.id)
    number = stored.number
    copy(source, select(surveys).where(surveys.c.number == number), target, surveys)
    counts = (
        select(
            cells.c.survey,
            cells.c.cell,
            as_type(literal(0), SmallInteger).label("shard"),
            sum_shards(cells.c.count).label("count"),
        )
        .where(cells.c.survey == number)
        .group_by(cells.c.survey, cells.c.cell)
    )
    copy(source, counts, target, cells)
    for day, count in source.execute(by_day(number)).all():
        row = {"survey": number, "day": day, "outcome": COUNTED, "shard": 0, "count": count}
        target.execute(insert(target, daily_outcomes), row)
    # Not the key of the tickets, by which anybody could issue some.
    spent = select(ticket_ids).where(ticket_ids.c.survey == number)
    copy(source, spent, target, ticket_ids)
    reports = select(report_ids).where(report_ids.c.survey == number)
    return copy(source, reports, target, report_ids, progress)


def import_survey(
    source: Connection,
    ids: Iterator[Sequence[bytes]],
    target: Connection,
    progress: Progress | None,
    *,
    of_files: bool,
) -> tuple[str, Imported]:
    """Count the reports of an export, and return the id of the survey and the numbers of reports.

    `of_files` is whether the reports were counted in files instead of by a collector.
    """
    rows = source.execute(select(surveys)).all()
    if len(rows) != 1:
        raise ParameterError(
            f"file: expected an export of one survey, found {len(rows)}", field="file"
        )
    [exported] = rows
    space = _report_space(exported)
    known = _known_survey(target, exported, of_files)
    done = _import_ids(target, known.number, ids, progress)
    if done.counted:
        if done.repeated:
            raise _partly_known(done.repeated)
        _check_invitations(target, known, exported)
        _import_tickets(source, target, known.number)
        _import_counts(source, target, known.number, space, done.counted)
        _import_days(source, target, known.number, done.counted)
    return exported.id, done


def count_rows(
    connection: Connection,
    survey: Survey,
    pages: Iterable[tuple[Sequence[bytes], Sequence[bytes]]],
    progress: Progress | None,
) -> Imported:
    """Count packed reports with their ids, each id once (deduplication)."""
    row = dict.fromkeys(surveys.c.keys()) | {"unlisted": False}
    published = SimpleNamespace(**row | counts_folder.survey_row(survey, None))
    counted = repeated = 0
    number = _known_survey(connection, published, True).number
    for ids, packed in pages:
        new = add_ids(connection, number, ids)
        fresh = [cell for id_, cell in zip(ids, packed, strict=True) if id_ in new]
        add_counts(connection, number, _SHARD, fresh)
        counted += len(new)
        repeated += len(ids) - len(new)
        if progress is not None:
            progress(len(ids))
    add_outcomes(connection, number, _SHARD, {COUNTED: counted})
    return Imported(counted, repeated)


@contextmanager
def open_export(file: Path) -> Iterator[tuple[Connection, Iterator[Sequence[bytes]]]]:
    """Open an export or a folder of counts; yield its database, and the ids of reports in pages."""
    if file.is_dir():
        provenance = counts_folder.read(file)
        with existing_file(file / counts_folder.COUNTS) as counts, counts.reading() as source:
            yield source, counts_folder.ids(file, provenance, PAGE)
        return
    with existing_file(file) as export, export.reading() as source:
        ids = pages(source, select(report_ids.c.report_id), report_ids)
        yield source, ([row.report_id for row in page] for page in ids)


def _import_ids(
    connection: Connection,
    number: int,
    pages: Iterator[Sequence[bytes]],
    progress: Progress | None,
) -> Imported:
    counted = repeated = 0
    for page in pages:
        ids = set(page)
        if any(len(id_) != _ID_SIZE for id_ in ids):
            raise _damaged("one of its ids is no UUID")
        new = len(add_ids(connection, number, ids))
        counted += new
        repeated += len(page) - new
        if progress is not None:
            progress(len(page))
    return Imported(counted, repeated)


def _partly_known(repeated: int) -> ParameterError:
    return ParameterError(
        f"file: {repeated} of its reports were counted here before, and nothing says what they"
        " said; expected new ones: of files, count them again with --earlier and what was counted"
        " here",
        field="file",
    )


def _check_invitations(connection: Connection, known: Any, exported: Any) -> None:
    """Check that no invitation can have admitted two reports.

    A collector and a copy restored from its back-up have the same invitations, but the two reports
    of one invitation have different ids.
    """
    both = (known, exported)
    invited = any(read_terms(row.terms).terms.invitations or row.invited for row in both)
    if invited and (known.invited or has_reports(connection, known.number)):
        raise ParameterError(
            f"file: survey '{known.id}' has invitations, and another collector may have taken a"
            " report for the same one; expected a survey without, or a collector that has counted"
            " none of its reports and issued none of its invitations",
            field="file",
        )


def _import_tickets(source: Connection, connection: Connection, number: int) -> None:
    """Mark the tickets of the file as spent, unless one of them was spent here.

    A collector and a copy restored from its back-up accept the same tickets, but two reports of one
    ticket have different ids.
    """
    for page in pages(source, select(ticket_ids.c.ticket_id), ticket_ids):
        ids = {row.ticket_id for row in page}
        if any(len(id_) != _ID_SIZE for id_ in ids):
            raise _damaged("one of its tickets has no id")
        if len(add_ids(connection, number, ids, ticket_ids)) < len(ids):
            raise ParameterError(
                "file: a ticket of one of its reports was spent here by another one; expected"
                " reports that one collector has counted",
                field="file",
            )


def _import_counts(
    source: Connection,
    connection: Connection,
    number: int,
    space: ReportSpace,
    reports: int,
) -> None:
    """Add the counts of the file to those of the survey."""
    counted = 0
    counts = select(cells.c.cell, sum_shards(cells.c.count).label("count")).group_by(cells.c.cell)
    for page in pages(source, counts, cells):
        _check_cells(space, [row.cell for row in page])
        if any(row.count < 1 for row in page):
            raise _damaged("one of its counts is not positive")
        counted += sum(row.count for row in page)
        new = [{"cell": row.cell, "count": row.count} for row in page]
        _add(connection, cells, number, new)
    if counted != reports:
        raise _damaged("it does not have as many ids as reports")


def _import_days(source: Connection, connection: Connection, number: int, reports: int) -> None:
    """Add the file's counts by day to those of the survey."""
    try:
        days = dict(source.execute(by_day()).all())
    except ValueError:
        raise _damaged("one of its days is none") from None
    if not days:
        # Counts of files have no days: count the reports today.
        add_outcomes(connection, number, _SHARD, {COUNTED: reports})
        return
    if min(days.values()) < 1 or sum(days.values()) != reports:
        raise _damaged("its days do not have as many reports as ids")
    new = [{"day": day, "outcome": COUNTED, "count": count} for day, count in days.items()]
    _add(connection, daily_outcomes, number, new)


def _add(connection: Connection, table: Table, number: int, rows: Sequence[dict[str, Any]]) -> None:
    """Add counts to the rows of a table (upsert)."""
    statement = insert(connection, table)
    statement = statement.on_conflict_do_update(
        index_elements=list(table.primary_key),
        set_={"count": table.c.count + statement.excluded.count},
    )
    connection.execute(statement, [{"survey": number, "shard": _SHARD, **row} for row in rows])


def _report_space(exported: Any) -> ReportSpace:
    """Report space of an exported survey."""
    _check_digest(exported, "its survey")
    return Survey.from_json(exported.document.encode()).report_space


def _check_cells(space: ReportSpace, packed: Sequence[bytes]) -> None:
    if any(len(cell) != space.packed_size for cell in packed):
        raise _damaged("one of its reports does not fit its survey")
    values = np.frombuffer(b"".join(packed), dtype=space.dtype)
    if (values.reshape(len(packed), len(space.shape)) >= space.shape).any():
        raise _damaged("one of its reports does not fit its survey")


def _read_terms(exported: Any) -> SignedTerms:
    """Return the terms of an exported survey."""
    try:
        return read_terms(exported.terms)
    except (msgspec.DecodeError, TypeError):
        raise _damaged("the terms of its survey are none") from None


def _purged(survey_id: str) -> ParameterError:
    return ParameterError(
        f"survey: the ids of '{survey_id}' were purged, so that nobody can tell which reports were"
        " counted here; expected a survey with its ids",
        field="survey",
    )


def _damaged(what: str) -> ParameterError:
    return ParameterError(f"file: {what}; expected an export of a collector", field="file")


def _known_survey(connection: Connection, exported: Any, of_files: bool) -> Any:
    """Return the locked row of the survey in this database; publish the survey if it is unknown."""
    row = {column.name: getattr(exported, column.name) for column in surveys.c}
    # Invitations are not copied from the collector that issued them.
    row |= {"invited": 0, "withdrawn": 0}
    del row["number"]
    signed = _read_terms(exported)
    if signed.signature is not None:
        revoked = select(revoked_keys).where(revoked_keys.c.key == signed.signature.key)
        if connection.execute(revoked).first() is not None:
            row["terms"] = write_terms(SignedTerms(terms=signed.terms))
    connection.execute(
        insert(connection, surveys)
        .values(row)
        .on_conflict_do_nothing(index_elements=[surveys.c.id])
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
    terms = read_terms(known.terms).terms
    if of_files and terms.invitations:
        raise ParameterError(
            f"file: survey '{exported.id}' asks for invitations here, which nothing spends but"
            " reports that are sent to a collector; expected a survey without",
            field="file",
        )
    if of_files and terms.sealing_key is not None and signed.terms.sealing_key is None:
        raise ParameterError(
            f"file: survey '{exported.id}' takes sealed reports only, and those of the file were"
            " open; expected counts with --sealed-to",
            field="file",
        )
    return known
