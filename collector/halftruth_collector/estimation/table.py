"""Estimated tables of the answers, and where they come from."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from halftruth_shared import DomainTooLarge, ParameterError, Perturbation, Schema
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array, Places
from numpy.typing import NDArray

from .counts import Counts
from .variances import UnitVariance, error_parts, ratio_covariance

#: Largest table whose covariance matrix is ever built.
COVARIANCE_CELLS = 2_048

#: Margins whose covariance is computed at a time.
_ROWS = 512

#: Against the variances that a variance is the difference of, one that is nothing but rounding.
_ROUNDING = 1e-12

#: What is taken for the share of a cell that is estimated to be nobody's.
SOMEBODY = 1e-9

#: Codes of the answers that count, for each axis of a table.
Kept = tuple[tuple[int, ...], ...]


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

    def sampled(self, fraction: float) -> Self:
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
    def alone(self) -> Self:
        """The same table with the errors for exactly these respondents: by perturbation alone."""
        return self.sampled(1.0)

    @property
    def is_sample(self) -> bool:
        """True if estimates are of more people than the respondents."""
        return self.fraction < 1

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
            For a large population or, if `fraction` is 1, for these respondents; NaN for fewer than
            two reports.
        """
        if self.reports < 2:
            return np.full((len(forms), len(forms)), np.nan)
        covariance = np.zeros((len(forms), len(forms)))
        for each in self.samples(shares):
            added = each.weights @ forms.T
            added -= each.chances @ added
            covariance += each.reports * (added.T * each.chances) @ added
        covariance *= self.reports / (self.reports - 1)
        if not self.is_sample:
            means = forms @ shares.ravel()
            sampling = (forms * shares.ravel()) @ forms.T - np.outer(means, means)
            covariance -= sampling / (self.reports - 1)
        return covariance

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

    def given(self, axes: int, kept: "Kept") -> "DomainTable":
        """Return the table of those whose answers are among some, with the shares of them.

        Parameters
        ----------
        axes : int
            Number of axes that it has: the first ones.
        kept : tuple of tuple of int
            Codes of the answers that count, for each axis of this table.
        """
        table = DomainTable(self, axes, kept)
        return replace(table, reports=max(1, round(self.reports * table.base)))

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

    def known_covariance(self) -> Array:
        """Return `covariance`, NaN where the reports determine no variance at all.

        Reports that all weigh the same show none, which does not mean that there is none.
        """
        covariance = self.covariance()
        unknown = np.isnan(self.variance()).all()
        return np.full_like(covariance, np.nan) if unknown else covariance

    def covariance_of(self, forms: Array) -> Array:
        """Return the covariance of K linear forms of the supports, shape (K, K).

        Parameters
        ----------
        forms : ndarray, shape (K, cells)
        """
        return np.asarray(forms @ self.covariance() @ forms.T)

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


