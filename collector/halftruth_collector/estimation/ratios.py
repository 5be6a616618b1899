"""Ratios, with intervals on the logarithmic scale: odds ratios, risk ratios, lift and others.

Numerators and denominators are functions of a table. The error of the logarithm is by the delta
method from the whole covariance of the table. Where a numerator is not significantly above 0 the
interval begins at 0; where a denominator is not, it has no upper end. To refuse these ratios
instead would leave those surveys in which a rare answer came out frequent, and fewer than half of
their intervals may hold the truth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from .bounds import Array
from .jets import Jet


@dataclass(frozen=True, eq=False)
class Ratios:
    """Ratios as columns.

    Attributes
    ----------
    logarithm : Jet, shape (K,)
        NaN where a numerator or a denominator is not positive.
    covariance : ndarray, shape (V, V) or (K, V, V)
    numerators, denominators : sequence of Jet
    """

    logarithm: Jet
    covariance: Array
    numerators: Sequence[Jet]
    denominators: Sequence[Jet]

    @classmethod
    def of(
        cls, numerators: Sequence[Jet], denominators: Sequence[Jet], covariance: Array
    ) -> "Ratios":
        """Products of some functions of tables, divided by products of others."""
        with np.errstate(divide="ignore", invalid="ignore"):
            over, under = (
                reduce(add, [jet.positive().log() for jet in side])
                for side in (numerators, denominators)
            )
        return cls(over - under, covariance, numerators, denominators)

    @property
    def value(self) -> Array:
        """NaN where undefined."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.logarithm.value))

    @property
    def standard_error(self) -> Array:
        """Of the logarithm; NaN where undefined."""
        return self.logarithm.standard_error(self.covariance)

    def interval(self, quantile: float) -> tuple[Array, Array]:
        """So many standard errors of the logarithm around it; NaN where undefined."""
        half_width = quantile * self.standard_error
        with np.errstate(over="ignore"):
            lower, upper = (np.exp(self.logarithm.value + way * half_width) for way in (-1, 1))
        small, large = (
            np.all([jet.clear(self.covariance, quantile) for jet in side], axis=0)
            for side in (self.numerators, self.denominators)
        )
        known = ~np.isnan(lower)
        return np.where(known & ~small, 0.0, lower), np.where(known & ~large, np.inf, upper)
