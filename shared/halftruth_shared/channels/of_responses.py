"""The channel of each response: its transition matrix from cells to reports."""

from dataclasses import astuple
from fractions import Fraction
from functools import lru_cache, singledispatch

from ..responses import Column, Columns, Kept, Mixture, Response, Transitions
from ..subset_responses import PairResponse, SubsetResponse
from .base import Channel, Operator
from .dense import Dense
from .kronecker import Kronecker
from .subset_response import PairChannel, SubsetChannel
from .uniform_mixture import UniformMixture

#: Largest number of categories of an attribute whose channel is a dense matrix.
_MAX_DENSE_CATEGORIES = 32


@singledispatch
def channel_of(response: Response) -> Operator:
    """Return the channel of a response.

    Raises
    ------
    TypeError
        For a kind of response that has none here.
    """
    raise TypeError(f"no channel of {type(response).__name__}")


@channel_of.register(Columns)
def _(response: Columns) -> Kronecker:
    return Kronecker([_channel_of_column(column) for column in response.columns])


@channel_of.register(Mixture)
def _(response: Mixture) -> UniformMixture:
    return UniformMixture(
        response.sizes, Fraction(response.same - response.other, response.outcomes)
    )


# The views of a survey share few responses.
@channel_of.register(SubsetResponse)
@lru_cache(maxsize=1024)
def _(response: SubsetResponse) -> SubsetChannel:
    return SubsetChannel(*astuple(response))


@channel_of.register(PairResponse)
@lru_cache(maxsize=1024)
def _(response: PairResponse) -> PairChannel:
    return PairChannel(*astuple(response))


@singledispatch
def _channel_of_column(column: Column) -> Channel:
    raise TypeError(f"no channel of {type(column).__name__}")


@_channel_of_column.register(Kept)
def _(column: Kept) -> Channel:
    own, other = (Fraction(weight, column.total) for weight in (column.same, column.other))
    if column.size > _MAX_DENSE_CATEGORIES:
        # Keep with p or draw one of the d−1 others = keep with p − q or draw from all d values.
        return UniformMixture((column.size,), own - other)
    # For a small matrix, one matrix product is faster than the operations of a mixture.
    places = range(column.size)
    return Dense([[own if u == v else other for u in places] for v in places])


@_channel_of_column.register(Transitions)
def _(column: Transitions) -> Channel:
    return Dense(column.matrix)
