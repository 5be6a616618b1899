"""Files of reports, and their counts by a plain loop."""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from uuid import UUID

import msgspec
import pyarrow.parquet as pq
from halftruth_collector.store.counts_folder import Provenance
from halftruth_shared.protocol.reports import Report


def some(ids: Iterable[int], seed: int = 0) -> list[Report]:
    """Return reports with these ids and random answers."""
    chance = random.Random(seed)
    return [
        Report(id=UUID(int=id_), values=[chance.randrange(2), chance.randrange(3)]) for id_ in ids
    ]


def told(files: Iterable[Path]) -> list[tuple[bytes, bytes]]:
    """Return ids and answers of open reports, by file name and row."""
    rows: list[tuple[UUID, list[int]]] = []
    for file in sorted(files):
        if file.suffix == ".parquet":
            table = pq.read_table(file)
            rows += zip(table["id"].to_pylist(), table["values"].to_pylist(), strict=True)
        else:
            lines = map(msgspec.json.decode, file.read_bytes().splitlines())
            rows += [(UUID(line["id"]), line["values"]) for line in lines]
    return [(id_.bytes, bytes(values)) for id_, values in rows]


def by_hand(
    files: Iterable[Path], known: Iterable[bytes] = ()
) -> tuple[set[bytes], Counter[bytes]]:
    """Return new ids and counts by cell, leaving out ids with conflicting cells."""
    cells: dict[bytes, set[bytes]] = {}
    for id_, cell in told(files):
        cells.setdefault(id_, set()).add(cell)
    before = set(known)
    new = {i: min(of) for i, of in cells.items() if i not in before and len(of) == 1}
    return set(new), Counter(new.values())


def provenance(folder: Path) -> Provenance:
    """Return the provenance of a folder."""
    return msgspec.json.decode((folder / "provenance.json").read_bytes(), type=Provenance)


def counted(folder: Path) -> tuple[set[bytes], Counter[bytes]]:
    """Return ids and counts by cell of a folder of counts."""
    ids = [
        id_.bytes
        for file in sorted(folder.glob("ids-*.parquet"))
        for id_ in pq.read_table(file)["id"].to_pylist()
    ]
    assert len(ids) == len(set(ids))
    with closing(sqlite3.connect(folder / "counts.db")) as connection:
        rows = connection.execute("SELECT cell, count FROM cells").fetchall()
    return set(ids), Counter(dict(rows))
