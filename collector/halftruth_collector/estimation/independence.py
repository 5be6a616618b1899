"""Departures of a table from independent answers, and a test of it, under every mechanism.

Reconstructed χ² and G² are estimates of association and no tests: perturbation inflates them, so
that over independent answers they exceed the usual limits in most surveys. What is tested here is
the vector h of the departures π̂_ij − π̂_i+ π̂_+j from independence, by Wald's quadratic form
hᵀ(HVHᵀ)⁻¹h ~ χ² with H = ∂h/∂π and the full covariance V of the table. Of a single departure the
same is its standardized residual, h over its standard error. Within the layers of further
attributes departures are π̂_ijk − π̂_i+k π̂_+jk / π̂_++k, and what is tested is that there are none in
any layer: errors of layers are correlated under perturbation, so that their statistics do not add
up, and H V Hᵀ is that of the departures of all.

V is taken *under independence*: it is that of reports of independent answers with the estimated
margins, and so no noisier than these. Where nothing is perturbed these are Pearson's test and
Haberman's adjusted residuals. With V estimated from the same cells, small surveys reject true
independence too often (0.14 to 0.30 instead of 0.05 for a 5×2 table with rare categories and 300 to
1 000 reports).

A few reports for each symbol, as of one view of a split questionnaire, are no normal variable. What
a report of independent answers adds to a departure has a third moment, and to hᵀ(HVHᵀ)⁻¹h a
fourth: by these, residuals become normal scores, and χ² a gamma variable of the same mean. Of 80
surveys of seven independent questions of six answers, with 220 reports about each two, 62 have a
residual beyond Bonferroni's limit for all cells of all pairs by the estimated V, and 5 a score.

Where a category is not significantly above zero, or independent answers would leave a cell with
less than one person, nothing is tested.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
from halftruth_shared import ParameterError
from numpy.typing import NDArray

from .bounds import Array, normal_quantile, significantly_positive
from .selection import adjusted_p_values
from .table import Sample, Table

#: People that every cell has to expect under independence (Cochran's rule for single cells).
_LEAST_EXPECTED = 1.0

#: Smallest eigenvalue of the departures' covariance, against the largest; smallest variance of a
#: departure against its expected share of one report.
_ROUNDING = 1e-10


#: Skewness that does not matter.
_SYMMETRIC = 1e-6


@dataclass(frozen=True)
class IndependenceTest:
    """Outcome of the test, or why there is none.

    Attributes
    ----------
    statistic : float or None
        About a χ² variable of `degrees_of_freedom` where the answers are independent.
    degrees_of_freedom : int
        (R − 1)(C − 1), times the number of layers.
    undefined : str or None
        Why nothing was tested.
    """

    statistic: float | None
    degrees_of_freedom: int
    p_value: float | None
    undefined: str | None = None


@dataclass(frozen=True, eq=False)
class Departures:
    """Departures of the first two attributes of a table from independence within its layers.

    Parameters
    ----------
    table : Table
        R × C, or R × C × … of which all further attributes make layers.

    Raises
    ------
    ParameterError
        If there are fewer than two attributes.
    """

    table: Table

    def __post_init__(self) -> None:
        if len(self.table.attributes) < 2:
            raise ParameterError("attributes: expected two attributes", field="attributes")

    @cached_property
    def _cells(self) -> Array:
        """π̂ with all layers as one axis."""
        support = self.table.support
        return support.reshape(*support.shape[:2], -1)

    @cached_property
    def expected(self) -> Array:
        """Shares of independent answers with the estimated margins, shape of the table."""
        rows, columns, layers = _margins(self._cells)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (rows * columns / layers).reshape(self.table.support.shape)

    @cached_property
    def _samples(self) -> list[Sample]:
        """Reports of independent answers, and what each adds to the departures beyond its mean."""
        rows, columns, layers = (np.maximum(margin, 0.0) for margin in _margins(self._cells))
        shares = rows * columns / np.where(layers > 0, layers, np.inf)
        samples = []
        for each in self.table.samples((shares / shares.sum()).reshape(self.table.support.shape)):
            added = self._through(each.weights.T).T
            samples.append(replace(each, weights=added - each.chances @ added))
        return samples

    @cached_property
    def covariance(self) -> Array:
        """HVHᵀ under independence, shape (cells, cells).

        Raises
        ------
        DomainTooLarge
            If the table is too large for it.
        """
        parts = [
            each.reports * (each.weights.T * each.chances) @ each.weights for each in self._samples
        ]
        return np.asarray(sum(parts) * self.table.reports / (self.table.reports - 1))

    @cached_property
    def variance(self) -> Array:
        """Diagonal of `covariance`, shape of the table."""
        parts = [each.reports * each.chances @ each.weights**2 for each in self._samples]
        variance = np.asarray(sum(parts) * self.table.reports / (self.table.reports - 1))
        return variance.reshape(self.table.support.shape)

    def _through(self, matrix: Array) -> Array:
        """H times a matrix, margin by margin."""
        cells = matrix.reshape(*self._cells.shape, -1)
        rows, columns, layers = (margin[..., None] for margin in _margins(self._cells))
        of_rows, of_columns, of_layers = _margins(cells)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = cells - (columns * of_rows + rows * of_columns) / layers
            slope += rows * columns / layers**2 * of_layers
        return slope.reshape(matrix.shape)

    @cached_property
    def clear(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Rows and columns of each layer whose shares are significantly above 0."""
        support, shape = self._cells, self._cells.shape
        whole = self.table.sampled(0.0).covariance().reshape(*shape, *shape)
        # Σ over the other attribute, on both sides of the covariance.
        variances = np.einsum("ijkipk->ik", whole), np.einsum("ijkpjk->jk", whole)
        margins = support.sum(axis=1), support.sum(axis=0)
        with np.errstate(invalid="ignore"):
            rows, columns = (
                significantly_positive(margin, np.sqrt(variance))
                for margin, variance in zip(margins, variances, strict=True)
            )
        return rows, columns

    @cached_property
    def examined(self) -> NDArray[np.bool_]:
        """Cells whose departure can be tested, shape of the table.

        Not those of a row or column that is not significantly above zero, nor where independent
        answers would leave less than one person.
        """
        if self.table.reports < 2:
            return np.zeros(self.table.support.shape, dtype=np.bool_)
        rows, columns = self.clear
        enough = self.table.reports * self.expected >= _LEAST_EXPECTED
        return np.asarray(enough & (rows[:, None] & columns[None]).reshape(enough.shape))

    @cached_property
    def largest(self) -> float:
        """The largest departure in standard errors by the estimated covariance of the table."""
        around = self._through(self._through(self.table.sampled(0.0).covariance()).T)
        variance = np.diag(around).reshape(self.table.support.shape)[self.examined]
        departures = np.abs(self.table.support - self.expected)[self.examined]
        # Without a variance it is not known to be small.
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(variance)
            return float(np.nan_to_num(departures / error, nan=np.inf).max(initial=0.0))

    @cached_property
    def residuals(self) -> Array:
        """Departure of each cell in standard errors, shape of the table.

        About standard normal each where answers are independent. NaN where a cell is not examined.
        """
        if not self.examined.any():
            return np.full(self.table.support.shape, np.nan)
        enough = self.examined & (self.variance > _ROUNDING * self.expected / self.table.reports)
        error = np.sqrt(np.where(enough, self.variance, np.nan))
        return np.asarray((self.table.support - self.expected) / error)

    @cached_property
    def scores(self) -> Array:
        """The residuals without their skewness, which is that of a count where reports are few."""
        third = sum(
            # A third power by itself takes ten times as long.
            each.reports * each.chances @ (each.weights * each.weights * each.weights)
            for each in self._samples
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            skewness = third / self.variance.ravel() ** 1.5
        return unskewed(self.residuals, np.reshape(skewness, self.residuals.shape))

    def test(self) -> IndependenceTest:
        """Test the independence of two attributes in the population, in all layers together.

        Raises
        ------
        DomainTooLarge
            If the table is too large for its covariance.
        """
        table, reports = self.table, self.table.reports
        rows, columns, layers = self._cells.shape
        freedom = (rows - 1) * (columns - 1) * layers

        def untested(reason: str) -> IndependenceTest:
            return IndependenceTest(None, freedom, None, reason)

        if reports < 2:
            return untested("one report shows no error")
        for name, clear in zip(table.attributes[:2], self.clear, strict=True):
            if not clear.all():
                where = " in some layer" if layers > 1 else ""
                return untested(f"a category of '{name}' is not significantly above zero{where}")
        if reports * self.expected.min() < _LEAST_EXPECTED:
            return untested("independent answers would leave a cell with less than one person")
        departures = (table.support - self.expected)[:-1, :-1].ravel()
        # Rows and columns of departures add up to 0, so that those of the last ones are no news.
        free = np.arange(table.support.size).reshape(table.support.shape)[:-1, :-1].ravel()
        spread = self.covariance[np.ix_(free, free)]
        eigenvalues = np.linalg.eigvalsh(spread)
        if not eigenvalues[0] > _ROUNDING * eigenvalues[-1]:
            return untested("the reports do not determine the error of every departure")
        inverse = np.linalg.inv(spread)
        statistic = float(departures @ inverse @ departures)
        # Its mean is that of χ²; its variance, where reports are few, that of a gamma variable.
        variance = 2.0 * freedom
        for each in self._samples:
            added = each.weights[:, free]
            alone = inverse @ (added.T * each.chances) @ added
            squared = each.chances @ np.einsum("yi,yi->y", added @ inverse, added) ** 2
            fourth = squared - np.trace(alone) ** 2 - 2 * np.trace(alone @ alone)
            variance += each.reports * float(fourth)
        scale = variance / freedom
        p_value = scipy.special.gammaincc(freedom / scale, statistic / scale)
        return IndependenceTest(statistic, freedom, float(p_value))


@dataclass(frozen=True, eq=False)
class JointTest:
    """Tests of several tables of two questions for association.

    Parameters
    ----------
    departures : sequence of Departures
    """

    departures: Sequence[Departures]

    @cached_property
    def tested(self) -> NDArray[np.int64]:
        """Number of cells of each table that are tested."""
        return np.array([int(each.examined.sum()) for each in self.departures], dtype=np.int64)

    @cached_property
    def clearest(self) -> Array:
        """Largest score of a departure in each table, without its sign; 0 where none is clear.

        Scores are computed where a departure by its estimated error has a p-value below 1 after
        correction, since they take long. The estimated error is too small rather than too large,
        so whatever is left out, fewer pairs are called associated.
        """
        return np.array(
            [
                np.nanmax(np.abs(each.scores), initial=0.0)
                if each.largest > normal_quantile(1 / max(cells, 2))
                else 0.0
                for each, cells in zip(self.departures, self.tested.tolist(), strict=True)
            ]
        )

    @cached_property
    def p_values(self) -> Array:
        """p-value of each pair: of its clearest departure, corrected for its cells (Bonferroni).

        NaN where no cell of a table is tested.
        """
        corrected = np.minimum(1.0, 2 * self.tested * scipy.special.ndtr(-self.clearest))
        return np.asarray(np.where(self.tested > 0, corrected, np.nan))

    @cached_property
    def adjusted(self) -> Array:
        """Smallest false discovery rate at which each pair is significant among all pairs."""
        return adjusted_p_values(self.p_values)


def unskewed(scores: Array, skewness: Array) -> Array:
    """About normal scores, from those of a variable of some skewness (Wilson & Hilferty).

    >>> unskewed(np.array([3.0, 3.0]), np.array([0.0, 0.5])).round(2).tolist()
    [3.0, 2.54]
    """
    g = np.where(np.abs(skewness) < _SYMMETRIC, _SYMMETRIC, skewness)
    return np.asarray(6 / g * (np.cbrt(g * scores / 2 + 1) - 1) + g / 6)


def _margins(cells: Array) -> tuple[Array, Array, Array]:
    """Rows, columns and layers of cells (i, j, k, …), which broadcast with them."""
    rows, columns = cells.sum(axis=1, keepdims=True), cells.sum(axis=0, keepdims=True)
    return rows, columns, rows.sum(axis=0, keepdims=True)
