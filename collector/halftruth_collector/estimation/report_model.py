"""Probabilities of reports by the views of a perturbation, for likelihoods and simulation.

The reports of one view depend on one margin of the true table, and on nothing else. The number of
reports of a view does not depend on the answers, so given these numbers, the likelihood is a
product over the views.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, combinations
from math import prod

import numpy as np
import scipy
from halftruth_shared import Channel, DomainTooLarge, Perturbation, Schema
from halftruth_shared.channels import Operator, SubsetChannel
from halftruth_shared.channels.axes import Array
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.mechanisms import View
from numpy.typing import NDArray

from ..counts import Counts
from .groups import group_codes, group_sums, views_in_detail
from .set_units import (
    ClassOperator,
    SetClasses,
    memberships,
    response_to_set,
    units_of,
    units_of_cells,
)

#: Number of pairs of a cell and a symbol that are examined at once.
_AT_ONCE = 2**21

#: Largest number of pairs of a cell and a symbol of its subset in a sparse matrix; larger views
#: are summed by transforms.
_MOST_PAIRS = 2**23

#: Digits to which probabilities of reports are proportional.
_DIGITS = 13

#: Largest number of possible reports.
_MOST_REPORTS = 2**24

#: Pairs per symbol up to which a sparse matrix of the observed symbols is faster than transforms.
_FEW = 16


class PairsOperator:
    """Subset responses of several views as one sparse matrix of symbols by cells.

    It is faster than transforms over all symbols if few pairs of a cell and a symbol of its subset
    exist, or if few symbols are needed.

    Parameters
    ----------
    responses : sequence of SubsetChannel
        Their cells are concatenated, and so are their symbols.
    symbols : sequence of ndarray of int
        Needed symbols of each.
    """

    def __init__(
        self, responses: Sequence[SubsetChannel], symbols: Sequence[NDArray[np.int64]]
    ) -> None:
        self._views, self._more = len(responses), float(responses[0].gamma - 1)
        shares = [float(response.share) for response in responses]
        self._lowest = np.repeat(shares, [len(some) for some in symbols])
        blocks = [_pairs(each, some) for each, some in zip(responses, symbols, strict=True)]
        self._cells = scipy.sparse.block_diag(blocks, format="csr")
        self._symbols = self._cells.T.tocsr()

    def forward(self, x: Array) -> Array:
        own = self._more * _product(self._cells, x)
        # The cells of each view sum to 1.
        return np.asarray(self._lowest * (own + x.sum(axis=-1, keepdims=True) / self._views))

    def adjoint(self, y: Array) -> Array:
        scaled = y * self._lowest
        own = self._more * _product(self._symbols, scaled)
        return np.asarray(own + scaled.sum(axis=-1, keepdims=True) / self._views)


def _product(matrix: "scipy.sparse.csr_array", values: Array) -> Array:
    """Multiply a matrix by the last axis of values."""
    flat = values.reshape(-1, values.shape[-1])
    return np.asarray((matrix @ flat.T).T).reshape(*values.shape[:-1], -1)


def _pairs(response: SubsetChannel, symbols: NDArray[np.int64]) -> "scipy.sparse.csr_array":
    """Return the incidence matrix of some symbols (rows) and the cells."""
    step = max(1, _AT_ONCE // response.cells)
    blocks = [
        scipy.sparse.csr_array(response.belongs(some).astype(np.float64))
        for some in np.split(symbols, range(step, len(symbols), step))
    ]
    return scipy.sparse.vstack(blocks, format="csr")


@lru_cache(maxsize=16)
def _geometry(response: SubsetChannel) -> SubsetChannel | PairsOperator:
    if response.cells * response.subset_size > _MOST_PAIRS:
        return response
    return PairsOperator([response], [np.arange(response.symbols)])


@dataclass(frozen=True, eq=False)
class ReportPart:
    """Reports whose probabilities depend on one margin of the true table.

    Attributes
    ----------
    unperturbed : tuple of int
        Axes of the table that these reports state unperturbed.
    axes : tuple of int
        Axes that they depend on otherwise, in the order of the cells of the operator.
    shape : tuple of int
        Shape of the margin over `unperturbed` and `axes`.
    operator : Operator
        Maps the table of `axes` to probabilities of reports: a `Channel` has an axis for each, any
        other operator one axis for all cells in row-major order.
    counts : ndarray, shape (*sizes of `unperturbed`, *reports)
    units : tuple of tuple of int, optional
        Axes of the units of a set about which the reports are. Such reports tell of each unit, with
        the axes that are of no unit.
    by_ticket : bool
        Whether nobody chooses that a report is one of these.
    """

    unperturbed: tuple[int, ...]
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    operator: Operator | PairsOperator
    counts: Array
    units: tuple[tuple[int, ...], ...] | None = None
    by_ticket: bool = False

    def tells_of(self, axes: Collection[int]) -> bool:
        """Return whether the reports identify the interaction of some axes."""
        if not {*axes} <= {*self.margin}:
            return False
        if self.units is None:
            return True
        of_units = {*axes} & {*chain.from_iterable(self.units)}
        return not of_units or any(of_units <= {*unit} for unit in self.units)

    @property
    def margin(self) -> tuple[int, ...]:
        """Axes of the margin."""
        return (*self.unperturbed, *self.axes)

    @property
    def rows(self) -> int:
        """Number of combinations of the unperturbed answers."""
        return prod(self.shape[: len(self.unperturbed)])

    @property
    def cells(self) -> tuple[int, ...]:
        """Shape of a table that the operator maps."""
        if isinstance(self.operator, Channel):
            return self.operator.shape
        return (prod(self.shape[len(self.unperturbed) :]),)

    def probabilities(self, margins: Array) -> Array:
        """Return the probability of each report, shape (…, *counts), from margins (…, *shape)."""
        batch = margins.shape[: margins.ndim - len(self.shape)]
        known = self.shape[: len(self.unperturbed)]
        return self.operator.forward(margins.reshape(*batch, *known, *self.cells))

    def mean_weights(self, weights: Array) -> Array:
        """Return the mean weight of the reports of each cell, the adjoint of `probabilities`."""
        batch = weights.shape[: weights.ndim - self.counts.ndim]
        return self.operator.adjoint(weights).reshape(*batch, *self.shape)


def report_parts(
    perturbation: Perturbation, counts: Counts, attributes: Sequence[str]
) -> list[ReportPart]:
    """Return the reports about some attributes, in independent parts.

    A part is the reports of all records, or of a view. If a view has other attributes as well, the
    reports of channels by attribute and of k-ary randomized response are summed over these; those
    of a geometry do not identify a margin, and are left out.

    Parameters
    ----------
    attributes : sequence of str
        In the order of the schema; parts have the axes of their table.
    """
    return [part for part in _every_part(perturbation, counts, attributes) if part.counts.any()]


def with_reported(perturbation: Perturbation, attributes: Sequence[str]) -> list[str]:
    """Return some attributes and those that a model of them needs as well, in order of the schema.

    If one or two of them are asked only in views with others that are answered by a geometry, the
    model has to be about the others, too: see `report_parts`. Views with fewest cells are taken.
    """
    schema = perturbation.schema
    if perturbation.channel(attributes) is not None:
        return sorted(attributes, key=schema.names.index)
    among = {*schema.positions(attributes)}
    views = views_in_detail(perturbation)
    of_views = [(frozenset(view.positions), _tells_margins(view)) for view in views]
    # A further attribute makes further pairs, but more views usable.
    while True:
        check_deadline()
        usable = [each for each, any_part in of_views if any_part or each <= among]
        terms = (term for length in (1, 2) for term in combinations(sorted(among), length))
        lacking = (term for term in terms if not any(each.issuperset(term) for each in usable))
        needed = ([each for each, _ in of_views if each.issuperset(term)] for term in lacking)
        if (several := next(filter(None, needed), None)) is None:
            return [schema.names[j] for j in sorted(among)]
        sizes = [prod(schema.shape[j] for j in each - among) for each in several]
        among |= min(zip(sizes, map(sorted, several), several, strict=True))[2]


def _every_part(
    perturbation: Perturbation, counts: Counts, attributes: Sequence[str]
) -> list[ReportPart]:
    """Return `report_parts` with those of which no report is left in some fold of the counts."""
    among = perturbation.schema.positions(attributes)
    if (channel := perturbation.channel(attributes)) is not None:
        numbers = counts.marginal(among).astype(np.float64)
        return [ReportPart((), tuple(range(len(among))), channel.shape, channel, numbers)]
    return list(_parts_by_view(perturbation, counts, among))


def _parts_by_view(
    perturbation: Perturbation, counts: Counts, among: Sequence[int]
) -> Iterator[ReportPart]:
    views, shape = views_in_detail(perturbation), perturbation.schema.shape
    order = np.argsort(counts.cells[:, -1], kind="stable")
    cells, numbers = counts.cells[order], counts.counts[order]
    ends = np.searchsorted(cells[:, -1], [view.first + view.symbols for view in views])
    public = perturbation.unperturbed_columns
    columns = [column for column, j in enumerate(public) if j in among]
    place = {j: axis for axis, j in enumerate(among)}
    known = tuple(place[public[column]] for column in columns)
    sizes = tuple(shape[public[column]] for column in columns)
    for view, end, start in zip(views, ends, [0, *ends[:-1]], strict=True):
        kept = tuple(place[j] for j in view.positions if j in place)
        if end == start or not (kept or known):
            continue
        if view.options:
            row = [cells[start:end, column] for column in columns]
            counted = numbers[start:end], [*row, cells[start:end, -1] - view.first]
            part = _part_of_set(perturbation.schema, view, among, known, *counted)
            if part.margin:
                yield replace(part, by_ticket=perturbation.by_ticket)
            continue
        response = response_of(view)
        if not response.is_direct and len(kept) < len(view.positions):
            continue
        symbols = cells[start:end, -1] - view.first
        row = [cells[start:end, column] for column in columns]
        cell = np.ravel_multi_index((*row, symbols), (*sizes, response.symbols))
        sums = np.bincount(cell, numbers[start:end], prod(sizes) * response.symbols)
        table = sums.astype(np.float64).reshape(*sizes, response.symbols)
        operator: Operator | PairsOperator
        if response.is_direct:
            others = [len(sizes) + axis for axis, j in enumerate(view.positions) if j not in among]
            table = table.reshape(*sizes, *view.shape).sum(axis=tuple(others)).reshape(*sizes, -1)
            operator = response.merged(table.shape[-1])
        else:
            operator = _geometry(response)
        margin = (*sizes, *(shape[among[axis]] for axis in kept))
        yield ReportPart(known, kept, margin, operator, table, by_ticket=perturbation.by_ticket)


def _tells_margins(view: View) -> bool:
    """Return whether reports about a view tell of margins of its table."""
    return bool(view.options) or response_of(view).is_direct


def _part_of_set(
    schema: Schema,
    view: View,
    among: Sequence[int],
    known: tuple[int, ...],
    numbers: NDArray[np.int64],
    reports: Sequence[NDArray[np.integer]],
) -> ReportPart:
    """Return the reports of a view of a set; those about other units have the same probability.

    Parameters
    ----------
    known : tuple of int
        Axes of the attributes that reports state unperturbed.
    reports : sequence of ndarray
        Codes of these, and the symbol, of each distinct report.
    """
    groups = [j for j in among if j in view.others]
    options = [j for j in among if j in view.options]
    classes = SetClasses.of(view, groups, units_of(schema, options) if options else [])
    if not classes.units:
        options = []
    sizes = tuple(schema.shape[among[axis]] for axis in known)
    own = tuple(schema.shape[j] for j in options)
    of_cells = np.zeros((0, 1))
    if options:
        of_cells = units_of_cells(schema, options, classes.units)
    margin = np.repeat(np.arange(classes.cells), of_cells.shape[1])
    chances = classes.chances(margin, np.tile(of_cells, (1, classes.cells)))
    # People whom the survey excludes, as of more options than can be chosen, report something, too.
    chances /= chances.sum(axis=1, keepdims=True)
    place = np.ravel_multi_index(
        (*reports[:-1], classes.of_symbols(reports[-1])), (*sizes, classes.number)
    )
    table = np.bincount(place, numbers, prod(sizes) * classes.number).astype(np.float64)
    axes = tuple(among.index(j) for j in (*classes.kept, *options))
    shape = (*sizes, *classes.sizes, *own)
    told = tuple(tuple(map(among.index, unit)) for unit in classes.units if min(unit) >= 0)
    counted = table.reshape(*sizes, -1)
    return ReportPart(known, axes, shape, ClassOperator(chances), counted, told)


def response_of(view: View) -> SubsetChannel:
    """Return the channel of a view whose reports are symbols."""
    assert isinstance(view.channel, SubsetChannel)  # noqa: S101 - all others report records
    return view.channel


def report_probabilities(
    perturbation: Perturbation, table: Array, attributes: Sequence[str] | None = None
) -> Array:
    """Return the probability of every report, given a table of some or all attributes.

    The other attributes are uniform and independent of these. Of a set, all possible answers are
    equally likely given those of its options in the table.

    Parameters
    ----------
    table : ndarray
        Shares, an axis for each of the attributes in this order.

    Returns
    -------
    ndarray
        Shape of the table if reports are records; otherwise (P, symbols), a row for each
        combination of the attributes of the table that reports state unperturbed.

    Raises
    ------
    DomainTooLarge
        If there are too many possible reports.
    """
    views = perturbation.views
    if attributes is None:
        attributes = perturbation.schema.names
    if (channel := perturbation.channel(attributes)) is not None:
        return channel.forward(table)
    arrangement, symbols = _Arrangement.of(perturbation, attributes), _check_reports(perturbation)
    arranged = arrangement.arranged(table)
    result, total = np.empty((len(arranged), symbols)), sum(view.weight for view in views)
    for view in views:
        check_deadline()
        margin = arranged.sum(axis=arrangement.others(view))
        chances = arrangement.chances(view, view.weight / total, margin)
        result[:, view.first : view.first + view.symbols] = chances
    return result


@dataclass(frozen=True, eq=False)
class _Arrangement:
    """Table of some attributes as views see it, first those that reports state unperturbed.

    Attributes
    ----------
    order : list of int
        Axes of the table, those of unperturbed attributes first.
    free : list of int
        Positions of the other attributes, in this order.
    sizes : tuple of int
        Numbers of answers of `free`.
    groups : dict of int to ndarray, shape (groups, answers)
        Matrix that sums the answers of each group, by position of the collapsed attribute.
    """

    order: list[int]
    free: list[int]
    sizes: tuple[int, ...]
    groups: dict[int, Array]

    @classmethod
    def of(cls, perturbation: Perturbation, attributes: Sequence[str]) -> "_Arrangement":
        schema, public = perturbation.schema, perturbation.unperturbed_columns
        positions = schema.positions(attributes)
        order = np.lexsort((positions, [j not in public for j in positions])).tolist()
        free = [positions[axis] for axis in order if positions[axis] not in public]
        groups = {
            j: group_sums(group_codes(each))
            for j, each in enumerate(schema.attributes)
            if each.collapsed
        }
        return cls(order, free, tuple(schema.shape[j] for j in free), groups)

    def arranged(self, table: Array) -> Array:
        """Return the table as (combinations of the unperturbed answers, *sizes of `free`)."""
        return table.transpose(self.order).reshape(-1, *self.sizes)

    def others(self, view: View) -> tuple[int, ...]:
        """Return the axes of the arranged table about which a view does not ask."""
        return tuple(axis for axis, j in enumerate(self.free, 1) if j not in view.positions)

    def key(self, view: View) -> Hashable:
        """Return what its probabilities of reports depend on, but for its weight."""
        free, collapsed = self.free, view.collapsed
        asked = [(j if j in free or j in collapsed else None) for j in view.positions]
        return view.response, view.shape, tuple(asked), collapsed, bool(view.options)

    def chances(self, view: View, weight: float, margin: Array) -> Array:
        """Return the probabilities of a view's reports, shape (rows, reports).

        Parameters
        ----------
        weight : float
            Probability of the view.
        margin : ndarray
            The arranged table without `others`; further attributes of the view are uniform.
        """
        axis, of_options = 0, list[int]()
        for j, size in zip(view.positions, view.shape, strict=True):
            if j in view.options and j not in self.free:
                continue
            axis += 1
            if j in view.options:
                of_options.append(axis)
            elif j not in self.free:
                # Also of an attribute that a table of groups has not in this form.
                count = size if j not in view.collapsed else len(self.groups[j].T)
                margin = np.expand_dims(margin, axis).repeat(count, axis) / count
            if j in view.collapsed:
                margin = np.tensordot(self.groups[j], margin, axes=(1, axis))
                margin = np.moveaxis(margin, 0, axis)
        if view.options:
            last = range(margin.ndim - len(of_options), margin.ndim)
            margin = np.moveaxis(margin, of_options, list(last))
            return self._of_set(view, margin) * weight
        return view.channel.forward(margin.reshape(len(margin), -1)) * weight

    def _of_set(self, view: View, margin: Array) -> Array:
        """Return the probabilities of the reports about a set, options of the table last."""
        response = response_to_set(view)
        known = memberships(view, [j for j in self.free if j in view.options])
        people = margin.reshape(len(margin), response.groups, -1)
        # γ can exceed all floating-point numbers, unlike its product with the share.
        share, more = float(response.share), float(response.share * (response.gamma - 1))
        chances = share * margin.reshape(len(margin), -1).sum(axis=1)[:, None, None]
        return np.asarray((chances + more * (people @ known)).reshape(len(margin), -1))


class ReportKinds:
    """Probabilities of the kinds of reports about some attributes, from a table of these.

    Reports of one kind have proportional probabilities, whatever the table, so that nobody learns
    more from knowing which of them was sent. Hundreds of views of other attributes have few kinds.
    As for `report_probabilities`, the other attributes are uniform and independent of these, and
    all possible answers to a set are equally likely given those of its options in the table.

    Parameters
    ----------
    perturbation : Perturbation
    attributes : sequence of str
        Attributes of the table, in this order.

    Raises
    ------
    DomainTooLarge
        If there are too many possible reports.
    """

    def __init__(self, perturbation: Perturbation, attributes: Sequence[str]) -> None:
        schema = perturbation.schema
        shape = [schema.shape[j] for j in schema.positions(attributes)]
        self._channel = perturbation.channel(attributes)
        if self._channel is not None:
            self.number = prod(shape)
            return
        _check_reports(perturbation)
        self._arrangement = _Arrangement.of(perturbation, attributes)
        views: dict[Hashable, View] = {}
        for view in perturbation.views:
            key = self._arrangement.key(view)
            weight = view.weight + (views[key].weight if key in views else 0)
            views[key] = replace(view, weight=weight)
        total = sum(view.weight for view in views.values())
        merged: dict[tuple[int, ...], list[Array]] = {}
        self._parts: list[tuple[tuple[int, ...], Callable[[Array], Array]]] = []
        self.number = 0
        for view in views.values():
            check_deadline()
            others = self._arrangement.others(view)
            sizes = [n for axis, n in enumerate(self._arrangement.sizes, 1) if axis not in others]
            chances = partial(self._arrangement.chances, view, view.weight / total)
            if prod(sizes) * view.symbols > _MOST_PAIRS:
                self._parts.append((others, chances))
                self.number += view.symbols
                continue
            alone = np.eye(prod(sizes)).reshape(-1, *sizes)
            merged.setdefault(others, []).append(_without_proportional(chances(alone)))
        for others, each in merged.items():
            every = _without_proportional(np.concatenate(each, axis=1))
            self._parts.append((others, partial(_product_of_margin, every)))
            self.number += every.shape[1]
        self.number *= prod(shape) // prod(self._arrangement.sizes)

    def probabilities(self, table: Array) -> Array:
        """Return the probability of each kind; the first axis is as for `report_probabilities`."""
        if self._channel is not None:
            return self._channel.forward(table)
        arranged = self._arrangement.arranged(table)
        rows = [chances(arranged.sum(axis=others)) for others, chances in self._parts]
        return np.concatenate(rows, axis=1)


def _product_of_margin(chances: Array, margin: Array) -> Array:
    return np.asarray(margin.reshape(len(margin), -1) @ chances)


def _without_proportional(chances: Array) -> Array:
    """Add up the columns that are proportional."""
    total = chances.sum(axis=0)
    relative = np.round(chances / total, _DIGITS)
    _, first, kind = np.unique(relative, axis=1, return_index=True, return_inverse=True)
    return np.asarray(chances[:, first] * (np.bincount(kind.ravel(), total) / total[first]))


def _check_reports(perturbation: Perturbation) -> int:
    """Return the number of symbols; raise DomainTooLarge for too many possible reports."""
    space = perturbation.space
    if space.size > _MOST_REPORTS:
        raise DomainTooLarge(
            f"estimate: {space.size} different reports; expected at most {_MOST_REPORTS}, or"
            " estimate = moment",
            field="estimate",
        )
    return space.shape[-1]


class Likelihood(ABC):
    """Operators of the likelihood of the table of all or some attributes."""

    def reports(self, counts: Counts) -> float:
        """Return the number of reports that tell of the table."""
        return counts.reports

    @abstractmethod
    def expected(self, table: Array) -> Array:
        """Return the probability of every report."""

    @abstractmethod
    def adjoint(self, weights: Array) -> Array:
        """Return the mean weight of the reports of each record."""

    @abstractmethod
    def observed(self, counts: Counts) -> Array:
        """Return the share of every report, in the arrangement of `expected`."""


class ChannelLikelihood(Likelihood):
    """Likelihood of reports that are records."""

    def __init__(self, channel: Channel) -> None:
        self._shape, self._merged = channel.shape, channel.merged()

    def expected(self, table: Array) -> Array:
        return self._merged.forward(table.reshape(self._merged.shape)).reshape(self._shape)

    def adjoint(self, weights: Array) -> Array:
        return self._merged.adjoint(weights.reshape(self._merged.shape)).reshape(self._shape)

    def observed(self, counts: Counts) -> Array:
        return counts.marginal(range(len(self._shape))) / counts.reports


class PartLikelihood(Likelihood):
    """Likelihood of the reports about some attributes, in the parts of `report_parts`.

    Given the numbers of reports of the parts, other questions have no effect.
    """

    def __init__(
        self, perturbation: Perturbation, counts: Counts, attributes: Sequence[str]
    ) -> None:
        positions = perturbation.schema.positions(attributes)
        self._shape = tuple(perturbation.schema.shape[j] for j in positions)
        self._perturbation, self._attributes = perturbation, attributes
        self._parts = _every_part(perturbation, counts, attributes)
        numbers = np.array([part.counts.sum() for part in self._parts])
        self._chances = numbers / max(numbers.sum(), 1.0)
        self._ends = np.cumsum([part.counts.size for part in self._parts])[:-1]

    def expected(self, table: Array) -> Array:
        found = [np.zeros(0)]
        for part, chance in zip(self._parts, self._chances, strict=True):
            others = tuple(j for j in range(table.ndim) if j not in part.margin)
            margin = table.sum(axis=others).transpose(np.argsort(np.argsort(part.margin)))
            found.append(chance * part.probabilities(margin).ravel())
        return np.concatenate(found)

    def adjoint(self, weights: Array) -> Array:
        table = np.zeros(self._shape)
        of_parts = np.split(weights, self._ends) if self._parts else []
        for part, chance, own in zip(self._parts, self._chances, of_parts, strict=True):
            mean = part.mean_weights(own.reshape(part.counts.shape))
            sizes = [size if j in part.margin else 1 for j, size in enumerate(self._shape)]
            table += chance * mean.transpose(np.argsort(part.margin)).reshape(sizes)
        return table

    def reports(self, counts: Counts) -> float:
        return float(self._numbers(counts).sum())

    def observed(self, counts: Counts) -> Array:
        numbers = self._numbers(counts)
        return np.asarray(numbers / max(numbers.sum(), 1.0))

    def _numbers(self, counts: Counts) -> Array:
        parts = _every_part(self._perturbation, counts, self._attributes)
        return np.concatenate([np.zeros(0), *(part.counts.ravel() for part in parts)])


class MarginTree:
    """Several margins of a table, computed by sums over one axis at a time.

    Margins with the same last axes share most of the sums.

    Parameters
    ----------
    axes : int
        Number of axes of the table, after a first axis that all margins keep.
    wanted : sequence of tuple of int
        Axes of each margin.
    """

    def __init__(self, axes: int, wanted: Sequence[tuple[int, ...]]) -> None:
        everything = tuple(range(axes))
        self._numbers = {everything: 0}
        #: For each margin, the number of the margin from which it is summed, and the summed axis.
        self._sums: list[tuple[int, int]] = []
        self.wanted = [self._find(kept, everything) for kept in wanted]

    def _find(self, kept: tuple[int, ...], everything: tuple[int, ...]) -> int:
        way = [kept]
        while way[-1] not in self._numbers:
            last = max(set(everything).difference(way[-1]))
            way.append(tuple(sorted((*way[-1], last))))
        for table, margin in zip(way[:0:-1], way[-2::-1], strict=True):
            check_deadline()
            [axis] = (axis for axis, j in enumerate(table, 1) if j not in margin)
            self._sums.append((self._numbers[table], axis))
            self._numbers[margin] = len(self._sums)
        return self._numbers[kept]

    def margins(self, table: Array) -> list[Array]:
        """Return the margins of a table."""
        tables = [table]
        for number, axis in self._sums:
            tables.append(tables[number].sum(axis=axis))
        return [tables[number] for number in self.wanted]

    def adjoint(self, margins: Sequence[Array], shape: tuple[int, ...]) -> Array:
        """Return the sum of margins, each repeated along its missing axes."""
        tables = [np.zeros(shape)]
        for number, axis in self._sums:
            tables.append(np.zeros(np.delete(tables[number].shape, axis)))
        for number, margin in zip(self.wanted, margins, strict=True):
            tables[number] += margin.reshape(tables[number].shape)
        for (number, axis), margin in zip(self._sums[::-1], tables[:0:-1], strict=True):
            tables[number] += np.expand_dims(margin, axis)
        return tables[0]


class ViewLikelihood(Likelihood):
    """Likelihood of reports that are symbols of views.

    Reports have the shape (P, symbols) with P combinations of the unperturbed attributes. If few of
    the symbols were observed, only these are computed.
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
        self._operators: list[SubsetChannel | PairsOperator]
        if listed:
            own = [some - start for some, start in zip(came, first, strict=True)]
            self._operators = [PairsOperator(responses, own)]
        else:
            self._symbols, came = np.arange(symbols), np.split(np.arange(symbols), first[1:])
            self._operators = list(responses)
        weights = np.array([view.weight for view in views])
        self._chances = np.repeat(weights / weights.sum(), list(map(len, came)))
        # First cell of each further view, and first cell and symbol of each further operator.
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


def likelihood(
    perturbation: Perturbation, counts: Counts, attributes: Sequence[str] | None = None
) -> Likelihood:
    """Return the operators of the likelihood of some reports, for all or some attributes.

    Raises
    ------
    DomainTooLarge
        If there are too many possible reports.
    """
    collapsed = any(
        max(view.positions) >= len(perturbation.schema.names)
        for view in views_in_detail(perturbation)
    )
    if attributes is None and (collapsed or perturbation.schema.sets):
        attributes = perturbation.schema.names
    if attributes is not None:
        return PartLikelihood(perturbation, counts, attributes)
    if (channel := perturbation.channel(perturbation.schema.names)) is not None:
        return ChannelLikelihood(channel)
    return ViewLikelihood(perturbation, counts)