@dataclass(eq=False)
class DerivedTable(Table):
    """Table that is computed from another one, whose errors are of the population that is meant."""

    joint: Table

    @property
    def attributes(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.joint.attributes

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
        # The other table has mixed its own.
        return of("population")


@dataclass(eq=False)
class DomainTable(DerivedTable):
    """Table of those whose answers are among some, with the shares of them.

    The share of a cell among them is p = s/b, a ratio of linear forms of one larger table: s is the
    cell's share of everybody, perhaps the sum of several cells, and the *base* b is the sum of all
    s. So a table within a domain is a table like any other, for every mechanism and fraction, and
    whatever is computed from tables holds of the domain.

    What the delta method leaves out is that an error of the base changes the size of the others. Of
    surveys whose base is significantly above zero, intervals of 95 % hold the truth in as few as
    0.79 where it is about 2 standard errors above 0, in 0.92 where it is 4, and in 0.935 to 0.97
    where it is 5 (two and five cells simulated, normal with equal errors). So a domain is refused
    below `bounds.NEARLY_LINEAR` of them.

    Attributes
    ----------
    axes : int
        Number of axes that the table has: the first ones of `joint`, and over all further ones is
        summed.
    kept : tuple of tuple of int
        Codes of the answers that count, for each axis of it.
    reports : int
        About how many of all reports are of these people, at least 1.
    design : callable, optional
        Variance of the table of `attributes` of everybody as a function of a share, by `fraction`.
    """

    axes: int
    kept: Kept
    reports: int = 1
    design: Callable[[float], UnitVariance] | None = None

    @property
    def attributes(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.joint.attributes[: self.axes]

    @cached_property
    def is_slice(self) -> bool:
        """True if all answers to `attributes` count, and one to each further one.

        The margins of `joint` then give all errors without the covariance of all cells.
        """
        sizes = (*self.joint.support.shape[: self.axes], *[1] * (len(self.kept) - self.axes))
        return all(len(codes) == size for codes, size in zip(self.kept, sizes, strict=True))

    @cached_property
    def cells(self) -> Array:
        """s, share of everybody of each cell."""
        return self.summed(self.joint.support)

    @cached_property
    def base(self) -> float:
        """b, share of everybody of all cells."""
        return float(self.cells.sum())

    @cached_property
    def support(self) -> Array:
        return np.asarray(self.cells / self.base)

    @property
    def effective_reports(self) -> Array:
        return self.summed(self.joint.effective_reports)

    def summed(self, joint: Array) -> Array:
        """Return the sums for each cell of something additive of the larger table."""
        summed = tuple(range(self.axes, len(self.kept)))
        return np.asarray(joint[np.ix_(*self.kept)].sum(axis=summed))

    @property
    def _chosen(self) -> NDArray[np.int64]:
        """Cells of the larger table that make up each one of this."""
        whole = np.arange(self.joint.support.size).reshape(self.joint.support.shape)
        return np.asarray(whole[np.ix_(*self.kept)].reshape(self.cells.size, -1))

    def samples(self, shares: Array) -> Iterator[Sample]:
        """The reports of everybody, by what they add to these shares (delta method)."""
        shares, chosen = shares.ravel(), self._chosen
        everybody = np.maximum(self.joint.support.ravel(), SOMEBODY)
        inside = everybody[chosen]
        inside *= (shares * inside.sum() / inside.sum(axis=1))[:, None]
        everybody[chosen] = inside
        base = inside.sum() / everybody.sum()
        whole = (everybody / everybody.sum()).reshape(self.joint.support.shape)
        for each in self.joint.samples(whole):
            added = each.weights[:, chosen].sum(axis=2)
            added = (added - added.sum(axis=1, keepdims=True) * shares) / base
            yield Sample(each.reports, each.chances, added)

    def unit_variance(self) -> UnitVariance | None:
        if self.design is None:
            return None
        return self.design(self.fraction).take(np.ix_(*self.kept[: self.axes]))

    @property
    def cells_are_single(self) -> bool:
        """True if no cell is the sum of several ones of `joint`."""
        return all(len(codes) == 1 for codes in self.kept[self.axes :])

    def cells_covariance(self) -> Array:
        """Covariance of `cells` in row-major order."""
        size, each = self._chosen.shape
        chosen = self._chosen.ravel()
        covariance = self.joint.covariance()[np.ix_(chosen, chosen)]
        return np.asarray(covariance.reshape(size, each, size, each).sum(axis=(1, 3)))

    def covariance_of(self, forms: Array) -> Array:
        slopes = (forms - (forms @ self.support.ravel())[:, None]) / self.base
        of_joint = np.zeros((len(forms), self.joint.support.size))
        of_joint[:, self._chosen] = slopes[:, :, None]
        return self.joint.covariance_of(of_joint)

    def cells_variance(self) -> Array:
        """Variance of `cells`; NaN where the reports do not determine one."""
        if self.cells_are_single:
            return self.summed(self.joint.variance())
        spread = np.diag(self.cells_covariance()).reshape(self.cells.shape)
        return self._determined(spread, self._largest)

    def base_error(self) -> float:
        """Standard error of `base`, NaN where unknown; 0 where every report tells it."""

        def variance(table: DomainTable) -> float:
            if not table.axes:
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
        # Reports of one weight each leave nothing but rounding of its square.
        variance = np.diag(self.joint.sampled(0.0).covariance()).max()
        return float(max(variance, np.square(self.joint.support).max() / self.joint.reports))

    def _covariance(self, target: Target) -> Array:
        share, cells = self.support.ravel(), self.cells_covariance()
        with_base = cells.sum(axis=0)
        spread = ratio_covariance(
            cells, share[:, None], share, with_base, with_base[:, None], cells.sum()
        )
        return spread / self.base**2

    @cached_property
    def margins(self) -> Array:
        if not self.is_slice:
            return super().margins
        # Everybody in the domain: the last place of every axis.
        cells = self.joint.margins[self._slice]
        return np.asarray(cells / cells[(-1,) * cells.ndim])

    @property
    def _slice(self) -> tuple[Any, ...]:
        """Place of the domain along the last axes of the joint table."""
        return (..., *(code for [code] in self.kept[self.axes :]))

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
        return float(self.joint.margins[self._slice][(-1,) * self.axes])

    def _slice_variance(self, of_joint: Array) -> Array:
        """Variances from those of the shares of everybody, of all margins or of the table."""
        places = np.indices(of_joint.shape).reshape(of_joint.ndim, -1).T
        spread, bases = self._spread(of_joint.ravel(), places, places)
        # All that is left of equal weights is rounding, as of the reports of one table.
        known = self._determined(spread, np.abs(of_joint.ravel()) + bases)
        return np.reshape(known / self._slice_base**2, of_joint.shape)

    def _spread(self, product: Array, first: Places, second: Places) -> tuple[Array, Array]:
        """Covariance of s − p·b of pairs of cells, from that of s; and what p²·var(b) is."""
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
        """Variances that are no rounding of others of some scale; NaN where there is none."""
        nothing = _ROUNDING * scale
        if self.is_sample:
            return np.where(spread > nothing, spread, np.nan)
        return np.where(spread >= -nothing, np.maximum(spread, 0.0), np.nan)


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
