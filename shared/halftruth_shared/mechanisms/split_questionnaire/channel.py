"""Probabilities of the reports of views: as operators, for simulation and for the likelihood.

Reports of one view after the other are the parts of a likelihood.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np
import scipy
from numpy.typing import NDArray

from ...channels import UniformMixture
from ...channels.axes import Array
from ...errors import DomainTooLarge
from ..reconstruction import Likelihood, Operator, ReportCounts, ReportPart
from .incidence import belongs, sums_by_cell, sums_by_symbol
from .responses import Response
from .views import View

#: Pairs that are looked at at once.
_AT_ONCE = 2**21


class ViewOperator:
    """From the cells of a view to all symbols.

    Parameters
    ----------
    response : Response
    gamma : Fraction
    """

    def __init__(self, response: Response, gamma: Fraction) -> None:
        self._response = response
        self._lowest, self._more = float(response.share(gamma)), float(gamma - 1)

    def forward(self, x: Array) -> Array:
        own = self._more * sums_by_symbol(x, self._response)
        return np.asarray(self._lowest * (own + x.sum(axis=-1, keepdims=True)))

    def adjoint(self, y: Array) -> Array:
        own = self._more * sums_by_cell(y, self._response)
        return np.asarray(self._lowest * (own + y.sum(axis=-1, keepdims=True)))


class PairsOperator:
    """Responses to the cells of some views, by a sparse matrix of symbols and the cells they own.

    A symbol of a geometry is orthogonal to one in q of the cells of its view. Where these are few,
    or few of all symbols are wanted, this takes less time than transforms over all symbols.

    Parameters
    ----------
    responses : sequence of Response
        Those of the views, whose cells, and whose symbols, follow each other.
    symbols : sequence of ndarray of int
        Symbols that are wanted of each.
    gamma : Fraction
    """

    def __init__(
        self,
        responses: Sequence[Response],
        symbols: Sequence[NDArray[np.int64]],
        gamma: Fraction,
    ) -> None:
        self._views, self._more = len(responses), float(gamma - 1)
        shares = [float(response.share(gamma)) for response in responses]
        self._lowest = np.repeat(shares, [len(some) for some in symbols])
        blocks = [_pairs(each, some) for each, some in zip(responses, symbols, strict=True)]
        self._cells = scipy.sparse.block_diag(blocks, format="csr")
        self._symbols = self._cells.T.tocsr()

    def forward(self, x: Array) -> Array:
        own = self._more * _product(self._cells, x)
        # Each view has all people in its cells.
        return np.asarray(self._lowest * (own + x.sum(axis=-1, keepdims=True) / self._views))

    def adjoint(self, y: Array) -> Array:
        scaled = y * self._lowest
        own = self._more * _product(self._symbols, scaled)
        return np.asarray(own + scaled.sum(axis=-1, keepdims=True) / self._views)


def _product(matrix: "scipy.sparse.csr_array", values: Array) -> Array:
    """Multiply a matrix by the last axis of values."""
    flat = values.reshape(-1, values.shape[-1])
    return np.asarray((matrix @ flat.T).T).reshape(*values.shape[:-1], -1)


def _pairs(response: Response, symbols: NDArray[np.int64]) -> "scipy.sparse.csr_array":
    """Return which cells (columns) own each of some symbols (rows)."""
    if not response.prime:
        rows = np.arange(len(symbols))
        shape = (len(symbols), response.cells)
        return scipy.sparse.csr_array((np.ones(len(rows)), (rows, symbols)), shape=shape)
    step = max(1, _AT_ONCE // response.cells)
    blocks = [
        scipy.sparse.csr_array(belongs(some, response).astype(np.float64))
        for some in np.split(symbols, range(step, len(symbols), step))
    ]
    return scipy.sparse.vstack(blocks, format="csr")


#: Most pairs of a cell and a symbol of its own that are listed; beyond, sums take transforms.
_MOST_PAIRS = 2**23


@lru_cache(maxsize=16)
def _geometry(response: Response, gamma: Fraction) -> Operator:
    if response.cells * response.inside > _MOST_PAIRS:
        return ViewOperator(response, gamma)
    return PairsOperator([response], [np.arange(response.symbols)], gamma)


def parts_of(
    views: Sequence[View],
    gamma: Fraction,
    shape: tuple[int, ...],
    public: Sequence[int],
    counts: ReportCounts,
    among: Sequence[int],
) -> Iterator[ReportPart]:
    """Yield the reports of each view that has some, as far as they are about some attributes.

    Of views with others besides, k-ary reports are taken as reports of what they have in common:
    each stands for all that agree with it there. Those of a geometry tell nothing alone of a
    margin, and are left out.

    Parameters
    ----------
    views : sequence of View
    gamma : Fraction
    shape : tuple of int
        Of the schema.
    public : sequence of int
    counts : ReportCounts
    among : sequence of int
        Positions of the attributes that count.
    """
    order = np.argsort(counts.cells[:, -1], kind="stable")
    cells, numbers = counts.cells[order], counts.counts[order]
    ends = np.searchsorted(cells[:, -1], [view.first + view.response.symbols for view in views])
    columns = [column for column, j in enumerate(public) if j in among]
    known = tuple(public[column] for column in columns)
    sizes = tuple(shape[j] for j in known)
    for view, end, start in zip(views, ends, [0, *ends[:-1]], strict=True):
        kept = tuple(j for j in view.positions if j in among)
        response = view.response
        if end == start or not (kept or known):
            continue
        if response.prime and kept != view.positions:
            continue
        symbols = cells[start:end, -1] - view.first
        row = [cells[start:end, column] for column in columns]
        place = np.ravel_multi_index((*row, symbols), (*sizes, response.symbols))
        sums = np.bincount(place, numbers[start:end], prod(sizes) * response.symbols)
        table = sums.astype(np.float64).reshape(*sizes, response.symbols)
        if response.prime:
            yield ReportPart(known, kept, _geometry(response, gamma), table)
            continue
        others = tuple(len(sizes) + axis for axis, j in enumerate(view.positions) if j not in among)
        table = table.reshape(*sizes, *view.shape).sum(axis=others).reshape(*sizes, -1)
        keep = (gamma - 1) * response.share(gamma)
        yield ReportPart(known, kept, UniformMixture(table.shape[-1:], keep), table)


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
