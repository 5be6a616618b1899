"""The gamma-diagonal matrix, DET-GD (FRAPP §3, eq. 17–23)."""

from collections.abc import Collection
from fractions import Fraction
from typing import ClassVar

from ..errors import DomainTooLarge, ParameterError
from ..privacy import amplification_for_breach
from ..rational import Rational, format_approximately, format_rational, parse_rational
from ..responses import Mixture
from ..schema import Schema
from .base import MAX_CONDITION, Mechanism, Parameters, Perturbation, perturb_records


def resolve_gamma(gamma: Rational | None, breach: tuple[Rational, Rational] | None) -> Fraction:
    """Return γ from one of its two specifications; ParameterError for both or neither."""
    if gamma is not None and breach is None:
        return parse_rational(gamma, "gamma")
    if breach is not None and gamma is None:
        return amplification_for_breach(*breach)
    raise ParameterError(
        'mechanism: expected one of gamma = "19" and breach = ["0.05", "0.5"]', field="gamma"
    )


class GammaDiagonalParameters(Parameters, frozen=True, tag="gamma-diagonal", omit_defaults=True):
    """``gamma``, or ``breach = [rho1, rho2]`` for the largest γ without such a privacy breach."""

    gamma: str | int | None = None
    breach: tuple[str | int, str | int] | None = None

    def mechanism(self, schema: Schema) -> "GammaDiagonal":
        return GammaDiagonal(resolve_gamma(self.gamma, self.breach))


class GammaDiagonal(Mechanism):
    """Report the true record with γ times the probability of any other record.

    A has γx on its diagonal and x = 1/(γ+n−1) elsewhere (FRAPP eq. 17): keep the record with
    probability (γ−1)/(γ+n−1), otherwise draw one uniformly from all n.

    Parameters
    ----------
    gamma : Fraction, int or str
        Amplification, above 1.

    Raises
    ------
    ParameterError
        If γ is not an exact number above 1.
    """

    kind = "gamma-diagonal"
    parameters_type: ClassVar[type[Parameters]] = GammaDiagonalParameters

    def __init__(self, gamma: Rational) -> None:
        self.gamma = parse_rational(gamma, "gamma")
        if self.gamma <= 1:
            raise ParameterError("gamma: expected an amplification above 1", field="gamma")

    def parameters(self) -> Parameters:
        return GammaDiagonalParameters(gamma=format_rational(self.gamma, "gamma"))

    def keep_probability(self, schema: Schema) -> Fraction:
        """Return p = (γ−1)/(γ+n−1), the same for every subset of attributes (FRAPP eq. 40)."""
        return (self.gamma - 1) / (self.gamma + schema.size - 1)

    def bind(self, schema: Schema) -> Perturbation:
        keep = self.keep_probability(schema)
        if 1 / keep > MAX_CONDITION:
            most = int((MAX_CONDITION - 1) * (self.gamma - 1))
            raise DomainTooLarge(
                f"attributes: {format_approximately(schema.size)} cells are too many for"
                f" {self.kind} with gamma {format_approximately(self.gamma)}, which serves"
                f" {format_approximately(most)} at most; ask fewer attributes or use"
                " randomized-response",
                field="attributes",
            )
        return perturb_records(self, schema, self._response(schema))

    def _response(self, schema: Schema) -> Mixture:
        return Mixture(schema.shape, *self.gamma.as_integer_ratio())

    @classmethod
    def for_amplification(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Collection[str] = (),
        max_length: int | None = None,
    ) -> "GammaDiagonal":
        return cls(gamma)
