"""Means, deviations and quantiles of answers in an order, such as the bins of numbers.

All are functions of the shares p of the answers within a group and of their covariance C (delta
method). With m what each answer counts as:

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.analyses.distribution import CountedAs
from halftruth_shared.number import parse_number
from numpy.typing import NDArray

from .answers import answered, answers_of
from .bounds import NEARLY_LINEAR, Array
from .contrasts import Contrasts
from .equation import score_values
from .gradients import Jet
from .table import Table


@dataclass(frozen=True, eq=False)
class Distributions:
    """Shares of the k answers within each of G groups.

    Attributes
    ----------
    base : ndarray, shape (G,)
        Share of everybody who is in the group and answered.
    share : Jet, shape (G, k)
        NaN where the group is not defined: its base is less than `NEARLY_LINEAR` standard errors
        above zero.
    covariance : ndarray
        Of what these are functions of; NaN where the reports determine none.
    """

    base: Array
    share: Jet
    covariance: Array

    @classmethod
    def of(cls, support: Array, covariance: Array) -> "Distributions":
        """Make them of shares of everybody, of groups by answers.

        Parameters
        ----------
        support : ndarray, shape (G, k)
        covariance : ndarray, shape (Gk, Gk)

        Examples
        --------
        >>> people = np.array([[0.1, 0.2, 0.1], [0.3, 0.2, 0.1]])
        >>> covariance = (np.diag(people.ravel()) - np.outer(people, people)) / 999
        >>> groups, ranks = Distributions.of(people, covariance), np.array([1.0, 2.0, 3.0])
        >>> means = groups.means(ranks, 1.96)
        >>> means.value.round(4).tolist(), means.standard_error.round(4).tolist()
        ([2.0, 1.6667], [0.0354, 0.0304])
        >>> groups.quantile(1, 0.5, ranks, 1.96)
        (1.0, 1.0, 2.0)
        """
        cells = Jet.variables(support)
        base = cells.sum(1)
        error = np.nan_to_num(base.standard_error(covariance))
        defined = np.where(base.value > NEARLY_LINEAR * error, base.value, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(base.value[:, 0], cells / Jet(defined, base.gradient), covariance)

    @classmethod
    def of_table(cls, schema: Schema, table: Table) -> "Distributions":
        """Make them of those who answered all attributes of a table, the last one by the others."""
        known = table.known_covariance()
        support, covariance = answered(schema, table.support, known, table.attributes)
        return cls.of(support.reshape(-1, support.shape[-1]), covariance)

    def __len__(self) -> int:
        return len(self.base)

    @cached_property
    def defined(self) -> NDArray[np.bool_]:
        """Groups whose base is large enough."""
        return np.asarray(~np.isnan(self.share.value).any(axis=1))

    @cached_property
    def known(self) -> bool:
        """True where there are errors."""
        return bool(np.isfinite(self.covariance).all())

    @cached_property
    def cumulative(self) -> Jet:
        """F̂, share of each answer and those before it; that of the last one is 1, exactly."""
        whole = self.share.cumsum(1)
        whole.value[:, -1], whole.gradient[:, -1] = 1.0, 0.0
        return whole

    def means(self, values: Array, z: float) -> Contrasts:
        """Mean of what the answers count as, ± z standard errors."""
        mean = (self.share * values).sum(1)[:, 0]
        return Contrasts.normal(mean.value, mean.standard_error(self.covariance), z)

    def mean_differences(self, values: Array, reference: int, z: float) -> Contrasts:
        """Return the difference of the mean of each other group from that of one of them.

        They are NaN where one of the two groups is not defined.
        """
        means = (self.share * values).sum(1)[:, 0]
        others = np.delete(np.arange(len(self)), reference)
        difference = means[others] - means[[reference] * len(others)]
        return Contrasts.normal(difference.value, difference.standard_error(self.covariance), z)

    def deviations(self, values: Array, z: float) -> Contrasts:
        """Their standard deviation, whose interval is that of the variance.

        All is NaN where the estimate of the variance is not positive.
        """
        mean = self.means(values, z)
        # Without its error, the error of the mean is left in.
        of_mean = np.square(mean.standard_error) if self.known else np.zeros(len(self))
        # About the mean, so that large values do not cancel.
        squares = (self.share * (values - mean.value[:, None]) ** 2).sum(1)[:, 0]
        variance = np.where(squares.value + of_mean > 0, squares.value + of_mean, np.nan)
        # To second order: between two answers given equally often, the first one is 0.
        error = np.sqrt(squares.standard_error(self.covariance) ** 2 + 2 * of_mean**2)
        deviation = np.sqrt(variance)
        lower, upper = (np.sqrt(np.maximum(variance + at * error, 0.0)) for at in (-z, z))
        return Contrasts(deviation, error / (2 * deviation), lower, upper)

    def quantile(
        self, group: int, share: float, values: Array, z: float, edges: Array | None = None
    ) -> tuple[float, float, float]:
        """Return the quantile of a share between 0 and 1 of one group, with its interval.

        Parameters
        ----------
        values : ndarray, shape (k,)
            What the answers count as.
        z : float
            Standard errors on both sides.
        edges : ndarray, shape (k + 1,), optional
            Ends of the bins, between which numbers are interpolated; else it is what an answer
            counts as.
        """
        cumulative = self.cumulative[group]
        curve, error = cumulative.value, cumulative.standard_error(self.covariance)
        up, down = np.maximum.accumulate(curve), np.minimum.accumulate(curve[::-1])[::-1]
        growing = np.clip((up + down) / 2, 0.0, 1.0)
        answer = first = last = int(np.argmax(growing >= share))
        if self.known:
            first = int(np.argmax(curve + z * error >= share))
            below = np.flatnonzero(curve - z * error < share)
            last = int(below[-1]) + 1 if below.size else 0
        if edges is None:
            return float(values[answer]), float(values[first]), float(values[last])
        value = self._inside(Jet(growing, cumulative.gradient), answer, share, 0.0, edges)
        if not self.known:
            return value, value, value
        lower = self._inside(cumulative, first, share, z, edges)
        return value, lower, self._inside(cumulative, last, share, -z, edges)

    def _inside(self, curve: Jet, place: int, share: float, z: float, edges: Array) -> float:
        """Return the place in a bin where the cumulative share ± z errors reaches a share."""
        before, after = (curve.value[place - 1] if place else 0.0), curve.value[place]
        covariance = np.zeros((2, 2))
        if z:
            near = curve.gradient[max(place - 1, 0) : place + 1]
            covariance[-len(near) :, -len(near) :] = near @ self.covariance @ near.T

        def lacking(part: float) -> float:
            weights = np.array([1 - part, part])
            error = np.sqrt(max(weights @ covariance @ weights, 0.0))
            return float(weights @ (before, after) + z * error - share)

        part = scipy.optimize.brentq(lacking, 0.0, 1.0) if lacking(1.0) > 0 else 1.0
        return float(edges[place] + part * (edges[place + 1] - edges[place]))


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
    read = [parse_number(answer) for answer in answers]
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
