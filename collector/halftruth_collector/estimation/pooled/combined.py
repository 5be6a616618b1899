"""Answers in detail, from reports about one question alone and about the groups of its answers.

With π̂ the table in detail and ĝ that of the groups, whose reports are different ones, B the sums
of answers over groups, and C and V the covariances of both for even answers,

    π̃ = π̂ + C Bᵀ (B C Bᵀ + V)⁺ (ĝ − B π̂).

It is unbiased whatever the answers, and its shares add up to 1. With estimated covariances instead,
it would be biased.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array, apply_along
from numpy.typing import NDArray

from ..bounds import project_to_simplex
from ..groups import group_sums
from ..table import SOMEBODY, ReportDistribution, Table
from ..variances import UnitVariance


@dataclass(frozen=True, eq=False)
class Combination:
    """Linear maps of both tables, along the axis of the collapsed attribute.

    Attributes
    ----------
    detail, groups : ndarray, shapes (d, d) and (d, g)
        I − K B and K, with K = C Bᵀ (B C Bᵀ + V)⁺.
    group_of : ndarray of int, shape (d,)
        Code of the group of each answer.
    """

    detail: Array
    groups: Array
    group_of: NDArray[np.int64]

    @classmethod
    def of(cls, detail: Array, groups: Array, group_of: NDArray[np.int64]) -> "Combination":
        """Return the maps from the covariances C and V for even answers."""
        sums = group_sums(group_of)
        gain = detail @ sums.T @ np.linalg.pinv(sums @ detail @ sums.T + groups, hermitian=True)
        return cls(np.eye(len(detail)) - gain @ sums, gain, group_of)

    @property
    def sums(self) -> Array:
        """B, the sums of answers over groups, shape (g, d)."""
        return group_sums(self.group_of)


class CombinedTable(Table):
    """Table of one question in detail, combined with that of its groups.

    Parameters
    ----------
    detail, groups : Table
        Both with the same axes. Those of other attributes are public, and have the same values.
    axis : int
        Axis of the collapsed attribute.
    """

    def __init__(self, detail: Table, groups: Table, axis: int, combination: Combination) -> None:
        self.axes, self.reports = detail.axes, detail.reports
        self._detail, self._groups, self._axis = detail, groups, axis
        self._combination = combination

    @cached_property
    def value(self) -> Array:
        known = apply_along(self._combination.detail, self._detail.value, self._axis)
        return known + apply_along(self._combination.groups, self._groups.value, self._axis)

    @cached_property
    def effective_reports(self) -> Array:
        second, fourth = np.zeros((2, self.value.size))
        for each in self.report_distributions(np.maximum(self.value, 0.0)):
            added = each.weights - each.chances @ each.weights
            second += each.reports * (each.chances @ added**2)
            fourth += each.reports * (each.chances @ added**4)
        known = np.divide(second**2, fourth, out=np.zeros_like(second), where=fourth > 0)
        return known.reshape(self.value.shape)

    def report_distributions(self, shares: Array) -> Iterator[ReportDistribution]:
        of_groups = apply_along(self._combination.sums, shares, self._axis)
        return self._combined(
            self._detail.report_distributions(shares), self._groups.report_distributions(of_groups)
        )

    def reports_of_cells(self) -> Iterator[ReportDistribution] | None:
        every = self._detail.reports_of_cells(), self._groups.reports_of_cells()
        if every[0] is None or every[1] is None:
            return None
        cells = np.arange(self._groups.value.size).reshape(self._groups.value.shape)
        group_of = cells.take(self._combination.group_of, self._axis).ravel()
        return self._combined(
            every[0], [replace(each, chances=each.chances[group_of]) for each in every[1]]
        )

    def _combined(
        self, of_detail_table: Iterable[ReportDistribution], of_groups: Iterable[ReportDistribution]
    ) -> Iterator[ReportDistribution]:
        """Yield the reports of both tables, with their weights for the combined one."""
        axis, known = self._axis, self.value.size // self.value.shape[self._axis]
        every = [
            [
                replace(each, weights=_mapped(matrix, each.weights, table.value.shape, axis))
                for each in distributions
            ]
            for table, distributions, matrix in (
                (self._detail, of_detail_table, self._combination.detail),
                (self._groups, of_groups, self._combination.groups),
            )
        ]
        if known == 1:
            for distributions in every:
                yield from distributions
            return
        # The public answers of every report count in both tables.
        *detail, of_others = every[0]
        *groups, of_detail = every[1]
        for distributions, besides in ((detail, of_detail), (groups, of_others)):
            for each in distributions:
                repeated = np.repeat(besides.weights, len(each.weights) // known, axis=0)
                yield replace(each, weights=each.weights + repeated)
        left = of_others.reports + of_detail.reports - self.reports
        if left > 0:
            share = of_others.share
            yield ReportDistribution(
                *(left, of_others.chances, of_others.weights + of_detail.weights),
                share if share is None else share * left / of_others.reports,
            )

    def _variance(self, target: Target) -> Array:
        return np.diag(self._covariance(target)).reshape(self.value.shape)

    def _covariance(self, target: Target) -> Array:
        table = self.sampled(0.0 if target == "population" else 1.0)
        # Of shares that are possible: far below 0 the covariance would be negative.
        possible = project_to_simplex(self.value)
        return table._expected_covariance(np.eye(self.value.size), possible)

    def _unit_variance(self, target: Target) -> UnitVariance:
        table = self.sampled(0.0 if target == "population" else 1.0)
        along = [table.variances_along(cell) for cell in np.ndindex(*self.value.shape)]
        return UnitVariance.through(*np.array(along).T.reshape(3, *self.value.shape))


def _mapped(matrix: Array, weights: Array, shape: Sequence[int], axis: int) -> Array:
    """Map the weights of reports for the cells of a table to those of a combined table."""
    arranged = weights.reshape(-1, *shape)
    mapped = apply_along(matrix, arranged, axis + 1)
    return mapped.reshape(len(weights), prod(mapped.shape[1:]))


class PairTable(Table):
    """Table of the groups of two questions, whose margins also count the reports in detail.

    The table p̂ of the groups gets the margins B π̃ of the combined tables in detail: with G groups
    of one question and H of the other, the cells change by (B π̃ − p̂ 1)/H along the first axis, and
    likewise along the second. So only the components of single questions change.

    Parameters
    ----------
    groups : Table
        Of the groups, with an axis for each question.
    details : sequence of (int, Table, Combination)
        For each axis whose answers are collapsed, the table of this question in detail, from the
        reports about it alone.
    """

    def __init__(self, groups: Table, details: Sequence[tuple[int, Table, Combination]]) -> None:
        self.axes, self.reports = groups.axes, groups.reports
        self._groups, self._details = groups, details

    @cached_property
    def _maps(self) -> tuple[Array, list[Array]]:
        """Linear maps of the table of groups, and of each table in detail, to the cells."""
        shape = self._groups.value.shape
        cells = prod(shape)
        of_groups, others = np.eye(cells), []
        for axis, _, combination in self._details:
            kept = np.indices(shape)[axis].ravel()
            sums = np.eye(shape[axis])[kept].T
            spread = sums.T * (shape[axis] / cells)
            of_groups += (
                spread @ (combination.sums @ combination.groups - np.eye(shape[axis])) @ sums
            )
            others.append(spread @ combination.sums @ combination.detail)
        return of_groups, others

    @cached_property
    def value(self) -> Array:
        of_groups, others = self._maps
        cells = of_groups @ self._groups.value.ravel()
        for matrix, (_, table, _) in zip(others, self._details, strict=True):
            cells = cells + matrix @ table.value
        return cells.reshape(self._groups.value.shape)

    @property
    def effective_reports(self) -> Array:
        return self._groups.effective_reports

    def report_distributions(self, shares: Array) -> Iterator[ReportDistribution]:
        of_groups, others = self._maps
        for each in self._groups.report_distributions(shares):
            yield replace(each, weights=each.weights @ of_groups.T)
        for matrix, (axis, table, combination) in zip(others, self._details, strict=True):
            own = shares.sum(axis=1 - axis)
            inside = np.maximum(table.value, SOMEBODY)
            inside *= (own / (combination.sums @ inside))[combination.group_of]
            for each in table.report_distributions(inside):
                yield replace(each, weights=each.weights @ matrix.T)

    def _variance(self, target: Target) -> Array:
        return np.diag(self._covariance(target)).reshape(self.value.shape)

    def _covariance(self, target: Target) -> Array:
        table = self.sampled(0.0 if target == "population" else 1.0)
        return table._expected_covariance(np.eye(self.value.size), project_to_simplex(self.value))
