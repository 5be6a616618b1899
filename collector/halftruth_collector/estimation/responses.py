"""Log-likelihoods of answers in regressions, with their derivatives by the linear predictors.

A regression has one linear predictor η or several for each person: one of the log odds of an
answer (*logistic*) or of the mean of scores (*linear*); one for each answer but a reference, of log
odds against that (*multinomial*); or one for each answer but the first, of the log odds of this or
a later one (*ordinal*: proportional odds, McCullagh 1980).
"""

from dataclasses import dataclass

import numpy as np
import scipy
from halftruth_shared.analyses.regression import Model

from .bounds import Array


@dataclass(frozen=True, eq=False)
class Response:
    """Log-likelihood of each answer, of x people with q linear predictors.

    Attributes
    ----------
    level : ndarray, shape (x, answers)
        −∞ where these linear predictors give an answer no probability.
    slope : ndarray, shape (x, answers, q)
    curvature : ndarray, shape (x, answers or 1, q, q)
        Minus the second derivatives; one for all answers where these have the same.
    means : ndarray, shape (x, e)
        Expected values that marginal effects are of: probability of the answer, of each answer but
        the reference, or mean rank. None of a linear model, whose coefficients are effects.
    mean_slope : ndarray, shape (x, e, q)
    """

    level: Array
    slope: Array
    curvature: Array
    means: Array
    mean_slope: Array


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a regression.

    Attributes
    ----------
    model : {"logistic", "linear", "multinomial", "ordinal"}
    scores : ndarray, shape (answers,)
        What each answer counts as: 0 or 1 in a logistic model, its score in a linear one.
    base : int
        Number of the reference of a multinomial model.
    """

    model: Model
    scores: Array
    base: int = 0

    @property
    def compared(self) -> list[int | None]:
        """Number of the answer that each linear predictor is about, if it has one."""
        numbers: list[int | None] = [*range(len(self.scores))]
        if self.model in ("logistic", "linear"):
            return [None]
        del numbers[self.base if self.model == "multinomial" else 0]
        return numbers

    @property
    def is_distribution(self) -> bool:
        """True if the log-likelihood has the probability of every answer."""
        return self.model in ("multinomial", "ordinal") or (
            self.model == "logistic" and len(self.scores) == 2
        )

    def design(self, columns: Array) -> Array:
        """Derivatives of the linear predictors by the coefficients.

        Parameters
        ----------
        columns : ndarray, shape (x, k)
            The intercept first.

        Returns
        -------
        ndarray, shape (x, q, coefficients)
        """
        equations = len(self.compared)
        if self.model == "multinomial":
            design = np.einsum("qr,xk->xqrk", np.eye(equations), columns)
            return np.asarray(design.reshape(len(columns), equations, -1))
        if self.model != "ordinal":
            return columns[:, None]
        thresholds = np.broadcast_to(np.eye(equations), (len(columns), equations, equations))
        common = np.repeat(columns[:, None, 1:], equations, axis=1)
        return np.concatenate([thresholds, common], axis=2)

    def places(self, terms: int) -> list[tuple[int | None, int]]:
        """For each coefficient the answer that it is about, and the number of its term."""
        if self.model == "ordinal":
            thresholds = [(answer, 0) for answer in self.compared]
            return [*thresholds, *((None, term) for term in range(1, terms))]
        return [(answer, term) for answer in self.compared for term in range(terms)]

    def start(self, shares: Array, coefficients: int) -> Array:
        """Coefficients to begin with, from the shares of the answers."""
        initial = np.zeros(coefficients)
        if self.model == "ordinal":
            kept = np.maximum(shares, 1e-3 * np.abs(shares).sum())
            later = kept[::-1].cumsum()[::-1] / kept.sum()
            initial[: len(self.compared)] = scipy.special.logit(later[1:])
        return initial

    def response(self, predictors: Array) -> Response:
        """Log-likelihood of each answer at linear predictors of shape (x, q)."""
        if self.model == "multinomial":
            return _multinomial(predictors, self.base)
        if self.model == "ordinal":
            return _ordinal(predictors)
        return (_logistic if self.model == "logistic" else _linear)(predictors, self.scores)


def _linear(predictors: Array, scores: Array) -> Response:
    rest = scores - predictors
    nothing = np.zeros((len(predictors), 0, 1))
    ones = np.ones((len(predictors), 1, 1, 1))
    return Response(-(rest**2) / 2, rest[:, :, None], ones, nothing[:, :, 0], nothing)


def _logistic(predictors: Array, scores: Array) -> Response:
    mean = scipy.special.expit(predictors)
    variance = mean * (1 - mean)
    return Response(
        level=scores * predictors - np.logaddexp(0.0, predictors),
        slope=(scores - mean)[:, :, None],
        curvature=variance[:, :, None, None],
        means=mean,
        mean_slope=variance[:, :, None],
    )


def _multinomial(predictors: Array, base: int) -> Response:
    logits = np.insert(predictors, base, 0.0, axis=1)
    level = logits - scipy.special.logsumexp(logits, axis=1, keepdims=True)
    means = np.delete(np.exp(level), base, axis=1)
    own = np.delete(np.eye(logits.shape[1]), base, axis=1)
    variance = means[:, :, None] * (np.eye(means.shape[1]) - means[:, None, :])
    return Response(level, own - means[:, None], variance[:, None], means, variance)


def _ordinal(predictors: Array) -> Response:
    later = scipy.special.expit(predictors)
    density = later * (1 - later)
    # How much each answer's probability grows with that of each later or equal answer.
    sign = -np.diff(np.eye(predictors.shape[1] + 2)[:, 1:-1], axis=0)
    edges = np.pad(later, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
    chances = -np.diff(edges, axis=1)
    possible = chances > 0
    safe = np.where(possible, chances, 1.0)
    slope = sign * density[:, None] / safe[:, :, None]
    bend = sign * (density * (1 - 2 * later))[:, None] / safe[:, :, None]
    curvature = slope[..., None] * slope[..., None, :] - bend[..., None] * np.eye(bend.shape[2])
    level = np.where(possible, np.log(safe), -np.inf)
    return Response(level, slope, curvature, 1 + later.sum(axis=1, keepdims=True), density[:, None])
