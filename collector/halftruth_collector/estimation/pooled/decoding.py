"""Decoding of counted symbols: reports for each cell of each view, and pooled components."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from halftruth_shared.channels import SubsetChannel
from halftruth_shared.channels.axes import Array
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.mechanisms import View
from numpy.typing import NDArray

from ...counts import Counts
from ..report_model import response_of
from .overlaps import Views

#: Largest number of points of a transformed geometry, and of cached numbers.
_MOST_NUMBERS = 2**24

#: Largest number of cached numbers of components.
_MOST_KEPT = 2**23

#: Largest number of points of a geometry for which several views are decoded at once, since the
#: overhead for each view would exceed the time of its transform.
_SMALL = 2**10

#: Time of the transform per point, relative to the time per coordinate of a cell and a symbol.
_TRANSFORM = 4


#: Numbers of views or attributes, and of the public attributes that are not summed over.
_Key = tuple[tuple[int, ...], tuple[int, ...]]


class _Cache:
    """Cache of arrays with a largest total size."""

    def __init__(self, most: int) -> None:
        self._arrays: dict[_Key, Array] = {}
        self._left = most

    def __contains__(self, key: _Key) -> bool:
        return key in self._arrays

    def get(self, key: _Key, make: Callable[[], Array]) -> Array:
        if key in self._arrays:
            return self._arrays[key]
        array = make()
        if array.size <= self._left:
            self._left -= array.size
            self._arrays[key] = array
        return array


@dataclass(frozen=True, eq=False)
class _Alike:
    """Decoded reports of S views of one shape.

    Attributes
    ----------
    numbers, positions : ndarray of int, shapes (S,) and (S, k)
        Numbers of these views, and positions of the attributes of each.
    shape : tuple of int
        Shape of the table of each view.
    cells : ndarray, shape (S, cells)
        Number of reports of each view with a symbol of each cell.
    """

    numbers: NDArray[np.int64]
    positions: NDArray[np.int64]
    shape: tuple[int, ...]
    cells: Array

    def sums(
        self, positions: tuple[int, ...], asked: NDArray[np.bool_], weights: Array
    ) -> Array | float:
        """Sum the margins over some attributes of the views that ask about all of them.

        Views with these attributes in the same places are summed before their margin is computed; 0
        without such views.
        """
        asking = np.flatnonzero(asked[self.numbers])
        axes = np.arange(len(self.shape))
        within = self.positions[asking][..., np.newaxis] == np.array(positions)
        patterns = within.any(axis=-1) @ 2**axes
        total: Array | float = 0.0
        for pattern in np.flatnonzero(np.bincount(patterns)).tolist():
            check_deadline()
            chosen = asking[patterns == pattern]
            table = (weights[self.numbers[chosen]] @ self.cells[chosen]).reshape(self.shape)
            others = tuple(axis for axis in axes.tolist() if not pattern >> axis & 1)
            total = total + table.sum(axis=others)[np.newaxis]
        return total


class Decoded:
    """Counts of reports, by the cells of their views and pooled over views.

    Parameters
    ----------
    columns : Views
        The views of the survey.
    public : dict of int to int
        Number of categories of each public attribute, by its position in the schema; their codes
        are the first columns of a report.
    """

    def __init__(
        self, views: Sequence[View], columns: Views, public: dict[int, int], counts: Counts
    ) -> None:
        self.counts = counts
        self._views, self._columns, self._public = views, columns, public
        order = np.argsort(counts.cells[:, -1], kind="stable")
        self._codes = dict(zip(public, counts.cells[order].T, strict=False))
        self._symbols = counts.cells[order, -1]
        self._counts = counts.counts[order].astype(np.float64)
        self._starts = np.searchsorted(
            self._symbols, [view.first for view in views] + [np.iinfo(np.int64).max]
        )
        self._cells = _Cache(_MOST_NUMBERS)
        self._components = _Cache(_MOST_KEPT)

    @cached_property
    def by_view(self) -> Array:
        """Number of reports of each view, shape (V,)."""
        return np.diff(np.append(0.0, np.cumsum(self._counts))[self._starts])

    def shares(self, public: tuple[int, ...]) -> Array:
        """Return the share of each cell of the public attributes at these positions."""
        if not public:
            return np.ones(())
        shape = tuple(self._public[j] for j in public)
        cells = self._public_cells(public, slice(None))
        counts = np.bincount(cells, weights=self._counts, minlength=prod(shape))
        return counts.reshape(shape) / self.counts.reports

    def component(self, positions: tuple[int, ...], public: tuple[int, ...]) -> Array:
        """Return the sum of the margins of all views, shape (P, d_j for j in positions).

        The component is its projection divided by Ω.
        """
        return self._components.get((positions, public), lambda: self._component(positions, public))

    def _component(self, positions: tuple[int, ...], public: tuple[int, ...]) -> Array:
        columns, weights = self._columns, self._weights
        asked = columns.asked[:, positions].all(axis=1) & (self.by_view > 0)
        total: Array | float = 0.0
        for alike in [] if public else self._alike:
            total = total + alike.sums(positions, asked, weights)
            asked[alike.numbers] = False
        for number in np.flatnonzero(asked).tolist():
            check_deadline()
            axes = enumerate(self._views[number].positions)
            others = tuple(axis for axis, position in axes if position not in positions)
            total = total + self._margin(number, public, others) * weights[number]
        return np.asarray(total)

    @cached_property
    def _weights(self) -> Array:
        """ω/κ of a report of each view, shape (V,)."""
        return np.asarray(self._columns.strength / self._columns.scale)

    @cached_property
    def _alike(self) -> list["_Alike"]:
        """Views with small geometries that have reports, summed over public attributes."""
        numbers: dict[tuple[SubsetChannel, tuple[int, ...]], list[int]] = {}
        for number in np.flatnonzero(self.by_view).tolist():
            check_deadline()
            view = self._views[number]
            if response_of(view).symbols <= _SMALL:
                numbers.setdefault((response_of(view), view.shape), []).append(number)
        return [
            self._decode_alike(response, shape, np.array(several))
            for (response, shape), several in numbers.items()
            if len(several) * max(response.symbols, response.cells) <= _MOST_NUMBERS
        ]

    def _decode_alike(
        self, response: SubsetChannel, shape: tuple[int, ...], numbers: NDArray[np.int64]
    ) -> "_Alike":
        starts, lengths = self._starts[numbers], np.diff(self._starts)[numbers]
        views = np.repeat(np.arange(len(numbers)), lengths)
        rows = np.arange(len(views)) + (starts - np.cumsum(lengths) + lengths)[views]
        first = np.array([self._views[number].first for number in numbers])
        symbols = self._symbols[rows] - first[views]
        counts = _counted(views, symbols, self._counts[rows], (len(numbers), response.symbols))
        positions = np.array([self._views[number].positions for number in numbers])
        return _Alike(numbers, positions, shape, np.rint(response.sums_by_cell(counts)))

    def contributions(self, weights: Mapping[_Key, Array]) -> Iterator[tuple[Array, Array]]:
        """Yield the reports of each view with their contributions, as of `Reconstruction`.

        The mean contribution of the reports of a view is computed from the pooled components,
        since a view can have a single report. `weights` are the weights of each component, by the
        positions of its public attributes and of the others; shape (*public, *others, K).
        """
        columns, asked = self._columns, self.by_view * self._columns.strength
        for number in np.flatnonzero(self.by_view).tolist():
            check_deadline()
            view, rows = self._views[number], slice(*self._starts[number : number + 2])
            symbols = self._symbols[rows] - view.first
            total: Array | float = 0.0
            for (public, free), each in weights.items():
                if not set(free) <= set(view.positions):
                    continue
                cells = self._public_cells(public, rows)
                flat = each.reshape(prod(self._public[j] for j in public), -1, each.shape[-1])
                if not free:
                    total = total + flat[cells, 0] - self.shares(public).ravel() @ flat[:, 0]
                    continue
                pooled = asked @ columns.asked[:, free].all(axis=1)
                sums = self.component(free, public).reshape(*flat.shape[:2])
                mean = np.tensordot(sums, flat, 2) / pooled
                axes = zip(view.positions, view.shape, strict=True)
                kept = [size if j in free else 1 for j, size in axes]
                place = np.arange(flat.shape[1]).reshape(kept)
                by_cell = np.moveaxis(flat[:, np.broadcast_to(place, view.shape).ravel()], 2, 1)
                own = response_of(view).sums_by_symbol(by_cell)[cells, :, symbols]
                own = own / columns.scale[number] - mean
                total = total + own * (self.counts.reports * columns.strength[number] / pooled)
            yield self._counts[rows], np.asarray(total)

    def _margin(self, number: int, public: tuple[int, ...], others: tuple[int, ...]) -> Array:
        """Count the reports of a view that have a symbol of each cell, summed over some axes.

        The result has a row for each public cell, shape (P, *the other axes).
        """
        response = response_of(self._views[number])
        height = prod(self._public[j] for j in public)
        step = max(1, _MOST_NUMBERS // max(response.symbols, response.cells))
        axes = tuple(axis + 1 for axis in others)
        if height <= step:
            cells = self._cells.get(
                ((number,), public), lambda: self._decode(number, public, range(height))
            )
            return np.asarray(cells.sum(axis=axes))
        parts = (range(start, min(start + step, height)) for start in range(0, height, step))
        counts = [self._decode(number, public, part).sum(axis=axes) for part in parts]
        return np.concatenate(counts)

    def _decode(self, number: int, public: tuple[int, ...], part: range) -> Array:
        """Decode the reports of some of the public cells."""
        view, rows = self._views[number], slice(*self._starts[number : number + 2])
        response, cells = response_of(view), self._public_cells(public, rows) - part.start
        inside = np.flatnonzero((cells >= 0) & (cells < len(part)))
        cells, symbols = cells[inside], self._symbols[rows][inside] - view.first
        counts, height = self._counts[rows][inside], len(part)
        different, index = np.unique(symbols, return_inverse=True)
        work = len(different) * response.cells * response.dimension
        few = work <= _TRANSFORM * response.symbols * height
        if not response.is_direct and (few or response.symbols > _MOST_NUMBERS):
            table = _counted(cells, index, counts, (height, len(different)))
            decoded = response.sums_of_few(different, table)
        else:
            table = _counted(cells, symbols, counts, (height, response.symbols))
            decoded = np.rint(response.sums_by_cell(table))
        return decoded.reshape(height, *view.shape)

    def _public_cells(self, public: tuple[int, ...], rows: slice) -> NDArray[np.int64]:
        cells = np.zeros(len(self._symbols[rows]), dtype=np.int64)
        for j in public:
            cells = cells * self._public[j] + self._codes[j][rows]
        return cells


def _counted(
    rows: NDArray[np.int64], columns: NDArray[np.int64], counts: Array, shape: tuple[int, int]
) -> Array:
    table = np.bincount(rows * shape[1] + columns, counts, shape[0] * shape[1])
    return table.astype(np.float64).reshape(shape)
