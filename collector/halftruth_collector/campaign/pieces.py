"""The two pieces of work that counting consists of, which any process may do, and do again.

First each file is checked, and its reports are parted by their ids. Then each part is counted by
itself, for all reports with one id are in the same part. What a piece writes, gets its name once it
is whole, and is replaced by what another run of the piece writes.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..store.counts_folder import IdFile, SourceFile, file_hash
from .checking import Refusals, Rules, check
from .reading import batches, fingerprint

#: Any odd number whose bits are mixed well: 2⁶⁴ over the golden ratio.
_MIXING = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class File:
    """A file to be checked, by its name and where everybody finds it, and where its reports go."""

    name: str
    address: str
    rules: Rules
    checked: str
    parts: int


@dataclass(frozen=True)
class CheckedFile:
    """A file, and the first report of it that was refused for each reason, in words."""

    source: SourceFile
    first: dict[str, str]


@dataclass(frozen=True)
class Part:
    """A part of so many: checked files in their order, ids that were counted before, and new ones.

    Attributes
    ----------
    number, parts : int
    checked : sequence of str
    earlier : sequence of str
        Files of a part's ids, and files that are parted.
    ids : str
        The file to make.
    """

    number: int
    parts: int
    checked: Sequence[str]
    earlier: Sequence[str]
    ids: str


@dataclass(frozen=True)
class CountedPart:
    """Counts of a part, and the number of repeated and of differing reports."""

    cells: pa.FixedSizeBinaryArray
    counts: pa.Int64Array
    repeated: int
    differing: int
    ids: IdFile


def check_file(file: File) -> CheckedFile:
    """Check the reports of a file, and part them.

    Raises
    ------
    ParameterError
        If it cannot be read.
    KeyFileError
    """
    keys = None
    if file.rules.key_file is not None:
        from halftruth_shared.protocol.sealing import SealingKeys

        keys = SealingKeys.read(file.rules.key_file)
    size, sha256 = fingerprint(file.address)
    rows, refused = 0, Refusals()
    with partition(Path(file.checked), file.rules.space.packed_size, file.parts) as write:
        for batch in batches(file.address, len(file.rules.space.shape)):
            write(*check(file.rules, keys, batch, rows, refused))
            rows += batch.num_rows
    source = SourceFile(name=file.name, size=size, sha256=sha256, rows=rows, refused=refused.counts)
    return CheckedFile(source, refused.first)


@contextmanager
def partition(
    path: Path, size: int, number: int
) -> Iterator[Callable[[NDArray[np.void], NDArray[np.void]], None]]:
    """A new file of ids and packed reports of some size, in so many parts, a power of 2.

    It is given some at a time. Of these, every part is a batch of its own, in their order.
    """
    schema = pa.schema({"id": pa.binary(16), "cell": pa.binary(size)})
    # Leaves as many bits as say the part.
    shift = np.uint64(65 - number.bit_length())

    def write(ids: NDArray[np.void], cells: NDArray[np.void]) -> None:
        # Not by the first bits, which are no chance where somebody's ids begin with the time.
        low, high = ids.view("<u8").reshape(-1, 2).T
        parts = ((((low * _MIXING) ^ high) * _MIXING) >> shift).astype(np.uint8)
        order = np.argsort(parts, kind="stable")
        arrays = [_as_arrow(ids[order]), _as_arrow(cells[order])]
        in_order = pa.record_batch(arrays, schema=schema)
        start = 0
        for count in np.bincount(parts, minlength=number).tolist():
            target.write_batch(in_order.slice(start, count))
            start += count

    with _whole(path) as unfinished, pa.ipc.new_file(str(unfinished), schema) as target:
        yield write


def count_part(part: Part) -> CountedPart:
    """Count the reports of a part, each id once: the first of it, unless it was counted before."""
    batches = [batch for path in part.checked for batch in _batches(path, part)]
    known = [ids for path in part.earlier for ids in _earlier(path, part)]
    before = sum(map(len, known))
    ids = np.concatenate([*known, *(_as_numpy(batch.column(0)) for batch in batches)])
    cells = np.concatenate([_as_numpy(batch.column(1)) for batch in batches])
    first, of_first = _firsts(ids)
    chosen = first[first >= before]
    repeats = np.ones(len(ids), dtype=bool)
    repeats[:before] = repeats[chosen] = False
    # Nobody knows what was said by those that were counted earlier.
    repeated = np.flatnonzero(repeats & (of_first >= before))
    differing = (cells[repeated - before] != cells[of_first[repeated] - before]).sum()
    counts = _as_arrow(cells[chosen - before]).value_counts()
    with _whole(Path(part.ids)) as unfinished:
        pq.write_table(
            pa.table({"id": _as_arrow(ids[chosen])}),
            unfinished,
            compression="none",
            use_dictionary=False,
            write_statistics=False,
        )
        sha256 = file_hash(unfinished)
    return CountedPart(
        cells=counts.field("values"),
        counts=counts.field("counts"),
        repeated=int(repeats.sum()),
        differing=int(differing),
        ids=IdFile(name=Path(part.ids).name, rows=len(chosen), sha256=sha256),
    )


def _firsts(ids: NDArray[np.void]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First position of each id, in the order of ids, and that of the id at each position."""
    words = ids.view(">u8").reshape(-1, 2).astype(np.uint64)
    high, low = words.T.copy()
    order = np.argsort(high)
    # Few ids begin alike that are not the same; these are sorted by all that they have.
    alike = _equals_previous(high[order])
    few = alike.copy()
    few[:-1] |= alike[1:]
    places = order[few]
    order[few] = places[np.lexsort((places, low[places], high[places]))]
    new = ~(alike & _equals_previous(low[order]))
    first = order[new]
    of_first = np.empty_like(order)
    of_first[order] = first[np.cumsum(new) - 1]
    return first, of_first


def _equals_previous(values: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Mask of the values that equal the one before."""
    equal = np.zeros(len(values), dtype=bool)
    np.equal(values[1:], values[:-1], out=equal[1:])
    return equal


def _batches(path: str, part: Part) -> Iterator[pa.RecordBatch]:
    """The reports of a part in a parted file."""
    with pa.OSFile(path) as file:
        reader = pa.ipc.open_file(file)
        for index in range(part.number, reader.num_record_batches, part.parts):
            yield reader.get_batch(index)


def _earlier(path: str, part: Part) -> Iterator[NDArray[np.void]]:
    """The ids of a part that were counted before."""
    if path.endswith(".parquet"):
        table = pq.read_table(path, use_threads=False)
        yield from (_as_numpy(chunk) for chunk in table.column("id").chunks)
    else:
        yield from (_as_numpy(batch.column(0)) for batch in _batches(path, part))


def _as_numpy(array: pa.FixedSizeBinaryArray) -> NDArray[np.void]:
    size = array.type.byte_width
    return np.frombuffer(array.buffers()[1], f"V{size}", len(array), size * array.offset)


def _as_arrow(values: NDArray[np.void]) -> pa.FixedSizeBinaryArray:
    values = np.ascontiguousarray(values)
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(values.dtype.itemsize), len(values), [None, pa.py_buffer(values)]
    )


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Another name for a file that gets its own once it is whole."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
