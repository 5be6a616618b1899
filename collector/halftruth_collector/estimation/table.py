"""Estimated contingency tables with their covariance, domain estimation, and table sources."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Perturbation, Schema
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array, Places
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from .counts import Counts
from .identified import IdentifiedSets
from .variances import UnitVariance, error_parts, ratio_covariance

#: Largest table whose covariance matrix is ever built.
COVARIANCE_CELLS = 2_048

#: Margins whose covariance is computed at a time.
_ROWS = 512

#: A difference of variances below this fraction of them is rounding error.
_ROUNDING = 1e-12

#: Share assumed for a cell whose estimate is not positive.
SOMEBODY = 1e-9

#: Codes of the selected answers, for each axis of a table.
Kept = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class ReportDistribution:
    """Identically distributed reports: their number, their probabilities, and their weights.

    Attributes
    ----------
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
        _ = self._covariances  # create the cache that both tables share
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

        Constants that all reports contribute may be omitted. Weighted shares and the shares of a
        model are not sums over reports, so these tables raise EstimateError.
        """
        raise EstimateError(
            "estimate: weighted shares and those of a model have no score test; expected a moment"
            " estimate without margins",
            field="estimate",
        )

    def variance(self) -> Array:
        """Return the variance of each share (Guo Result 1, diagonal of eq. 5.16).

        NaN where the reports do not identify one.
        """
        return self._mixed(self._variance)

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

    def given(self, axes: int, kept: "Kept") -> "DomainTable":
        """Return the table of a domain (subpopulation): the people who give selected answers.

        Parameters
        ----------
        axes : int
            Number of axes of the domain table: the first ones of this table.
        kept : tuple of tuple of int
            Codes of the selected answers, for each axis of this table.
        """
        table = DomainTable(self, axes, kept)
        return replace(table, reports=max(1, round(self.reports * table.base)))

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


@dataclass(eq=False)
class DerivedTable(Table):
    """Table computed from a table that already includes the finite population correction."""

    joint: Table

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.joint.axes

    @property
    def reports(self) -> int:  # type: ignore[override]
        return self.joint.reports

    @property
    def fraction(self) -> float:  # type: ignore[override]
        return self.joint.fraction

    def sampled(self, fraction: float) -> Self:
        if fraction == self.fraction:
            return self
        return replace(self, joint=self.joint.sampled(fraction))

    @property
    def logit(self) -> bool:
        return self.joint.logit

    def _mixed(self, of: Callable[[Target], Array]) -> Array:
        # `joint` has already applied the finite population correction.
        return of("population")


@dataclass(eq=False)
class DomainTable(DerivedTable):
    """Domain estimation: table of a domain (subpopulation), with errors by the delta method.

    The share of a cell within the domain is a ratio p = s/b of linear forms of a larger table: s is
    the share of the cell among all people, possibly a sum of several cells, and the *base* b is the
    share of the domain. So all analyses apply to domains, for every mechanism.

    The delta method neglects the product of the errors of s and b. In simulations (two and five
    cells, normal with equal errors) the coverage of 95 % intervals, given that the base is
    significantly above zero, was 0.79 for a base of 2 standard errors, 0.92 for 4, and 0.935 to
    0.97 for 5. Domains whose base is below `bounds.NEARLY_LINEAR` standard errors are therefore
    refused.

    Attributes
    ----------
    dimensions, kept
        The axes and codes of `Table.given`.
    reports : int
        Estimated number of respondents in the domain, at least 1.
    design : callable, optional
        Unit variance of the table of `axes` for all people, as a function of `fraction`.
    """

    dimensions: int
    kept: Kept
    reports: int = 1
    design: Callable[[float], UnitVariance] | None = None

    @property
    def axes(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.joint.axes[: self.dimensions]

    @cached_property
    def is_slice(self) -> bool:
        """True if the domain is one slice of `joint`: a single answer to each summed attribute.

        Its covariance then follows from the margins of `joint`, without the covariance of all
        cells.
        """
        sizes = (
            *self.joint.value.shape[: self.dimensions],
            *[1] * (len(self.kept) - self.dimensions),
        )
        return all(len(codes) == size for codes, size in zip(self.kept, sizes, strict=True))

    @cached_property
    def cells(self) -> Array:
        """s, the share of each cell among all people."""
        return self.summed(self.joint.value)

    @cached_property
    def base(self) -> float:
        """b, the share of the domain among all people."""
        return float(self.cells.sum())

    @cached_property
    def value(self) -> Array:
        return np.asarray(self.cells / self.base)

    @property
    def effective_reports(self) -> Array:
        return self.summed(self.joint.effective_reports)

    def summed(self, joint: Array) -> Array:
        """Sum an array of the shape of `joint` over the cells that make up each cell."""
        summed = tuple(range(self.dimensions, len(self.kept)))
        return np.asarray(joint[np.ix_(*self.kept)].sum(axis=summed))

    @property
    def _chosen(self) -> NDArray[np.int64]:
        """Indices of the cells of `joint` that make up each cell."""
        whole = np.arange(self.joint.value.size).reshape(self.joint.value.shape)
        return np.asarray(whole[np.ix_(*self.kept)].reshape(self.cells.size, -1))

    def report_distributions(self, shares: Array) -> Iterator[ReportDistribution]:
        """Yield all reports with their linearized contributions to the shares (delta method)."""
        shares, chosen = shares.ravel(), self._chosen
        everybody = np.maximum(self.joint.value.ravel(), SOMEBODY)
        inside = everybody[chosen]
        inside *= (shares * inside.sum() / inside.sum(axis=1))[:, None]
        everybody[chosen] = inside
        base = inside.sum() / everybody.sum()
        whole = (everybody / everybody.sum()).reshape(self.joint.value.shape)
        for each in self.joint.report_distributions(whole):
            added = each.weights[:, chosen].sum(axis=2)
            added = (added - added.sum(axis=1, keepdims=True) * shares) / base
            yield ReportDistribution(each.reports, each.chances, added)

    def unit_variance(self) -> UnitVariance | None:
        """Return the unit variance among all people, scaled to the estimated variance.

        A perturbed filter changes the effective sample size of a domain.
        """
        if self.design is None:
            return None
        unit = self.design(self.fraction).take(np.ix_(*self.kept[: self.dimensions]))
        estimated = (self.reports - 1) * self.variance()
        possible = unit.at(np.clip(self.value, 0.0, 1.0))
        known = (estimated > 0) & (possible > 0)
        return unit.scaled(np.where(known, estimated, 1.0) / np.where(known, possible, 1.0))

    @property
    def cells_are_single(self) -> bool:
        """True if each cell is a single cell of `joint`."""
        return all(len(codes) == 1 for codes in self.kept[self.dimensions :])

    def cells_covariance(self) -> Array:
        """Covariance of `cells` in row-major order."""
        size, each = self._chosen.shape
        chosen = self._chosen.ravel()
        covariance = self.joint.covariance()[np.ix_(chosen, chosen)]
        return np.asarray(covariance.reshape(size, each, size, each).sum(axis=(1, 3)))

    def _covariance_of(self, forms: Array) -> Array:
        slopes = (forms - (forms @ self.value.ravel())[:, None]) / self.base
        of_joint = np.zeros((len(forms), self.joint.value.size))
        of_joint[:, self._chosen] = slopes[:, :, None]
        return self.joint.covariance(of_joint)

    def cells_variance(self) -> Array:
        """Variance of `cells`; NaN where the reports do not determine one."""
        if self.cells_are_single:
            return self.summed(self.joint.variance())
        spread = np.diag(self.cells_covariance()).reshape(self.cells.shape)
        return self._determined(spread, self._largest)

    def base_error(self) -> float:
        """Standard error of `base`: NaN if unknown, 0 if reports state it unperturbed."""

        def variance(table: DomainTable) -> float:
            if not table.dimensions:
                return float(table.cells_variance())
            return float(table._determined(table.cells_covariance().sum(), table._largest))

        error = variance(self)
        if math.isnan(error) and variance(self.sampled(1.0)) == 0:
            return 0.0
        return math.sqrt(error)

    def _variance(self, target: Target) -> Array:
        if self.is_slice:
            return self._slice_variance(self.cells_variance())
        if self.joint.reports < 2:
            return np.full(self.cells.shape, np.nan)
        spread = np.diag(self._covariance(target)).reshape(self.cells.shape)
        return self._determined(spread, self._largest / self.base**2)

    @cached_property
    def _largest(self) -> float:
        if self.joint.reports < 2:
            return math.nan
        # If all reports have the same weight, the computed variance is rounding error.
        variance = np.diag(self.joint.sampled(0.0).covariance()).max()
        return float(max(variance, np.square(self.joint.value).max() / self.joint.reports))

    def _covariance(self, target: Target) -> Array:
        share, cells = self.value.ravel(), self.cells_covariance()
        with_base = cells.sum(axis=0)
        spread = ratio_covariance(
            cells, share[:, None], share, with_base, with_base[:, None], cells.sum()
        )
        return spread / self.base**2

    @cached_property
    def margins(self) -> Array:
        if not self.is_slice:
            return super().margins
        # The last index of every axis is the sum: the whole domain.
        cells = self.joint.margins[self._slice]
        return np.asarray(cells / cells[(-1,) * cells.ndim])

    @property
    def _slice(self) -> tuple[Any, ...]:
        """Index of the domain along the last axes of `joint`."""
        return (..., *(code for [code] in self.kept[self.dimensions :]))

    def _margin_variance(self, target: Target) -> Array:
        if not self.is_slice:
            return super()._margin_variance(target)
        return self._slice_variance(self.joint.margin_variance()[self._slice])

    def _margin_covariance(self, first: Places, second: Places, target: Target) -> Array:
        if not self.is_slice:
            return super()._margin_covariance(first, second, target)
        places = self._joint_places(first), self._joint_places(second)
        product = self.joint.margin_covariance(*places)
        return np.asarray(self._spread(product, first, second)[0] / self._slice_base**2)

    @property
    def _slice_base(self) -> float:
        return float(self.joint.margins[self._slice][(-1,) * self.dimensions])

    def _slice_variance(self, of_joint: Array) -> Array:
        """Variances of the ratios, from the variances of the shares among all people."""
        places = np.indices(of_joint.shape).reshape(of_joint.ndim, -1).T
        spread, bases = self._spread(of_joint.ravel(), places, places)
        # If all reports have the same weight, the difference of variances is rounding error.
        known = self._determined(spread, np.abs(of_joint.ravel()) + bases)
        return np.reshape(known / self._slice_base**2, of_joint.shape)

    def _spread(self, product: Array, first: Places, second: Places) -> tuple[Array, Array]:
        """Return the covariance of s − p·b for pairs of cells, and |p·q|·var(b) as its scale."""
        p, q = (self.margins[tuple(places.T)] for places in (first, second))
        base = self._with_base(self._everybody[None])
        with_first = self._with_base(first)
        with_second = with_first if first is second else self._with_base(second)
        spread = ratio_covariance(product, p, q, with_second, with_first, base)
        return spread, np.abs(p * q * base)

    @property
    def _everybody(self) -> Places:
        return np.array(self.margins.shape) - 1

    def _with_base(self, places: Places) -> Array:
        base = np.broadcast_to(self._everybody, places.shape)
        whole = self._joint_places(places), self._joint_places(base)
        return self.joint.margin_covariance(*whole)

    def _joint_places(self, places: Places) -> Places:
        codes = self._slice[1:]
        return np.concatenate([places, np.broadcast_to(codes, (len(places), len(codes)))], axis=1)

    def _determined(self, spread: Array, scale: Array | float) -> Array:
        """Replace variances that are rounding errors at a given scale by NaN."""
        nothing = _ROUNDING * scale
        if self.is_sample:
            return np.where(spread > nothing, spread, np.nan)
        return np.where(spread >= -nothing, np.maximum(spread, 0.0), np.nan)


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
        free = self.identified_sets.perturbed(positions)
        part = self.identified_sets.example(free)
        raise ParameterError(
            f"attributes: no report tells of {self.listing(free)} together; expected"
            f" attributes that are, such as {self.listing(part)}",
            field="attributes",
        )

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
