"""Second step of counting files: count the reports of one part, each id once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from halftruth_shared import ReportSpace
from numpy.typing import NDArray

from ..store.counts_folder import IdFile, file_hash, ids_name
from .checking import name_earlier_file, name_part_file, replace_when_complete, report_work_errors
from .engine import PARQUET, connect, quote, quote_list
from .words import plan_words


@dataclass(frozen=True)
class PartTask:
    """Task to count the reports of one part.

    Attributes
    ----------
    number : int
    files, earlier : int
        Number of partitioned files of reports, and of earlier counts.
    folder : str
        Its subfolder ``work`` has the partitioned files; ``counts`` gets the new ids.
    space : ReportSpace
    """

    number: int
    files: int
    earlier: int
    folder: str
    space: ReportSpace


@dataclass(frozen=True)
class Conflicts:
    """Reports of one file whose id another report has with other values, with the first row."""

    file: int
    reports: int
    row: int


@dataclass(frozen=True)
class CountedPart:
    """Counts of a part by the words of reports, with its conflicts."""

    words: list[NDArray[np.integer]]
    counts: NDArray[np.int64]
    conflicts: list[Conflicts]
    ids: IdFile


def count_part(part: PartTask) -> CountedPart:
    """Count the reports of a part, each id once, unless it was counted earlier.

    Raises
    ------
    ParameterError
        If there is not enough space or memory.
    """
    folder = Path(os.path.realpath(part.folder))
    work, ids = folder / "work", folder / "counts" / ids_name(part.number)
    names = [word.name for word in plan_words(part.space)]
    with report_work_errors(part.folder), connect(folder) as database:
        reports = _files(work / name_part_file(number, part.number) for number in range(part.files))
        earlier = ""
        if part.earlier:
            paths = (
                work / name_earlier_file(number, part.number) for number in range(part.earlier)
            )
            earlier = f"ANTI JOIN {_files(paths)} AS earlier USING (id)"
        differs = " OR ".join(f"min({name}) <> max({name})" for name in names)
        firsts = ", ".join(f"min({name}) AS {name}" for name in names)
        database.execute(
            f"CREATE TABLE found AS SELECT id, ({differs}) AS conflicting, {firsts}"
            f" FROM {reports} AS reports {earlier} GROUP BY id"
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
        with replace_when_complete(ids) as unfinished:
            # Sort by id, so that the file does not reveal the order of arrival.
            database.execute(
                f"COPY (SELECT id FROM found ORDER BY id) TO {quote(unfinished)} ({PARQUET})"
            )
            sha256 = file_hash(unfinished)
    counts = np.asarray(cells["reports"])
    return CountedPart(
        words=[np.asarray(cells[name]) for name in names],
        counts=counts,
        conflicts=[Conflicts(*each) for each in conflicts],
        ids=IdFile(name=ids.name, rows=int(counts.sum()), sha256=sha256),
    )


def _files(paths: Iterable[Path]) -> str:
    return f"read_parquet({quote_list([*paths])}, hive_partitioning = false)"
