"""Influence of reports on a table: effective numbers, and contributions to its estimate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from halftruth_shared import DomainTooLarge
from halftruth_shared.channels import SubsetChannel
from halftruth_shared.channels.axes import Array
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.mechanisms import View
from numpy.typing import NDArray

from ..table import ReportDistribution, check_cells
from ..variances import effective_reports
from .overlaps import Overlaps, Views

#: Largest number of weights of the symbols of one view for a table.
_MOST_WEIGHTS = 2**24

#: Largest number of elements of kernels and symbols in memory.
_AT_ONCE = 2**22

#: Share of all reports that is a rounding error of their expected numbers.
_ROUNDING = 1e-9

#: Channel and shape of a view, and the table's axis of each of its attributes, −1 if not included.
_Kind = tuple[SubsetChannel, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class ReportInfluence:
    """Reports about views that overlap with a table.

    Attributes
    ----------
    positions : tuple of int
        Positions of the attributes of the table that are not public, in increasing order.
    by_view : ndarray, shape (V,)
        N_v, or proportional to it.
    apart : ndarray of bool, shape (V,), optional
        Views whose reports `weights_of` describes one by one, and `reports_of_cells` leaves out.
    by_ticket : bool
        Whether nobody chooses the view of a report.
    """

    views: Sequence[View]
    columns: Views
    positions: tuple[int, ...]
    by_view: Array
    overlaps: Overlaps
    apart: NDArray[np.bool_] | None = None
    by_ticket: bool = False

    def effective(self, table: Array) -> Array:
        """Effective reports of each cell, of the views about all of its attributes.

        A report has a symbol of a cell u of its view with probability c·(k + (γ−1)(λ₂ +
        (k−λ₂)·π_u)). A cell of the table is the sum of several cells of the view. In a geometry,
        these are assumed to share symbols by chance; in k-ary randomized response they share none.
        """
        if not self.positions:
            return effective_reports(float(self.by_view.sum()), table)
        free = tuple(range(table.ndim - len(self.positions), table.ndim))
        known, inside = table.sum(axis=free, keepdims=True), np.maximum(table, 0.0)
        total = np.zeros_like(table)
        asked = self.columns.asked[:, self.positions].all(axis=1) & (self.by_view > 0)
        reports = np.bincount(self.columns.kind[asked], self.by_view[asked])
        for kind in np.flatnonzero(reports).tolist():
            check_deadline()
            response, count = self.columns.responses[kind], float(reports[kind])
            among = response.cells // prod(self.overlaps.sizes)
            share, more = float(response.share), float(response.gamma) - 1
            mark = share * (response.subset_size + more * response.common) * known
            mark = mark + share * more * (response.subset_size - response.common) * inside / among
            if not response.is_direct:
                total += effective_reports(count, mark, among)
            else:
                total += effective_reports(count, np.minimum(among * mark, 1.0))
        return total

    def report_distributions(self, table: Array) -> Iterator[ReportDistribution]:
        """Yield the reports of each kind, if this is the true table and other answers are uniform.

        Parameters
        ----------
        table : ndarray, shape (*public, *free)
        """
        sizes, cells = self.overlaps.sizes, prod(self.overlaps.sizes)
        arranged = table.reshape(-1, *sizes)
        known = arranged.reshape(-1, cells).sum(axis=1)
        for kind, count, weights in self._weights(len(known)):
            if kind is None:
                yield ReportDistribution(count, known, weights, self._share(count))
                continue
            within = _within(kind[2])
            others = tuple(1 + axis for axis in range(len(sizes)) if axis not in within)
            margin = arranged.sum(axis=others).reshape(len(known), -1)
            chances = _chances(kind, margin).ravel()
            yield ReportDistribution(count, chances, weights, self._share(count))

    def reports_of_cells(self, known: int) -> Iterator[ReportDistribution]:
        """Yield the reports of each kind, by the people of each cell; see `Table`.

        Parameters
        ----------
        known : int
            Number of combinations of public answers.
        """
        cells = prod(self.overlaps.sizes)
        for kind, count, weights in self._weights(known):
            chances = np.ones((cells, 1))
            if kind is not None:
                inside = self._margin_of(_within(kind[2]))
                chances = _chances(kind, np.eye(inside.max() + 1))[inside]
            yield ReportDistribution(count, _blocks(known, chances), weights, self._share(count))

    def _share(self, count: float) -> float | None:
        """Return the share of tickets for views with a number of reports; None without tickets."""
        return count / float(self.by_view.sum()) if self.by_ticket else None

    def _weights(self, known: int) -> Iterator[tuple[_Kind | None, float, Array]]:
        """Yield the kinds of views, their numbers of reports, and the weights of their reports.

        None is the kind of the reports that tell the public answers alone, if there are any.
        """
        cells, reports = prod(self.overlaps.sizes), float(self.by_view.sum())
        even = 1 / (reports * cells)
        for kind, (count, strength) in self._kinds().items():
            check_deadline()
            if kind[0].symbols * cells > _MOST_WEIGHTS:
                raise DomainTooLarge(
                    f"attributes: the weights of {kind[0].symbols} symbols for {cells} cells;"
                    f" expected at most {_MOST_WEIGHTS} of them, so fewer attributes",
                    field="attributes",
                )
            yield kind, count, _blocks(known, strength / cells * self._sums(kind) + even)
            reports -= count
        if self.apart is not None:
            reports -= float(self.by_view[self.apart].sum())
        if reports > _ROUNDING * self.by_view.sum() and known > 1:
            yield None, reports, _blocks(known, np.full((1, cells), even))

    def weights_of(self, number: int, known: int) -> Array:
        """Return the weights of the reports of a view of k-ary randomized response.

        Parameters
        ----------
        number : int
            Number of the view.
        known : int
            Number of combinations of public answers.

        Returns
        -------
        ndarray, shape (known · cells of the margin, known · cells)
            A row for each public answer and cell of the margin that the view asks about.
        """
        cells, asked = prod(self.overlaps.sizes), self.views[number].positions
        within = [axis for axis, j in enumerate(self.positions) if j in asked]
        weights = np.full((1, cells), 1 / (float(self.by_view.sum()) * cells))
        if within:
            strength = float(self.columns.strength[number] / self.columns.scale[number])
            kernel = self._kernel(within)[self._margin_of(within)].T
            weights = weights + strength / cells * kernel
        return _blocks(known, weights)

    def largest_weight(self) -> float:
        """Return the largest weight of a report for a cell, if `by_view` are shares of reports.

        If nobody chooses the view of a report, it is the mean over views of the largest of each.
        """
        cells, largest = prod(self.overlaps.sizes), 1.0
        check_cells("weights", cells)
        if self.by_ticket:
            return self._expected_weight(cells) / cells
        for kind, (_, strength) in self._kinds().items():
            check_deadline()
            kernel = self._kernel(_within(kind[2]))
            step = max(1, _AT_ONCE // kind[0].symbols)
            for start in range(0, len(kernel), step):
                check_deadline()
                weights = 1 + strength * _by_symbol(kind, kernel[start : start + step])
                largest = max(largest, float(np.abs(weights).max()))
        return largest / cells

    def _expected_weight(self, cells: int) -> float:
        """Return the mean over views of the largest weight, as a multiple of an even share."""
        up, down = np.zeros((2, cells))
        for kind, (count, strength) in self._kinds().items():
            check_deadline()
            within = _within(kind[2])
            kernel, place = self._kernel(within), self._margin_of(within)
            most, least = np.zeros((2, len(kernel)))
            step = max(1, _AT_ONCE // kind[0].symbols)
            for start in range(0, len(kernel), step):
                check_deadline()
                weights = _by_symbol(kind, kernel[start : start + step])
                most[start : start + step] = weights.max(axis=1)
                least[start : start + step] = weights.min(axis=1)
            up += count * strength * np.maximum(most, 0.0)[place]
            down += count * strength * np.maximum(-least, 0.0)[place]
        return float(max(up.max(), down.max()))

    def _sums(self, kind: _Kind) -> Array:
        """Return the kernel of each symbol of a kind for each cell, shape (symbols, cells).

        Small ones are kept: a score test asks for them once for each null hypothesis, with the same
        result.
        """
        if kind in self._kept:
            return self._kept[kind]
        within = _within(kind[2])
        sums = _by_symbol(kind, self._kernel(within))[self._margin_of(within)].T
        if sums.size + sum(each.size for each in self._kept.values()) <= _AT_ONCE:
            self._kept[kind] = sums
        return sums

    def _margin_of(self, within: Sequence[int]) -> NDArray[np.int64]:
        """Return the cell of the margin over some axes, for each cell of the table."""
        sizes = self.overlaps.sizes
        margin = prod(sizes[axis] for axis in within)
        kept = [d if axis in within else 1 for axis, d in enumerate(sizes)]
        return np.broadcast_to(np.arange(margin).reshape(kept), sizes).ravel()

    @cached_property
    def _kept(self) -> dict[_Kind, Array]:
        return {}

    def _kernel(self, within: Sequence[int]) -> Array:
        """n·R_W between the cells of the margin over some axes."""
        last = len(self.overlaps.sizes) - 1
        return self.overlaps.kernel_matrix(sum(1 << (last - axis) for axis in within))

    def _kinds(self) -> dict[_Kind, tuple[float, float]]:
        """Count the reports of each kind of view, with the strength of one report.

        Views of one kind have the same overlap with the table.
        """
        columns = self.columns
        # Responses are told apart by their numbers, since hashing fractions takes long.
        kinds = dict[tuple[int, tuple[int, ...], tuple[int, ...]], tuple[float, float]]()
        direct = [response.is_direct for response in columns.responses]
        asked = columns.asked[:, self.positions].any(axis=1) & (self.by_view > 0)
        if self.apart is not None:
            asked &= ~self.apart
        for number in np.flatnonzero(asked).tolist():
            check_deadline()
            view, response = self.views[number], int(columns.kind[number])
            axes = [self.positions.index(j) if j in self.positions else -1 for j in view.positions]
            if direct[response]:
                axes = [axis for axis in axes if axis >= 0]
            kind = (response, () if direct[response] else view.shape, tuple(axes))
            count, _ = kinds.get(kind, (0.0, 0.0))
            strength = float(columns.strength[number] / columns.scale[number])
            kinds[kind] = (count + float(self.by_view[number]), strength)
        return {
            (columns.responses[response], shape, axes): found
            for (response, shape, axes), found in kinds.items()
        }


def _within(axes: Sequence[int]) -> list[int]:
    """Return the axes of the table that a view asks about, in the order of the view."""
    return [axis for axis in axes if axis >= 0]


def _blocks(known: int, weights: Array) -> Array:
    """Return block-diagonal weights of reports, a block for each public answer."""
    if known == 1:
        return weights
    return np.asarray(np.kron(np.eye(known), weights), dtype=np.float64)


def _chances(kind: _Kind, margin: Array) -> Array:
    """Return the probability of each symbol, shape (rows, symbols).

    Rows are people by the cells of the margin that the kind asks about; their sums are the shares
    of these people.
    """
    response = kind[0]
    among = response.cells // margin.shape[1]
    same, slope = (among, 1.0) if response.is_direct else (1, 1 / among)
    # γ can exceed all floating-point numbers, unlike its product with the share.
    share, more = float(response.share), float(response.share * (response.gamma - 1))
    everybody = same * margin.sum(axis=1, keepdims=True)
    return np.asarray(share * everybody + more * slope * _by_symbol(kind, margin))


def _by_symbol(kind: _Kind, rows: Array) -> Array:
    """Sum numbers by cell of a margin over the cells of each symbol, shape (rows, symbols).

    The symbols of k-ary randomized response are those cells.
    """
    response, shape, axes = kind
    if response.is_direct:
        return rows
    grid = np.arange(rows.shape[1]).reshape(
        [d if axis >= 0 else 1 for d, axis in zip(shape, axes, strict=True)]
    )
    return response.sums_by_symbol(rows[:, np.broadcast_to(grid, shape).ravel()])
