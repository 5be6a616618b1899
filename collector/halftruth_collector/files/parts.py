"""The second piece of work: the reports of one part are counted, each id once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from halftruth_shared import ReportSpace
from numpy.typing import NDArray

from ..store.counts_folder import IdFile, file_hash, ids_name
from .checking import earlier_name, part_name, whole, working
from .engine import PARQUET, connect, quote, quote_list
from .words import words_of


@dataclass(frozen=True)
class Part:
    """A part of the reports to be counted.

    Attributes
    ----------
    number : int
    files, earlier : int
        Number of files of reports, and of earlier counts, that were parted.
    folder : str
        Where these are in ``work``; its new ids go into ``counts``.
    space : ReportSpace
    """

    number: int
    files: int
    earlier: int
    folder: str
    space: ReportSpace


@dataclass(frozen=True)
class Conflicts:
    """Reports of one file whose ids other reports have with other values; row of the first."""

    file: int
    reports: int
    row: int


@dataclass(frozen=True)
class CountedPart:
    """Counts of a part by the words of a report, and its conflicts."""

    words: list[NDArray[np.integer]]
    counts: NDArray[np.int64]
    conflicts: list[Conflicts]
    ids: IdFile


def count_part(part: Part) -> CountedPart:
    """Count the reports of a part, each id once, unless it was counted earlier.

    Raises
    ------
    ParameterError
        If there is not enough room for it.
    """
    folder = Path(os.path.realpath(part.folder))
    work, ids = folder / "work", folder / "counts" / ids_name(part.number)
    names = [word.name for word in words_of(part.space)]
    with working(part.folder), connect(folder) as database:
        reports = _files(work / part_name(number, part.number) for number in range(part.files))
        earlier = ""
        if part.earlier:
            known = (work / earlier_name(number, part.number) for number in range(part.earlier))
            earlier = f"ANTI JOIN {_files(known)} AS earlier USING (id)"
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
        with whole(ids) as unfinished:
            # The order of an id tells nothing of when its report came.
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
