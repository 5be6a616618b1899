"""Cut-and-paste: some items of a basket, and other random ones (FRAPP eq. 12–15).

For comparisons of schemes only; surveys cannot use it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from halftruth_shared import ParameterError, Schema
from halftruth_shared.rational import Rational, parse_rational

from .baskets import Baskets, BasketScheme, binomial

#: Cutoff that FRAPP uses.
CUTOFF = 3

#: Denominator to which rates are rounded up.
_PARTS = 10**9


@dataclass(frozen=True)
class CutAndPaste(BasketScheme):
    """Keep up to K items of a basket, and add every other item with probability ρ.

    The number of kept items is drawn uniformly from 0 to K, and limited to M; the kept items are
    drawn uniformly, too.

    Parameters
    ----------
    cutoff : int
        K, at least 1.
    rate : Fraction
        ρ, above 0 and below 1.

    Raises
    ------
    ParameterError
        If a parameter is outside its range.
    """

    cutoff: int
    rate: Fraction

    kind = "cut-and-paste"

    def __post_init__(self) -> None:
        if type(self.cutoff) is not int or self.cutoff < 1:
            raise ParameterError("cutoff: expected an integer of at least 1", field="cutoff")
        if not 0 < self.rate < 1:
            raise ParameterError("rate: expected a number above 0 and below 1", field="rate")

    @classmethod
    def for_amplification(
        cls, schema: Schema, gamma: Rational, cutoff: int = CUTOFF
    ) -> "CutAndPaste":
        """Choose the smallest rate, in billionths, with an amplification of at most γ.

        Raises
        ------
        ParameterError
            If γ is not above K + 1.
        """
        most = parse_rational(gamma, "gamma")
        low, high = 0, _PARTS
        while high - low > 1:
            middle = (low + high) // 2
            if cls(cutoff, Fraction(middle, _PARTS)).amplification(schema) <= most:
                high = middle
            else:
                low = middle
        if high == _PARTS:
            raise ParameterError(
                f"gamma: expected an amplification above {cutoff + 1} for cut-and-paste with a"
                f" cutoff of {cutoff}",
                field="gamma",
            )
        return cls(cutoff, Fraction(high, _PARTS))

    @classmethod
    def best(cls, schema: Schema, gamma: Rational, length: int) -> "CutAndPaste | None":
        """Choose the scheme of an amplification with the smallest error for itemsets of a length.

        The answers are assumed to be uniform, each item with the mean of the shares 1/d_j. None if
        γ is too small for any scheme that identifies supports of this length.
        """
        attributes = len(schema.shape)
        share = sum((Fraction(1, size) for size in schema.shape), start=Fraction(0)) / attributes
        most = parse_rational(gamma, "gamma") - 1
        tried = [
            cls.for_amplification(schema, gamma, cutoff)
            for cutoff in range(length, attributes + 1)
            if cutoff < most
        ]
        return min(
            tried, key=lambda scheme: scheme.weight_square(attributes, length, share), default=None
        )

    def keeping(self, attributes: int) -> list[Fraction]:
        """Return the probabilities of keeping 0, 1, … of a record's M items."""
        most = min(self.cutoff, attributes)
        chances = [Fraction(1, self.cutoff + 1)] * most
        return [*chances, 1 - sum(chances, start=Fraction(0))]

    def amplification(self, schema: Schema) -> Fraction:
        """Return Σ_j P(keep j)·ρ^−j / P(keep 0), which is Σ ρ^−j for K ≤ M.

        The probability of a report v given a record with s of its items is
        ρ^|v| (1−ρ)^(M_b−|v|) Σ_j P(keep j) C(s,j)/C(M,j) ρ^−j, largest if all items of the record
        are in v and smallest if none is.
        """
        keeping = self.keeping(len(schema.shape))
        return (
            sum(
                (chance / self.rate**kept for kept, chance in enumerate(keeping)), start=Fraction(0)
            )
            / keeping[0]
        )

    def perturb(self, baskets: Baskets, rng: np.random.Generator) -> Baskets:
        people, items = len(baskets), int(baskets.sum(axis=1)[0])
        number = np.minimum(rng.integers(0, self.cutoff + 1, people), items)
        order = rng.random((people, items)).argsort(axis=1).argsort(axis=1)
        kept = np.zeros_like(baskets)
        kept[np.nonzero(baskets)] = (order < number[:, None]).ravel()
        return np.asarray((baskets & kept) | (rng.random(baskets.shape) < float(self.rate)))

    def held_matrix(self, attributes: int, length: int) -> list[list[Fraction]]:
        """Return FRAPP eq. 14: q of j kept items are in the itemset (hypergeometric)."""
        keeping = list(enumerate(self.keeping(attributes)))

        def chance(reported: int, held: int) -> Fraction:
            return sum(
                (
                    keep
                    * Fraction(
                        math.comb(held, of_set) * math.comb(attributes - held, kept - of_set),
                        math.comb(attributes, kept),
                    )
                    * binomial(length - of_set, reported - of_set, self.rate)
                    for kept, keep in keeping
                    for of_set in range(min(kept, held) + 1)
                ),
                start=Fraction(0),
            )

        sizes = range(length + 1)
        return [[chance(reported, held) for held in sizes] for reported in sizes]

    def max_order(self, attributes: int) -> int:
        """Return K: at most K items are kept, so that `held_matrix` has at most rank K + 1."""
        return min(self.cutoff, attributes)

    def condition_number(self, attributes: int, length: int) -> float:
        """Return the condition number of `held_matrix`."""
        if length > self.max_order(attributes):
            return math.inf
        matrix = np.array(self.held_matrix(attributes, length), dtype=np.float64)
        return float(np.linalg.cond(matrix))
