"""Counts of perturbed reports, the only data of a collector about answers."""

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from halftruth_shared import DomainTooLarge, NoReports, ReportError, ReportSpace, Survey
from halftruth_shared.cells import ravel, unravel
from halftruth_shared.errors import listing
from numpy.typing import ArrayLike, NDArray

K = TypeVar("K")
V = TypeVar("V")

#: Largest table that is stored as an array.
DENSE_CELLS = 2**24

#: Most cells of the table of a group of columns, of a table of several groups, and of all such
#: tables that are kept. Each table of a few columns is summed from one of these.
_GROUP_CELLS, _GROUPED_CELLS, _KEPT_CELLS = 25, 2**14, 2**21


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of the distinct reports.

    Attributes
    ----------
    names, shape : tuple
        Name and number of values of each report column.
    cells : ndarray of int, shape (K, columns)
        The distinct reports, in the narrowest integer type for all columns.
    counts : ndarray of int, shape (K,)
        Number of times each report was received.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    cells: NDArray[np.signedinteger]
    counts: NDArray[np.int64]

    @classmethod
    def from_reports(cls, survey: Survey, reports: ArrayLike) -> "Counts":
        """Count reports, given as integers of shape (N, columns).

        An array of another shape, or with values outside the range of a column, raises ReportError.
        """
        array = _array(reports, "reports")
        return cls.from_cells(survey, array, np.ones(array.shape[:1], dtype=np.int64))

    @classmethod
    def from_cells(cls, survey: Survey, cells: ArrayLike, counts: ArrayLike) -> "Counts":
        """Create counts from distinct or repeated reports; the counts of equal reports are added.

        Parameters
        ----------
        cells : array_like of int, shape (K, columns)
        counts : array_like of int, shape (K,)
            At least 0.

        Raises
        ------
        ReportError
            If the arrays do not have these shapes and ranges.
        """
        space = survey.report_space
        rows = _check_cells(space, _array(cells, "reports"))
        weights = _array(counts, "counts")
        if weights.shape != (len(rows),) or (weights.size and weights.dtype.kind not in "iu"):
            raise ReportError("counts: expected one integer for each report", field="counts")
        # Above 2⁵³, margins and shares would not be exact.
        if (weights < 0).any() or weights.sum(dtype=np.float64) > 2**53:
            raise ReportError(
                "counts: expected integers of at least 0, and 2**53 at most together",
                field="counts",
            )
        weights = weights.astype(np.int64)
        shape, size = space.shape, space.size
        distinct: NDArray[np.integer]
        if size <= _well_filled(len(rows)):
            table = _add_up(ravel(rows.astype(np.int64), shape), weights, size)
            present = np.flatnonzero(table)
            distinct, table = unravel(present, shape), table[present]
        else:
            distinct, table = _group_rows(rows, weights, shape)
            distinct, table = distinct[table > 0], table[table > 0]
        narrow = np.min_scalar_type(-max(shape, default=1))
        return cls(space.names, shape, distinct.astype(narrow), table)

    def check(self, survey: Survey) -> None:
        """Check that these are counts of a survey's reports, and that there is at least one report.

        Raises
        ------
        ReportError, NoReports
        """
        space = survey.report_space
        if (self.names, self.shape) != (space.names, space.shape):
            raise ReportError(
                f"counts: expected reports with the columns {listing(space.names)} of"
                f" {listing(list(map(str, space.shape)))} values",
                field="counts",
            )
        if self.reports == 0:
            raise NoReports(f"survey '{survey.id}': no report has been counted yet")

    @cached_property
    def reports(self) -> int:
        """Number of reports N."""
        return int(self.counts.sum())

    @cached_property
    def fingerprint(self) -> bytes:
        """Hash of the counts; equal counts give equal estimates."""
        return sha256(self.cells.tobytes() + self.counts.tobytes()).digest()

    @property
    def nbytes(self) -> int:
        """Number of bytes of the distinct reports and of their counts."""
        return self.cells.nbytes + self.counts.nbytes

    @cached_property
    def _columns(self) -> list[NDArray[np.unsignedinteger]]:
        """Each report column in its narrowest type, since tables are summed column by column."""
        return [
            np.ascontiguousarray(self.cells[:, column], dtype=np.min_scalar_type(size - 1))
            for column, size in enumerate(self.shape)
        ]

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        """The counts as floating-point numbers, for summation."""
        return self.counts.astype(np.float64)

    @cached_property
    def _groups(self) -> list[int]:
        """Group of each column; consecutive columns share a group while its table is small."""
        groups: list[int] = []
        group, cells = 0, 1
        for size in self.shape:
            cells *= size
            if groups and cells > _GROUP_CELLS:
                group, cells = group + 1, size
            groups.append(group)
        return groups

    @cached_property
    def _grouped(self) -> dict[tuple[int, ...], NDArray[np.int64]]:
        """Cached tables of all columns of some groups."""
        return {}

    @cached_property
    def _tensor(self) -> NDArray[np.int64] | None:
        """The whole table if it is small or well filled; None if cells are more efficient."""
        size = math.prod(self.shape)
        if size > _well_filled(len(self.counts)):
            return None
        tensor = np.zeros(self.shape, dtype=np.int64)
        tensor[tuple(self.cells.T)] = self.counts
        return tensor

    def marginal(self, columns: Sequence[int]) -> NDArray[np.int64]:
        """Counts of the values of some columns, one axis for each in the order given.

        Raises
        ------
        DomainTooLarge
            If the table has more than `DENSE_CELLS` cells.
        """
        shape = tuple(self.shape[column] for column in columns)
        size = math.prod(shape)
        if size > DENSE_CELLS:
            raise DomainTooLarge(
                f"attributes: a table of {size} cells; expected at most {DENSE_CELLS}",
                field="attributes",
            )
        groups = sorted({self._groups[column] for column in columns})
        wide = [column for column, group in enumerate(self._groups) if group in groups]
        size = math.prod(self.shape[column] for column in wide)
        if len(wide) > len(columns) and size <= min(_GROUPED_CELLS, len(self.counts)):
            if tuple(groups) not in self._grouped:
                if sum(each.size for each in self._grouped.values()) > _KEPT_CELLS:
                    self._grouped.clear()
                self._grouped[tuple(groups)] = self._sum(wide)
            return _over(self._grouped[tuple(groups)], [wide.index(column) for column in columns])
        return self._sum(columns)

    def _sum(self, columns: Sequence[int]) -> NDArray[np.int64]:
        """Sum the counts of all reports by some columns."""
        if self._tensor is not None:
            return _over(self._tensor, columns)
        shape = tuple(self.shape[column] for column in columns)
        size = math.prod(shape)
        # The row-major cell of each report, in a narrow type to save memory bandwidth.
        index = np.zeros(len(self.counts), dtype=np.min_scalar_type(size))
        for column in columns:
            index *= index.dtype.type(self.shape[column])
            index += self._columns[column]
        return _add_up(index, self._weights, size).reshape(shape)


