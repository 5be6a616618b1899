"""Estimated contingency tables with their covariance, domain estimation, and table sources."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Self

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Perturbation, Schema
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array, Places
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.errors import listing

from ..counts import Counts
from .identified import IdentifiedSets
from .variances import UnitVariance, error_parts

#: Largest table whose covariance matrix is ever built.
COVARIANCE_CELLS = 2_048

#: Margins whose covariance is computed at a time.
_ROWS = 512

#: Share assumed for a cell whose estimate is not positive.
SOMEBODY = 1e-9


@dataclass(frozen=True, eq=False)
class ReportDistribution:
    """Identically distributed reports: their number, their probabilities, and their weights.

    Attributes
    ----------
    chances : ndarray, shape (K,)
        Probability of each of K distinct reports.
    weights : ndarray, shape (K, cells)
        Contribution of a report to each estimated share, cells in row-major order.
    share : float or None
        Share of the tickets that are for such a report; None if its sender can choose that it is
        one, as without tickets.
    """

    reports: float
    chances: Array
    weights: Array
    share: float | None = None


class Table(ABC):
    """Estimated shares of a table of some attributes, one axis for each.

    A moment estimate is unbiased and can lie outside [0, 1]. Its covariance includes the finite
    population correction: if a simple random sample is drawn without replacement and `fraction` is
    the sampling fraction, the sampling variance Σ1 is multiplied by 1 − fraction (Cochran 1977, ch.
    2). The perturbation variance Σ2 does not depend on the population size. With V = Σ1 + Σ2 for a
    large population, the variance is therefore (1 − fraction)·V + fraction·Σ2; the same holds for
    covariances.

    A cell of a margin is given by an index along each of the k axes; the last index of an axis,
    d_j, is the sum over this axis.

    Attributes
    ----------
    reports : int
        N, at least 1.
    fraction : float
        Sampling fraction: 0 for a large population, 1 for exactly these respondents.
    """

    axes: tuple[str, ...]
    reports: int
    fraction: float = 0.0

    def sampled(self, fraction: float) -> Self:
        """Return the same table with the covariance for another sampling fraction."""
        if fraction == self.fraction:
            return self
        _ = self._variances, self._covariances  # create the caches that both tables share
        table = copy(self)
        table.fraction = fraction
        table.__dict__.pop("alone", None)
        return table

    @cached_property
    def alone(self) -> Self:
        """The same table with perturbation errors only, for exactly these respondents."""
        return self.sampled(1.0)

    @property
    def is_sample(self) -> bool:
        """True if the respondents are a sample of a larger population."""
        return self.fraction < 1

    @property
    def logit(self) -> bool:
        """True if estimated shares are always within 0 to 1; intervals then use the logit scale."""
        return False

    @property
    @abstractmethod
    def value(self) -> Array:
        """Estimated share of each cell; they add up to 1."""

    @property
    @abstractmethod
    def effective_reports(self) -> Array:
        """Effective sample size of each share, shape as `value`.

        It is N·(E φ²)²/E φ⁴, where φ is the centred contribution (influence) of a report: the
        number of evenly split yes/no answers whose sum has the same excess kurtosis. If each report
        contributes to a single cell, it is the number of reports in this cell.
        """

    def report_distributions(self, shares: Array) -> Iterable[ReportDistribution]:
        """Return the distribution of the reports if the true table had the given shares.

        Constants that all reports contribute may be omitted. The shares of a model are not sums
        over reports, so its tables raise EstimateError.
        """
        raise EstimateError(
            "estimate: the shares of a model have no score test; expected a moment estimate",
            field="estimate",
        )

    def reports_of_cells(self) -> Iterable[ReportDistribution] | None:
        """Return the distribution of the reports of the people of each cell.

        The probabilities of reports have a row for each cell, shape (cells, K). In a domain the
        other people are as estimated, and the weights are for its estimated size. None if unknown,
        as for the shares of a model.
        """
        return None

    def largest_falls(self, forms: Array, shares: Array | None = None) -> Array:
        """Return how much one more report can lower linear forms of the estimates, shape (K,).

        It is the report, of all that can be sent, that lowers the form most; if nobody can choose
        its view, the mean over the views of such reports.

        Parameters
        ----------
        forms : ndarray, shape (K, cells)
            Coefficients of the cells in row-major order.
        shares : ndarray, shape as `value`, optional
            Shares of the people, to whose reports it is added; by default as estimated, cut at 0.
        """
        if shares is None:
            people = np.maximum(self.value, SOMEBODY)
            shares = people / people.sum()
        return largest_falls(self.report_distributions(shares), forms)

    def variance(self) -> Array:
        """Return the variance of each share (Guo Result 1, diagonal of eq. 5.16), read-only.

        NaN where the reports do not identify one.
        """
        return self._mixed(self._kept_variance)

    def error_parts(self) -> tuple[Array, Array]:
        """Return the perturbation errors and the sampling errors; see `variances.error_parts`."""
        return error_parts(self.variance(), self.alone.variance())

    def unit_variance(self) -> UnitVariance | None:
        """Return N times the variance of each cell as a function of its true share.

        Other people are in proportion to the estimates of their cells, cut at 0. None if it is
        unknown, or if estimated shares are always within 0 to 1.
        """
        large, alone = self._unit_variance("population"), self._unit_variance("respondents")
        if large is None or alone is None:
            return None
        return large.mixed(alone, self.fraction)

    def covariance(self, forms: Array | None = None, shares: Array | None = None) -> Array:
        """Return the covariance of the cells, or of K linear forms of them, shape (K, K).

        It is NaN for fewer than two reports, and that of the cells is read-only. Score tests use
        the covariance under given true shares, evaluated under the null hypothesis instead of at
        the estimates; it is for a large population or, if `fraction` is 1, for these respondents.

        Parameters
        ----------
        forms : ndarray, shape (K, cells), optional
            Coefficients of the cells in row-major order.
        shares : ndarray, shape as `value`, optional
            True shares; by default the covariance is estimated.

        Raises
        ------
        DomainTooLarge
            For the estimated covariance of more than `COVARIANCE_CELLS` cells.
        """
        if shares is not None:
            return self._expected_covariance(
                np.eye(shares.size) if forms is None else forms, shares
            )
        if forms is not None:
            return self._covariance_of(forms)
        cells = self.value.size
        check_cells("covariance", cells)
        if self.reports < 2:
            return np.full((cells, cells), np.nan)
        return self._mixed(self._kept_covariance)

    def variances_along(self, cell: tuple[int, ...]) -> Array:
        """Return N times the variance of a cell whose share is 0, 1/2 and 1, shape (3,).

        Other people are in proportion to the estimates of their cells.
        """
        form = np.zeros(self.value.shape)
        form[cell] = 1.0
        others = np.maximum(self.value, SOMEBODY) * (1 - form)
        others /= others.sum()
        along = [(1 - share) * others + share * form for share in (0.0, 0.5, 1.0)]
        known = [self.covariance(form.reshape(1, -1), shares).item() for shares in along]
        return np.array(known) * (self.reports - 1)

    def identified_covariance(self) -> Array:
        """Return `covariance`, or NaN if the reports do not identify any variance.

        If all reports have the same weight, the estimated variance is 0, but the true one need not
        be.
        """
        covariance = self.covariance()
        unknown = np.isnan(self.variance()).all()
        return np.full_like(covariance, np.nan) if unknown else covariance

    def _covariance_of(self, forms: Array) -> Array:
        return np.asarray(forms @ self.covariance() @ forms.T)

    def _expected_covariance(self, forms: Array, shares: Array) -> Array:
        if self.reports < 2:
            return np.full((len(forms), len(forms)), np.nan)
        covariance = np.zeros((len(forms), len(forms)))
        for each in self.report_distributions(shares):
            added = each.weights @ forms.T
            added -= each.chances @ added
            covariance += each.reports * (added.T * each.chances) @ added
        covariance *= self.reports / (self.reports - 1)
        if not self.is_sample:
            means = forms @ shares.ravel()
            sampling = (forms * shares.ravel()) @ forms.T - np.outer(means, means)
            covariance -= sampling / (self.reports - 1)
        return covariance

    def third_moment(self, forms: Array, shares: Array) -> Array:
        """Return the third central moments of linear forms of the estimates, shape (K,).

        Score tests are corrected for skewness by them. Parameters are those of `covariance`.
        """
        third = np.zeros(len(forms))
        for each in self.report_distributions(shares):
            added = each.weights @ forms.T
            added -= each.chances @ added
            # Multiplication is ten times as fast as a third power.
            third += each.reports * each.chances @ (added * added * added)
        return third

    @cached_property
    def _variances(self) -> dict[Target, Array]:
        return {}

    def _kept_variance(self, target: Target) -> Array:
        if target not in self._variances:
            self._variances[target] = self._variance(target)
            self._variances[target].flags.writeable = False
        return self._variances[target]

    @cached_property
    def _covariances(self) -> dict[Target, Array]:
        return {}

    def _kept_covariance(self, target: Target) -> Array:
        if target not in self._covariances:
            self._covariances[target] = self._covariance(target)
            self._covariances[target].flags.writeable = False
        return self._covariances[target]

    @cached_property
    def margins(self) -> Array:
        """Shares of the cells of all margins, shape (d_1 + 1, …, d_k + 1)."""
        return with_sums(self.value)

    def margin(self, kept: Sequence[int]) -> tuple[Array, Array]:
        """Return the shares of one margin, an axis for each of `kept`, and their errors."""
        others = tuple(axis for axis in range(self.value.ndim) if axis not in kept)
        share = np.asarray(self.value.sum(axis=others))
        check_deadline()
        places = np.indices(share.shape).reshape(share.ndim, -1).T
        whole = np.tile(np.array(self.value.shape), (len(places), 1))
        whole[:, kept] = places
        variance = np.diag(self.covariance(self._weights(whole)))
        return share, np.sqrt(np.maximum(variance, 0.0)).reshape(share.shape)

    def margin_variance(self) -> Array:
        """Return the variance of each of `margins`; NaN where not identified."""
        return self._mixed(self._margin_variance)

    def margin_covariance(self, first: Places, second: Places) -> Array:
        """Return covariances of pairs of cells of margins, shape (R,).

        Parameters
        ----------
        first, second : ndarray of int, shape (R, k)
            Places of the cells. If both have a category of one axis, it is the same category.
        """
        return self._mixed(partial(self._margin_covariance, first, second))

    def _mixed(self, of: Callable[[Target], Array]) -> Array:
        """Return a variance with the finite population correction for `fraction`.

        If the variance for these respondents is negative, because reports are few, the variance for
        a large population replaces it; this is conservative.
        """
        if self.fraction in (0.0, 1.0):
            return of("respondents" if self.fraction else "population")
        large, alone = of("population"), of("respondents")
        return (1 - self.fraction) * large + self.fraction * np.where(np.isnan(alone), large, alone)

    @abstractmethod
    def _variance(self, target: Target) -> Array:
        """Return the variance of each share for a large population or the respondents."""

    @abstractmethod
    def _covariance(self, target: Target) -> Array:
        """Return the covariance for a small table of two reports or more."""

    def _unit_variance(self, target: Target) -> UnitVariance | None:
        return None

    def _margin_variance(self, target: Target) -> Array:
        places = np.indices(self.margins.shape).reshape(self.margins.ndim, -1).T
        variance = self._margin_covariance(places, places, target)
        # The total is exactly 1; its variance is 0 up to rounding.
        return np.maximum(variance, 0.0).reshape(self.margins.shape)

    def _margin_covariance(self, first: Places, second: Places, target: Target) -> Array:
        whole = self._kept_covariance(target)
        covariances = np.empty(len(first))
        for start in range(0, len(first), _ROWS):
            check_deadline()
            rows = slice(start, start + _ROWS)
            weights, others = (self._weights(places[rows]) for places in (first, second))
            covariances[rows] = np.einsum("ri,ri->r", weights @ whole, others)
        return covariances

    def _weights(self, places: Places) -> Array:
        """Return the indicator of the cells that are summed into each cell of a margin."""
        weights = np.ones((len(places), 1))
        for axis, size in enumerate(self.value.shape):
            own = np.vstack([np.eye(size), np.ones(size)])[places[:, axis]]
            weights = (weights[:, :, None] * own[:, None, :]).reshape(len(places), -1)
        return weights


def largest_falls(distributions: Iterable[ReportDistribution], forms: Array) -> Array:
    """Return how much one more of some reports can lower linear forms of their weights, (K,).

    Whoever can choose the view of a report takes the one with the largest fall. With tickets the
    fall of a report is, in the mean over its views, that of the best symbol of each: a number of
    tickets, since a ticket can be thrown away until one has the wanted view.
    """
    chosen, drawn = np.zeros((2, len(forms)))
    for each in distributions:
        check_deadline()
        added = each.weights @ forms.T
        added -= each.chances @ added
        largest = np.maximum(-added.min(axis=0), 0.0)
        if each.share is None:
            chosen = np.maximum(chosen, largest)
        else:
            drawn += each.share * largest
    return np.maximum(chosen, drawn)


def largest_expected_weight(distributions: Iterable[ReportDistribution], cells: int) -> float:
    """Return the largest weight of a report for a cell, in the mean over views that nobody chooses.

    It is that of a report in the direction in which it moves the share of the cell most.
    """
    every = np.eye(cells)
    return float(largest_falls(distributions, np.vstack([every, -every])).max())


def with_sums(table: Array, axes: int | None = None) -> Array:
    """Append to a table its sums over each of the first axes."""
    for axis in range(table.ndim if axes is None else axes):
        table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
    return table


def check_cells(quantity: str, cells: int) -> None:
    """Raise DomainTooLarge for a quantity of more than `COVARIANCE_CELLS` cells."""
    if cells > COVARIANCE_CELLS:
        raise DomainTooLarge(
            f"attributes: the {quantity} of {cells} cells; expected at most"
            f" {COVARIANCE_CELLS} cells",
            field="attributes",
        )


class TableSource(ABC):
    """Estimation of tables of the respondents' answers from counts of their reports.

    All its tables are consistent: the table of fewer attributes is the margin of that of more,
    and the cells of each add up to 1.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @cached_property
    def identified_sets(self) -> IdentifiedSets:
        """Sets of attributes, by their positions, whose joint table the reports identify."""
        return IdentifiedSets.everything(len(self.schema.attributes))

    def identified(self, attributes: Sequence[str]) -> bool:
        """Return whether the reports identify the table of some attributes, given enough reports.

        Raises
        ------
        SchemaError
            If an attribute is unknown.
        """
        return self.schema.positions(attributes) in self.identified_sets

    def check(self, attributes: Sequence[str]) -> None:
        """Raise ParameterError unless the reports identify the table of some attributes."""
        positions = self.schema.positions(attributes)
        if positions in self.identified_sets:
            return
        family = self.identified_sets
        free = family.perturbed(positions)
        asked = [self.asked_with(j) for j in free if family.partners(j)]
        expected = f"attributes that are, such as {self.listing(family.example(free))}"
        if len(free) == 2:
            expected = f"others: {'; '.join(asked) or 'all attributes are asked alone'}"
        raise ParameterError(
            f"attributes: no report is about {self.listing(free)} together; expected {expected}",
            field="attributes",
        )

    def asked_with(self, position: int) -> str:
        """Return which attributes some report asks together with one, in words."""
        names = self.schema.names
        partners = listing([names[j] for j in self.identified_sets.partners(position)])
        return f"'{names[position]}' is asked with {partners}"

    def listing(self, positions: Iterable[int]) -> str:
        """Return the names of some attributes as a list in a sentence."""
        names = [f"'{self.schema.names[j]}'" for j in positions]
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    def complete(self, counts: Counts) -> bool:
        """Return true if the table of all attributes can be estimated."""
        return self.identified_sets.longest == len(self.schema.attributes)

    @abstractmethod
    def table(self, counts: Counts, attributes: Sequence[str]) -> Table:
        """Estimate the table of some attributes, an axis for each in this order; see `check`.

        Too few reports raise EstimateError.
        """

    def pair(self, counts: Counts, attributes: Sequence[str]) -> Table:
        """Estimate the table of two attributes from all reports about either of them.

        It is `table`, unless the answers are groups: then reports about one of the questions in
        detail count in the shares of its groups, too.
        """
        return self.table(counts, attributes)

    @abstractmethod
    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        """Return N times the expected variance of the table, before any report is counted."""


