"""First step of counting files: check the reports of a file, and partition them by id."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
import pyarrow as pa
from halftruth_collector.errors import MalformedRequest, slug
from halftruth_collector.intake.checking import (
    stale_digest_error,
    unexpected_invitation_error,
    unexpected_seal_error,
)
from halftruth_collector.intake.opening import open_report
from halftruth_collector.store.counts_folder import SourceFile
from halftruth_shared import HalftruthError, ReportError, ReportSpace
from halftruth_shared.protocol.reports import SealedReport

from .engine import connect, quote
from .parts import part_expression, write_parts
from .sources import open_local_copy, report_read_errors, select_reports
from .words import plan_words, to_words

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from halftruth_shared.protocol.sealing import SealingKeys

#: Numbers of problems that do not concern a column. Column j has the number `_COLUMN` + j.
_MALFORMED, _STALE, _SEAL, _INVITATION, _LENGTH, _UNOPENED, _COLUMN = range(1, 8)

#: Number of sealed reports that are opened at a time.
_BATCH = 2**14

#: Largest number of bytes that a seal adds to a packed report.
_OVERHEAD = 256


@dataclass(frozen=True)
class ReportRules:
    """Requirements that reports of a survey have to meet."""

    survey_id: str
    digest: str
    space: ReportSpace
    #: Public key of the recipient of sealed reports.
    sealing_key: str | None = None
    #: File of the private keys. Each worker reads it; keys are not sent to workers.
    key_file: str | None = None


@dataclass
class Refusals:
    """Number of refused reports by reason, and a message about the first one of each reason."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, count: int, first: str) -> None:
        """Add a number of reports that were refused for one reason."""
        self.counts[reason] = self.counts.get(reason, 0) + count
        self.first.setdefault(reason, first)


def check_file(
    rules: ReportRules, folder: Path, parts: int, file: tuple[int, str, str]
) -> tuple[SourceFile, dict[str, str]]:
    """Check the reports of a file, and write the valid ones into parts by id.

    Parameters
    ----------
    rules : ReportRules
    folder : Path
        Folder of the parts.
    parts : int
        Number of parts.
    file : tuple of int, str and str
        Index of the file, its name as given by the user, and a name that is valid in every process.

    Returns
    -------
    source : SourceFile
    first : dict of str to str
        A message about the first refused report of each reason.

    Raises
    ------
    ParameterError
        If the file cannot be read.
    KeyFileError
    """
    folder, (number, name, address) = Path(os.path.realpath(folder)), file
    keys = None
    if rules.key_file is not None:
        from halftruth_shared.protocol.sealing import SealingKeys

        keys = SealingKeys.read(rules.key_file)
    words = ", ".join(word.name for word in plan_words(rules.space))
    valid = f"SELECT id, {number} AS file, row, part, {words} FROM checked WHERE problem IS NULL"
    with open_local_copy(address, folder) as (path, size, sha256):
        query = select_reports(name, path, size, len(rules.space.shape))
        with report_read_errors(name), connect(folder, [path]) as database:
            first_errors = _check(database, query, rules, keys, parts)
            rows, refused = _refusals(database, rules, first_errors)
            write_parts(database, valid, folder, "reports", number, parts)
    source = SourceFile(name=name, size=size, sha256=sha256, rows=rows, refused=refused.counts)
    return source, refused.first


def _check(
    database: DuckDBPyConnection,
    query: str,
    rules: ReportRules,
    keys: SealingKeys | None,
    parts: int,
) -> dict[int, HalftruthError]:
    """Create the table `checked`, with row, id, part, problem and words of each report.

    Return the first error in opening a sealed report, by its row.
    """
    words = plan_words(rules.space)
    found = f"SELECT *, {_problem_expression(rules)} AS problem FROM ({query})"
    columns = f"row, id, {part_expression(parts)} AS part, problem"
    if keys is None:
        each = (f"CASE WHEN problem IS NULL THEN {word.sql()} END AS {word.name}" for word in words)
        database.execute(
            f"CREATE TABLE checked AS SELECT {columns}, {', '.join(each)} FROM ({found})"
        )
        return {}
    # Longer bytes cannot be a sealed report, so they are not stored.
    database.execute(
        "CREATE TABLE candidates AS SELECT row, id, problem, CASE WHEN problem IS NULL"
        f" AND octet_length(sealed) <= {rules.space.packed_size + _OVERHEAD} THEN sealed"
        f" ELSE ''::BLOB END AS sealed FROM ({found})"
    )
    each = (f"NULL::{word.sql_type} AS {word.name}" for word in words)
    database.execute(
        f"CREATE TABLE checked AS SELECT {columns}, {', '.join(each)} FROM candidates"
        " WHERE problem IS NOT NULL"
    )
    first: dict[int, HalftruthError] = {}
    candidates = database.cursor().sql(
        "SELECT row, id::BLOB AS id, sealed FROM candidates WHERE problem IS NULL ORDER BY row"
    )
    for batch in candidates.to_arrow_reader(_BATCH):
        opened, error = _open_file(rules, keys, batch)
        first = first or error
        database.register("opened", opened)
        names = ", ".join(word.name for word in words)
        database.execute(
            f"INSERT INTO checked SELECT {columns}, {names}"
            " FROM (SELECT * REPLACE (id::UUID AS id) FROM opened)"
        )
        database.unregister("opened")
    return first


