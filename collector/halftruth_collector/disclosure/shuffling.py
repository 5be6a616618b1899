"""Guarantee against an observer of the counts alone: privacy amplification by shuffling.

Counts do not reveal who sent which report, so each report hides among the others. If every report
has the amplification γ = e^ε₀, any report is with probability 1/γ a *clone*: as if sent by the
targeted person, with either of two answers at equal probability. Of n − 1 other people C ~ Bin(n−1,
1/γ) are clones, and the counts reveal no more than this: A ~ Bin(C, ½) of them look like the first
answer and C − A like the second, besides the person's own report, which looks like the true answer
with probability γ/(γ+1) (Feldman, McMillan & Talwar 2021, "Hiding Among the Clones", section 3).
The divergence between the two answers is then a sum over binomial distributions, which
:func:`divergence` computes.

The sequel of 2023 ("Stronger Privacy Amplification by Shuffling") has 2/(γ+1) in the place of 1/γ.
Its authors' erratum takes that back for mechanisms with reports that are as likely for the one
answer as for the other; all of ours have such, but for a single yes/no question. So it is not used.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from halftruth_shared import ParameterError
from halftruth_shared.privacy import epsilon as epsilon_of
from numpy.typing import NDArray

#: Distinct values of C; those between two of them count as the smaller one.
_STEPS = 512

#: Probability, as a part of δ, of fewer clones than evaluated: these count as none.
_IGNORED = 1e-3

#: More than the relative rounding error of any probability.
_ROUNDING = 1e-9

#: Tolerance of ε.
_NEAR = 1e-9

#: Largest number of people; more count as this number.
_MOST = 10**10

#: Largest amplification with any effect of shuffling.
_LARGEST = 10**12


@dataclass(frozen=True)
class Shuffled:
    """(ε, δ)-differential privacy of the counts of a survey.

    Whether a person gave one answer or any other, the probability of any set of counts is at most
    e^ε times as large, plus δ. That is not to say that counts which are more than e^ε times as
    likely have a probability of at most δ; that holds for `tail`.

    Attributes
    ----------
    respondents : int
        n, number of honest reports.
    epsilon : float
        The least of the numerical bound, the closed form and ε₀.
    tail : float
        With a probability of δ at most the counts are more than e^tail times as likely by one
        answer as by another.
    closed_form : float or None
        The bound of Theorem 3.1; None outside of its condition.
    local_epsilon : float
        ε₀, which holds with δ = 0 against everybody.
    """

    respondents: int
    delta: float
    epsilon: float
    tail: float
    closed_form: float | None
    local_epsilon: float


def shuffled(gamma: Fraction | float, respondents: int, delta: float) -> Shuffled | None:
    """Return the guarantee for the counts of reports with this amplification.

    Parameters
    ----------
    gamma : Fraction, or ``math.inf``
        Amplification of a whole report, at least 1.
    respondents : int
        n.

    Returns
    -------
    Shuffled or None
        None for infinite amplification: a report may prove an answer whatever the others are.

    Raises
    ------
    ParameterError
        Unless γ ≥ 1, n ≥ 1 and 0 < δ < 1.

    Examples
    --------
    >>> guarantee = shuffled(Fraction(19), 5_000, 1e-6)
    >>> round(guarantee.local_epsilon, 2), round(guarantee.epsilon, 2), round(guarantee.tail, 2)
    (2.94, 0.45, 0.57)
    """
    if type(respondents) is not int or respondents < 1:
        raise ParameterError("respondents: expected an integer from 1 on", field="respondents")
    if not 0 < delta < 1:
        raise ParameterError(
            "delta: expected a probability above 0 and below 1, such as 1e-6", field="delta"
        )
    local = epsilon_of(gamma)
    if math.isinf(local):
        return None
    closed_form = _closed_form(local, respondents, delta)
    bounds = [local] if closed_form is None else [local, closed_form]
    tail = local
    if gamma <= _LARGEST:
        numerical, tail = _numerical(float(gamma), local, respondents, delta)
        bounds.append(numerical)
    return Shuffled(respondents, delta, min(bounds), tail, closed_form, local)


def divergence(epsilon: float, gamma: float, clones: NDArray[np.int64]) -> NDArray[np.float64]:
    """Hockey-stick divergence max_S P(S) − e^ε Q(S) of one answer from the other, by clones.

    With c clones, P is the number of reports that look like the first answer if it is true, A + 1
    with probability γ/(γ+1) and else A, and Q the same if the second is. The ratio P/Q increases
    with that number, so that S is an upper tail. The divergence falls with c and with ε, and is the
    same the other way round.

    Parameters
    ----------
    epsilon : float
        ε ≥ 0.
    gamma : float
        γ > 1.
    clones : ndarray of int
        c.

    Returns
    -------
    ndarray
        Never less than the divergence: rounding errors are added.
    """
    factor = math.exp(epsilon)
    likelier, rarer = max(gamma - factor, 0.0), gamma * factor - 1
    # P(a) > e^ε Q(a) where a/(c + 1) is more than this.
    share = rarer / ((gamma - 1) * (1 + factor))
    smallest = np.floor(share * (clones + 1)) + 1
    gained = likelier * scipy.stats.binom.sf(smallest - 2, clones, 0.5)
    lost = rarer * scipy.stats.binom.sf(smallest - 1, clones, 0.5)
    exact = np.maximum(gained - lost, 0.0) + _ROUNDING * (gained + lost)
    return np.asarray(exact / (gamma + 1))


def _numerical(gamma: float, local: float, respondents: int, delta: float) -> tuple[float, float]:
    """The smallest ε for which the mean divergence over C is at most δ, and the tail's.

    The divergence at ε' is E[(1 − e^(ε' − loss))₊], so that the loss is above ε with a probability
    of at most that over 1 − e^(ε' − ε), for any ε' < ε. Unlike the clones' own tail this holds of
    all that is computed from them, as the counts are.
    """
    if gamma <= 1:
        return 0.0, 0.0
    # More people never protect less.
    others, chance = min(respondents, _MOST) - 1, 1 / gamma
    fewest = int(scipy.stats.binom.ppf(_IGNORED * delta, others, chance))
    most = int(scipy.stats.binom.isf(_IGNORED * delta, others, chance))
    clones = np.unique(np.linspace(fewest, most, _STEPS).astype(np.int64))
    below = scipy.stats.binom.cdf(clones - 1, others, chance)
    masses = np.diff(below, append=1.0)

    def mean(epsilon: float) -> float:
        divergences = masses @ divergence(epsilon, gamma, clones)
        return float(divergences + below[0] * (gamma - math.exp(epsilon)) / (gamma + 1))

    def tail(epsilon: float) -> float:
        left = 1 - mean(epsilon) / delta
        return epsilon - math.log(left) if left > 0 else math.inf

    root = 0.0
    if mean(0.0) > delta:
        root = scipy.optimize.brentq(lambda x: mean(x) - delta, 0.0, local, xtol=_NEAR, rtol=_NEAR)
        root += _NEAR * (1 + root)
    best = scipy.optimize.minimize_scalar(tail, bounds=(min(root, local), local), method="bounded")
    return float(root), min(float(best.fun), local)


def _closed_form(local: float, respondents: int, delta: float) -> float | None:
    """ln(1 + (γ−1)/(γ+1)·(8√(γ ln(4/δ)/n) + 8γ/n)) where ε₀ ≤ ln(n/(16 ln(2/δ)))."""
    if local > math.log(respondents / (16 * math.log(2 / delta))):
        return None
    gamma = math.exp(local)
    spread = 8 * math.sqrt(gamma * math.log(4 / delta) / respondents) + 8 * gamma / respondents
    return math.log1p((gamma - 1) / (gamma + 1) * spread)
