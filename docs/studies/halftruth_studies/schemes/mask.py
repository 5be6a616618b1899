"""MASK and EMASK: independent flips of all bits of a basket (FRAPP eq. 11).

For comparisons of schemes only; surveys cannot use them.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from halftruth_shared import ParameterError, Schema
from halftruth_shared.rational import Rational, parse_rational, root_below

from .baskets import Baskets, BasketScheme, binomial

#: Denominator of EMASK's probability of keeping a 1.
_PARTS = 10_000


@dataclass(frozen=True)
class Mask(BasketScheme):
    """Keep each 1 of a basket with one probability, and each 0 with another.

    Parameters
    ----------
    ones, zeros : Fraction
        Probabilities above 0 and below 1 with a sum above 1, so that an item in a report is
        evidence for it in the record. They are equal for MASK.

    Raises
    ------
    ParameterError
        If they are outside this range.
    """

    ones: Fraction
    zeros: Fraction

    def __post_init__(self) -> None:
        for field, value in (("ones", self.ones), ("zeros", self.zeros)):
            if not 0 < value < 1 < self.ones + self.zeros:
                raise ParameterError(
                    f"{field}: expected two probabilities above 0 and below 1, together above 1",
                    field=field,
                )

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Name in the literature."""
        return "MASK" if self.ones == self.zeros else "EMASK"

    @classmethod
    def for_amplification(cls, schema: Schema, gamma: Rational) -> "Mask":
        """Choose MASK of an amplification: (p/(1−p))^2M = γ, p rounded down.

        >>> from halftruth_shared import Attribute
        >>> schema = Schema([Attribute(f"a{j}", ["no", "yes"]) for j in range(6)])
        >>> round(float(Mask.for_amplification(schema, 19).ones), 4)
        0.561
        """
        odds = _root(gamma, 2 * len(schema.shape))
        return cls(odds / (1 + odds), odds / (1 + odds))

    @classmethod
    def extended(cls, schema: Schema, gamma: Rational) -> "Mask":
        """Choose EMASK of an amplification with the smallest error for uniform whole records.

        γ = (o₁·o₀)^M for odds o₁ and o₀ of keeping a 1 and a 0, so that o₁ can be chosen. The mean
        square of a report's weight for a whole record is a product over its attributes. For rare
        items, the best o₁ approaches 1, which is known as *optimized unary encoding* (Wang et al.
        2017).
        """
        odds = _root(gamma, len(schema.shape))

        def scheme(ones: Fraction) -> "Mask":
            other = odds * (1 - ones) / ones
            return cls(ones, other / (1 + other))

        def error(place: float) -> float:
            tried = scheme(Fraction(round(place * _PARTS), _PARTS))
            return sum(
                math.log(tried.weight_square(1, 1, Fraction(1, size))) for size in schema.shape
            )

        best = scipy.optimize.minimize_scalar(error, bounds=(0.05, 0.95), method="bounded")
        return scheme(Fraction(round(float(best.x) * _PARTS), _PARTS))

    def amplification(self, schema: Schema) -> Fraction:
        odds = self.ones * self.zeros / ((1 - self.ones) * (1 - self.zeros))
        return odds ** len(schema.shape)

    def perturb(self, baskets: Baskets, rng: np.random.Generator) -> Baskets:
        """Return reports of baskets, which may have any numbers of items."""
        chances = np.where(baskets, float(self.ones), 1 - float(self.zeros))
        return np.asarray(rng.random(baskets.shape) < chances)

    def held_matrix(self, attributes: int, length: int) -> list[list[Fraction]]:
        return [
            [
                sum(
                    (
                        binomial(held, kept, self.ones)
                        * binomial(length - held, reported - kept, 1 - self.zeros)
                        for kept in range(reported + 1)
                    ),
                    start=Fraction(0),
                )
                for held in range(length + 1)
            ]
            for reported in range(length + 1)
        ]

    def max_order(self, attributes: int) -> int:
        return attributes

    def condition_number(self, attributes: int, length: int) -> float:
        """Return the condition number of the matrix of k bits, a power of that of one bit."""
        ones, zeros = float(self.ones), float(self.zeros)
        return float(np.linalg.cond([[zeros, 1 - ones], [1 - zeros, ones]])) ** length


def _root(gamma: Rational, degree: int) -> Fraction:
    """Return γ^(1/degree), rounded down.

    Raises
    ------
    ParameterError
        If the root is not above 1.
    """
    root = root_below(parse_rational(gamma, "gamma"), degree)
    if root <= 1:
        raise ParameterError("gamma: expected an amplification above 1", field="gamma")
    return root
