"""Means, deviations and quantiles of answers in an order, such as the bins of numbers.

All are functions of the shares p of the answers within a group and of their covariance C (delta
method, :mod:`.ratios`). With m what each answer counts as:

- The mean is m·p, with variance mᵀCm.
- The variance of the answers is Σ m²p − (m·p)² + mᵀCm. The last term makes it unbiased: without it
  the error of the mean would be taken from it.
- The quantile of a share q is where the cumulative share F reaches q. Its interval has all places
  where F does not differ significantly from q, as q is inside the interval F̂ ± z·se (Woodruff
  1952, by inverting the test at each place instead of at the estimate alone, as Francisco & Fuller
  1991). It needs no density, and no F̂ that grows: shares below 0 only make it wider. Where F̂
  falls, the estimate is that of the mean of the largest F̂ up to each answer and the smallest one
  from it on, both of which grow.

Inside a bin F̂ is interpolated, as if the answers were spread evenly there; the bins that an end
of the interval lies in are right however they are. A mean of bins is wrong by at most the distance
of an answer from the middle of its bin, and so is a standard deviation, since that of a sum is at
most the sum of those of its parts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from halftruth_shared import Attribute, ParameterError
from halftruth_shared.analyses.distribution import CountedAs
from halftruth_shared.number import read_number

from .answers import answers_of
from .bounds import NEARLY_LINEAR, Array
from .equation import score_values
from .ratios import conditional_covariance


@dataclass(frozen=True)
class Moment:
    """A number with its standard error and interval; NaN where unknown."""

    value: float
    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Quantile:
    """Quantile: where the cumulative share reaches some share.

    Attributes
    ----------
    answer, first, last : int
        Place of the answer, and of those between which it is.
    value, lower, upper : float
        The same as numbers: what these answers count as or, between edges, interpolated.
    standard_error : float
        Of the cumulative share near the answer, the larger one of those on both sides of it.
    """

    answer: int
    first: int
    last: int
    value: float
    lower: float
    upper: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Distribution:
    """Shares of the k answers within a group.

    Attributes
    ----------
    base : float
        Share of everybody who is in the group and answered.
    share : ndarray, shape (k,)
    covariance : ndarray, shape (k, k)
        NaN where the reports determine none.
    defined : bool
        Whether the base is `NEARLY_LINEAR` standard errors above zero.
    """

    base: float
    share: Array
    covariance: Array
    defined: bool

    @cached_property
    def known(self) -> bool:
        """True where there are errors."""
        return bool(np.isfinite(self.covariance).all())

    @cached_property
    def standard_error(self) -> Array:
        """Of each share; NaN where unknown."""
        return _root(np.diag(self.covariance))

    @cached_property
    def cumulative(self) -> Array:
        """F̂, share of each answer and those before it; that of the last one is 1."""
        return np.append(np.cumsum(self.share)[:-1], 1.0)

    @cached_property
    def cumulative_error(self) -> Array:
        """Standard error of F̂."""
        return _root(np.diag(self._cumulative_covariance))

    @cached_property
    def _cumulative_covariance(self) -> Array:
        summed = self.covariance.cumsum(axis=0).cumsum(axis=1)
        # Rounding aside, everybody is at the last answer or before it.
        summed[-1] = summed[:, -1] = 0.0
        return summed

    def mean(self, values: Array, z: float) -> Moment:
        """Mean of what the answers count as, ± z standard errors."""
        error = float(_root(values @ self.covariance @ values))
        mean = float(values @ self.share)
        return Moment(mean, error, mean - z * error, mean + z * error)

    def deviation(self, values: Array, z: float) -> Moment:
        """Their standard deviation, whose interval is that of the variance.

        All is NaN where the estimate of the variance is not positive.
        """
        mean = self.mean(values, z)
        # Without its error, the error of the mean is left in.
        of_mean = mean.standard_error**2 if self.known else 0.0
        # About the mean, so that large values do not cancel.
        squares = (values - mean.value) ** 2
        variance = float(squares @ self.share + of_mean)
        if not variance > 0:
            return Moment(*[np.nan] * 4)
        # To second order: between two answers given equally often, the first one is 0.
        error = float(_root(squares @ self.covariance @ squares + 2 * of_mean**2))
        ends = np.sqrt(np.maximum([variance - z * error, variance + z * error], 0.0))
        deviation = float(np.sqrt(variance))
        return Moment(deviation, error / (2 * deviation), float(ends[0]), float(ends[1]))

    def quantile(
        self, share: float, values: Array, z: float, edges: Array | None = None
    ) -> Quantile:
        """Return the quantile of a share between 0 and 1.

        Parameters
        ----------
        values : ndarray, shape (k,)
            What the answers count as.
        z : float
            Standard errors on both sides.
        edges : ndarray, shape (k + 1,), optional
            Ends of the bins, between which numbers are interpolated.
        """
        cumulative, error = self.cumulative, self.cumulative_error
        up, down = np.maximum.accumulate(cumulative), np.minimum.accumulate(cumulative[::-1])[::-1]
        growing = np.clip((up + down) / 2, 0.0, 1.0)
        answer = first = last = int(np.argmax(growing >= share))
        if self.known:
            first = int(np.argmax(cumulative + z * error >= share))
            below = np.flatnonzero(cumulative - z * error < share)
            last = int(below[-1]) + 1 if below.size else 0
        near = float(error[max(answer - 1, 0) : answer + 1].max())
        if edges is None:
            value, lower, upper = (float(values[place]) for place in (answer, first, last))
        else:
            value = self._inside(growing, answer, share, 0.0, edges)
            lower = self._inside(cumulative, first, share, z, edges) if self.known else value
            upper = self._inside(cumulative, last, share, -z, edges) if self.known else value
        return Quantile(answer, first, last, value, lower, upper, near)

    def _inside(self, curve: Array, place: int, share: float, z: float, edges: Array) -> float:
        """Return the place in a bin where the cumulative share ± z errors reaches a share."""
        before, after = (curve[place - 1] if place else 0.0), curve[place]
        covariance = np.zeros((2, 2))
        here = slice(max(place - 1, 0), place + 1)
        if z:
            covariance[-len(curve[here]) :, -len(curve[here]) :] = self._cumulative_covariance[
                here, here
            ]

        def lacking(part: float) -> float:
            weights = np.array([1 - part, part])
            error = _root(weights @ covariance @ weights)
            return float(weights @ (before, after) + z * error - share)

        part = scipy.optimize.brentq(lacking, 0.0, 1.0) if lacking(1.0) > 0 else 1.0
        return float(edges[place] + part * (edges[place + 1] - edges[place]))


def distributions(support: Array, covariance: Array) -> Iterator[Distribution]:
    """Distribution of the answers within each group.

    Parameters
    ----------
    support : ndarray, shape (G, k)
        Shares of everybody, of groups by answers.
    covariance : ndarray, shape (Gk, Gk)
        Of the supports; NaN where the reports determine none.

    Examples
    --------
    >>> people = np.array([[0.1, 0.2, 0.1], [0.3, 0.2, 0.1]])
    >>> covariance = (np.diag(people.ravel()) - np.outer(people, people)) / 999
    >>> first, second = distributions(people, covariance)
    >>> ranks = np.array([1.0, 2.0, 3.0])
    >>> round(second.mean(ranks, 1.96).value, 4), round(second.mean(ranks, 1.96).standard_error, 4)
    (1.6667, 0.0304)
    >>> second.quantile(0.5, ranks, 1.96).answer
    0
    """
    groups, k = support.shape
    within = conditional_covariance(support, covariance, [0]).reshape(groups, k, groups, k)
    bases = covariance.reshape(groups, k, groups, k).sum(axis=(1, 3))
    for g, cells in enumerate(support):
        base, error = cells.sum(), _root(bases[g, g])
        defined = bool(base > (NEARLY_LINEAR * error if error == error else 0.0))
        share = cells / (base if defined else np.nan)
        yield Distribution(float(base), share, within[g, :, g, :], defined)


def mean_differences(
    support: Array, covariance: Array, values: Array, reference: int
) -> tuple[Array, Array]:
    """Return the difference of each group's mean from that of one of them, with standard errors.

    They are NaN where one of the two groups is not defined.

    Parameters
    ----------
    support : ndarray, shape (groups, k)
        Shares of everybody.
    covariance : ndarray, shape (groups·k, groups·k)
    values : ndarray, shape (k,)
        What the answers count as.
    reference : int
    """
    defined = np.array([group.defined for group in distributions(support, covariance)])
    support = np.where(defined[:, None], support, 1.0)
    base = support.sum(axis=1)
    means = support @ values / base
    slopes = (values - means[:, None]) / base[:, None]
    gradient = scipy.linalg.block_diag(*slopes)
    gradient = gradient - gradient[reference]
    error = _root(np.einsum("gi,ij,gj->g", gradient, covariance, gradient))
    known = np.where(defined & defined[reference], 0.0, np.nan)
    return means - means[reference] + known, error + known


def _root(variance: Array | float) -> Array:
    return np.sqrt(np.maximum(variance, 0.0))


@dataclass(frozen=True, eq=False)
class Scale:
    """Numbers that the answers to a question count as.

    Attributes
    ----------
    edges : ndarray or None
        Ends of the bins of a number.
    bin_error : float or None
        How far means of such are off at most.
    """

    answers: tuple[str, ...]
    values: Array
    counted_as: CountedAs
    edges: Array | None = None
    bin_error: float | None = None


def scale_of(attribute: Attribute, scores: Mapping[str, str]) -> Scale:
    """Numbers that the answers to a question count as.

    Parameters
    ----------
    scores : mapping of str to str
        Of this attribute "ranks", or numbers that grow, such as "20,45,70".

    Raises
    ------
    ParameterError
    """
    answers = answers_of(attribute)
    if len(answers) < 2:
        raise ParameterError(
            f"attribute: '{attribute.name}' has one answer besides those missing; expected an"
            " attribute with two or more",
            field="attribute",
        )
    for name, text in scores.items():
        if name != attribute.name:
            raise ParameterError(
                f"scores: '{name}' is not the attribute that is described; expected"
                f" {attribute.name}=ranks, or numbers",
                field="scores",
            )
        values = np.array(score_values(name, len(answers), text))
        if not (np.diff(values) > 0).all():
            raise ParameterError(
                "scores: expected numbers that grow, as the answers are in an order", field="scores"
            )
        return Scale(answers, values, "ranks" if text.strip() == "ranks" else "scores")
    if attribute.number is not None:
        edges = [float(edge) for edge in attribute.number.edges]
        middles = np.array([float(middle) for middle in attribute.number.midpoints])
        error = largest_distance(edges, attribute.number.whole)
        return Scale(answers, middles, "middles", np.array(edges), error)
    read = [read_number(answer) for answer in answers]
    values = np.array([np.nan if one is None else float(one) for one in read])
    if (np.diff(values) > 0).all():
        return Scale(answers, values, "numbers")
    return Scale(answers, np.arange(1.0, len(answers) + 1), "ranks")


def largest_distance(edges: Sequence[float], whole: bool) -> float:
    """Distance of an answer from the middle of its bin, at most.

    >>> largest_distance([19.5, 29.5, 39.5], whole=True), largest_distance([0, 2.5, 5], whole=False)
    (4.5, 1.25)
    """
    width = float(np.diff(edges).max())
    return (width - 1) / 2 if whole else width / 2
