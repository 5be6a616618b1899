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
from halftruth_shared import DomainTooLarge, EstimateError, Perturbation
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array
from halftruth_shared.deadlines import check_deadline

from ..counts import Counts
from ..identified import IdentifiedSets
from ..table import Reconstruction
from ..variances import UnitVariance
from .decoding import Decoded
from .influence import ReportInfluence
from .overlaps import Overlaps, Views
from .tables import Grid, PooledTable

#: Largest number of cells of a table and its margins together.
_MOST_CELLS = 2**22


class PooledReconstruction(Reconstruction):
    """Reconstruction of the answers from reports about views.

    Given how many reports each view has, all estimates are unbiased. Their variances have a closed
    form, exact but for the approximation in `overlaps.report_moments` for geometries.
    """

    def __init__(self, perturbation: Perturbation) -> None:
        super().__init__(perturbation)
        self._views = perturbation.views
        self._columns = Views(self._views, len(self.schema.names))
        self._public = perturbation.unperturbed_columns
        self._free = tuple(j for j in range(len(self.schema.names)) if j not in self._public)
        self._pooled: Decoded | None = None

    @cached_property
    def identified_sets(self) -> IdentifiedSets:
        return IdentifiedSets(self._columns.asked, tuple(self._public))

    def complete(self, counts: Counts) -> bool:
        return bool(self._of(counts).by_view @ self._columns.asked[:, self._free].all(axis=1))

    def table(self, counts: Counts, attributes: Sequence[str]) -> PooledTable:
        grid, order = self._grid(counts, attributes)
        influence = self._influence(attributes, self._of(counts).by_view, grid.overlaps)
        return PooledTable(tuple(attributes), grid, order, influence)

    def expected_table(self, attributes: Sequence[str], shares: Array, reports: int) -> PooledTable:
        """Return the expected table, if every view has its expected share of the reports."""
        self.check(attributes)
        positions = self.schema.positions(attributes)
        public, free = self._split(positions)
        by_view = self._columns.weights * reports
        overlaps = self._overlaps(free, by_view)
        arranged = shares.transpose([positions.index(j) for j in (*public, *free)])
        grid = Grid.expected(arranged, overlaps, reports)
        order = tuple([*public, *free].index(j) for j in positions)
        influence = self._influence(attributes, by_view, overlaps)
        return PooledTable(tuple(attributes), grid, order, influence)

    def _influence(
        self, attributes: Sequence[str], by_view: Array, overlaps: Overlaps
    ) -> ReportInfluence:
        _, free = self._split(self.schema.positions(attributes))
        return ReportInfluence(self._views, self._columns, free, by_view, overlaps)

    def _grid(self, counts: Counts, attributes: Sequence[str]) -> tuple[Grid, tuple[int, ...]]:
        """Return the table with its public attributes first, and the position of each attribute."""
        self.check(attributes)
        positions = self.schema.positions(attributes)
        public, free = self._split(positions)
        sizes = self.schema.shape
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
        return self._columns.overlaps(free, [self.schema.shape[j] for j in free], reports)

    def _refuse(self, free: Sequence[int], overlaps: Overlaps) -> None:
        """Raise EstimateError with the smallest set of attributes without reports."""
        missing = np.flatnonzero(overlaps.pooled == 0).tolist()
        subset = min(missing, key=int.bit_count)
        axes = [axis for axis in range(len(free)) if subset >> (len(free) - 1 - axis) & 1]
        raise EstimateError(
            f"attributes: no report tells of {self.listing([free[axis] for axis in axes])}"
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
        for names, form in forms.items():
            positions = self.schema.positions(names)
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

    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        """Forecast the variance of a table, if every view has its share of the reports.

        It has the approximation of `overlaps.report_moments`.
        """
        self.check(attributes)
        positions = self.schema.positions(attributes)
        public, free = self._split(positions)
        overlaps = self._overlaps(free, self._columns.weights)
        others = prod(self.schema.shape[j] for j in public)
        return overlaps.unit_variance(
            others, tuple(self.schema.shape[j] for j in positions), target
        )

    def largest_weight(self, attributes: Sequence[str]) -> float:
        """Return the largest weight, if every view has its share of the reports."""
        self.check(attributes)
        _, free = self._split(self.schema.positions(attributes))
        shares = self._columns.weights
        return self._influence(attributes, shares, self._overlaps(free, shares)).largest_weight()
