"""Probabilities of reports, by the views of a perturbation: for likelihoods and for simulation.

Reports come in independent parts, one for each view: the reports of a part are about one margin of
the true table, and its true cell alone decides how likely each report is. How many reports a part
has tells nothing of the answers, so that the likelihood is a product over the parts, given these
numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
import scipy
from halftruth_shared import Channel, DomainTooLarge, Perturbation
from halftruth_shared.channels import Operator, SubsetResponse
from halftruth_shared.channels.axes import Array
from halftruth_shared.mechanisms import View
from numpy.typing import NDArray

from .counts import Counts

#: Pairs that are looked at at once.
_AT_ONCE = 2**21

#: Most pairs of a cell and a symbol of its own that are listed; beyond, sums take transforms.
_MOST_PAIRS = 2**23

#: Most different reports.
_MOST_REPORTS = 2**24

#: Pairs for each symbol of a view, up to which listing those of its reports takes less time.
_FEW = 16


class PairsOperator:
    """Responses to the cells of some views, by a sparse matrix of symbols and the cells they own.

    A symbol of a geometry is orthogonal to one in q of the cells of its view. Where these are few,
    or few of all symbols are wanted, this takes less time than transforms over all symbols.

    Parameters
    ----------
    responses : sequence of SubsetResponse
        Those of the views, whose cells, and whose symbols, follow each other.
    symbols : sequence of ndarray of int
        Symbols that are wanted of each.
    """

    def __init__(
        self, responses: Sequence[SubsetResponse], symbols: Sequence[NDArray[np.int64]]
    ) -> None:
        self._views, self._more = len(responses), float(responses[0].gamma - 1)
        shares = [float(response.share) for response in responses]
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


def _pairs(response: SubsetResponse, symbols: NDArray[np.int64]) -> "scipy.sparse.csr_array":
    """Return which cells (columns) own each of some symbols (rows)."""
    step = max(1, _AT_ONCE // response.cells)
    blocks = [
        scipy.sparse.csr_array(response.belongs(some).astype(np.float64))
        for some in np.split(symbols, range(step, len(symbols), step))
    ]
    return scipy.sparse.vstack(blocks, format="csr")


@lru_cache(maxsize=16)
def _geometry(response: SubsetResponse) -> SubsetResponse | PairsOperator:
    if response.cells * response.subset_size > _MOST_PAIRS:
        return response
    return PairsOperator([response], [np.arange(response.symbols)])


@dataclass(frozen=True, eq=False)
class ReportPart:
    """Reports whose probabilities depend on a few of the attributes.

    Attributes
    ----------
    unperturbed : tuple of int
        Axes, of a table of all answers, of attributes that these reports state unperturbed.
    axes : tuple of int
        Axes of those that they are about perturbed, in the order of the operator's cells.
    operator : Operator
        Of the table of `axes`: a `Channel` with an axis for each, or else one axis for all
        its cells in row-major order.
    counts : ndarray, shape (*sizes of `unperturbed`, *reports)
        Number of each report.
    """

    unperturbed: tuple[int, ...]
    axes: tuple[int, ...]
    operator: Operator | PairsOperator
    counts: Array


def report_parts(
    perturbation: Perturbation, counts: Counts, attributes: Sequence[str]
) -> list[ReportPart]:
    """Return the reports in independent parts, as far as they are about some attributes.

    Of views with others besides, reports by a channel of each attribute, or by k-ary randomized
    response, are taken as reports of what they have in common. Those of a geometry tell nothing
    alone of a margin, and are left out.

    Parameters
    ----------
    counts : Counts
    attributes : sequence of str
        In the order of the schema.

    Returns
    -------
    list of ReportPart
        Of those views that have reports; axes are those of the table of these attributes.
    """
    among = perturbation.schema.positions(attributes)
    if (channel := perturbation.channel(attributes)) is not None:
        numbers = counts.marginal(among).astype(np.float64)
        return [ReportPart((), tuple(range(len(among))), channel, numbers)]
    return [part for part in _parts_by_view(perturbation, counts, among) if part.counts.any()]


def _parts_by_view(
    perturbation: Perturbation, counts: Counts, among: Sequence[int]
) -> Iterator[ReportPart]:
    """Yield the reports of each view that has some."""
    views, shape = perturbation.views, perturbation.schema.shape
    order = np.argsort(counts.cells[:, -1], kind="stable")
    cells, numbers = counts.cells[order], counts.counts[order]
    ends = np.searchsorted(cells[:, -1], [view.first + view.channel.reports for view in views])
    public = perturbation.unperturbed_columns
    columns = [column for column, j in enumerate(public) if j in among]
    place = {j: axis for axis, j in enumerate(among)}
    known = tuple(place[public[column]] for column in columns)
    sizes = tuple(shape[public[column]] for column in columns)
    for view, end, start in zip(views, ends, [0, *ends[:-1]], strict=True):
        kept = tuple(place[j] for j in view.positions if j in place)
        response = response_of(view)
        if end == start or not (kept or known):
            continue
        if not response.is_direct and len(kept) < len(view.positions):
            continue
        symbols = cells[start:end, -1] - view.first
        row = [cells[start:end, column] for column in columns]
        cell = np.ravel_multi_index((*row, symbols), (*sizes, response.symbols))
        sums = np.bincount(cell, numbers[start:end], prod(sizes) * response.symbols)
        table = sums.astype(np.float64).reshape(*sizes, response.symbols)
        if not response.is_direct:
            yield ReportPart(known, kept, _geometry(response), table)
            continue
        others = tuple(len(sizes) + axis for axis, j in enumerate(view.positions) if j not in among)
        table = table.reshape(*sizes, *view.shape).sum(axis=others).reshape(*sizes, -1)
        yield ReportPart(known, kept, response.merged(table.shape[-1]), table)


def response_of(view: View) -> SubsetResponse:
    """Return the channel of a view whose reports are symbols."""
    assert isinstance(view.channel, SubsetResponse)  # noqa: S101 - no other reports are no records
    return view.channel


def report_probabilities(
    perturbation: Perturbation, table: Array, attributes: Sequence[str] | None = None
) -> Array:
    """Return the probability of every report, for a table of some attributes or of all.

    All others are uniform, independently of these, and parts of a report that are independent of
    these are left out.

    Parameters
    ----------
    table : ndarray
        Shares, an axis for each of the attributes in this order.

    Returns
    -------
    ndarray
        A record's shape where reports are records; else of shape (P, symbols), with a row for
        each cell of those attributes of the table that every report states.

    Raises
    ------
    DomainTooLarge
        If there are too many different reports.
    """
    views = perturbation.views
    if attributes is None:
        attributes = perturbation.schema.names
    if (channel := perturbation.channel(attributes)) is not None:
        return channel.forward(table)
    positions = perturbation.schema.positions(attributes)
    public, symbols = perturbation.unperturbed_columns, _check_reports(perturbation)
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
        reports = view.channel.forward(cells) * (view.weight / total)
        result[:, view.first : view.first + view.channel.reports] = reports
    return result


def _check_reports(perturbation: Perturbation) -> int:
    """Return the number of symbols; DomainTooLarge if there are too many different reports."""
    space = perturbation.space
    if space.size > _MOST_REPORTS:
        raise DomainTooLarge(
            f"estimate: {space.size} different reports; expected at most {_MOST_REPORTS}, or"
            " estimate = moment",
            field="estimate",
        )
    return space.shape[-1]


class Likelihood(ABC):
    """Operators of the likelihood of the table of all attributes, which has the schema's shape."""

    @abstractmethod
    def expected(self, table: Array) -> Array:
        """Return the probability of every report, in an array of any shape."""

    @abstractmethod
    def adjoint(self, weights: Array) -> Array:
        """Apply the transpose of :meth:`expected`: the mean weight of each record's reports."""

    @abstractmethod
    def observed(self, counts: Counts) -> Array:
        """Return the share of every report, arranged like :meth:`expected`."""


