"""Tables of options of a set, perhaps by groups of people, with exact covariances.

An estimated share is Σ_v of the sums of weights of the reports of view v, and the probabilities of
reports are linear in the true table, so that every moment follows from few classes of reports.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array

from ..bounds import project_to_simplex
from ..table import SOMEBODY, ReportDistribution, Table
from ..variances import UnitVariance


@dataclass(frozen=True, eq=False)
class Part:
    """Reports of one kind, by classes with equal weights.

    Attributes
    ----------
    reports : float
        Number of reports.
    chances : ndarray, shape (cells, K)
        Probability of each class, for the people of each cell of the table.
    weights : ndarray, shape (K, cells)
        Contribution of a report of each class to each estimated share.
    share : float or None
        See :class:`.ReportDistribution`.
    """

    reports: float
    chances: Array
    weights: Array
    share: float | None = None


class SetTable(Table):
    """Estimate of a table with options of a set.

    Parameters
    ----------
    attributes : tuple of str
    value : ndarray
        An axis for each attribute.
    reports : int
    parts : sequence of Part
        Cells in the row-major order of `value`. Constants that all reports contribute are omitted.
    """

    def __init__(
        self, attributes: tuple[str, ...], value: Array, reports: int, parts: Sequence[Part]
    ) -> None:
        self.axes, self.reports = attributes, reports
        self._value, self._parts = value, tuple(parts)

    @property
    def value(self) -> Array:
        return self._value

    @cached_property
    def effective_reports(self) -> Array:
        second, fourth = np.zeros((2, self.value.size))
        for each in self.report_distributions(self._possible):
            added = each.weights - each.chances @ each.weights
            second += each.reports * (each.chances @ added**2)
            fourth += each.reports * (each.chances @ added**4)
        known = np.divide(second**2, fourth, out=np.zeros_like(second), where=fourth > 0)
        return known.reshape(self.value.shape)

    @cached_property
    def _possible(self) -> Array:
        """Possible shares: far below 0 the covariance would be negative."""
        return project_to_simplex(self.value)

    def report_distributions(self, shares: Array) -> Iterator[ReportDistribution]:
        for each in self._parts:
            chances = shares.ravel() @ each.chances
            yield ReportDistribution(each.reports, chances, each.weights, each.share)

    def reports_of_cells(self) -> Iterator[ReportDistribution]:
        for each in self._parts:
            yield ReportDistribution(each.reports, each.chances, each.weights, each.share)

    def _variance(self, target: Target) -> Array:
        return np.diag(self._covariance(target)).reshape(self.value.shape)

    def _covariance(self, target: Target) -> Array:
        table = self.sampled(0.0 if target == "population" else 1.0)
        return table._expected_covariance(np.eye(self.value.size), self._possible)

    def _unit_variance(self, target: Target) -> UnitVariance:
        cells = self.value.size
        squares, means = np.zeros((cells, cells)), []
        for each in self._parts:
            squares += each.reports * each.chances @ each.weights**2
            means.append((each.reports, each.chances @ each.weights))
        # Other people are in proportion to the estimates of their cells; a row for each cell.
        others = np.maximum(self.value.ravel(), SOMEBODY) * (1 - np.eye(cells))
        others /= others.sum(axis=1, keepdims=True)

        def variance(share: float) -> Array:
            people = (1 - share) * others + share * np.eye(cells)
            result = np.einsum("cp,pc->c", people, squares)
            for reports, mean in means:
                result -= reports * np.einsum("cp,pc->c", people, mean) ** 2
            result *= self.reports
            if target == "respondents":
                result -= share * (1 - share)
            return np.asarray(result.reshape(self.value.shape))

        return UnitVariance.through(*map(variance, (0.0, 0.5, 1.0)))
