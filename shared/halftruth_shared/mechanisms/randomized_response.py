"""Randomized response for each attribute (Warner; Guo §2.2, §5.2; GYW eq. 1)."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..channels import Channel, Dense, Kronecker, UniformMixture
from ..errors import ParameterError
from ..rational import Rational, format_rational, parse_rational, root_below
from ..sampling import DrawBelow, RandBelow, Sampler
from ..schema import Schema
from .base import Mechanism, Parameters, Perturbation, check_condition, check_names, perturb_records
from .gamma_diagonal import resolve_gamma
from .uniform import move_or_keep

#: Largest number of categories of an attribute whose channel is a dense matrix.
_MAX_DENSE_CATEGORIES = 32


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


class ValueWeights(NamedTuple):
    """Integer weights of one attribute: `same` for its true value, `other` for each other one."""

    same: int
    other: int
    total: int


def _weights_of(p: Fraction, size: int) -> ValueWeights:
    """Return the weights, in lowest terms, of keeping a value with probability p."""
    same, other = p.numerator * (size - 1), p.denominator - p.numerator
    common = math.gcd(same, other)
    return ValueWeights(same // common, other // common, (same + other * (size - 1)) // common)


@dataclass(frozen=True)
class ResponseSampler(Sampler):
    """Sampler of randomized response for every attribute."""

    attributes: tuple[ValueWeights, ...]

    @cached_property
    def _combinations(self) -> int:
        return math.prod(total for _, _, total in self.attributes)

    @property
    def outcomes(self) -> int:
        return max(total for _, _, total in self.attributes)

    def report(self, record: Sequence[int], randbelow: RandBelow) -> tuple[int, ...]:
        report = list(record)
        # The digits of one uniform number in mixed radix are independent draws.
        draws = randbelow(self._combinations)
        for j, (same, other, total) in reversed(list(enumerate(self.attributes))):
            draws, draw = divmod(draws, total)
            if draw >= same:
                value = (draw - same) // other
                report[j] = value + (value >= report[j])
        return tuple(report)

    def reports(self, records: NDArray[np.int64], draw: DrawBelow) -> NDArray[np.int64]:
        reports = np.empty_like(records)
        for j, (same, other, total) in enumerate(self.attributes):
            reports[:, j] = move_or_keep(records[:, j], draw(total, len(records)), same, other)
        return reports


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
        channels, weights = [], []
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
            channels.append(_channel(p, size))
            check_condition(channels[-1].condition_number, field)
            weights.append(_weights_of(p, size))
        return perturb_records(self, schema, Kronecker(channels), ResponseSampler(tuple(weights)))


def _channel(p: Fraction, size: int) -> Channel:
    """Return the channel of an answer that is kept with a probability."""
    other = (1 - p) / (size - 1)
    if size > _MAX_DENSE_CATEGORIES:
        # Keep with p or draw one of the d−1 others = keep with p − q or draw from all d values.
        return UniformMixture((size,), p - other)
    # For a small matrix, one matrix product is faster than the operations of a mixture.
    return Dense([[p if u == v else other for u in range(size)] for v in range(size)])
