"""Decoding of counted symbols to the number of reports for each cell of each view."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...channels.axes import Array
from ..reconstruction import ReportCounts
from .incidence import orthogonal_sums, placement, sums_over
from .responses import Response
from .views import View

#: Most points of a geometry that are transformed, and most numbers that are kept.
_MOST_NUMBERS = 2**24

#: Most points of a geometry that is decoded for several views at once: for each by itself, most of
#: the time would not go into the transform.
_SMALL = 2**10

#: How many times as long a point of the transform takes as a coordinate of a cell and a symbol.
_TRANSFORM = 4


class Decoded:
    """Counts of reports by the cells of their views that their symbols belong to.

    Parameters
    ----------
    views : sequence of View
    public : sequence of int
        Number of categories of each public attribute; their codes are the first columns.
    counts : ReportCounts
    """

    def __init__(self, views: Sequence[View], public: Sequence[int], counts: ReportCounts) -> None:
        self._views, self._public = views, public
        order = np.argsort(counts.cells[:, -1], kind="stable")
        self._codes = counts.cells[order, :-1]
        self._symbols = counts.cells[order, -1]
        self._counts = counts.counts[order].astype(np.float64)
        self._starts = np.searchsorted(
            self._symbols, [view.first for view in views] + [np.iinfo(np.int64).max]
        )
        self.reports = counts.reports
        self._kept: dict[tuple[int, tuple[int, ...]], Array] = {}
        self._numbers = 0

    @cached_property
    def by_view(self) -> Array:
        """Number of reports of each view, shape (V,)."""
        return np.diff(np.append(0.0, np.cumsum(self._counts))[self._starts])

    def shares(self, public: tuple[int, ...]) -> Array:
        """Share of each cell of some public attributes, one axis for each; 1 for none."""
        if not public:
            return np.ones(())
        shape = tuple(self._public[j] for j in public)
        cells = self._public_cells(public, slice(None))
        counts = np.bincount(cells, weights=self._counts, minlength=prod(shape))
        return counts.reshape(shape) / self.reports

    def prepare(self, numbers: Iterable[int]) -> None:
        """Decode views with small geometries at once, before they are asked for.

        Public attributes are summed over.
        """
        alike: dict[Response, list[int]] = {}
        for number in numbers:
            response = self._views[number].response
            if response.prime and response.symbols <= _SMALL and (number, ()) not in self._kept:
                alike.setdefault(response, []).append(number)
        for response, several in alike.items():
            if self._numbers + len(several) * response.symbols > _MOST_NUMBERS:
                return
            starts, lengths = self._starts[several], np.diff(self._starts)[several]
            views = np.repeat(np.arange(len(several)), lengths)
            rows = np.arange(len(views)) + (starts - np.cumsum(lengths) + lengths)[views]
            first = np.array([self._views[number].first for number in several])
            symbols = self._symbols[rows] - first[views]
            counts = _counted(views, symbols, self._counts[rows], (len(several), response.symbols))
            counts = orthogonal_sums(counts, response.prime, response.dimension)
            counts = np.rint(counts[:, placement(response)])
            self._numbers += counts.size
            for number, cells in zip(several, counts, strict=True):
                self._kept[number, ()] = cells.reshape(1, *self._views[number].shape)

    def margin(self, number: int, public: tuple[int, ...], others: tuple[int, ...]) -> Array:
        """Count the reports of a view that have a symbol of each cell, summed over some axes.

        Parameters
        ----------
        number : int
        public : tuple of int
            Public attributes to distinguish, by the positions of their columns.
        others : tuple of int
            Axes of the view to sum over.

        Returns
        -------
        ndarray, shape (P, *the other axes)
            A row for each public cell.
        """
        response = self._views[number].response
        height = prod(self._public[j] for j in public)
        step = max(1, _MOST_NUMBERS // max(response.symbols, response.cells))
        axes = tuple(axis + 1 for axis in others)
        if height <= step:
            return np.asarray(self._view(number, public).sum(axis=axes))
        parts = (range(start, min(start + step, height)) for start in range(0, height, step))
        counts = [self._decode(number, public, part).sum(axis=axes) for part in parts]
        return np.concatenate(counts)

    def _view(self, number: int, public: tuple[int, ...]) -> Array:
        """Return the number of reports of each cell, cached up to a limit."""
        key = (number, public)
        if key not in self._kept:
            height = prod(self._public[j] for j in public)
            decoded = self._decode(number, public, range(height))
            if self._numbers + decoded.size > _MOST_NUMBERS:
                return decoded
            self._numbers += decoded.size
            self._kept[key] = decoded
        return self._kept[key]

    def _decode(self, number: int, public: tuple[int, ...], part: range) -> Array:
        """For some of the public cells."""
        view, rows = self._views[number], slice(*self._starts[number : number + 2])
        response, cells = view.response, self._public_cells(public, rows) - part.start
        inside = np.flatnonzero((cells >= 0) & (cells < len(part)))
        cells, symbols = cells[inside], self._symbols[rows][inside] - view.first
        counts, height = self._counts[rows][inside], len(part)
        different, index = np.unique(symbols, return_inverse=True)
        work = len(different) * response.cells * response.dimension
        few = work <= _TRANSFORM * response.symbols * height
        if response.prime and (few or response.symbols > _MOST_NUMBERS):
            table = _counted(cells, index, counts, (height, len(different)))
            decoded = sums_over(different, table, response)
        else:
            decoded = _counted(cells, symbols, counts, (height, response.symbols))
            if response.prime:
                decoded = orthogonal_sums(decoded, response.prime, response.dimension)
                decoded = np.rint(decoded[:, placement(response)])
        return decoded.reshape(height, *view.shape)

    def _public_cells(self, public: tuple[int, ...], rows: slice) -> NDArray[np.int64]:
        cells = np.zeros(len(self._symbols[rows]), dtype=np.int64)
        for j in public:
            cells = cells * self._public[j] + self._codes[rows, j]
        return cells


def _counted(
    rows: NDArray[np.int64], columns: NDArray[np.int64], counts: Array, shape: tuple[int, int]
) -> Array:
    table = np.bincount(rows * shape[1] + columns, counts, shape[0] * shape[1])
    return table.astype(np.float64).reshape(shape)
