"""Estimated tables of the answers, and where they come from."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from halftruth_shared import DomainTooLarge, ParameterError, Perturbation, Schema
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array, Places

from .counts import Counts
from .variances import UnitVariance, error_parts

#: Largest table whose covariance matrix is ever built.
COVARIANCE_CELLS = 2_048

#: Margins whose covariance is computed at a time.
_ROWS = 512


@dataclass(frozen=True, eq=False)
class Sample:
    """Identically distributed reports, with their weights in an estimated table.

    Attributes
    ----------
    reports : float
        Their number, or how many of them are expected.
    chances : ndarray, shape (K,)
        Probability of each of K distinct reports.
    weights : ndarray, shape (K, cells)
        Contribution of a report to each estimated share, cells in row-major order.
    """

    reports: float
    chances: Array
    weights: Array


class Table(ABC):
    """Estimated shares of a table of some attributes, one axis for each.

    A moment estimate is unbiased, and not confined to [0, 1]. Errors are those of statements about
    the people whom the respondents are a sample of: `fraction` of these were asked. Of N people
    drawn without replacement from a finite population, the sampling variance Σ1 is left in the
    part 1 − fraction (Cochran 1977, ch. 2), and all of the variance by the perturbation Σ2, which
    is of their reports, however many others there are. With V = Σ1 + Σ2 for a large population and
    Σ2 for exactly these respondents that is (1 − fraction)·V + fraction·Σ2, for covariances, too.

    A cell of a margin is a place along each of the k axes; the last place along an axis, d_j, is
    the sum over it.

    Attributes
    ----------
    reports : int
        N, at least 1.
    fraction : float
        Sampled share of the population: 0 for a large one, 1 for these respondents alone.
    """

    attributes: tuple[str, ...]
    reports: int
    fraction: float = 0.0

    def sampled(self, fraction: float) -> "Table":
        """Return the same table with the errors of a population of which a share was asked."""
        if fraction == self.fraction:
            return self
        _ = self._covariances  # which both have in common
        table = copy(self)
        table.fraction = fraction
        for name in ("_known_covariance", "alone"):
            table.__dict__.pop(name, None)
        return table

    @cached_property
    def alone(self) -> "Table":
        """The same table with the errors for exactly these respondents: by perturbation alone."""
        return self.sampled(1.0)

    @property
    def is_sample(self) -> bool:
        """True if estimates are of more people than the respondents."""
        return self.fraction < 1

    @property
    def condition_number(self) -> float | None:
        """Ratio of the extreme singular values, None where no single matrix is inverted."""
        return None

    @property
    def logit(self) -> bool:
        """True if supports never leave 0 to 1, so that intervals are on the logit scale."""
        return False

    @property
    @abstractmethod
    def support(self) -> Array:
        """Estimated share of each cell; they add up to 1."""

    @property
    @abstractmethod
    def effective_reports(self) -> Array:
        """Effective number of reports of each support, shape as `support`.

        With φ the centred contribution of a report to the estimate, N·(E φ²)²/E φ⁴: the number of
        yes/no answers, half of them yes, with the same excess kurtosis of their sum. If each report
        counts for one of many cells it is the number that counts for this one.
        """

    @abstractmethod
    def samples(self, shares: Array) -> Iterable[Sample]:
        """Return the distribution of the reports behind this estimate under another true table.

        Constants that all reports contribute may be omitted.

        Parameters
        ----------
        shares : ndarray, shape as `support`
        """

    def null_covariance(self, shares: Array, forms: Array) -> Array:
        """Return the covariance of linear forms of the supports, if these were the true shares.

        That of a score test: it does not depend on how the very cells that are tested came out.

        Parameters
        ----------
        shares : ndarray, shape as `support`
        forms : ndarray, shape (K, cells)

        Returns
        -------
        ndarray, shape (K, K)
            For a large population; of two reports or more.
        """
        covariance = np.zeros((len(forms), len(forms)))
        for each in self.samples(shares):
            added = each.weights @ forms.T
            added -= each.chances @ added
            covariance += each.reports * (added.T * each.chances) @ added
        return covariance * (self.reports / (self.reports - 1))

    def variance(self) -> Array:
        """Return the variance of each support (Guo Result 1, diagonal of eq. 5.16).

        NaN where the reports do not identify one.
        """
        return self._mixed(self._variance)

    def standard_error(self) -> Array:
        """Return the standard error of each support, NaN where the reports do not identify one."""
        return np.sqrt(self.variance())

    def error_parts(self) -> tuple[Array, Array]:
        """Return the errors by the perturbation and by sampling: see `variances.error_parts`."""
        return error_parts(self.variance(), self.alone.variance())

    def unit_variance(self) -> UnitVariance | None:
        """Return N times the variance as a function of a share, for the design of these reports.

        None where it is not known, or where supports never leave 0 to 1.
        """
        large, alone = self._unit_variance("population"), self._unit_variance("respondents")
        if large is None or alone is None:
            return None
        return large.mixed(alone, self.fraction)

    def covariance(self) -> Array:
        """Return the covariance of the supports, shape (cells, cells), cells in row-major order.

        It is computed once, and read-only; NaN for fewer than two reports.

        Raises
        ------
        DomainTooLarge
            For more than `COVARIANCE_CELLS` cells.
        """
        cells = self.support.size
        check_cells("covariance", cells)
        if self.reports < 2:
            return np.full((cells, cells), np.nan)
        return self._known_covariance

    @cached_property
    def _known_covariance(self) -> Array:
        covariance = self._mixed(self._kept_covariance)
        covariance.flags.writeable = False
        return covariance

    @cached_property
    def _covariances(self) -> dict[Target, Array]:
        return {}

    def _kept_covariance(self, target: Target) -> Array:
        if target not in self._covariances:
            self._covariances[target] = self._covariance(target)
        return self._covariances[target]

    @cached_property
    def margins(self) -> Array:
        """Support of the cells of all margins, shape (d_1 + 1, …, d_k + 1)."""
        return with_sums(self.support)

    def margin_variance(self) -> Array:
        """Return the variance of each of `margins`; NaN where not identified."""
        return self._mixed(self._margin_variance)

    def margin_covariance(self, first: Places, second: Places) -> Array:
        """Return covariances of pairs of cells of margins.

        Parameters
        ----------
        first, second : ndarray of int, shape (R, k)
            Places of the cells. Where both name a category of one axis it is the same.

        Returns
        -------
        ndarray, shape (R,)
        """
        return self._mixed(partial(self._margin_covariance, first, second))

    def _mixed(self, of: Callable[[Target], Array]) -> Array:
        """Return a variance for the population that the respondents are `fraction` of.

        Where few reports make the variance for these respondents negative, that for a large
        population stands for it, which is too large.
        """
        if self.fraction in (0.0, 1.0):
            return of("respondents" if self.fraction else "population")
        large, alone = of("population"), of("respondents")
        return (1 - self.fraction) * large + self.fraction * np.where(np.isnan(alone), large, alone)

    @abstractmethod
    def _variance(self, target: Target) -> Array:
        """Return the variance of each support for a large population or the respondents."""

    @abstractmethod
    def _covariance(self, target: Target) -> Array:
        """Return the covariance for a small table of two reports or more."""

    def _unit_variance(self, target: Target) -> UnitVariance | None:
        return None

    def _margin_variance(self, target: Target) -> Array:
        places = np.indices(self.margins.shape).reshape(self.margins.ndim, -1).T
        variance = self._margin_covariance(places, places, target)
        # The sum of all is 1, and without variance.
        return np.maximum(variance, 0.0).reshape(self.margins.shape)

    def _margin_covariance(self, first: Places, second: Places, target: Target) -> Array:
        whole = self._kept_covariance(target)
        covariances = np.empty(len(first))
        for start in range(0, len(first), _ROWS):
            rows = slice(start, start + _ROWS)
            weights, others = (self._weights(places[rows]) for places in (first, second))
            covariances[rows] = np.einsum("ri,ri->r", weights @ whole, others)
        return covariances

    def _weights(self, places: Places) -> Array:
        """Return the cells of the table that each cell of a margin is the sum of."""
        weights = np.ones((len(places), 1))
        for axis, size in enumerate(self.support.shape):
            own = np.vstack([np.eye(size), np.ones(size)])[places[:, axis]]
            weights = (weights[:, :, None] * own[:, None, :]).reshape(len(places), -1)
        return weights


def with_sums(table: Array, axes: int | None = None) -> Array:
    """Return a table with its sum over each of the first axes put behind its cells."""
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

    @property
    def max_order(self) -> int:
        """Largest number of attributes whose joint table the reports identify."""
        return len(self.schema.attributes)

    @property
    def unperturbed(self) -> frozenset[str]:
        """Attributes in every report, which do not count towards `max_order`."""
        return frozenset()

    def check(self, attributes: Sequence[str]) -> None:
        """Raise ParameterError unless the reports identify the table of some attributes."""
        if len(attributes) > self.max_order:
            raise ParameterError(
                f"attributes: {len(attributes)} of them; the reports tell of at most"
                f" {self.max_order} together",
                field="attributes",
            )

    def complete(self, counts: Counts) -> bool:
        """Return true if the table of all attributes can be estimated."""
        return self.max_order == len(self.schema.attributes)

    @abstractmethod
    def table(self, counts: Counts, attributes: Sequence[str]) -> Table:
        """Estimate the table of some attributes, for which `check` has to pass, in this order.

        Raises
        ------
        EstimateError
            If there are too few reports yet.
        """

    @abstractmethod
    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        """Forecast the variance of the table of some attributes."""


class Reconstruction(TableSource):
    """Unbiased estimation from the reports of a perturbation."""

    def __init__(self, perturbation: Perturbation) -> None:
        super().__init__(perturbation.schema)
        self.perturbation = perturbation

    @abstractmethod
    def expected_table(self, attributes: Sequence[str], shares: Array, reports: int) -> Table:
        """Return the table that so many reports would give if each came out as often as expected.

        Its supports are the shares assumed, and its errors those of a survey of these people.

        Parameters
        ----------
        attributes : sequence of str
            For which `check` has to pass.
        shares : ndarray
            Assumed share of each cell, an axis for each attribute; they add up to 1.
        reports : int
            N.
        """

    @abstractmethod
    def contributions(
        self, counts: Counts, forms: Mapping[tuple[str, ...], Array]
    ) -> Iterator[tuple[Array, Array]]:
        """Yield reports with their centred contributions to K estimates.

        An estimate is the sum of one linear form of each of several tables, which need not be
        identified together. N times its error is about the sum of the contributions of all reports.

        Parameters
        ----------
        forms : mapping of tuple of str to ndarray, shape (*table, K)
            Weights of the cells of the table of some attributes, by their names.

        Yields
        ------
        numbers : ndarray, shape (R,)
        contributions : ndarray, shape (R, K)
        """

    @abstractmethod
    def largest_weight(self, attributes: Sequence[str]) -> float:
        """Return the largest absolute weight of a report for a cell of a table.

        An estimated share is the mean of the reports' weights, so that one report of N, fake or
        not, changes it by at most 1/N of this. An honest one has a mean weight of 1 or 0.

        Raises
        ------
        DomainTooLarge
            If there are too many cells.
        """
