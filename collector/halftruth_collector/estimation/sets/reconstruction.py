"""Reconstruction from reports about views, some of which ask a question as one set.

A report of a set view tells of units (options, pairs of options, or a missing category) in groups
of people, and of the groups themselves: its group is k-ary randomized response with an
amplification of (mγ + U)/(U + m), whatever its unit. So tables without options of sets are pooled
over all views, as those of other surveys. The table of a unit by groups is pooled over all set
views about this unit, by the same components. Thus all tables are consistent with each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from halftruth_shared import DomainTooLarge, Perturbation
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.errors import NotReportedYet
from halftruth_shared.mechanisms import View
from halftruth_shared.set_responses import SetResponse
from halftruth_shared.subset_responses import SubsetResponse
from numpy.typing import NDArray

from ...counts import Counts
from ..groups import records_of_cells, views_in_detail, with_attributes
from ..identified import IdentifiedSets
from ..pooled import agreement
from ..pooled.influence import ReportInfluence
from ..pooled.reconstruction import PooledReconstruction
from ..set_units import SetClasses, Unit, UnitTable, place_of, response_to_set
from ..table import Reconstruction, Table, largest_expected_weight
from ..variances import UnitVariance
from .tables import Part, SetTable

#: Largest number of cells of a table of options by groups, whose covariance is kept.
_MOST_CELLS = 2**11


class SetReconstruction(Reconstruction):
    """Reconstruction of the answers if some questions are perturbed as one set.

    Estimates are unbiased given the number of reports of each view. Covariances are exact but for
    the shares in them, which are estimated; for views that are not of a set, see `pooled`.
    """

    def __init__(self, perturbation: Perturbation) -> None:
        super().__init__(perturbation)
        views = perturbation.views
        self._views = views_in_detail(perturbation)
        self._is_set = np.array([bool(view.options) for view in views])
        without, self._first = _without_sets(views)
        self._others = PooledReconstruction(
            Perturbation(
                *(perturbation.mechanism, self.schema, without, perturbation.unperturbed_columns),
                by_ticket=perturbation.by_ticket,
            )
        )
        weights = np.array([view.weight for view in views], dtype=np.float64)
        self._weights = weights / weights.sum()
        self._mapped: tuple[Counts, Counts] | None = None

    @cached_property
    def identified_sets(self) -> IdentifiedSets:
        rows = [view.positions for view in self._views if not view.options]
        for view in self._views:
            length = 2 if view.options and response_to_set(view).pairs else 1
            rows += [(*view.others, *each) for each in combinations(view.options, length)]
        count = len(self.schema.names)
        asked = np.zeros((len(rows), count), dtype=bool)
        for row, positions in enumerate(rows):
            # Positions beyond the schema are of groups of answers.
            asked[row, [j for j in positions if j < count]] = True
        return IdentifiedSets(asked, self.perturbation.unperturbed_columns)

    def complete(self, counts: Counts) -> bool:
        return False

    def table(self, counts: Counts, attributes: Sequence[str]) -> Table:
        self.check(attributes)
        options, groups = self._split(attributes)
        without = self._without(counts)
        if not options:
            return self._others.table(without, attributes)
        names, by_view = [self.schema.names[j] for j in groups], self._by_view(counts)
        people = self._others.table(without, names).value if names else np.ones(())
        design = _Design(self, self._held(options), options, groups, by_view)
        value = design.table(people, self._observed(design, counts))
        return self._arranged(attributes, design, value, counts.reports)

    def expected_table(self, attributes: Sequence[str], shares: Array, reports: int) -> Table:
        self.check(attributes)
        options, groups = self._split(attributes)
        if not options:
            return self._others.expected_table(attributes, shares, reports)
        design = _Design(self, self._held(options), options, groups, self._weights * reports)
        positions = self.schema.positions(attributes)
        arranged = shares.transpose([positions.index(j) for j in (*groups, *options)])
        return self._arranged(attributes, design, arranged, reports)

    def _arranged(
        self, attributes: Sequence[str], design: "_Design", value: Array, reports: int
    ) -> SetTable:
        """Return the table with its attributes in the order given."""
        held = (*design.groups, *design.options)
        shape = tuple(self.schema.shape[j] for j in held)
        order = [held.index(j) for j in self.schema.positions(attributes)]
        cells = np.arange(prod(shape)).reshape(shape).transpose(order).ravel()
        parts = [
            Part(each.reports, each.chances[cells], each.weights[:, cells], each.share)
            for each in design.parts()
        ]
        arranged = np.asarray(value).reshape(shape).transpose(order)
        return SetTable(tuple(attributes), arranged, reports, parts)

    def numbers(self, counts: Counts, question: str) -> SetTable:
        """Estimate the distribution of the number of chosen options of a set.

        Parameters
        ----------
        question : str
            Name of a question that is perturbed as one set.

        Returns
        -------
        SetTable
            Of this question: shares of 0, 1, … options up to the largest number, and then of each
            missing category.
        """
        options = self.schema.sets[question]
        missing = len(self.schema.attributes[options[0]].missing)
        held = UnitTable.of_numbers(self.schema.at_most(question), missing)
        design = _Design(self, held, options, (), self._by_view(counts))
        value = design.table(np.ones(()), self._observed(design, counts)).ravel()
        return SetTable((question,), value, counts.reports, list(design.parts()))

    def _held(self, options: Sequence[int]) -> UnitTable:
        return UnitTable.of_options(self.schema, options)

    def _split(self, attributes: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Split attributes into options of a set, and others with the public ones first."""
        positions = sorted(self.schema.positions(attributes))
        public = self.perturbation.unperturbed_columns
        others = [j for j in positions if j not in self.schema.set_of]
        groups = [*(j for j in others if j in public), *(j for j in others if j not in public)]
        return tuple(j for j in positions if j in self.schema.set_of), tuple(groups)

    def _by_view(self, counts: Counts) -> Array:
        """Return the number of reports of each view."""
        return np.bincount(
            self._view_of(counts.cells[:, -1]), counts.counts, len(self._views)
        ).astype(np.float64)

    def _view_of(self, symbols: NDArray[np.integer]) -> NDArray[np.int64]:
        first = np.array([view.first for view in self._views])
        return np.searchsorted(first, symbols, side="right") - 1

    def _without(self, counts: Counts) -> Counts:
        """Return the counts of reports without the units of sets, cached for recent counts."""
        if self._mapped is None or self._mapped[0] is not counts:
            self._mapped = counts, self._without_units(counts)
        return self._mapped[1]

    def _without_units(self, counts: Counts) -> Counts:
        symbols = counts.cells[:, -1].astype(np.int64)
        view = self._view_of(symbols)
        first = np.array([each.first for each in self._views])
        block = np.array([response_to_set(v).block if v.options else 1 for v in self._views])
        cells = counts.cells.astype(np.int64)
        cells[:, -1] = self._first[view] + (symbols - first[view]) // block[view]
        space = self._others.perturbation.space
        return Counts(space.names, space.shape, cells, counts.counts)

    def _observed(self, design: "_Design", counts: Counts) -> list[Array]:
        """Return the numbers of reports of each class, for each set view of a design."""
        public = self.perturbation.unperturbed_columns
        columns = [public.index(j) for j in design.public]
        view, cells = self._view_of(counts.cells[:, -1]), counts.cells
        found = []
        for number, classes in design.classes:
            check_deadline()
            rows = np.flatnonzero(view == number)
            place = np.zeros(len(rows), dtype=np.int64)
            for column in columns:
                place = place * counts.shape[column] + cells[rows, column]
            symbols = cells[rows, -1].astype(np.int64) - classes.view.first
            place = place * classes.number + classes.of_symbols(symbols)
            sums = np.bincount(place, counts.counts[rows], design.known * classes.number)
            found.append(sums.astype(np.float64).reshape(design.known, classes.cells, -1))
        return found

    def contributions(
        self, counts: Counts, forms: Mapping[tuple[str, ...], Array]
    ) -> Iterator[tuple[Array, Array]]:
        by_view, public = self._by_view(counts), self.perturbation.unperturbed_columns
        of_groups: dict[tuple[str, ...], Array] = {}
        designs: list[tuple[_Design, Array, Array]] = []
        for names, form in forms.items():
            options, groups = self._split(names)
            positions = self.schema.positions(names)
            axes = [positions.index(j) for j in (*groups, *options)]
            arranged = form.transpose(*axes, form.ndim - 1)
            if options:
                design = _Design(self, self._held(options), options, groups, by_view)
                flat = arranged.reshape(-1, design.cells.shape[0], form.shape[-1])
                estimated = self.table(counts, [self.schema.names[j] for j in (*groups, *options)])
                designs.append((design, flat, estimated.value.ravel()))
                arranged = np.tensordot(design.cells[:, 0], flat, axes=(0, 1))
            if groups:
                key = tuple(self.schema.names[j] for j in groups)
                shape = (*(self.schema.shape[j] for j in groups), form.shape[-1])
                of_groups[key] = of_groups.get(key, 0.0) + arranged.reshape(shape)
        without = self._without(counts)
        order = np.argsort(without.cells[:, -1], kind="stable")
        view = self._view_of(counts.cells[order, -1])
        numbers = np.flatnonzero(by_view)
        every = self._others.contributions(without, of_groups)
        for number, (reports, others) in zip(numbers.tolist(), every, strict=True):
            rows = order[view == number]
            total = np.broadcast_to(others, (len(rows), *others.shape[-1:]))
            for design, form, value in designs:
                part = design.part_of(number, alone=True)
                if part is None:
                    continue
                classes = dict(design.classes)[number]
                place = np.zeros(len(rows), dtype=np.int64)
                for j in design.public:
                    column = public.index(j)
                    place = place * counts.shape[column] + counts.cells[rows, column]
                symbols = counts.cells[rows, -1].astype(np.int64) - classes.view.first
                weights = part.weights @ form.reshape(-1, form.shape[-1])
                weights = weights - (value @ part.chances) @ weights
                own = weights[place * classes.number + classes.of_symbols(symbols)]
                total = total + counts.reports * own
            yield reports, total

    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        """Forecast the variance of a table, if every view has its share of the reports.

        All possible records are equally likely before there are reports.
        """
        self.check(attributes)
        options, _ = self._split(attributes)
        if not options:
            return self._others.unit_variance(attributes, target)
        even = self._even(attributes)
        expected = self.expected_table(attributes, even, _MANY)
        found = expected.sampled(float(target == "respondents")).unit_variance()
        assert found is not None  # noqa: S101 - of unbiased tables it is known
        return found

    def _even(self, attributes: Sequence[str]) -> Array:
        """Return the shares of a table if all records are equally likely."""
        positions = self.schema.positions(attributes)
        ordered = sorted(positions)
        part = with_attributes(self.schema, [self.schema.attributes[j] for j in ordered])
        even = records_of_cells(part, self.schema)
        return np.asarray(even.transpose([ordered.index(j) for j in positions]) / even.sum())

    def largest_weight(self, attributes: Sequence[str]) -> float:
        """Return the largest weight, if every view has its share of the reports."""
        self.check(attributes)
        options, groups = self._split(attributes)
        if not options:
            return self._others.largest_weight(attributes)
        if self.perturbation.by_ticket:
            even = self._even(attributes)
            every = self.expected_table(attributes, even, 1).report_distributions(even)
            return largest_expected_weight(every, even.size)
        design = _Design(self, self._held(options), options, groups, self._weights)
        return max(1.0, *(float(np.abs(each.weights).max()) for each in design.parts()))