def _problem_expression(rules: ReportRules) -> str:
    """Return the SQL expression for the problem of a report, NULL for a valid one."""
    space = rules.space
    cases = [
        (_MALFORMED, 'id IS NULL OR digest IS NULL OR ("values" IS NULL) = (sealed IS NULL)'),
        (_STALE, f"digest <> {quote(rules.digest)}"),
        (_SEAL, "sealed IS NULL" if rules.sealing_key else "sealed IS NOT NULL"),
        (_INVITATION, "invited"),
    ]
    if not rules.sealing_key:
        cases.append((_LENGTH, f'len("values") <> {len(space.shape)}'))
        cases += [
            (
                _COLUMN + column,
                f'NOT coalesce("values"[{column + 1}] BETWEEN 0 AND {size - 1}, false)',
            )
            for column, size in enumerate(space.shape)
        ]
    whens = " ".join(f"WHEN {wrong} THEN {number}" for number, wrong in cases)
    return f"CASE {whens} END::UINTEGER"


def _open_file(
    rules: ReportRules, keys: SealingKeys, batch: pa.RecordBatch
) -> tuple[pa.Table, dict[int, HalftruthError]]:
    """Open sealed reports; return row, id, problem and words of each, and the first error."""
    space = rules.space
    cells = bytearray()
    problems: list[int | None] = []
    first: dict[int, HalftruthError] = {}
    rows = zip(*(batch.column(name).to_pylist() for name in ("row", "id", "sealed")), strict=True)
    for row, id_, sealed in rows:
        report = SealedReport(id=UUID(bytes=id_), sealed=sealed)
        try:
            opened = open_report(rules.digest, False, space, report, row, keys)
            cells += space.pack(space.check(opened.values, row))
            problems.append(None)
        except ReportError as error:
            cells += bytes(space.packed_size)
            problems.append(_UNOPENED)
            first = first or {row: error}
    values = np.frombuffer(bytes(cells), dtype=space.dtype).reshape(-1, len(space.shape))
    words = zip(plan_words(space), to_words(space, values), strict=True)
    columns = {
        "row": batch.column("row"),
        "id": batch.column("id"),
        "problem": pa.array(problems, pa.uint32()),
        **{word.name: pa.array(numbers) for word, numbers in words},
    }
    return pa.table(columns), first


def _refusals(
    database: DuckDBPyConnection, rules: ReportRules, opening: dict[int, HalftruthError]
) -> tuple[int, Refusals]:
    """Count all reports, and refused reports by reason, in the order of their first rows."""
    rows, refused = 0, Refusals()
    problems = database.execute(
        "SELECT problem, count(*), min(row) FROM checked GROUP BY problem ORDER BY min(row)"
    )
    for problem, count, row in problems.fetchall():
        rows += count
        if problem is None:
            continue
        error = opening[row] if problem == _UNOPENED else _error(rules, problem, row)
        refused.add(slug(error), count, str(error))
    return rows, refused


def _error(rules: ReportRules, problem: int, row: int) -> HalftruthError:
    """Return the error that a collector would raise for the report."""
    if problem == _MALFORMED:
        return MalformedRequest(
            f"report {row}: expected an id, a digest, and either 'values' or 'sealed'"
        )
    if problem == _STALE:
        return stale_digest_error(rules.survey_id)
    if problem == _SEAL:
        return unexpected_seal_error(row, sealed=rules.sealing_key is None)
    if problem == _INVITATION:
        return unexpected_invitation_error(row)
    # Check an artificial report with the same fault, so that no error quotes the report itself.
    alike = [] if problem == _LENGTH else [0] * (problem - _COLUMN) + [-1]
    alike += [0] * (len(rules.space.shape) - len(alike)) if alike else []
    try:
        rules.space.check(alike, row)
    except ReportError as error:
        return error
    raise AssertionError("a report was refused that fits")
