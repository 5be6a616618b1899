"""Mechanisms that perturb each attribute by itself."""

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from ..attribute import Attribute
from ..channels import Channel, Kronecker
from ..errors import ParameterError, listing
from ..schema import Schema
from .base import MAX_CONDITION, check_public
from .records import RecordMechanism


class PerAttributeMechanism(RecordMechanism):
    """Independent channels of the attributes, P = P_1 ⊗ … ⊗ P_M (Guo §5.2)."""

    def __init__(self) -> None:
        super().__init__()
        self._channels: dict[Attribute, Channel] = {}

    @abstractmethod
    def attribute_amplification(self, attribute: Attribute) -> Fraction | float:
        """Amplification of one attribute's channel."""

    @abstractmethod
    def attribute_channel(self, attribute: Attribute) -> Channel:
        """Channel of one attribute."""

    def amplification(self, schema: Schema, public: Collection[str] = ()) -> Fraction | float:
        """Product of the amplifications of the attributes that are not public.

        Attained by records that differ in all of these; where conditions leave no such two, it is
        an upper bound.
        """
        check_public(public)
        factors = [
            self.attribute_amplification(attribute)
            for attribute in schema.attributes
            if attribute.name not in public
        ]
        return _product(factors)

    def channel(self, schema: Schema, attributes: Sequence[str]) -> Kronecker:
        factors = []
        for j in schema.positions(attributes):
            attribute = schema.attributes[j]
            if attribute not in self._channels:
                self._channels[attribute] = self.attribute_channel(attribute)
            factors.append(self._channels[attribute])
        return Kronecker(factors)


def _product(factors: Sequence[Fraction | float]) -> Fraction | float:
    return math.inf if math.inf in factors else math.prod(factors, start=Fraction(1))


def check_names(schema: Schema, entries: Mapping[str, object], field: str) -> None:
    """Raise ParameterError unless `entries` has one entry for each attribute and no other."""
    for name in entries:
        if name not in schema.names:
            raise ParameterError(
                f"{field}: unknown attribute '{name}'; the survey has: {listing(schema.names)}",
                field=f"{field}.{name}",
            )
    for name in schema.names:
        if name not in entries:
            raise ParameterError(f"{field}: attribute '{name}' is missing", field=f"{field}.{name}")


def check_condition(condition: float, field: str) -> None:
    """Raise ParameterError for a condition number above `MAX_CONDITION`."""
    if not condition <= MAX_CONDITION:
        raise ParameterError(
            f"{field}: the matrix is nearly singular, its condition number is {condition:.3g};"
            f" expected at most {MAX_CONDITION:.0e}",
            field=field,
        )