#: Number of reports of a forecast, which is in proportion to one over it.
_MANY = 10**9


def _without_sets(views: Sequence[View]) -> tuple[list[View], NDArray[np.int64]]:
    """Return the views without units of sets, and the first symbol of each."""
    found: list[View] = []
    first = 0
    for view in views:
        response = view.response
        if isinstance(response, SetResponse):
            sizes = dict(zip(view.positions, view.shape, strict=True))
            inside = response.most * response.gamma + response.units
            cells = response.groups
            alone = SubsetResponse(inside / response.block, cells, cells, 1, 0, inside * 0)
            shape = tuple([sizes[j] for j in view.others])
            view = replace(
                view, positions=view.others, shape=shape, response=alone, first=first, options=()
            )
        else:
            view = replace(view, first=first)
        found.append(view)
        first += view.symbols
    return found, np.array([view.first for view in found], dtype=np.int64)


class _Design:
    """How the reports of all views determine the table of some options, perhaps by groups.

    Cells have the groups first, public ones before others, and then the options.

    Parameters
    ----------
    source : SetReconstruction
    held : UnitTable
        Of options, or of their number.
    options, groups : tuple of int
        Positions of the options of one set, and of the other attributes.
    by_view : ndarray, shape (V,)
        N_v.
    """

    def __init__(
        self,
        source: SetReconstruction,
        held: UnitTable,
        options: tuple[int, ...],
        groups: tuple[int, ...],
        by_view: Array,
    ) -> None:
        schema = source.schema
        self.options, self.groups, self._source, self._by_view = options, groups, source, by_view
        public = source.perturbation.unperturbed_columns
        self.public = tuple(j for j in groups if j in public)
        self._free = tuple(j for j in groups if j not in public)
        self._sizes = tuple(schema.shape[j] for j in self._free)
        #: Numbers of public cells, and of cells of the other groups.
        self.known, self._cells = prod(schema.shape[j] for j in self.public), prod(self._sizes)
        self._units, self._held = held.units, held
        #: Map from the share of a group and of its units to cells, shape (cells, 1 + units).
        self.cells = held.cells
        if self.known * self._cells * len(self.cells) > _MOST_CELLS:
            raise DomainTooLarge(
                f"attributes: a table of {self.known * self._cells * len(self.cells)} cells with"
                f" options of a set; expected at most {_MOST_CELLS}, so fewer attributes",
                field="attributes",
            )
        views = source._views
        self.classes = [
            (number, SetClasses.of(views[number], self._free, self._units))
            for number in np.flatnonzero(source._is_set & (by_view > 0)).tolist()
        ]
        pooled = {len(unit): self._pooled(unit) for unit in self._units}
        self._shares = {length: 1 / each for length, each in pooled.items()}

    def _pooled(self, unit: Unit) -> Array:
        """Return Ω_U for the tables of a unit by some of the groups, shape (2^m,)."""
        sums = np.zeros(2 ** len(self._free))
        for number, classes in self.classes:
            if place_of(classes.view, unit) is not None:
                strength, _, _ = _strength(classes.view)
                sums[self._overlap(classes)] += self._by_view[number] * strength
        pooled = agreement.superset_sums(sums)
        if not pooled[-1]:
            names = [self._source.schema.names[j] for j in (*self._free, *self.options)]
            about = " and ".join(f"'{name}'" for name in names)
            raise NotReportedYet(
                f"attributes: no report is about {about}{' together' * (len(names) > 1)} yet;"
                " expected more reports, or tables of fewer attributes",
                field="attributes",
            )
        return pooled

    def _overlap(self, classes: SetClasses) -> int:
        """Return the subset of the groups that a view asks, as a mask."""
        last = len(self._free) - 1
        return sum(1 << (last - self._free.index(j)) for j in classes.kept)

    def _margin(self, classes: SetClasses) -> NDArray[np.int64]:
        """Return the cell of the margin of some classes, for each cell of the groups."""
        kept = [
            size if j in classes.kept else 1
            for j, size in zip(self._free, self._sizes, strict=True)
        ]
        return np.broadcast_to(np.arange(classes.cells).reshape(kept), self._sizes).ravel()

    def _kernel(self, classes: SetClasses) -> tuple[Array, float]:
        """Return the weight of a unit in each cell of the margin, and what is subtracted.

        Shape (cells of the margin, cells of the groups); the latter is the same for all cells.
        """
        if not classes.units:
            # Its reports tell of the groups alone.
            return np.zeros((classes.cells, self._cells)), 0.0
        strength, scale, share = _strength(classes.view)
        shares = self._shares[1 if not response_to_set(classes.view).pairs else 2]
        subsets = np.arange(len(shares))
        contained = subsets & ~self._overlap(classes) == 0
        values = agreement.kernel(contained * shares, self._sizes)
        kernel = agreement.matrix(values, self._sizes) / self._cells
        _, first = np.unique(self._margin(classes), return_index=True)
        every = response_to_set(classes.view).groups * share * shares[0] / self._cells
        return kernel[first] * (strength / scale), strength / scale * float(every)

    def table(self, people: Array, observed: Sequence[Array]) -> Array:
        """Return the table from that of the groups and the reports of each class of set views."""
        moments = np.zeros((1 + len(self._units), self.known, self._cells))
        moments[0] = people.reshape(self.known, self._cells)
        for (_, classes), counted in zip(self.classes, observed, strict=True):
            kernel, subtracted = self._kernel(classes)
            known = counted.sum(axis=(1, 2))
            for number, unit in enumerate(classes.units):
                place = 1 + self._units.index(unit)
                moments[place] += counted[:, :, number] @ kernel - subtracted * known[:, None]
        return np.asarray(np.einsum("au,upf->pfa", self.cells, moments))

    def parts(self) -> Iterator[Part]:
        """Yield the reports of all views that contribute more than a constant."""
        for number, _ in self.classes:
            check_deadline()
            part = self.part_of(number)
            assert part is not None  # noqa: S101 - it is a set view
            yield part
        if not self.groups:
            return
        own = self.cells[:, 0]
        for each in self._influence.reports_of_cells(self.known):
            check_deadline()
            weights = each.weights[:, :, None] * own
            chances = np.repeat(each.chances, len(own), axis=0)
            yield Part(each.reports, chances, weights.reshape(len(weights), -1), each.share)

    @cached_property
    def _influence(self) -> ReportInfluence:
        source = self._source
        return source._others.influence(self.groups, self._by_view, source._is_set)

    def part_of(self, number: int, *, alone: bool = False) -> Part | None:
        """Return the reports of one set view; `alone` without what they tell of groups alone."""
        classes = dict(self.classes).get(number)
        if classes is None:
            return None
        margin, per_cell = self._margin(classes), len(self.cells)
        places = [1 + self._units.index(unit) for unit in classes.units]
        units = self._held.having[np.array(places, dtype=np.int64) - 1]
        chances = classes.chances(np.repeat(margin, per_cell), np.tile(units, (1, self._cells)))
        kernel, subtracted = self._kernel(classes)
        # Axes: cell of the margin, class of units, cell of the groups, cell of the options.
        shape = classes.cells, len(classes.units) + 1, self._cells, per_cell
        weights: Array = np.zeros(shape)
        for row, place in enumerate(places):
            weights[:, row] += kernel[:, :, None] * self.cells[:, place]
        weights -= subtracted * self.cells[:, places].sum(axis=1)
        known = np.eye(self.known)
        weights = np.asarray(np.kron(known, weights.reshape(classes.number, -1)), dtype=np.float64)
        if not alone:
            weights = weights + self._of_groups(number, classes)
        everybody = np.asarray(np.kron(known, chances), dtype=np.float64)
        reports = float(self._by_view[number])
        by_ticket = self._source.perturbation.by_ticket
        share = reports / float(self._by_view.sum()) if by_ticket else None
        return Part(reports, everybody, weights, share)

    def _of_groups(self, number: int, classes: SetClasses) -> Array:
        """Return the weights of a set view's reports for the groups, as cells of the table."""
        own = self.cells[:, 0]
        if not self.groups:
            return own / float(self._by_view.sum())
        weights = self._influence.weights_of(number, self.known)
        weights = (weights[:, :, None] * own).reshape(len(weights), -1)
        return np.repeat(weights, len(classes.units) + 1, axis=0)


def _strength(view: View) -> tuple[float, float, float]:
    """Return the weight of a report in pooled estimates, κ = (γ − 1)c, and c.

    With few people who have a unit, its share in each of n groups has the variance c/κ² of a
    report. So the weight is κ²/(c·n).
    """
    response = response_to_set(view)
    scale = response.share * (response.gamma - 1)
    strength = scale**2 / response.share / response.groups
    return float(strength), float(scale), float(response.share)