#: Identity of the counts of a survey: its digest, and the fingerprint of the counts. Equal keys
#: give equal estimates.
CountsKey = tuple[str, tuple[int, ...], bytes]


def key_of(survey: Survey, counts: Counts) -> CountsKey:
    """Return the identity of these counts, for caches that do not keep the counts themselves."""
    # A survey that is read in groups of answers has the same digest, and other results.
    return survey.digest, survey.schema.shape, counts.fingerprint


class RecentResults(Generic[K, V]):
    """Recent results by key, which all threads share.

    A key identifies the counts of a result, and does not refer to them: while reports arrive, each
    request has other counts, and a cache that kept them would hold all their past states.

    Parameters
    ----------
    most : int
        Number of results that are kept; the least recently used one is dropped first.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._results: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, compute: Callable[[], V]) -> V:
        """Return the result for a key, computed if it is not kept."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        # Another thread may compute the same meanwhile, with the same result.
        result = compute()
        with self._lock:
            self._results[key] = result
            while len(self._results) > self._most:
                self._results.popitem(last=False)
        return result


def _over(table: NDArray[np.int64], axes: Sequence[int]) -> NDArray[np.int64]:
    """Return the margin of a table over some axes, in this order."""
    order = sorted(axes)
    margin: NDArray[np.int64] = table.sum(axis=tuple({*range(table.ndim)}.difference(axes)))
    return margin.transpose([order.index(axis) for axis in axes])


def _well_filled(reports: int) -> int:
    """Return the largest table that is more efficient than a list of this many distinct reports."""
    return min(DENSE_CELLS, 2**16 + 8 * reports)


def _group_rows(
    rows: NDArray[np.integer], weights: NDArray[np.int64], shape: tuple[int, ...]
) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """Return the distinct rows in lexicographic order, and the sum of the weights of each."""
    # Pack each row into few integers, since sorting integers is much faster than sorting rows.
    keys: list[NDArray[np.int64]] = []
    room = 0
    for column, size in zip(rows.T, shape, strict=True):
        if room < size:
            keys.append(np.zeros(len(rows), dtype=np.int64))
            room = 2**63 - 1
        keys[-1] = keys[-1] * size + column.astype(np.int64)
        room //= size
    order = np.lexsort(keys[::-1])
    begins = np.ones(len(rows), dtype=np.bool_)
    begins[1:] = np.logical_or.reduce([np.diff(key[order]) != 0 for key in keys])
    starts = np.flatnonzero(begins)
    return rows[order[starts]], np.add.reduceat(weights[order], starts)


def _add_up(index: NDArray[np.integer], weights: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Sum the weights at each index below `size`; floating-point sums below 2⁵³ are exact."""
    return np.bincount(index, weights=weights, minlength=size).astype(np.int64)


def _array(values: ArrayLike, field: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise ReportError(f"{field}: expected an array", field=field) from None


def _check_cells(space: ReportSpace, cells: NDArray[np.integer]) -> NDArray[np.integer]:
    columns = len(space.shape)
    if cells.size == 0:
        return np.zeros((0, columns), dtype=np.int64)
    if cells.ndim != 2 or cells.shape[1] != columns or cells.dtype.kind not in "iu":
        raise ReportError(f"reports: expected integers of shape (N, {columns})", field="reports")
    outside = (cells < 0) | (cells >= np.array(space.shape))
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ReportError(
            f"report {row}: '{space.names[column]}': expected an integer from 0 to"
            f" {space.shape[column] - 1}",
            field=space.names[column],
            index=int(row),
        )
    return cells
