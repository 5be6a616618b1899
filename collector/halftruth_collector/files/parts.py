"""Second step of counting files: count a part of the reports by their ids, each id once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from halftruth_shared import ParameterError
from numpy.typing import NDArray

from ..store.counts_folder import IdFile, file_hash, ids_name
from .checking import Reading, ReportRules, select_valid
from .engine import connect, read_parquet, report_work_errors, write_parquet
from .words import plan_words

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: The largest prime of 32 bits.
_PRIME = 2**32 - 5


class CountedPart(NamedTuple):
    """Counts of a part by the words of reports.

    `conflicts` are file, number of reports and first row of the reports whose id another report has
    with other values.
    """

    words: list[NDArray[np.integer]]
    counts: NDArray[np.int64]
    conflicts: list[tuple[int, int, int]]
    ids: IdFile


def count_part(
    folder: Path,
    rules: ReportRules,
    readings: Sequence[Reading],
    earlier: Sequence[str],
    parts: int,
    part: int,
) -> CountedPart:
    """Count the reports of a part, each id once, unless it was counted earlier.

    Every part reads all files: decoding a report takes a tenth of the time of counting it.

    Parameters
    ----------
    folder : Path
        Its subfolder ``counts`` gets the new ids.
    rules : ReportRules
    readings : sequence of Reading
        Of all files, in their order.
    earlier : sequence of str
        Files of ids that were counted earlier.
    parts, part : int

    Raises
    ------
    ParameterError
        If there is not enough space or memory, or a file has changed since it was checked.
    """
    folder = Path(os.path.realpath(folder))
    ids, before = folder / "counts" / ids_name(part), [os.path.realpath(name) for name in earlier]
    names = [word.name for word in plan_words(rules.space)]
    paths = [each.path for each in readings]
    belongs = f"{_part_expression(parts)} = {part}"
    reports = f"(SELECT * FROM ({select_valid(rules, readings)}) WHERE {belongs})"
    with report_work_errors(folder), connect(folder, [*paths, *before]) as database:
        known = ""
        if before:
            ids_before = f"SELECT id::UUID AS id FROM {read_parquet(before)}"
            known = f"ANTI JOIN (FROM ({ids_before}) WHERE {belongs}) AS earlier USING (id)"
        differs = " OR ".join(f"min({name}) <> max({name})" for name in names)
        firsts = ", ".join(f"min({name}) AS {name}" for name in names)
        database.execute(
            f"CREATE TABLE found AS SELECT id, ({differs}) AS conflicting, {firsts}"
            f" FROM {reports} AS reports {known} GROUP BY id"
        )
        conflicts = _conflicts(database, reports, paths)
        kept = "FROM found WHERE NOT conflicting"
        of_words = ", ".join(names)
        cells = database.execute(
            f"SELECT {of_words}, count(*) AS reports {kept} GROUP BY {of_words}"
        ).fetchnumpy()
        # Sort by id, so that the file does not reveal the order of arrival.
        write_parquet(database, f"SELECT id {kept} ORDER BY id", ids)
    if any(os.stat(each.path).st_mtime_ns != each.changed for each in readings):
        raise ParameterError(
            "files: one was changed while it was counted; expected files that nobody writes to",
            field="files",
        )
    counts = np.asarray(cells["reports"])
    written = IdFile(name=ids.name, rows=int(counts.sum()), sha256=file_hash(ids))
    return CountedPart([np.asarray(cells[name]) for name in names], counts, conflicts, written)


def _conflicts(
    database: DuckDBPyConnection, reports: str, paths: Sequence[str]
) -> list[tuple[int, int, int]]:
    """Return file, number of reports and first row of the conflicting reports of each file."""
    if not database.execute("FROM found WHERE conflicting LIMIT 1").fetchall():
        return []
    files = database.execute(
        f"SELECT filename, count(*), min(row) FROM {reports} AS reports"
        " SEMI JOIN (FROM found WHERE conflicting) AS conflicts USING (id) GROUP BY filename"
    ).fetchall()
    return [(paths.index(path), number, row) for path, number, row in files]


def _part_expression(parts: int) -> str:
    """Return the SQL expression for the part of an id.

    Ids that begin with the time differ in few bits of one half, so each half is taken modulo a
    prime. Unlike a hash function, this arithmetic is the same in every version of DuckDB.
    """
    if parts == 1:
        return "0"
    low, high = f"(id::UHUGEINT & {2**64 - 1})::UBIGINT", "(id::UHUGEINT >> 64)::UBIGINT"
    return f"(({low} % {_PRIME} + {high} % {_PRIME}) % {parts})::UTINYINT"
