"""Randomized response for each attribute (Warner; Guo §2.2, §5.2; GYW eq. 1)."""

import math
from collections.abc import Collection, Mapping
from fractions import Fraction

from ..errors import ParameterError
from ..rational import Rational, as_float, format_rational, parse_rational, root_below
from ..responses import Columns, Kept
from ..schema import Schema
from .base import Mechanism, Parameters, Perturbation, check_condition, check_names, perturb_records
from .gamma_diagonal import resolve_gamma


class RandomizedResponseParameters(
    Parameters, frozen=True, tag="randomized-response", omit_defaults=True
):
    """``keep`` by attribute, or ``gamma`` or ``breach`` for a budget divided equally."""

    keep: dict[str, str | int] | None = None
    gamma: str | int | None = None
    breach: tuple[str | int, str | int] | None = None

    def mechanism(self, schema: Schema) -> "RandomizedResponse":
        if self.keep is None:
            gamma = resolve_gamma(self.gamma, self.breach)
            return RandomizedResponse.for_amplification(schema, gamma)
        if self.gamma is not None or self.breach is not None:
            raise ParameterError("mechanism: expected one of keep, gamma and breach", field="keep")
        return RandomizedResponse(self.keep)


class RandomizedResponse(Mechanism):
    """Keep each answer with probability p_j, otherwise draw one of the others uniformly.

    Parameters
    ----------
    keep : mapping of str to Fraction, int or str
        p_j by attribute, above 1/d_j and at most 1. An attribute with p_j = 1 is sent unperturbed;
        it must not be sensitive.

    Raises
    ------
    ParameterError
        If a probability is not an exact number in its range.
    """

    kind = "randomized-response"
    parameters_type = RandomizedResponseParameters

    def __init__(self, keep: Mapping[str, Rational]) -> None:
        self.keep = {name: parse_rational(p, f"keep.{name}") for name, p in keep.items()}

    @classmethod
    def for_amplification(
        cls,
        schema: Schema,
        gamma: Rational,
        public: Collection[str] = (),
        max_length: int | None = None,
    ) -> "RandomizedResponse":
        """Divide γ equally: γ_j = γ^(1/M) and p_j = γ_j / (γ_j + d_j − 1).

        The γ_j are rounded down to rationals, so that the amplification of the M attributes that
        are not public is at most γ. Public attributes are always kept.

        Raises
        ------
        ParameterError
            If γ is not above 1, or so near to 1 that a γ_j would be 1.
        """
        whole = parse_rational(gamma, "gamma")
        count = sum(name not in public for name in schema.names)
        share = whole if count <= 1 else root_below(whole, count)
        if whole <= 1 or share <= 1:
            raise ParameterError(
                f"gamma: expected an amplification far enough above 1 to share among {count}"
                " attributes",
                field="gamma",
            )
        return cls(
            {
                attribute.name: Fraction(1)
                if attribute.name in public
                else share / (share + len(attribute.categories) - 1)
                for attribute in schema.attributes
            }
        )

    def parameters(self) -> Parameters:
        return RandomizedResponseParameters(
            keep={name: format_rational(p, f"keep.{name}") for name, p in self.keep.items()}
        )

    def bind(self, schema: Schema) -> Perturbation:
        check_names(schema, self.keep, "keep")
        columns = []
        for attribute in schema.attributes:
            p, size = self.keep[attribute.name], len(attribute.categories)
            field = f"keep.{attribute.name}"
            if not Fraction(1, size) < p <= 1:
                raise ParameterError(
                    f"{field}: expected a probability above 1/{size} and at most 1", field=field
                )
            if p == 1 and attribute.sensitive:
                raise ParameterError(
                    f"{field}: a sensitive attribute cannot be kept always; expected a probability"
                    " below 1, or sensitive = false",
                    field=field,
                )
            columns.append(_keep(p, size))
            check_condition(as_float(columns[-1].condition_number), field)
        return perturb_records(self, schema, Columns(tuple(columns), at_once=True))


def _keep(p: Fraction, size: int) -> Kept:
    """Return the response, with weights in lowest terms, that keeps a value with probability p."""
    same, other = p.numerator * (size - 1), p.denominator - p.numerator
    common = math.gcd(same, other)
    return Kept(size, same // common, other // common)
