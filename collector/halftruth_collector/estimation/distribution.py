"""Means, standard deviations and quantiles of ordered answers, such as the bins of numbers.

With the shares p of the answers within a group, their covariance C, and scores m of the answers:

- The mean is m·p, with variance mᵀCm.
- The variance of the answers is Σ m²p − (m·p)² + mᵀCm. The last term corrects the bias due to the
  error of the mean.
- The quantile of q is the point where the cumulative share F reaches q. Its interval contains all
  points where q is inside the interval F̂ ± z·se (Woodruff 1952; the test is inverted at each point
  instead of at the estimate alone, as in Francisco & Fuller 1991). It needs neither a density nor a
  monotone F̂: negative shares only widen it. If F̂ decreases, it is replaced for the estimate by
  the mean of its running maximum from below and its running minimum from above, which is monotone.

F̂ is interpolated linearly within a bin; the bins that contain the ends of an interval are valid
for any distribution within them. The discretization error of a mean is at most the largest distance
of an answer from the midpoint of its bin; the same bound holds for a standard deviation, by the
triangle inequality.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.analyses.distribution import CountedAs
from halftruth_shared.number import parse_number
from numpy.typing import NDArray

from .answers import answer_codes, answered, answers_of
from .bounds import NEARLY_LINEAR, Array
from .contrasts import Contrasts
from .equation import score_values
from .gradients import Jet
from .independence import unskewed
from .table import SOMEBODY, Table


@dataclass(frozen=True, eq=False)
class Distributions:
    """Shares of the k answers within each of G groups.

    Attributes
    ----------
    base : ndarray, shape (G,)
        Share of the members of the group who answered, among all people.
    share : Jet, shape (G, k)
        NaN if the base of the group is less than `NEARLY_LINEAR` standard errors above zero.
    covariance : ndarray
        Covariance of the variables of the jets; NaN if not identified.
    """

    base: Array
    share: Jet
    covariance: Array

    @classmethod
    def of(cls, support: Array, covariance: Array) -> "Distributions":
        """Make distributions from the shares among all people, groups by answers.

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
        """Make distributions of the last attribute by the others, without missing values."""
        known = table.identified_covariance()
        support, covariance = answered(schema, table.value, known, table.axes)
        return cls.of(support.reshape(-1, support.shape[-1]), covariance)

    def __len__(self) -> int:
        return len(self.base)

    @cached_property
    def defined(self) -> NDArray[np.bool_]:
        """Mask of the groups whose base is large enough."""
        return np.asarray(~np.isnan(self.share.value).any(axis=1))

    @cached_property
    def known(self) -> bool:
        """True if the covariance is known."""
        return bool(np.isfinite(self.covariance).all())

    @cached_property
    def cumulative(self) -> Jet:
        """F̂, cumulative share of each answer; exactly 1 for the last one."""
        whole = self.share.cumsum(1)
        whole.value[:, -1], whole.gradient[:, -1] = 1.0, 0.0
        return whole

    def means(self, values: Array, z: float) -> Contrasts:
        """Return the mean score of each group, ± z standard errors."""
        mean = (self.share * values).sum(1)[:, 0]
        return Contrasts.normal(mean.value, mean.standard_error(self.covariance), z)

    def mean_differences(self, values: Array, reference: int, z: float) -> Contrasts:
        """Return the difference of each mean from that of the reference group."""
        means = (self.share * values).sum(1)[:, 0]
        others = np.delete(np.arange(len(self)), reference)
        difference = means[others] - means[[reference] * len(others)]
        return Contrasts.normal(difference.value, difference.standard_error(self.covariance), z)

    def deviations(self, values: Array, z: float) -> Contrasts:
        """Return the standard deviations; their intervals are those of the variances.

        NaN if the estimated variance is not positive.
        """
        mean = self.means(values, z)
        # Without a known covariance, the bias is not corrected.
        of_mean = np.square(mean.standard_error) if self.known else np.zeros(len(self))
        # Centre at the mean to avoid cancellation of large values.
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
        """Return a quantile of one group, with its interval (Woodruff).

        Parameters
        ----------
        values : ndarray, shape (k,)
            Scores of the answers.
        z : float
            Standard errors on both sides.
        edges : ndarray, shape (k + 1,), optional
            Ends of the bins; the quantile is interpolated within a bin. Without them, it is the
            score of an answer.
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
        """Return the point in a bin where F̂ ± z standard errors reaches a share."""
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


def scores_of_mean_differences(
    schema: Schema, table: Table, values: Array, reference: int
) -> Array:
    """Return score statistics of the difference of each group's mean from that of a reference.

    The variance is that of the reports if both groups gave the same answers; the statistic is
    corrected for skewness. An estimated variance is too small where a small group has a small share
    by chance: such tests reject up to 12 % of true hypotheses.

    Parameters
    ----------
    table : Table
        Of the groups and then the answers.
    values : ndarray, shape (k,)
        Score of each answer that is not missing.
    reference : int
        Number of the reference among the groups that are not missing.

    Returns
    -------
    ndarray, shape (G − 1,)
        Approximately standard normal without a difference; NaN if a group has no people.
    """
    groups, answers = (
        np.asarray(answer_codes(schema.attributes[schema.position(name)])) for name in table.axes
    )
    support, people = table.value[np.ix_(groups, answers)], np.maximum(table.value, SOMEBODY)
    base, found = support.sum(axis=1), np.full(len(groups) - 1, np.nan)
    of_reference = groups[reference]
    for place, number in enumerate(np.delete(np.arange(len(groups)), reference)):
        if table.reports < 2 or not (base[number] > 0 and base[reference] > 0):
            continue
        alike, both = people.copy(), np.ix_([groups[number], of_reference], answers)
        pooled = people[both].sum(axis=0) / people[both].sum()
        alike[both] = people[both].sum(axis=1, keepdims=True) * pooled
        form, centred = np.zeros(people.shape), values - pooled @ values
        form[groups[number], answers] = centred / base[number]
        form[of_reference, answers] = -centred / base[reference]
        null = alike / alike.sum()
        [[variance]] = table.null_covariance(null, form.reshape(1, -1))
        if not variance > 0:
            continue
        third = 0.0
        for each in table.report_distributions(null):
            added = each.weights @ form.ravel()
            added -= each.chances @ added
            third += each.reports * float(each.chances @ added**3)
        score = (form * table.value).sum() / np.sqrt(variance)
        found[place] = unskewed(score, np.asarray(third / variance**1.5))
    return found


@dataclass(frozen=True, eq=False)
class Scale:
    """Scores of the answers to a question.

    Attributes
    ----------
    edges : ndarray or None
        Ends of the bins of a number.
    bin_error : float or None
        Largest discretization error of means.
    """

    answers: tuple[str, ...]
    values: Array
    counted_as: CountedAs
    edges: Array | None = None
    bin_error: float | None = None


def scale_of(attribute: Attribute, scores: Mapping[str, str]) -> Scale:
    """Return the scores of the answers to a question.

    Parameters
    ----------
    scores : mapping of str to str
        For this attribute "ranks", or increasing numbers such as "20,45,70".

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
        # The largest distance of an answer from the midpoint of its bin.
        error = (float(np.diff(edges).max()) - attribute.number.whole) / 2
        return Scale(answers, middles, "middles", np.array(edges), error)
    read = [parse_number(answer) for answer in answers]
    values = np.array([np.nan if one is None else float(one) for one in read])
    if (np.diff(values) > 0).all():
        return Scale(answers, values, "numbers")
    return Scale(answers, np.arange(1.0, len(answers) + 1), "ranks")
