"""The randomized gamma-diagonal matrix, RAN-GD (FRAPP §4, eq. 25–31)."""

import math
from collections.abc import Collection
from fractions import Fraction

from ..errors import ParameterError
from ..rational import Rational, format_approximately, format_rational, parse_rational
from ..responses import Mixture
from ..schema import Schema
from .base import Parameters, Perturbation
from .gamma_diagonal import GammaDiagonal, resolve_gamma

#: Default number of steps of the grid of r on either side of zero.
STEPS = 32_768
_MAX_STEPS = 2**20


class RandomizedGammaDiagonalParameters(
    Parameters, frozen=True, tag="randomized-gamma-diagonal", omit_defaults=True
):
    """Parameters of gamma-diagonal and ``alpha``, the half-range of r as a fraction of γx."""

    alpha: str | int
    gamma: str | int | None = None
    breach: tuple[str | int, str | int] | None = None
    steps: int | None = None

    def mechanism(self, schema: Schema) -> "RandomizedGammaDiagonal":
        gamma = resolve_gamma(self.gamma, self.breach)
        steps = STEPS if self.steps is None else self.steps
        return RandomizedGammaDiagonal(gamma, self.alpha, steps=steps)


class RandomizedGammaDiagonal(GammaDiagonal):
    """Gamma-diagonal matrix with a random diagonal, drawn anew by every client.

    A client draws r uniformly from a grid on [−αγx, αγx] and uses γx + r on the diagonal and
    x − r/(n−1) elsewhere (FRAPP eq. 25). Since r is independent of the record and never sent, the
    collector observes the channel E[A_r], the gamma-diagonal matrix. The distribution of reports,
    the variance of every estimate and ε = ln γ equal those of :class:`GammaDiagonal`. In addition,
    the matrix of each client is unknown.

    Parameters
    ----------
    gamma : Fraction, int or str
        Amplification of the expected matrix, above 1.
    alpha : Fraction, int or str
        Half-range of r as a fraction of γx, from 0 to 1 and at most (n−1)/γ.
    steps : int
        Grid steps on either side of r = 0.

    Raises
    ------
    ParameterError
        If a parameter is outside its range.
    """

    kind = "randomized-gamma-diagonal"
    parameters_type = RandomizedGammaDiagonalParameters

    def __init__(self, gamma: Rational, alpha: Rational, *, steps: int = STEPS) -> None:
        super().__init__(gamma)
        self.alpha = parse_rational(alpha, "alpha")
        if not 0 <= self.alpha <= 1:
            raise ParameterError(
                'alpha: expected a fraction of γx from 0 to 1, such as "0.5"', field="alpha"
            )
        if type(steps) is not int or not 1 <= steps <= _MAX_STEPS:
            raise ParameterError(
                f"steps: expected an integer from 1 to {_MAX_STEPS}", field="steps"
            )
        self.steps = steps

    @classmethod
    def for_amplification(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Collection[str] = (),
        max_length: int | None = None,
    ) -> "RandomizedGammaDiagonal":
        """Return the mechanism with α = ½, or the largest smaller α that this γ allows."""
        most = Fraction(schema.size - 1) / parse_rational(gamma, "gamma")
        return cls(gamma, min(Fraction(1, 2), most))

    def parameters(self) -> Parameters:
        return RandomizedGammaDiagonalParameters(
            gamma=format_rational(self.gamma, "gamma"),
            alpha=format_rational(self.alpha, "alpha"),
            steps=self.steps,
        )

    def bind(self, schema: Schema) -> Perturbation:
        most = Fraction(schema.size - 1) / self.gamma
        perturbation = super().bind(schema)
        if self.alpha > most:
            written = format_rational(most, "alpha")
            raise ParameterError(
                f"alpha: with {schema.size} cells and gamma {format_approximately(self.gamma)}"
                f" expected at most {written}, since no probability is negative",
                field="alpha",
            )
        return perturbation

    def _response(self, schema: Schema) -> Mixture:
        shift = self.gamma * self.alpha / (self.steps * (schema.size - 1))
        scale = math.lcm(self.gamma.denominator, shift.denominator)
        return Mixture(schema.shape, int(self.gamma * scale), scale, int(shift * scale), self.steps)