class ChannelLikelihood(Likelihood):
    """Likelihood by a channel of all attributes, merged for thousands of products."""

    def __init__(self, channel: Channel) -> None:
        self._shape, self._merged = channel.shape, channel.merged()

    def expected(self, table: Array) -> Array:
        return self._merged.forward(table.reshape(self._merged.shape)).reshape(self._shape)

    def adjoint(self, weights: Array) -> Array:
        return self._merged.adjoint(weights.reshape(self._merged.shape)).reshape(self._shape)

    def observed(self, counts: Counts) -> Array:
        return counts.marginal(range(len(self._shape))) / counts.reports


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


class ViewLikelihood(Likelihood):
    """Likelihood of the reports about views, arranged in the shape (P, symbols).

    Where few of the symbols came, only these are computed.

    P is the number of cells of the attributes that every report states.

    Raises
    ------
    DomainTooLarge
        If there are too many different reports.
    """

    def __init__(self, perturbation: Perturbation, counts: Counts) -> None:
        symbols, shape = _check_reports(perturbation), perturbation.schema.shape
        views, public = perturbation.views, perturbation.unperturbed_columns
        free = [j for j in range(len(shape)) if j not in public]
        self._order = [*public, *free]
        self._public, self._free = (tuple(shape[j] for j in some) for some in (public, free))
        self._tree = MarginTree(
            len(free), [tuple(map(free.index, view.positions)) for view in views]
        )
        self._symbols = np.unique(counts.cells[:, -1])
        responses, first = list(map(response_of, views)), [view.first for view in views]
        came = np.split(self._symbols, np.searchsorted(self._symbols, first[1:]))
        owners = [response.mean_owners for response in responses]
        listed = np.dot(owners, list(map(len, came))) <= _FEW * symbols
        self._operators: list[SubsetResponse | PairsOperator]
        if listed:
            own = [some - start for some, start in zip(came, first, strict=True)]
            self._operators = [PairsOperator(responses, own)]
        else:
            self._symbols, came = np.arange(symbols), np.split(np.arange(symbols), first[1:])
            self._operators = list(responses)
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

    def observed(self, counts: Counts) -> Array:
        cells, shape = counts.cells.copy(), (*self._public, len(self._symbols))
        cells[:, -1] = np.searchsorted(self._symbols, cells[:, -1])
        places = np.ravel_multi_index(tuple(cells.T), shape)
        sums = np.bincount(places, counts.counts, prod(shape))
        return sums.reshape(-1, len(self._symbols)) / counts.reports


def likelihood(perturbation: Perturbation, counts: Counts) -> Likelihood:
    """Return the operators of the likelihood, possibly without reports of count 0."""
    if (channel := perturbation.channel(perturbation.schema.names)) is not None:
        return ChannelLikelihood(channel)
    return ViewLikelihood(perturbation, counts)
