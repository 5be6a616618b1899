"""Tables composed of pooled components, with their variances and covariances.

Their axes are P public attributes and then m attributes of views. Given the number of reports of
each view, the weight of a report about view v for a cell c of the table over T is

    w = [its public answers are those of c]·(N_v/(N·n_T) + ω_v·Σ_u R_W(c,u)·[y ∈ A_u]/κ_v),

and the estimate, Σ_v of the mean of w over the reports of v, has the variance
Σ_v (E w² − (E w)²)/N_v. Both moments are estimated from the table itself, which is pooled over all
views, so they are as precise for views with few reports as for views with many.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array, Places, joint_cell
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from ..table import ReportDistribution, Table, with_sums
from ..variances import UnitVariance
from . import agreement
from .influence import ReportInfluence
from .overlaps import Overlaps, SecondMoments

#: A variance below this share of its expected value is a rounding error.
_ROUNDING = 1e-12

#: Subset of axes, as a mask.
Subset = NDArray[np.bool_]

#: Shares of the cells of some axes, pooled over views, shape (*public, d_j for each axis).
Components = Callable[[Sequence[int]], Array]


@dataclass(frozen=True, eq=False)
class Grid:
    """A table and its margins over the axes that are not public.

    Attributes
    ----------
    value, means : ndarray, shape (*public, d_1 + 1, …, d_m + 1)
        π̂, and Σ_{∅≠U⊆W} (n_U/Ω_U)·θ_U(c_U), which is n_T·(R_W π)(c). The last place along an axis
        belongs to the margin without this axis.
    reports : int
        N.
    """

    value: Array
    means: Array
    overlaps: Overlaps
    reports: int

    @classmethod
    def of(cls, shares: Array, components: Components, overlaps: Overlaps, reports: int) -> "Grid":
        """Compose a table of the shares of the public cells and its components."""
        sizes, public = overlaps.sizes, shares.shape
        grids = np.zeros((2, *public, *(size + 1 for size in sizes)))
        grids[0][_at(-1, sizes)] = shares
        for subset, inside in enumerate(agreement.members(len(sizes)).tolist()):
            check_deadline()
            if not any(inside):
                continue
            sums = components([axis for axis, within in enumerate(inside) if within])
            sums = sums.reshape(
                *public, *(d if within else 1 for d, within in zip(sizes, inside, strict=True))
            )
            place = _margin(inside)
            weight = overlaps.shares[subset]
            grids[0][place], grids[1][place] = sums * weight, sums * weight**2
        for axis, size in enumerate(sizes, 1 + len(public)):
            cells, margin = np.split(grids, [size], axis)
            cells -= cells.mean(axis=axis, keepdims=True)
            cells *= size
            cells += margin
            cells[0] /= size
        return cls(grids[0], grids[1], overlaps, reports)

    @classmethod
    def expected(cls, table: Array, overlaps: Overlaps, reports: int) -> "Grid":
        """Compose the expected table, if the shares have the given values; public axes first."""
        free = len(overlaps.sizes)
        axes = range(table.ndim - free, table.ndim)

        def component(inside: Sequence[int]) -> Array:
            others = tuple(axis for place, axis in enumerate(axes) if place not in inside)
            subset = sum(1 << (free - 1 - axis) for axis in inside)
            return np.asarray(table.sum(axis=others) * overlaps.pooled[subset])

        return cls.of(table.sum(axis=tuple(axes)), component, overlaps, reports)

    @property
    def public(self) -> int:
        """Number of public axes."""
        return self.value.ndim - len(self.overlaps.sizes)

    @property
    def table(self) -> Array:
        """π̂ without margins."""
        return np.asarray(self.value[_at(slice(-1), self.overlaps.sizes)])

    def variance(self, target: Target) -> Array:
        """Return the variance of every cell of the table, NaN where not identified."""
        sizes, reports, table = self.overlaps.sizes, self.reports, self.table
        if reports < 2:
            return np.full(table.shape, np.nan)
        constant, by_margin, by_overlap = self.overlaps.second_moments()
        everybody = _at(slice(-1, None), sizes)
        shares = self.value[everybody]
        result = agreement.expand(by_margin, sizes) * self.value
        result -= agreement.expand(by_overlap, sizes) * self.means**2
        result[everybody] += constant * shares
        result = self._folded(result)
        even = shares / prod(sizes)
        result += (1 - shares) * (2 * table - even) / prod(sizes) / (reports - 1)
        known = constant + 1 / reports
        return _determined(_of(result, table, table**2, reports, target), known, target)

    def unit_variance(self, target: Target) -> UnitVariance:
        """N times the variance of every cell of the table as a function of its share.

        Other people are in proportion to the estimates of their cells, cut at 0. A table in which a
        cell c has the share π is then α times these estimates q plus β more people in c.
        """
        sizes, shape, table = self.overlaps.sizes, self.table.shape, np.maximum(self.table, 0.0)
        sums = (self.overlaps.constants, self.overlaps.slopes, self.overlaps.squares)
        unit = Overlaps(sizes, self.overlaps.pooled, *(self.reports * each for each in sums))
        even = unit.unit_variance(prod(shape[: self.public]), shape, target)
        people = Grid.expected(table / table.sum(), unit, self.reports)
        constant, by_margin, by_overlap = unit.second_moments(corrected=False)
        # The mean weights of people in c, and their own moments, are equal for all cells.
        own = agreement.subset_sums(unit.dimensions * unit.shares)
        q, known = people.table, people.value[_at(slice(-1, None), sizes)]
        mean = self._folded(agreement.expand(by_margin, sizes) * people.value) + constant * known
        squared = self._folded(agreement.expand(by_overlap, sizes) * people.means**2)
        product = self._folded(agreement.expand(by_overlap * own, sizes) * people.means)
        others, cells = 1 - q, prod(sizes)
        alone = others < _ROUNDING

        def variance(share: float) -> Array:
            alpha = (1 - share) / np.where(alone, 1.0, others)
            beta = share - alpha * q
            within = alpha * known + beta
            result = alpha * mean + beta * (by_margin.sum() + constant)
            result -= alpha**2 * squared + 2 * alpha * beta * product
            result -= beta**2 * float(by_overlap @ own**2)
            result += (1 - within) * (2 * share - within / cells) / cells
            result -= share * (1 - share) * (target == "respondents")
            return np.where(alone, even.at(share), result)

        return UnitVariance.through(*map(variance, (0.0, 0.5, 1.0)))

    def _folded(self, margins: Array) -> Array:
        """Sum numbers of the cells of all margins over the margins that contain each cell."""
        for axis, size in enumerate(self.overlaps.sizes, self.public):
            margins = np.add(*np.split(margins, [size], axis))
        return margins

    def covariance(self, target: Target) -> Array:
        """Return the covariance of the cells of the table, shape (cells, cells)."""
        sizes, reports, overlaps = self.overlaps.sizes, self.reports, self.overlaps
        known, cells = prod(self.value.shape[: self.public]), prod(sizes)
        support = self.value.reshape(known, *self.value.shape[self.public :])
        means = self.means.reshape(support.shape)
        shares = np.repeat(support[_at(-1, sizes)], cells)
        table = self.table.ravel()
        constant = agreement.matrix(overlaps.constant_kernel(), sizes) / cells**2
        same = np.multiply.outer(shares[::cells], constant).reshape(known, *sizes, *sizes)
        subtracted = np.zeros((known * cells, known * cells))
        for subset, inside in enumerate(agreement.members(len(sizes)).tolist()):
            check_deadline()
            if not overlaps.squares[subset]:
                continue
            place = _margin(inside)
            kept = [d if within else 1 for d, within in zip(sizes, inside, strict=True)]
            kernel = overlaps.kernel_matrix(subset) / cells
            weighted = kernel * support[place].reshape(known, 1, -1)
            products = overlaps.slopes[subset] * weighted @ kernel.T
            same += products.reshape(known, *kept, *kept)
            mean = np.broadcast_to(means[place], (known, *sizes)).ravel() / cells
            subtracted += overlaps.squares[subset] * np.multiply.outer(mean, mean)
        result = -subtracted
        blocks = result.reshape(known, cells, known, cells)
        for cell in range(known):
            check_deadline()
            blocks[cell, :, cell] += same[cell].reshape(cells, cells)
        # Contributions of the public answers, alone and together with the others.
        rest = table - shares / cells
        equal = np.kron(np.eye(known), np.full((cells, cells), 1 / cells))
        squared = np.multiply.outer(table, table)
        result += equal * np.add.outer(table, rest) / (reports - 1)
        result -= (squared - np.multiply.outer(rest, rest)) / (reports - 1)
        return _of(result, np.diag(table), squared, reports, target)


def _at(place: int | slice, sizes: Sequence[int]) -> tuple[Any, ...]:
    """Index a place along all axes that are not public."""
    return (..., *[place] * len(sizes))


def _margin(inside: Sequence[bool]) -> tuple[Any, ...]:
    """The cells of a margin over some axes that are not public."""
    return (..., *(slice(-1) if within else slice(-1, None) for within in inside))


def _of(result: Array, common: Array, product: Array, reports: int, target: Target) -> Array:
    """Convert a covariance for *population* to the target.

    The sampling part is (common − product)/N, the covariance if all answers were known. The
    product of two estimates is biased by their covariance.
    """
    if target == "population":
        return result
    return np.asarray(result - (common - product + result) / reports)


def _determined(variance: Array, known: float, target: Target) -> Array:
    """Replace variances that are negative or rounding errors."""
    if target == "population":
        return np.where(variance > _ROUNDING * known, variance, np.nan)
    return np.where(variance < -_ROUNDING * known, np.nan, np.maximum(variance, 0.0))


class PooledTable(Table):
    """Estimate of a table from reports about views.

    Parameters
    ----------
    grid : Grid
        The public attributes first.
    order : tuple of int
        Axis of the grid for each attribute.
    """

    def __init__(
        self,
        attributes: tuple[str, ...],
        grid: Grid,
        order: tuple[int, ...],
        influence: ReportInfluence,
    ) -> None:
        self.axes, self.reports = attributes, grid.reports
        self._grid, self._order, self._influence = grid, order, influence
        self._overlaps: dict[tuple[int, ...], Overlaps] = {}
        self._moments: dict[tuple[int, ...], SecondMoments] = {}

    @property
    def value(self) -> Array:
        return self._grid.table.transpose(self._order)

    @property
    def effective_reports(self) -> Array:
        """Effective reports of each cell, of the views with all attributes of the table."""
        return self._influence.effective(self._grid.table).transpose(self._order)

    def report_distributions(self, shares: Array) -> list[ReportDistribution]:
        cells = np.arange(shares.size).reshape(self._grid.table.shape).transpose(self._order)
        arranged = shares.transpose(np.argsort(self._order))
        return [
            replace(each, weights=each.weights[:, cells.ravel()])
            for each in self._influence.report_distributions(arranged)
        ]

    def reports_of_cells(self) -> Iterator[ReportDistribution]:
        shape = self._grid.table.shape
        cells = np.arange(self.value.size).reshape(shape).transpose(self._order).ravel()
        known = prod(shape[: self._grid.public])
        for each in self._influence.reports_of_cells(known):
            yield replace(each, chances=each.chances[cells], weights=each.weights[:, cells])

    def _variance(self, target: Target) -> Array:
        return self._grid.variance(target).transpose(self._order)

    def _unit_variance(self, target: Target) -> UnitVariance:
        return self._grid.unit_variance(target).transpose(self._order)

    def _covariance(self, target: Target) -> Array:
        shape = self._grid.table.shape
        matrix = self._grid.covariance(target).reshape(*shape, *shape)
        second = [axis + len(shape) for axis in self._order]
        return matrix.transpose([*self._order, *second]).reshape(self.value.size, -1)

    @cached_property
    def _margins(self) -> Grid:
        """The grid with its sums over public axes."""
        grid = self._grid
        support, means = (with_sums(each, grid.public) for each in (grid.value, grid.means))
        return Grid(support, means, grid.overlaps, grid.reports)

    @cached_property
    def _public(self) -> Subset:
        return np.arange(self._grid.value.ndim) < self._grid.public

    @property
    def margins(self) -> Array:
        return self._margins.value.transpose(self._order)

    def _overlaps_with(self, free: Subset) -> Overlaps:
        """Return the overlaps of the margin over some axes that are not public."""
        axes = tuple(np.flatnonzero(free[self._grid.public :]).tolist())
        if axes not in self._overlaps:
            self._overlaps[axes] = self._grid.overlaps.margin(axes)
        return self._overlaps[axes]

    def _margin_variance(self, target: Target) -> Array:
        # The share of all people is exactly 1.
        result = np.full(self._margins.value.shape, np.nan)
        for inside in agreement.members(result.ndim)[1:]:
            check_deadline()
            place = tuple(slice(-1) if within else -1 for within in inside)
            result[place] = self._margin(inside).variance(target)
        return result.transpose(self._order)

    def _margin(self, inside: Subset) -> Grid:
        """Index the margins over some axes in an array of a table and its margins."""
        place = tuple(
            -1 if not within else slice(-1) if public else slice(None)
            for within, public in zip(inside, self._public, strict=True)
        )
        return Grid(
            self._margins.value[place],
            self._margins.means[place],
            self._overlaps_with(inside),
            self._grid.reports,
        )

    def _margin_covariance(self, first: Places, second: Places, target: Target) -> Array:
        joint_cell(first, second, self.margins.shape)
        axes = np.argsort(self._order)
        cells, others = first[:, axes], second[:, axes]
        sums = np.array(self._margins.value.shape) - 1
        named = np.concatenate([cells < sums, others < sums], axis=1)
        # Sorting numbers is much faster than sorting rows; tables have too few axes for overflow.
        numbers = named @ (1 << np.arange(named.shape[1]))
        order = np.argsort(numbers, kind="stable")
        result = np.empty(len(first))
        begins = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        for rows in np.split(order, begins)[1:]:
            check_deadline()
            result[rows] = self._of_pattern(cells[rows], others[rows], named[rows[0]], target)
        return result

    def _of_pattern(self, first: Places, second: Places, named: Subset, target: Target) -> Array:
        """Return covariances if the cells of all rows name the same attributes."""
        support, means, reports = self._margins.value, self._margins.means, self.reports
        if reports < 2:
            return np.full(len(first), np.nan)
        in_first, in_second = np.split(named, 2)
        sums = np.array(support.shape) - 1
        strides = np.array([prod(support.shape[axis + 1 :]) for axis in range(support.ndim)])

        def at(values: Array, places: Places, axes: Subset) -> Array:
            """Return values of the margins over some axes, shape (margins, R)."""
            steps = (places - sums) * strides
            return np.asarray(np.take(values, sums @ strides + axes.astype(np.int64) @ steps.T))

        free = np.flatnonzero(~self._public & (in_first | in_second))
        overlaps = self._overlaps_with(in_first | in_second)
        bits = 1 << np.arange(len(free))[::-1]
        masks = int(in_first[free] @ bits), int(in_second[free] @ bits)
        # A rule and its reverse need the same values.
        known = (*free.tolist(), *masks)
        if known not in self._moments:
            self._moments[known] = overlaps.second_moments(*masks)
        constant, by_margin, by_overlap = self._moments[known]
        axes = np.tile(self._public, (len(overlaps.pooled), 1))
        axes[:, free] = agreement.members(len(free))
        both = at(support, np.minimum(first, second), axes)
        result = constant * both[0] + by_margin @ both
        result -= by_overlap @ (at(means, first, axes) * at(means, second, axes))
        # Shares of the public answers of each cell and of both cells, and of all answers.
        one, other = (at(support, places, axes[[0, -1]]) for places in (first, second))
        cells = agreement.products(overlaps.sizes)[list(masks)]
        within = both[masks[0]] / cells[1] + both[masks[1]] / cells[0] - both[0] / cells.prod()
        rests = (one[1] - one[0] / cells[0]) * (other[1] - other[0] / cells[1])
        result += (within - one[1] * other[1] + rests) / (reports - 1)
        return _of(result, both[-1], one[1] * other[1], reports, target)
