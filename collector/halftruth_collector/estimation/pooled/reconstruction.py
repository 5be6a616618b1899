"""Reconstruction from reports about views, by components that are pooled over all views.

The table over T splits into components, one for each U ⊆ T (see `agreement`). Component U is the
same in every table that it belongs to, and estimated from all views that ask about U, so that all
tables are consistent with each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from halftruth_shared import DomainTooLarge, Perturbation
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array, apply_along
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.errors import NotReportedYet
from numpy.typing import NDArray

from ...counts import Counts
from ..groups import GroupedPerturbation, group_codes, places_beyond, views_in_detail
from ..identified import IdentifiedSets
from ..table import Reconstruction, Table, largest_expected_weight
from ..variances import UnitVariance
from .combined import Combination, CombinedTable, PairTable
from .decoding import Decoded
from .influence import ReportInfluence
from .overlaps import Overlaps, Views
from .tables import Grid, PooledTable

#: Number of reports of a forecast, which is in proportion to one over it.
_MANY = 10**9

#: Largest number of cells of a table and its margins together.
_MOST_CELLS = 2**22


class PooledReconstruction(Reconstruction):
    """Reconstruction of the answers from reports about views.

    Given how many reports each view has, all estimates are unbiased. Their variances have a closed
    form, exact but for the approximation in `overlaps.report_moments` for geometries.
    """

    def __init__(self, perturbation: Perturbation) -> None:
        super().__init__(perturbation)
        self._views = views_in_detail(perturbation)
        self._public = perturbation.unperturbed_columns
        #: Position of the groups of each collapsed attribute.
        self._beyond = places_beyond(self.schema)
        self._columns = Views(self._views, len(self.schema.names) + len(self._beyond))
        attributes = self.schema.attributes
        groups = [len(attributes[j].groups.names) for j in self._beyond]
        #: Number of answers, or of groups of answers, at each position.
        self._sizes = (*self.schema.shape, *groups)
        self._columns = Views(self._views, len(self._sizes))
        self._free = tuple(j for j in range(len(self.schema.names)) if j not in self._public)
        self._pooled: Decoded | None = None

    @cached_property
    def identified_sets(self) -> IdentifiedSets:
        asked = self._columns.asked[:, : len(self.schema.names)]
        return IdentifiedSets(asked, tuple(self._public))

    def complete(self, counts: Counts) -> bool:
        return bool(self._of(counts).by_view @ self._columns.asked[:, self._free].all(axis=1))

    def table(self, counts: Counts, attributes: Sequence[str]) -> PooledTable | CombinedTable:
        self.check(attributes)
        names, positions = tuple(attributes), self.schema.positions(attributes)
        detail = self._table(names, positions, counts)
        by_view = self._of(counts).by_view
        if (j := self._combined(positions, by_view)) is None:
            return detail
        groups = self._table(names, self._with_groups(positions, j), counts)
        return CombinedTable(detail, groups, positions.index(j), self._combination(j, by_view))

    def pair(self, counts: Counts, attributes: Sequence[str]) -> Table:
        perturbation = self.perturbation
        if not isinstance(perturbation, GroupedPerturbation):
            return self.table(counts, attributes)
        detail = perturbation.derive(_in_detail)
        return detail._pair(counts, tuple(attributes), self.table(counts, attributes))

    def _pair(self, counts: Counts, names: tuple[str, ...], groups: Table) -> Table:
        """Return the table of the groups of two attributes with their reports in detail."""
        by_view, details = self._of(counts).by_view, []
        for axis, (name, j) in enumerate(zip(names, self.schema.positions(names), strict=True)):
            if j in self._beyond and by_view @ self._columns.asked[:, j]:
                table = self._table((name,), (j,), counts)
                details.append((axis, table, self._combination(j, by_view)))
        return PairTable(groups, details) if details else groups

    def _table(
        self, names: tuple[str, ...], positions: tuple[int, ...], counts: Counts
    ) -> PooledTable:
        grid, order = self._grid(counts, positions)
        influence = self._influence(positions, self._of(counts).by_view, grid.overlaps)
        return PooledTable(names, grid, order, influence)

    def expected_table(
        self, attributes: Sequence[str], shares: Array, reports: int
    ) -> PooledTable | CombinedTable:
        """Return the expected table, if every view has its expected share of the reports."""
        self.check(attributes)
        return self._expected_table(attributes, shares, self._columns.weights * reports, reports)

    def _expected_table(
        self, attributes: Sequence[str], shares: Array, by_view: Array, reports: int
    ) -> PooledTable | CombinedTable:
        names, positions = tuple(attributes), self.schema.positions(attributes)
        detail = self._expected(names, positions, shares, by_view, reports)
        if (j := self._combined(positions, by_view)) is None:
            return detail
        combination, axis = self._combination(j, by_view), positions.index(j)
        of_groups, there = (
            apply_along(combination.sums, shares, axis),
            self._with_groups(positions, j),
        )
        groups = self._expected(names, there, of_groups, by_view, reports)
        return CombinedTable(detail, groups, axis, combination)

    def _expected(
        self,
        names: tuple[str, ...],
        positions: tuple[int, ...],
        shares: Array,
        by_view: Array,
        reports: int,
    ) -> PooledTable:
        public, free = self._split(positions)
        overlaps = self._overlaps(free, by_view)
        arranged = shares.transpose([positions.index(j) for j in (*public, *free)])
        grid = Grid.expected(arranged, overlaps, reports)
        order = tuple([*public, *free].index(j) for j in positions)
        return PooledTable(names, grid, order, self._influence(positions, by_view, overlaps))

    def _combined(self, positions: Sequence[int], by_view: Array) -> int | None:
        """Return the position of a collapsed attribute whose groups have reports, if any."""
        for j in positions:
            if j in self._beyond and by_view @ self._columns.asked[:, self._beyond[j]]:
                return j
        return None

    def _with_groups(self, positions: Sequence[int], j: int) -> tuple[int, ...]:
        return tuple(self._beyond[j] if each == j else each for each in positions)

    def _combination(self, j: int, by_view: Array) -> Combination:
        """Return how the table of an attribute and that of its groups are combined."""
        name = (self.schema.names[j],)
        group_of = group_codes(self.schema.attributes[j])
        even = np.full(self._sizes[j], 1 / self._sizes[j])
        of_groups = np.bincount(group_of, even).astype(np.float64)
        # Only the ratio of both covariances counts, and they are in proportion to 1/N.
        reports = max(2, round(float(by_view.sum())))
        detail = self._expected(name, (j,), even, by_view, reports)
        groups = self._expected(name, (self._beyond[j],), of_groups, by_view, reports)
        return Combination.of(detail.covariance(), groups.covariance(), group_of)

    def influence(
        self, positions: Sequence[int], by_view: Array, apart: NDArray[np.bool_]
    ) -> ReportInfluence:
        """Return the influence of reports on a table; see `ReportInfluence` for `apart`."""
        _, free = self._split(positions)
        overlaps = self._overlaps(free, by_view)
        return ReportInfluence(
            *(self._views, self._columns, free, by_view, overlaps, apart),
            by_ticket=self.perturbation.by_ticket,
        )

    def _influence(
        self, positions: Sequence[int], by_view: Array, overlaps: Overlaps
    ) -> ReportInfluence:
        _, free = self._split(positions)
        return ReportInfluence(
            *(self._views, self._columns, free, by_view, overlaps),
            by_ticket=self.perturbation.by_ticket,
        )

    def _grid(self, counts: Counts, positions: Sequence[int]) -> tuple[Grid, tuple[int, ...]]:
        """Return the table with its public attributes first, and the position of each attribute."""
        public, free = self._split(positions)
        sizes = self._sizes
        cells = prod(sizes[j] for j in public) * prod(sizes[j] + 1 for j in free)
        if cells > _MOST_CELLS:
            raise DomainTooLarge(
                f"attributes: {cells} cells of all margins together; expected at most"
                f" {_MOST_CELLS}, so fewer attributes",
                field="attributes",
            )
        pooled = self._of(counts)
        overlaps = self._overlaps(free, pooled.by_view)
        if not overlaps.pooled[-1]:
            self._refuse(free, overlaps)
        grid = Grid.of(
            pooled.shares(public),
            lambda axes: pooled.component(tuple(free[axis] for axis in axes), public),
            overlaps,
            counts.reports,
        )
        return grid, tuple([*public, *free].index(j) for j in positions)

    def _split(self, positions: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Split positions into public and other attributes."""
        ordered = sorted(positions)
        return (
            tuple(j for j in ordered if j in self._public),
            tuple(j for j in ordered if j not in self._public),
        )

    def _overlaps(self, free: Sequence[int], reports: Array) -> Overlaps:
        return self._columns.overlaps(free, [self._sizes[j] for j in free], reports)

    def _refuse(self, free: Sequence[int], overlaps: Overlaps) -> None:
        """Raise NotReportedYet with the smallest set of attributes without reports."""
        missing = np.flatnonzero(overlaps.pooled == 0).tolist()
        subset = min(missing, key=int.bit_count)
        axes = [axis for axis in range(len(free)) if subset >> (len(free) - 1 - axis) & 1]
        raise NotReportedYet(
            f"attributes: no report is about {self.listing([free[axis] for axis in axes])}"
            f"{' together' * (len(axes) > 1)} yet; expected more reports, or tables of"
            " fewer attributes (a lower max_length)",
            field="attributes",
        )

    def _of(self, counts: Counts) -> Decoded:
        """Return the decoded counts, cached for recent counts."""
        pooled = self._pooled
        if pooled is None or pooled.counts is not counts:
            sizes = {j: self.schema.shape[j] for j in self._public}
            pooled = self._pooled = Decoded(self._views, self._columns, sizes, counts)
        return pooled

    def contributions(
        self, counts: Counts, forms: Mapping[tuple[str, ...], Array]
    ) -> Iterator[tuple[Array, Array]]:
        components: dict[tuple[tuple[int, ...], tuple[int, ...]], Array] = {}
        for positions, form in self._forms(forms, self._of(counts).by_view):
            public, free = self._split(positions)
            order = [positions.index(j) for j in (*public, *free)]
            arranged = form.transpose(*order, len(order))
            for length in range(len(free) + 1):
                for subset in combinations(free, length):
                    check_deadline()
                    others = [len(public) + free.index(j) for j in free if j not in subset]
                    weights = arranged.mean(axis=tuple(others))
                    for axis in range(len(public), len(public) + length):
                        weights = weights - weights.mean(axis=axis, keepdims=True)
                    components[public, subset] = components.get((public, subset), 0.0) + weights
        yield from self._of(counts).contributions(components)

    def _forms(
        self, forms: Mapping[tuple[str, ...], Array], by_view: Array
    ) -> Iterator[tuple[tuple[int, ...], Array]]:
        """Yield forms of tables in detail and of groups, by the positions of their attributes."""
        for names, form in forms.items():
            positions = self.schema.positions(names)
            if (j := self._combined(positions, by_view)) is None:
                yield positions, form
                continue
            combination, axis = self._combination(j, by_view), positions.index(j)
            yield positions, apply_along(combination.detail.T, form, axis)
            yield self._with_groups(positions, j), apply_along(combination.groups.T, form, axis)

    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        """Forecast the variance of a table, if every view has its share of the reports.

        It has the approximation of `overlaps.report_moments`.
        """
        self.check(attributes)
        positions = self.schema.positions(attributes)
        if self._combined(positions, self._columns.weights) is not None:
            shape = [self.schema.shape[j] for j in positions]
            even = np.full(shape, 1 / prod(shape))
            expected = self.expected_table(attributes, even, _MANY)
            forecast = expected.sampled(float(target == "respondents")).unit_variance()
            assert forecast is not None  # noqa: S101 - of unbiased tables it is known
            return forecast
        public, free = self._split(positions)
        overlaps = self._overlaps(free, self._columns.weights)
        others = prod(self.schema.shape[j] for j in public)
        return overlaps.unit_variance(
            others, tuple(self.schema.shape[j] for j in positions), target
        )

    def largest_weight(self, attributes: Sequence[str]) -> float:
        """Return the largest weight, if every view has its share of the reports."""
        self.check(attributes)
        shares, positions = self._columns.weights, self.schema.positions(attributes)
        if self._combined(positions, shares) is None:
            _, free = self._split(positions)
            return self._influence(positions, shares, self._overlaps(free, shares)).largest_weight()
        shape = [self.schema.shape[j] for j in positions]
        even = np.full(shape, 1 / prod(shape))
        expected = self._expected_table(attributes, even, shares, 1)
        every = expected.report_distributions(even)
        if self.perturbation.by_ticket:
            return largest_expected_weight(every, even.size)
        return max(float(np.abs(each.weights).max()) for each in every)


def _in_detail(grouped: Perturbation) -> PooledReconstruction:
    assert isinstance(grouped, GroupedPerturbation)  # noqa: S101 - `pair` asks only then
    return PooledReconstruction(grouped.detail)
