"""Tests of independence (χ² test, adjusted residuals) for perturbed tables.

Estimated χ² and G² are measures of association, not test statistics: perturbation inflates them,
and under independence they exceed the usual critical values in most surveys. The test uses the
vector h of departures from independence, π̂_ij − π̂_i+ π̂_+j, and the quadratic form hᵀ(HVHᵀ)⁻¹h ~
χ² with H = ∂h/∂π and the full covariance V of the table. A standardized residual is one departure
divided by its standard error. With layers of further attributes, the departures are π̂_ijk − π̂_i+k
π̂_+jk / π̂_++k, and the null hypothesis is conditional independence in every layer. Errors of
layers are correlated under perturbation, so H V Hᵀ is the joint covariance of all departures.

V is evaluated under the null hypothesis (score test): it is the covariance for independent answers
with the estimated margins. Without perturbation this gives Pearson's χ² test and Haberman's
adjusted residuals. A Wald test, with V estimated from the same cells, rejects true independence too
often in small surveys (0.14 to 0.30 instead of 0.05 for a 5×2 table with rare categories and 300 to
1 000 reports).

With few reports for each symbol, as in a view of a split questionnaire, the statistics are not
normal. Residuals are corrected for skewness by the third moment of the contributions of reports,
and the χ² statistic is compared with a gamma distribution of matching variance. In 80 simulated
surveys with seven independent questions of six answers and 220 reports about each pair, a residual
exceeded the Bonferroni limit over all cells and pairs in 62 surveys with the estimated V, and in 5
with the corrected scores.

There is no test if the share of a category is not significantly above zero, or if the expected
count of a cell under independence is below one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
from halftruth_shared import ParameterError
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from .bounds import Array, normal_quantile, significantly_positive
from .false_reports import DECISIVE, statistics, to_undo
from .selection import adjusted_p_values
from .table import ReportDistribution, Table, largest_falls

#: Smallest expected count of a cell under independence (Cochran's rule for single cells).
LEAST_EXPECTED = 1.0

#: Smallest eigenvalue of the departures' covariance relative to the largest, and smallest variance
#: of a departure relative to its expected share of one report.
_ROUNDING = 1e-10

#: Negligible skewness.
_SYMMETRIC = 1e-6


@dataclass(frozen=True)
class IndependenceTest:
    """Result of a test of independence, or the reason why it is undefined.

    Attributes
    ----------
    statistic : float or None
        Approximately χ² distributed under independence.
    degrees_of_freedom : int
        (R − 1)(C − 1), times the number of layers.
    p_value, undefined : optional
        The p-value, or the reason why the test is undefined.
    undone_by : float
        How many false reports would undo a rejection at the level of the test, see `false_reports`;
        NaN if it does not reject, or if no number of them would.
    """

    statistic: float | None
    degrees_of_freedom: int
    p_value: float | None
    undefined: str | None = None
    undone_by: float = math.nan


@dataclass(frozen=True, eq=False)
class Departures:
    """Departures of two attributes of a table from independence, within layers of the others.

    Parameters
    ----------
    table : Table
        R × C, or R × C × …, where all further attributes form layers.

    Raises
    ------
    ParameterError
        If there are fewer than two attributes.
    """

    table: Table

    def __post_init__(self) -> None:
        check_deadline()
        if len(self.table.axes) < 2:
            raise ParameterError("attributes: expected two attributes", field="attributes")

    @cached_property
    def _cells(self) -> Array:
        """π̂ with all layers as one axis."""
        support = self.table.value
        return support.reshape(*support.shape[:2], -1)

    @cached_property
    def expected(self) -> Array:
        """Expected shares under independence with the estimated margins, shape of the table."""
        rows, columns, layers = _margins(self._cells)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (rows * columns / layers).reshape(self.table.value.shape)

    @cached_property
    def _samples(self) -> list[ReportDistribution]:
        """Reports under independence, with their centred contributions to the departures."""
        rows, columns, layers = (np.maximum(margin, 0.0) for margin in _margins(self._cells))
        shares = rows * columns / np.where(layers > 0, layers, np.inf)
        samples = []
        for each in self.table.report_distributions(
            (shares / shares.sum()).reshape(self.table.value.shape)
        ):
            added = self._through(each.weights.T).T
            samples.append(replace(each, weights=added - each.chances @ added))
        return samples

    @cached_property
    def covariance(self) -> Array:
        """HVHᵀ under independence, shape (cells, cells); DomainTooLarge for too many cells."""
        parts = [
            each.reports * (each.weights.T * each.chances) @ each.weights for each in self._samples
        ]
        return np.asarray(sum(parts) * self.table.reports / (self.table.reports - 1))

    @cached_property
    def variance(self) -> Array:
        """Diagonal of `covariance`, shape of the table."""
        parts = [each.reports * each.chances @ each.weights**2 for each in self._samples]
        variance = np.asarray(sum(parts) * self.table.reports / (self.table.reports - 1))
        return variance.reshape(self.table.value.shape)

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
        """Rows and columns of each layer whose shares are significantly above zero."""
        support, shape = self._cells, self._cells.shape
        whole = self.table.sampled(0.0).covariance().reshape(*shape, *shape)
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

        A cell is excluded if its row or column is not significantly above zero, or if its expected
        count under independence is below one.
        """
        check_deadline()
        if self.table.reports < 2:
            return np.zeros(self.table.value.shape, dtype=np.bool_)
        rows, columns = self.clear
        enough = self.table.reports * self.expected >= LEAST_EXPECTED
        return np.asarray(enough & (rows[:, None] & columns[None]).reshape(enough.shape))

    @cached_property
    def largest(self) -> float:
        """Largest absolute departure in standard errors, by the estimated covariance (Wald)."""
        around = self._through(self._through(self.table.sampled(0.0).covariance()).T)
        variance = np.diag(around).reshape(self.table.value.shape)[self.examined]
        departures = np.abs(self.table.value - self.expected)[self.examined]
        # A departure without a variance cannot be ruled out.
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(variance)
            return float(np.nan_to_num(departures / error, nan=np.inf).max(initial=0.0))

    @cached_property
    def residuals(self) -> Array:
        """Standardized (adjusted) residual of each cell, shape of the table.

        Approximately standard normal under independence; NaN for cells that are not examined.
        """
        if not self.examined.any():
            return np.full(self.table.value.shape, np.nan)
        enough = self.examined & (self.variance > _ROUNDING * self.expected / self.table.reports)
        error = np.sqrt(np.where(enough, self.variance, np.nan))
        return np.asarray((self.table.value - self.expected) / error)

    @cached_property
    def scores(self) -> Array:
        """Residuals corrected for the skewness due to few reports."""
        third = sum(
            # Multiplication is ten times as fast as a third power.
            each.reports * each.chances @ (each.weights * each.weights * each.weights)
            for each in self._samples
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            skewness = third / self.variance.ravel() ** 1.5
        return unskewed(self.residuals, np.reshape(skewness, self.residuals.shape))

    def largest_falls(self, forms: Array) -> Array:
        """Return how much one more report can lower forms of the departures, shape (K,)."""
        return largest_falls(self._samples, forms)

    @cached_property
    def moved(self) -> Array:
        """By how much one false report can move each score towards 0, shape of the table."""
        departures = (self.table.value - self.expected).ravel()
        falls = self.largest_falls(np.diag(np.sign(departures)))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.abs(falls * self.scores.ravel() / departures).reshape(self.scores.shape)

    def test(self, rate: float = 0.05) -> IndependenceTest:
        """Test the (conditional) independence of two attributes, jointly in all layers.

        Parameters
        ----------
        rate : float
            Level of the test, for `undone_by`.

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
        for name, clear in zip(table.axes[:2], self.clear, strict=True):
            if not clear.all():
                where = " in some layer" if layers > 1 else ""
                return untested(f"a category of '{name}' is not significantly above zero{where}")
        if reports * self.expected.min() < LEAST_EXPECTED:
            return untested("independent answers would leave a cell with less than one person")
        departures = (table.value - self.expected)[:-1, :-1].ravel()
        # Rows and columns of departures add up to 0, so the last ones are redundant.
        free = np.arange(table.value.size).reshape(table.value.shape)[:-1, :-1].ravel()
        spread = self.covariance[np.ix_(free, free)]
        eigenvalues = np.linalg.eigvalsh(spread)
        if not eigenvalues[0] > _ROUNDING * eigenvalues[-1]:
            return untested("the reports do not determine the error of every departure")
        inverse = np.linalg.inv(spread)
        statistic = float(departures @ inverse @ departures)
        # The mean is that of χ²; with few reports, a gamma distribution matches the variance.
        variance = 2.0 * freedom
        for each in self._samples:
            check_deadline()
            added = each.weights[:, free]
            alone = inverse @ (added.T * each.chances) @ added
            squared = each.chances @ np.einsum("yi,yi->y", added @ inverse, added) ** 2
            fourth = squared - np.trace(alone) ** 2 - 2 * np.trace(alone @ alone)
            variance += each.reports * float(fourth)
        scale = variance / freedom
        p_value = scipy.special.gammaincc(freedom / scale, statistic / scale)
        found = IndependenceTest(statistic, freedom, float(p_value))
        if p_value > rate:
            return found
        # √χ² is linear in the departures along their direction.
        distance, forms = math.sqrt(statistic), np.zeros((1, table.value.size))
        forms[0, free] = inverse @ departures / distance
        limit = math.sqrt(scale * scipy.special.gammainccinv(freedom / scale, rate))
        [undone_by] = to_undo(np.array([distance]), limit, self.largest_falls(forms), reports)
        return replace(found, undone_by=float(undone_by))


@dataclass(frozen=True, eq=False)
class JointTest:
    """Tests of several tables of two questions for association."""

    departures: Sequence[Departures]

    @cached_property
    def tested(self) -> NDArray[np.int64]:
        """Number of tested cells of each table."""
        return np.array([int(each.examined.sum()) for each in self.departures], dtype=np.int64)

    @cached_property
    def clearest(self) -> Array:
        """Largest absolute score in each table; 0 if no departure is close to significant.

        Scores are slow. They are computed only if the largest Wald statistic, which tends to be too
        large, has a corrected p-value below 1.
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
        """p-value of the largest score of each pair (Bonferroni); NaN without a tested cell."""
        corrected = np.minimum(1.0, 2 * self.tested * scipy.special.ndtr(-self.clearest))
        return np.asarray(np.where(self.tested > 0, corrected, np.nan))

    @cached_property
    def moved(self) -> Array:
        """By how much one false report can move the statistic of each pair, if it is significant.

        The statistic is that of the p-value, of which the largest score is the larger part.
        """
        moved = np.full(len(self.departures), np.nan)
        for place, each in enumerate(self.departures):
            if statistics(self.p_values[place]) >= DECISIVE:
                score = np.nan_to_num(np.abs(each.scores))
                own = each.moved.ravel()[score.argmax()]
                moved[place] = own * self.clearest[place] / statistics(self.p_values[place])
        return moved

    @cached_property
    def adjusted(self) -> Array:
        """Smallest false discovery rate at which each pair is significant among all pairs."""
        return adjusted_p_values(self.p_values)


def unskewed(scores: Array, skewness: Array) -> Array:
    """Transform skewed scores to approximately normal ones (Wilson & Hilferty).

    >>> unskewed(np.array([3.0, 3.0]), np.array([0.0, 0.5])).round(2).tolist()
    [3.0, 2.54]
    """
    g = np.where(np.abs(skewness) < _SYMMETRIC, _SYMMETRIC, skewness)
    return np.asarray(6 / g * (np.cbrt(g * scores / 2 + 1) - 1) + g / 6)


def margins_within(table: Table, given: Sequence[int], quantile: float) -> Array:
    """Return the margins of error of shares within groups, if the groups did not differ.

    They are those of the design at the pooled share of each answer, with the estimated sizes of the
    groups, all cut at 0. The estimated variance of a share is smallest where the share is too small
    by chance: a grade by it would be a filter that keeps the wrong estimates.

    Parameters
    ----------
    table : Table
        A moment estimate.
    given : sequence of int
        Axes of the attributes whose answers form the groups; none for everybody.
    quantile : float

    Returns
    -------
    ndarray, shape of the table
        Infinite for a group whose estimated size is not positive; NaN with fewer than two reports.
    """
    people = np.maximum(table.value, 0.0)
    others = tuple(axis for axis in range(people.ndim) if axis not in given)
    groups = people.sum(axis=others, keepdims=True)
    pooled = people.sum(axis=tuple(given), keepdims=True)
    pooled = pooled / pooled.sum()
    base = np.broadcast_to(groups / groups.sum(), people.shape)
    share = np.broadcast_to(pooled, people.shape)
    if table.reports < 2:
        return np.full(people.shape, np.nan)
    variance = np.zeros(people.shape)
    for each in table.report_distributions(base * share):
        weights = each.weights.reshape(-1, *people.shape)
        inside = weights.sum(axis=tuple(1 + axis for axis in others), keepdims=True)
        added = (weights - share * inside).reshape(len(weights), -1)
        added -= each.chances @ added
        variance += (each.reports * (each.chances @ added**2)).reshape(people.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = variance / base**2 * table.reports / (table.reports - 1)
        # The error by sampling, which a finite population reduces.
        variance -= table.fraction * share * (1 - share) / (table.reports * base)
        margins = quantile * np.sqrt(np.maximum(variance, 0.0))
    return np.where(base > 0, margins, np.inf)


def _margins(cells: Array) -> tuple[Array, Array, Array]:
    """Return sums of cells (i, j, k, …) over columns, rows, and both, which broadcast."""
    rows, columns = cells.sum(axis=1, keepdims=True), cells.sum(axis=0, keepdims=True)
    return rows, columns, rows.sum(axis=0, keepdims=True)
