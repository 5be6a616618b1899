"""Parts of reports by their ids: writing them, and counting one, each id once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from halftruth_collector.store.counts_folder import IdFile, file_hash, ids_name
from halftruth_shared import ReportSpace
from numpy.typing import NDArray

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


def part_expression(parts: int) -> str:
    """Return the SQL expression for the part of an id.

    Ids that begin with the time differ in few bits of one half, so each half is taken modulo a
    prime. Unlike a hash function, this arithmetic is the same in every version of DuckDB.
    """
    low, high = f"(id::UHUGEINT & {2**64 - 1})::UBIGINT", "(id::UHUGEINT >> 64)::UBIGINT"
    return f"(({low} % {_PRIME} + {high} % {_PRIME}) % {parts})::UTINYINT"


def write_parts(
    database: DuckDBPyConnection, query: str, folder: Path, kind: str, number: int, parts: int
) -> None:
    """Write the rows of a query, which have the column `part`, into a file for each part."""
    for part in range(parts):
        of_part = f"SELECT * EXCLUDE part FROM ({query}) WHERE part = {part}"
        write_parquet(database, of_part, folder / _part_name(kind, number, part))


def _part_name(kind: str, number: int, part: int) -> str:
    return f"{kind}-{number:06}-{part:03}.parquet"


def partition_ids(folder: Path, parts: int, earlier: tuple[int, list[str]]) -> None:
    """Write the ids of earlier counts, with their number and files, into parts.

    Raises
    ------
    ParameterError
        If there is not enough space or memory.
    """
    folder, (number, names) = Path(os.path.realpath(folder)), earlier
    files = [os.path.realpath(name) for name in names]
    with report_work_errors(folder), connect(folder, files) as database:
        database.execute(
            f"CREATE TABLE earlier AS SELECT id::UUID AS id FROM {read_parquet(files)}"
        )
        query = f"SELECT id, {part_expression(parts)} AS part FROM earlier"
        write_parts(database, query, folder, "earlier", number, parts)


def count_part(
    folder: Path, files: int, earlier: int, space: ReportSpace, part: int
) -> CountedPart:
    """Count the reports of a part, each id once, unless it was counted earlier.

    Parameters
    ----------
    folder : Path
        Its subfolder ``work`` has the parts of the files of reports and of the earlier counts;
        ``counts`` gets the new ids.
    files, earlier : int
    space : ReportSpace
    part : int

    Raises
    ------
    ParameterError
        If there is not enough space or memory.
    """
    folder = Path(os.path.realpath(folder))
    ids = folder / "counts" / ids_name(part)
    names = [word.name for word in plan_words(space)]

    def rows(kind: str, numbers: Iterable[int]) -> str:
        return read_parquet(folder / "work" / _part_name(kind, n, part) for n in numbers)

    with report_work_errors(folder), connect(folder) as database:
        reports, known = rows("reports", range(files)), ""
        if earlier:
            known = f"ANTI JOIN {rows('earlier', range(earlier))} AS earlier USING (id)"
        differs = " OR ".join(f"min({name}) <> max({name})" for name in names)
        firsts = ", ".join(f"min({name}) AS {name}" for name in names)
        database.execute(
            f"CREATE TABLE found AS SELECT id, ({differs}) AS conflicting, {firsts}"
            f" FROM {reports} AS reports {known} GROUP BY id"
        )
        conflicts = database.execute(
            f"SELECT file, count(*), min(row) FROM {reports} AS reports SEMI JOIN"
            " (SELECT id FROM found WHERE conflicting) AS conflicts USING (id) GROUP BY file"
        ).fetchall()
        database.execute("DELETE FROM found WHERE conflicting")
        of_words = ", ".join(names)
        cells = database.execute(
            f"SELECT {of_words}, count(*) AS reports FROM found GROUP BY {of_words}"
        ).fetchnumpy()
        # Sort by id, so that the file does not reveal the order of arrival.
        write_parquet(database, "SELECT id FROM found ORDER BY id", ids)
    counts = np.asarray(cells["reports"])
    written = IdFile(name=ids.name, rows=int(counts.sum()), sha256=file_hash(ids))
    return CountedPart([np.asarray(cells[name]) for name in names], counts, conflicts, written)
