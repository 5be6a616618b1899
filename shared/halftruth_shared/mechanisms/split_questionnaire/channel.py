"""Probabilities of reports by tables of the answers, for simulation and for the likelihood."""

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import numpy as np

from ...channels.axes import Array
from ...errors import DomainTooLarge
from ..parts import Operator
from ..reconstruction import Likelihood, ReportCounts
from .operators import PairsOperator, ViewOperator
from .views import View

#: Most different reports.
_MOST_REPORTS = 2**24

#: Pairs for each symbol of a view, up to which listing those of its reports takes less time.
_FEW = 16


def report_probabilities(
    views: Sequence[View],
    gamma: Fraction,
    shape: tuple[int, ...],
    public: Sequence[int],
    table: Array,
    positions: Sequence[int],
) -> Array:
    """Return the probability of every report, where attributes that are not named are uniform.

    Parameters
    ----------
    shape : tuple of int
        Of the schema.
    table : ndarray
        Shares, an axis for each of `positions`.

    Returns
    -------
    ndarray, shape (P, symbols)
        Rows are the cells of those attributes of the table that are public.

    Raises
    ------
    DomainTooLarge
        If there are too many different reports.
    """
    symbols = _check_reports(views, shape, public)
    order = np.lexsort((positions, [j not in public for j in positions])).tolist()
    free = [positions[axis] for axis in order if positions[axis] not in public]
    arranged = table.transpose(order)
    rows = prod(arranged.shape[: len(order) - len(free)])
    arranged = arranged.reshape(rows, *arranged.shape[len(order) - len(free) :])
    result, total = np.empty((rows, symbols)), sum(view.weight for view in views)
    for view in views:
        others = tuple(axis for axis, j in enumerate(free, 1) if j not in view.positions)
        sizes = [d if j in free else 1 for j, d in zip(view.positions, view.shape, strict=True)]
        margin = arranged.sum(axis=others).reshape(rows, *sizes) * (prod(sizes) / prod(view.shape))
        cells = np.broadcast_to(margin, (rows, *view.shape)).reshape(rows, -1)
        reports = ViewOperator(view.response, gamma).forward(cells) * (view.weight / total)
        result[:, view.first : view.first + view.response.symbols] = reports
    return result


def _check_reports(views: Sequence[View], shape: tuple[int, ...], public: Sequence[int]) -> int:
    """Return the number of symbols; DomainTooLarge if there are too many different reports."""
    symbols = views[-1].first + views[-1].response.symbols
    reports = symbols * prod(shape[j] for j in public)
    if reports > _MOST_REPORTS:
        raise DomainTooLarge(
            f"estimate: {reports} different reports; expected at most {_MOST_REPORTS}, or"
            " estimate = moment",
            field="estimate",
        )
    return symbols


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
        for table, margin in zip(way[:0:-1], way[-2::-1], strict=True):
            [axis] = (axis for axis, j in enumerate(table, 1) if j not in margin)
            self._sums.append((self._numbers[table], axis))
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


class SplitLikelihood(Likelihood):
    """Likelihood of the reports about views, arranged in the shape (P, symbols).

    Where few of the symbols came, only these are computed.

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
        self,
        views: Sequence[View],
        gamma: Fraction,
        shape: tuple[int, ...],
        public: Sequence[int],
        counts: ReportCounts,
    ) -> None:
        symbols = _check_reports(views, shape, public)
        free = [j for j in range(len(shape)) if j not in public]
        self._order = [*public, *free]
        self._public, self._free = (tuple(shape[j] for j in some) for some in (public, free))
        self._tree = MarginTree(
            len(free), [tuple(map(free.index, view.positions)) for view in views]
        )
        self._symbols = np.unique(counts.cells[:, -1])
        responses, first = [view.response for view in views], [view.first for view in views]
        came = np.split(self._symbols, np.searchsorted(self._symbols, first[1:]))
        of_each = [
            response.cells / response.prime if response.prime else 1 for response in responses
        ]
        listed = np.dot(of_each, list(map(len, came))) <= _FEW * symbols
        self._operators: list[Operator]
        if listed:
            own = [some - start for some, start in zip(came, first, strict=True)]
            self._operators = [PairsOperator(responses, own, gamma)]
        else:
            self._symbols, came = np.arange(symbols), np.split(np.arange(symbols), first[1:])
            self._operators = [ViewOperator(response, gamma) for response in responses]
        weights = np.array([view.weight for view in views])
        self._chances = np.repeat(weights / weights.sum(), list(map(len, came)))
        # Where the cells of each further view begin, and the cells and symbols of each operator.
        self._views: list[int] = np.cumsum([response.cells for response in responses])[:-1].tolist()
        self._cells = [] if listed else self._views
        self._reports = [] if listed else first[1:]

    def expected(self, table: Array) -> Array:
        arranged = table.transpose(self._order).reshape(-1, *self._free)
        margins = [margin.reshape(len(arranged), -1) for margin in self._tree.margins(arranged)]
        cells = np.split(np.concatenate(margins, axis=1), self._cells, axis=1)
        reports = [o.forward(x) for o, x in zip(self._operators, cells, strict=True)]
        return np.asarray(np.concatenate(reports, axis=1) * self._chances)

    def adjoint(self, weights: Array) -> Array:
        reports = np.split(weights * self._chances, self._reports, axis=1)
        cells = [o.adjoint(y) for o, y in zip(self._operators, reports, strict=True)]
        margins = np.split(np.concatenate(cells, axis=1), self._views, axis=1)
        table = self._tree.adjoint(margins, (len(weights), *self._free))
        shape = (*self._public, *self._free)
        return table.reshape(shape).transpose(np.argsort(self._order))

    def observed(self, counts: ReportCounts) -> Array:
        cells, shape = counts.cells.copy(), (*self._public, len(self._symbols))
        cells[:, -1] = np.searchsorted(self._symbols, cells[:, -1])
        places = np.ravel_multi_index(tuple(cells.T), shape)
        sums = np.bincount(places, counts.counts, prod(shape))
        return sums.reshape(-1, len(self._symbols)) / counts.reports
