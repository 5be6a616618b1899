"""Conversions between the ways to state a privacy level.

All are about the *amplification* γ of a channel: the largest factor by which one report
can be likelier under one true record than under another (EGS; FRAPP eq. 2). A channel with
amplification γ is ε-locally differentially private for ε = ln γ, and conversely.
"""

import math
from fractions import Fraction

from .errors import ParameterError
from .rational import Rational, parse_rational


def _probability(value: Rational, field: str) -> Fraction:
    probability = parse_rational(value, field)
    if not 0 < probability < 1:
        raise ParameterError(f"{field}: expected a probability above 0 and below 1", field=field)
    return probability


def _amplification(value: Rational | float) -> Fraction:
    amplification = parse_rational(value, "gamma")
    if amplification < 1:
        raise ParameterError("gamma: expected an amplification of at least 1", field="gamma")
    return amplification


def amplification_for_breach(rho1: Rational, rho2: Rational) -> Fraction:
    """Return the largest amplification that keeps (ρ1, ρ2)-privacy: γ = ρ2(1−ρ1) / (ρ1(1−ρ2)).

    Under it, whatever was at most ρ1 likely before a report is seen is at most ρ2 likely after
    (EGS; FRAPP eq. 2).

    Raises
    ------
    ParameterError
        Unless 0 < ρ1 < ρ2 < 1.

    Examples
    --------
    >>> amplification_for_breach("0.05", "0.5")
    Fraction(19, 1)
    """
    before, after = _probability(rho1, "rho1"), _probability(rho2, "rho2")
    if before >= after:
        raise ParameterError("rho2: expected a probability above rho1", field="rho2")
    return after * (1 - before) / (before * (1 - after))


def worst_case_posterior(prior: Rational, gamma: Rational | float) -> Fraction:
    """Return the largest posterior of a property with this prior, ργ / (ργ + 1 − ρ) (EGS).

    An infinite amplification gives 1: the report may reveal the property.

    Examples
    --------
    >>> worst_case_posterior("0.05", 19)
    Fraction(1, 2)
    """
    rho = _probability(prior, "prior")
    if gamma == math.inf:
        return Fraction(1)
    bound = _amplification(gamma)
    return rho * bound / (rho * bound + 1 - rho)


def epsilon(gamma: Rational | float) -> float:
    """Return the ε = ln γ of local differential privacy of an amplification.

    Raises
    ------
    ParameterError
        If γ is below 1.
    """
    if gamma == math.inf:
        return math.inf
    bound = _amplification(gamma)
    if bound < 2:
        return math.log1p(float(bound - 1))
    # A fraction may be far larger than any floating-point number.
    return math.log(bound.numerator) - math.log(bound.denominator)
