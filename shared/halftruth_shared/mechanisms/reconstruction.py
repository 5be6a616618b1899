"""Reconstruction: from counts of reports to estimated tables of the answers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..channels.axes import Array, Places
from ..errors import DomainTooLarge, ParameterError
from ..schema import Schema
from .variances import Target, UnitVariance

#: Largest table whose covariance matrix is ever built.
COVARIANCE_CELLS = 2_048


@dataclass(frozen=True)
class Likelihood:
    """Operators of the likelihood of a table: see `Reconstruction` for each."""

    expected: Callable[[Array], Array]
    adjoint: Callable[[Array], Array]
    observed: Callable[["ReportCounts"], Array]


class ReportCounts(Protocol):
    """Counts of the different reports."""

    @property
    def reports(self) -> int:
        """Number of reports N, at least 1."""

    @property
    def cells(self) -> NDArray[np.int64]:
        """The different reports, shape (K, columns)."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of each of them, shape (K,)."""

    def marginal(self, columns: Sequence[int]) -> NDArray[np.int64]:
        """Counts of the values of some columns, one axis for each in the order given."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Reports that all come of one distribution, and what they add to an estimated table.

    Attributes
    ----------
    reports : int
        How many there are.
    chances : ndarray, shape (K,)
        Probability of each of K different ones.
    weights : ndarray, shape (K, cells)
        What one report adds to each estimated share, cells in row-major order.
    """

    reports: int
    chances: Array
    weights: Array


class TableEstimate(ABC):
    """Unbiased estimate of a table of some attributes, one axis for each.

    Not confined to [0, 1]: an estimate below 0 means that its interval reaches up to 0 at best.

    Attributes
    ----------
    attributes : tuple of str
    reports : int
        N, at least 1.
    """

    attributes: tuple[str, ...]
    reports: int

    @property
    def condition_number(self) -> float | None:
        """Ratio of the extreme singular values, None where no single matrix is inverted."""
        return None

    @property
    @abstractmethod
    def support(self) -> Array:
        """Estimated share of each cell; they add up to 1."""

    @property
    @abstractmethod
    def effective_reports(self) -> Array:
        """About how many reports each support rests on, shape as `support`.

        With φ what a report adds to the estimate, apart from its mean, N·(E φ²)²/E φ⁴: so many
        yes/no answers, half of them yes, have a sum as far from normal as theirs. Where each
        report counts for one of many cells it is the number that counts for this one.
        """

    @abstractmethod
    def samples(self, shares: Array) -> Iterable[Sample]:
        """The reports behind this estimate, as they come where the true table is another one.

        What a report adds that is the same for all of them may be left out.

        Parameters
        ----------
        shares : ndarray, shape as `support`
        """

    @abstractmethod
    def variance(self, target: Target = "population") -> Array:
        """Variance of each support, NaN where these reports do not determine one."""

    def covariance(self, target: Target = "population") -> Array:
        """Covariance of the supports, shape (cells, cells), cells in row-major order.

        NaN for fewer than two reports.

        Raises
        ------
        DomainTooLarge
            For more than `COVARIANCE_CELLS` cells.
        """
        cells = self.support.size
        if cells > COVARIANCE_CELLS:
            raise DomainTooLarge(
                f"attributes: the covariance of {cells} cells; expected at most"
                f" {COVARIANCE_CELLS} cells",
                field="attributes",
            )
        if self.reports < 2:
            return np.full((cells, cells), np.nan)
        return self._covariance(target)

    @abstractmethod
    def _covariance(self, target: Target) -> Array:
        """The same for a small table of two reports or more."""


class Margins(ABC):
    """Every margin of a table, estimated at once.

    A cell of a margin is a place along each of the k axes; the last place along an axis, d_j, is
    the sum over it.

    Attributes
    ----------
    support : ndarray, shape (d_1 + 1, …, d_k + 1)
    """

    support: Array

    @abstractmethod
    def variance(self, target: Target = "population") -> Array:
        """Variance of each support, shape as `support`; NaN where undetermined."""

    @abstractmethod
    def covariance(self, first: Places, second: Places, target: Target = "population") -> Array:
        """Covariances of pairs of cells.

        Parameters
        ----------
        first, second : ndarray of int, shape (R, k)
            Places of the cells. Where both name a category of one axis it is the same.
        target : {"population", "respondents"}

        Returns
        -------
        ndarray, shape (R,)
        """


class Reconstruction(ABC):
    """From counts of a mechanism's reports to what the respondents answered.

    All its tables belong together: the table of fewer attributes is the margin of that of more,
    and the cells of each add up to 1.

    Parameters
    ----------
    schema : Schema
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @property
    def longest(self) -> int:
        """The reports tell of every table of up to so many attributes."""
        return len(self.schema.attributes)

    @property
    def known(self) -> frozenset[str]:
        """Attributes that every report tells of beside all others, and so need not be counted."""
        return frozenset()

    def check(self, attributes: Sequence[str]) -> None:
        """Make sure that the reports tell of a table of some attributes.

        Raises
        ------
        ParameterError
        """
        if len(attributes) > self.longest:
            raise ParameterError(
                f"attributes: {len(attributes)} of them; the reports tell of at most"
                f" {self.longest} together",
                field="attributes",
            )

    def complete(self, counts: ReportCounts) -> bool:
        """Return true if the table of all attributes can be estimated."""
        return self.longest == len(self.schema.attributes)

    @abstractmethod
    def table(self, counts: ReportCounts, attributes: Sequence[str]) -> TableEstimate:
        """Estimate the table of some attributes, for which `check` has to pass, in this order.

        Raises
        ------
        EstimateError
            If there are too few reports yet.
        """

    @abstractmethod
    def margins(self, counts: ReportCounts, attributes: Sequence[str]) -> Margins:
        """Every margin of the table of some attributes, which cost little more than the table."""

    @abstractmethod
    def expected(self, table: Array) -> Array:
        """Probability of every report, for the table of all attributes.

        Parameters
        ----------
        table : ndarray
            Shares, shape of the schema.

        Returns
        -------
        ndarray
            Of any shape that :meth:`observed` has too.
        """

    @abstractmethod
    def expected_of(self, table: Array, attributes: Sequence[str]) -> Array:
        """Probability of every report, for a table of some attributes.

        All others are evenly spread, independently of these.

        Parameters
        ----------
        table : ndarray
            Shares, an axis for each of the attributes in this order.

        Returns
        -------
        ndarray
            Without what of a report then says nothing of these attributes.
        """

    @abstractmethod
    def adjoint(self, weights: Array) -> Array:
        """The transpose of :meth:`expected`: by record, the mean weight of its reports."""

    @abstractmethod
    def observed(self, counts: ReportCounts) -> Array:
        """Share of every report, arranged like :meth:`expected`."""

    def likelihood(self, counts: ReportCounts) -> Likelihood:
        """The last three, perhaps without reports that are not among some counts."""
        return Likelihood(self.expected, self.adjoint, self.observed)

    @abstractmethod
    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        """Forecast the variance of the table of some attributes."""

    @abstractmethod
    def largest_weight(self, attributes: Sequence[str]) -> float:
        """Largest weight of a report for a cell of the table of some attributes, as a magnitude.

        An estimated share is the mean of the reports' weights, so that one report of N, made up or
        not, moves it by at most 1/N of this. A true one has the weight 1 or 0 in the mean.

        Raises
        ------
        DomainTooLarge
            If there are too many cells to look at.
        """
