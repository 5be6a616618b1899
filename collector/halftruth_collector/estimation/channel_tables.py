"""Estimation from reports that are records, through the channel of each table."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from halftruth_shared import Channel
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels import MarginMoments, WeightMoments
from halftruth_shared.channels.axes import Array, Places, joint_cell
from halftruth_shared.deadlines import check_deadline

from ..counts import Counts
from .table import Reconstruction, ReportDistribution, Table, check_cells
from .variances import UnitVariance, covariance, effective_reports, variance

#: Share of all people that is a rounding error.
_ROUNDING = 1e-12

#: Number of reports whose contributions are computed at once.
_CONTRIBUTIONS = 2**16


@dataclass(eq=False)
class ChannelTable(Table):
    """Moment estimate of a table, π̂ = A⁻¹ λ̂ (FRAPP eq. 8, Guo eq. 2.2).

    Attributes
    ----------
    channel : Channel
        From this table to the counted report columns.
    observed : ndarray
        λ̂, shares of the reports.
    reports : int
        N, at least 1.
    """

    axes: tuple[str, ...]
    channel: Channel
    observed: Array
    reports: int
    fraction: float = 0.0

    @cached_property
    def value(self) -> Array:
        return self.channel.solve(self.observed)

    @property
    def effective_reports(self) -> Array:
        """Effective reports, as if only the reports of a cell informed about it."""
        return effective_reports(self.reports, self.observed)

    def report_distributions(self, shares: Array) -> list[ReportDistribution]:
        chances = self.channel.forward(shares)
        each = np.eye(chances.size).reshape(-1, *chances.shape)
        weights = self.channel.solve(each).reshape(chances.size, -1) / self.reports
        return [ReportDistribution(self.reports, chances.ravel(), weights)]

    def reports_of_cells(self) -> list[ReportDistribution]:
        check_cells("weights", self.value.size)
        cells, reports = (
            np.eye(each.size).reshape(-1, *each.shape) for each in (self.value, self.observed)
        )
        chances = self.channel.forward(cells).reshape(len(cells), -1)
        weights = self.channel.solve(reports).reshape(len(reports), -1) / self.reports
        return [ReportDistribution(self.reports, chances, weights)]

    @cached_property
    def _second_moment(self) -> Array:
        """(A⁻¹∘A⁻¹) λ̂, mean squared weight of the reports for each cell."""
        return self.channel.solve_squared(self.observed)

    def _variance(self, target: Target) -> Array:
        return variance(self._second_moment, self.value, self.reports, target)

    def _unit_variance(self, target: Target) -> UnitVariance:
        """Unit variances, with other people in proportion to the estimates cut at 0."""
        moments, people = self.channel.weight_moments(), np.maximum(self.value, 0.0)
        # Mean squared weights if the shares are `people`, without the people of the cell.
        of_all = self.channel.solve_squared(self.channel.forward(people))
        others = people.sum() - people
        known = others > _ROUNDING * people.sum()
        mean = (of_all - moments.own * people) / np.where(known, others, 1.0)
        rest = np.where(known, mean, _even(moments))
        return UnitVariance.of_weights(moments.own, rest, target)

    def _covariance(self, target: Target) -> Array:
        """[A⁻¹D(λ̂)A⁻ᵀ − π̂π̂ᵀ]/(N−1); for *respondents* with D(π̂) in place of π̂π̂ᵀ."""
        cells = self.value.size
        # Two structured solves: down the columns of D(λ̂), then along the rows.
        spread = np.diag(self.observed.ravel()).reshape(-1, *self.observed.shape)
        half = self.channel.solve(spread).reshape(-1, cells).T
        products = self.channel.solve(half.reshape(cells, *self.observed.shape))
        flat = self.value.ravel()
        subtracted = np.outer(flat, flat) if target == "population" else np.diag(flat)
        return (products.reshape(cells, cells) - subtracted) / (self.reports - 1)

    @cached_property
    def _moments(self) -> MarginMoments:
        return self.channel.margins(self.observed)

    @property
    def margins(self) -> Array:
        return self._moments.support

    def _margin_variance(self, target: Target) -> Array:
        return variance(self._moments.second_moment, self.margins, self.reports, target)

    def _margin_covariance(self, first: Places, second: Places, target: Target) -> Array:
        product = self._moments.product(first, second)
        both = joint_cell(first, second, self.margins.shape)
        a, b, common = (self.margins[tuple(place.T)] for place in (first, second, both))
        return covariance(product, a, b, common, self.reports, target)


class RecordReconstruction(Reconstruction):
    """Reconstruction of reports that are records, by the channel of each set of attributes."""

    def channel(self, attributes: Sequence[str]) -> Channel:
        """Return the channel from the true table of some attributes to that of reports."""
        channel = self.perturbation.channel(attributes)
        assert channel is not None  # noqa: S101 - reports are records
        return channel

    def table(self, counts: Counts, attributes: Sequence[str]) -> ChannelTable:
        names = tuple(attributes)
        return ChannelTable(
            names, self.channel(names), self.randomized(counts, names), counts.reports
        )

    def expected_table(
        self, attributes: Sequence[str], shares: Array, reports: int
    ) -> ChannelTable:
        channel = self.channel(tuple(attributes))
        return ChannelTable(tuple(attributes), channel, channel.forward(shares), reports)

    def contributions(
        self, counts: Counts, forms: Mapping[tuple[str, ...], Array]
    ) -> Iterator[tuple[Array, Array]]:
        weights = []
        for names, form in forms.items():
            channel, cells = self.channel(names), math.prod(form.shape[:-1])
            check_cells("weights", cells)
            # Rows of the inverse channel: the contribution of a report of each cell to every cell.
            each = channel.solve(np.eye(cells).reshape(cells, *channel.shape))
            by_report = each.reshape(cells, cells) @ form.reshape(cells, -1)
            mean = self.randomized(counts, names).ravel() @ by_report
            columns = list(self.schema.positions(names))
            weights.append((columns, channel.shape, by_report - mean))
        for start in range(0, len(counts.cells), _CONTRIBUTIONS):
            check_deadline()
            rows = counts.cells[start : start + _CONTRIBUTIONS]
            yield (
                counts.counts[start : start + _CONTRIBUTIONS].astype(np.float64),
                sum(
                    centred[np.ravel_multi_index(tuple(rows[:, columns].T), shape)]
                    for columns, shape, centred in weights
                ),
            )

    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        return unit_variance(self.channel(attributes), target)

    def largest_weight(self, attributes: Sequence[str]) -> float:
        channel = self.channel(attributes)
        # The largest entry of a Kronecker product is the product of the factors' largest.
        return math.prod(map(_largest_weight, channel.factors or (channel,)))

    def randomized(self, counts: Counts, attributes: Sequence[str]) -> Array:
        """Share of every cell among the perturbed reports."""
        return counts.marginal(self.schema.positions(attributes)) / counts.reports


def unit_variance(channel: Channel, target: Target) -> UnitVariance:
    """N times the variance of each share of the table of a channel."""
    moments = channel.weight_moments()
    return UnitVariance.of_weights(moments.own, _even(moments), target)


def _even(moments: WeightMoments) -> Array:
    """Return the expected squared weight for each cell of a report from any other cell."""
    return np.asarray((moments.total - moments.own) / (moments.own.size - 1))


def _largest_weight(channel: Channel) -> float:
    """Largest entry of A⁻¹, as a magnitude."""
    cells = math.prod(channel.shape)
    check_cells("weights", cells)
    return float(np.abs(channel.solve(np.eye(cells).reshape(cells, *channel.shape))).max())
