"""Guarantee against an observer of the counts alone: privacy amplification by shuffling.

Counts do not reveal who sent which report, so each report hides among the others. If every report
has the amplification γ = e^ε₀, any report is a *clone* with probability 1/γ: as if sent by the
targeted person, with either of two answers at equal probability. Of the n − 1 other people,
C ~ Bin(n−1, 1/γ) are clones. The counts reveal at most that A ~ Bin(C, ½) of the clones look like
the first answer and C − A like the second, besides the person's own report, which looks like the
true answer with probability γ/(γ+1) (Feldman, McMillan & Talwar 2021, "Hiding Among the Clones",
section 3).
The divergence between the two answers is then a sum over binomial distributions, which
:func:`divergence` computes.

The sequel of 2023 ("Stronger Privacy Amplification by Shuffling") has 2/(γ+1) in place of 1/γ. It
is not used: its erratum excludes mechanisms with reports that are equally likely for both answers,
and all mechanisms here have such reports, except for a single yes/no question.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .deadlines import check_deadline
from .errors import ParameterError
from .privacy import epsilon as epsilon_of

Array = NDArray[np.float64]

#: Number of evaluated values of C; a value between two of them is rounded down.
_STEPS = 512

#: Probability, as a part of δ, of fewer clones than evaluated, which are treated as no clones.
_IGNORED = 1e-6

#: Upper bound of the relative rounding error of any probability.
_ROUNDING = 1e-9

#: Steps of the searches for ε and for the tail.
_SEARCH = 40

#: Largest number of people; larger numbers are reduced to it.
_MOST = 10**10

#: Largest amplification with any effect of shuffling.
_LARGEST = 10**12

#: Exponent below which the integrand of a tail is neglected.
_FALL = 45.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)

#: log n! − n log n + n for n below 16.
_STIRLING = np.array([math.log(math.factorial(n)) + n - n * math.log(n or 1) for n in range(16)])


@dataclass(frozen=True)
class Shuffled:
    """(ε, δ)-differential privacy of the counts of a survey with n honest respondents.

    If a person changes their answer, the probability of any set of counts increases at most by the
    factor e^ε, plus δ. This does not bound by δ the probability of counts that are more than e^ε
    times as likely; that bound holds for `tail`.

    Attributes
    ----------
    epsilon : float
        The minimum of the numerical bound, the closed form and ε₀.
    tail : float
        With a probability of at most δ, the counts are more than e^tail times as likely under
        one answer as under another.
    closed_form : float or None
        The bound of Theorem 3.1; None if its condition does not hold.
    local_epsilon : float
        ε₀, which holds with δ = 0 for every adversary.
    """

    respondents: int
    delta: float
    epsilon: float
    tail: float
    closed_form: float | None
    local_epsilon: float


@lru_cache(1024)
def shuffled(gamma: Fraction | float, respondents: int, delta: float) -> Shuffled | None:
    """Return the guarantee for the counts of reports with amplification γ ≥ 1.

    It is None for infinite amplification: a report can prove an answer despite the other reports.
    Raises ParameterError unless n ≥ 1 and 0 < δ < 1.

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


def divergence(epsilon: float, gamma: float, clones: NDArray[np.int64]) -> Array:
    """Hockey-stick divergence max_S P(S) − e^ε Q(S) of one answer from the other, by clones.

    With c clones, P is the distribution of the number of reports that look like the first answer if
    the first answer is true: A + 1 with probability γ/(γ+1), else A. Q is its distribution if the
    second is true. The ratio P/Q increases with that number, so S is an upper tail. The divergence
    decreases in c and in ε ≥ 0, and is symmetric in P and Q. Rounding errors are added, so that
    it is an upper bound.
    """
    factor = math.exp(epsilon)
    likelier, rarer = max(gamma - factor, 0.0), gamma * factor - 1
    # P(a) > e^ε Q(a) if a/(c + 1) is above this value.
    share = rarer / ((gamma - 1) * (1 + factor))
    smallest = np.floor(share * (clones + 1)) + 1
    at_least = at_least_half(smallest, clones)
    gained = likelier * (at_least + binomial(smallest - 1, clones, 0.5))
    lost = rarer * at_least
    exact = np.maximum(gained - lost, 0.0) + _ROUNDING * (gained + lost)
    return np.asarray(exact / (gamma + 1))


def binomial(successes: Array, trials: NDArray[np.int64] | int, chance: float) -> Array:
    """Return binomial probabilities with a small relative error (Loader 2000).

    Numbers of successes outside of 0 … trials have the probability 0.
    """
    n = np.asarray(trials, float)
    k = np.clip(successes, 0, n)
    logarithm = _stirling(n) - _stirling(k) - _stirling(n - k)
    logarithm -= _deviance(k, n * chance) + _deviance(n - k, n * (1 - chance))
    return np.where(k == successes, np.exp(logarithm), 0.0)


def _stirling(n: Array) -> Array:
    """Return log n! − n log n + n."""
    large = np.maximum(n, 16.0)
    square = large**-2
    series = (1 / 12 - (1 / 360 - (1 / 1260 - square / 1680) * square) * square) / large
    whole = series + np.log(2 * np.pi * large) / 2
    return np.asarray(np.where(n < 16, _STIRLING[np.minimum(n, 15).astype(int)], whole))


