"""Probabilities of all reports, for the likelihood."""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...channels.axes import Array
from ...errors import DomainTooLarge
from ..reconstruction import Likelihood, ReportCounts
from .incidence import orthogonal_sums, placement
from .views import View

#: Most different reports.
_MOST_REPORTS = 2**24


class MarginTree:
    """Some margins of a table, each the sum over one axis of another one.

    Every margin is reached from the whole table by leaving out its missing axes, the first one
    first, so that those with the same last axes have most of the way in common.

    Parameters
    ----------
    axes : int
        Number of axes of the table, after one that all margins keep.
    wanted : sequence of tuple of int
        Axes of each margin.
    """

    def __init__(self, axes: int, wanted: Sequence[tuple[int, ...]]) -> None:
        everything = tuple(range(axes))
        self._numbers = {everything: 0}
        #: Number of the margin that each is a sum of, and over which of its axes.
        self._sums: list[tuple[int, int]] = []
        self.wanted = [self._find(kept, everything) for kept in wanted]

    def _find(self, kept: tuple[int, ...], everything: tuple[int, ...]) -> int:
        way = [kept]
        while way[-1] not in self._numbers:
            last = max(set(everything).difference(way[-1]))
            way.append(tuple(sorted((*way[-1], last))))
        for found, margin in zip(way[:0:-1], way[-2::-1], strict=True):
            [axis] = (axis for axis, j in enumerate(found, 1) if j not in margin)
            self._sums.append((self._numbers[found], axis))
            self._numbers[margin] = len(self._sums)
        return self._numbers[kept]

    def margins(self, table: Array) -> list[Array]:
        """Return the wanted margins of a table with an axis before the others."""
        tables = [table]
        for number, axis in self._sums:
            tables.append(tables[number].sum(axis=axis))
        return [tables[number] for number in self.wanted]

    def adjoint(self, margins: Sequence[Array], shape: tuple[int, ...]) -> Array:
        """Sum of margins, each repeated along the axes that it lacks."""
        tables = [np.zeros(shape)]
        for number, axis in self._sums:
            tables.append(np.zeros(np.delete(tables[number].shape, axis)))
        for number, margin in zip(self.wanted, margins, strict=True):
            tables[number] += margin.reshape(tables[number].shape)
        for (number, axis), margin in zip(self._sums[::-1], tables[:0:-1], strict=True):
            tables[number] += np.expand_dims(margin, axis)
        return tables[0]


class SplitChannel(Likelihood):
    """From tables of all attributes to the probabilities of reports, shape (P, symbols).

    Parameters
    ----------
    shape : tuple of int
        Of the table.
    public : sequence of int
        Positions of the public attributes, which have P cells.

    Raises
    ------
    DomainTooLarge
        If there are too many different reports.
    """

    def __init__(
        self, shape: tuple[int, ...], gamma: Fraction, views: Sequence[View], public: Sequence[int]
    ) -> None:
        free = [j for j in range(len(shape)) if j not in public]
        self._views, self._public = tuple(views), tuple(public)
        self._order = [*public, *free]
        self._shape = tuple(shape[j] for j in self._order)
        self._rows = prod(shape[j] for j in public)
        self._columns = views[-1].first + views[-1].response.symbols
        if self._rows * self._columns > _MOST_REPORTS:
            raise DomainTooLarge(
                f"estimate: {self._rows * self._columns} different reports; expected at most"
                f" {_MOST_REPORTS}, or estimate = moment",
                field="estimate",
            )
        self._free = self._shape[len(public) :]
        self._tree = MarginTree(
            len(free), [tuple(map(free.index, view.positions)) for view in views]
        )
        self._gamma = float(gamma)
        self._lowest = np.empty(self._columns)
        self._symbols = []
        self._placements = []
        self._together: dict[tuple[int, int], list[int]] = defaultdict(list)
        total = sum(view.weight for view in views)
        for number, view in enumerate(views):
            response = view.response
            symbols = slice(view.first, view.first + response.symbols)
            self._symbols.append(symbols)
            self._lowest[symbols] = response.share(gamma) * Fraction(view.weight, total)
            self._placements.append(placement(response) if response.prime else slice(None))
            if response.prime:
                self._together[response.prime, response.dimension].append(number)

    def expected(self, table: Array) -> Array:
        arranged = table.transpose(self._order).reshape(self._rows, *self._free)
        return self._reports(arranged, self._tree.margins(arranged))

    def expected_of(self, table: Array, positions: Sequence[int]) -> Array:
        """Apply the channel to a table of some attributes, with all others uniform.

        Rows are the cells of those that are public, and the others' margins are never made.
        """
        order = sorted(range(len(positions)), key=lambda axis: self._order.index(positions[axis]))
        known = sum(j in self._public for j in positions)
        rows = prod(table.shape[axis] for axis in order[:known])
        arranged = table.transpose(order)
        arranged = arranged.reshape(rows, *arranged.shape[known:])
        free = [positions[axis] for axis in order[known:]]
        margins = []
        for view in self._views:
            others = tuple(axis for axis, j in enumerate(free, 1) if j not in view.positions)
            sizes = [
                size if j in free else 1 for j, size in zip(view.positions, view.shape, strict=True)
            ]
            margin = arranged.sum(axis=others).reshape(rows, *sizes)
            even = margin * (prod(sizes) / prod(view.shape))
            margins.append(np.broadcast_to(even, (rows, *view.shape)))
        return self._reports(arranged, margins)

    def _reports(self, table: Array, margins: Sequence[Array]) -> Array:
        """Probabilities of reports from the margin of each view, an axis before the others."""
        everybody = table.reshape(len(table), -1).sum(axis=1, keepdims=True)
        result = np.zeros((len(table), self._columns))
        for symbols, places, margin in zip(self._symbols, self._placements, margins, strict=True):
            result[:, symbols][:, places] = margin.reshape(len(table), -1)
        self._sum_orthogonal(result)
        result *= self._gamma - 1
        result += everybody
        result *= self._lowest
        return result

    def adjoint(self, weights: Array) -> Array:
        scaled = weights * self._lowest
        everybody = scaled.sum(axis=1)
        self._sum_orthogonal(scaled)
        scaled *= self._gamma - 1
        margins = [
            scaled[:, symbols][:, places]
            for symbols, places in zip(self._symbols, self._placements, strict=True)
        ]
        return self._by_record(margins, everybody)

    def _by_record(self, margins: Sequence[Array], everybody: Array) -> Array:
        """Sum by record of numbers for the margin of each view, and of one for everybody."""
        result = self._tree.adjoint(margins, (self._rows, *self._free))
        result += everybody.reshape(-1, *[1] * len(self._free))
        return result.reshape(self._shape).transpose(np.argsort(self._order))

    def _sum_orthogonal(self, reports: Array) -> None:
        """Put sums over all orthogonal points in the place of each point of a geometry."""
        for (prime, dimension), numbers in self._together.items():
            values = np.stack([reports[:, self._symbols[number]] for number in numbers])
            sums = orthogonal_sums(values, prime, dimension)
            for number, row in zip(numbers, sums, strict=True):
                reports[:, self._symbols[number]] = row

    def observed(self, counts: ReportCounts) -> Array:
        return self._share(counts.cells, counts, self._columns)

    def _share(self, cells: NDArray[np.int64], counts: ReportCounts, columns: int) -> Array:
        public = self._shape[: len(self._shape) - len(self._free)]
        places = np.ravel_multi_index(tuple(cells.T), (*public, columns))
        sums = np.bincount(places, counts.counts, self._rows * columns)
        return sums.reshape(self._rows, -1) / counts.reports