class Reconstruction(TableSource):
    """Unbiased estimation from the reports of a perturbation."""

    def __init__(self, perturbation: Perturbation) -> None:
        super().__init__(perturbation.schema)
        self.perturbation = perturbation

    @abstractmethod
    def expected_table(self, attributes: Sequence[str], shares: Array, reports: int) -> Table:
        """Return the table for a number of reports with exactly the expected frequencies.

        Its estimates are the assumed shares; its covariance is that of a survey of such a
        population. The attributes have to pass `check`.
        """

    @abstractmethod
    def contributions(
        self, counts: Counts, forms: Mapping[tuple[str, ...], Array]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield numbers of reports with their centred contributions (influence values), (R, K).

        Each of K estimates is a sum of linear forms of several tables, whose joint table need not
        be identified. N times its error is approximately the sum of the contributions of all
        reports.

        Parameters
        ----------
        forms : mapping of tuple of str to ndarray, shape (*table, K)
            Weights of the cells of the table of some attributes, by their names.
        """

    @abstractmethod
    def largest_weight(self, attributes: Sequence[str]) -> float:
        """Return the largest absolute weight of a report for a cell of a table.

        An estimated share is the mean of the weights of N reports, so one report, genuine or not,
        changes it by at most this value divided by N. The expected weight of a genuine report is 1
        or 0.
        """