def _deviance(observed: Array, expected: Array) -> Array:
    """Return x log(x/m) + m − x."""
    change = observed - expected
    relative = np.where(observed > 0, change / np.maximum(expected, np.finfo(float).tiny), 0.0)
    return np.asarray(observed * np.log1p(relative) - change)


def at_least_half(smallest: Array, trials: NDArray[np.int64]) -> Array:
    """Return the probability of at least `smallest` > trials/2 heads among fair coin flips.

    With k = `smallest` it is k P(k) ∫ (1 − s)^(k−1) (1 + s)^(n−k) ds from 0 to 1, an incomplete
    beta function.
    """
    n = np.asarray(trials, float)
    k = np.minimum(smallest, n)
    # The logarithm of the integrand is at most −curve s² − slope s.
    curve, slope = n - k, np.maximum(2 * k - 1 - n, 0.0)
    root = np.sqrt(slope**2 + 4 * _FALL * curve)
    end = np.minimum(2 * _FALL / np.maximum(slope + root, 2 * _FALL), 1.0)
    s = end[:, None] / 2 * (_NODES + 1)
    integrand = np.exp((k - 1)[:, None] * np.log1p(-s) + curve[:, None] * np.log1p(s))
    return np.where(
        smallest > n, 0.0, k * binomial(k, trials, 0.5) * end / 2 * (integrand @ _WEIGHTS)
    )


class Clones:
    """Distribution of the number of clones among the others, in blocks rounded down.

    `ignored` is the probability of fewer clones than evaluated.
    """

    def __init__(self, gamma: float, respondents: int, ignored: float) -> None:
        others, chance = min(respondents, _MOST) - 1, 1 / gamma
        # Bernstein's inequality.
        likely, spread = -math.log(ignored), others * chance * (1 - chance)
        away = likely / 3 + math.sqrt(likely**2 / 9 + 2 * likely * spread)
        fewest = max(math.floor(others * chance - away), 0)
        most = min(math.ceil(others * chance + away), others)
        self._gamma, self._ignored = gamma, ignored if fewest else 0.0
        starts = np.unique(np.linspace(0, most - fewest, _STEPS).astype(np.int64))
        every = np.arange(fewest, most + 1)
        self._clones = every[starts]
        self._masses = np.add.reduceat(binomial(every.astype(float), others, chance), starts)

    def divergence(self, epsilon: float) -> float:
        """Return an upper bound of the mean divergence of one answer from another in a batch."""
        gamma = self._gamma
        mean = float(self._masses @ divergence(epsilon, gamma, self._clones))
        return mean + self._ignored * max(gamma - math.exp(epsilon), 0.0) / (gamma + 1)


def _numerical(gamma: float, local: float, respondents: int, delta: float) -> tuple[float, float]:
    """Return the smallest ε for which the mean divergence over C is at most δ, and the tail's ε.

    The divergence at ε' is E[(1 − e^(ε' − loss))₊], so that the loss is above ε with a probability
    of at most that over 1 − e^(ε' − ε), for any ε' < ε. Unlike the tail of the clones, this holds
    for everything computed from the clones, such as the counts.
    """
    if gamma <= 1:
        return 0.0, 0.0
    # Protection does not decrease with the number of people.
    clones = Clones(gamma, respondents, _IGNORED * delta)
    low, root = 0.0, 0.0 if clones.divergence(0.0) <= delta else local
    for _ in range(_SEARCH):
        check_deadline()
        middle = (low + root) / 2
        low, root = (low, middle) if clones.divergence(middle) <= delta else (middle, root)

    def tail(epsilon: float) -> float:
        left = 1 - clones.divergence(epsilon) / delta
        return epsilon - math.log(left) if left > 0 else math.inf

    # Golden-section search; every value that it evaluates is a valid bound.
    golden = (math.sqrt(5) - 1) / 2
    start, end = root, local
    first, second = (end - golden * (end - start), start + golden * (end - start))
    lower, upper = tail(first), tail(second)
    best = min(local, lower, upper)
    for _ in range(_SEARCH):
        check_deadline()
        if lower < upper:
            end, second, upper = second, first, lower
            first = end - golden * (end - start)
            lower = tail(first)
        else:
            # Below the smallest ε, no loss is finite.
            start, first, lower = first, second, upper
            second = start + golden * (end - start)
            upper = tail(second)
        best = min(best, lower, upper)
    return root, best


def _closed_form(local: float, respondents: int, delta: float) -> float | None:
    """ln(1 + (γ−1)/(γ+1)·(8√(γ ln(4/δ)/n) + 8γ/n)) where ε₀ ≤ ln(n/(16 ln(2/δ)))."""
    if local > math.log(respondents / (16 * math.log(2 / delta))):
        return None
    gamma = math.exp(local)
    spread = 8 * math.sqrt(gamma * math.log(4 / delta) / respondents) + 8 * gamma / respondents
    return math.log1p((gamma - 1) / (gamma + 1) * spread)
