"""Reconstructed tables."""

from typing import Any

import msgspec

from ..results import Result
from .base import (
    AttributeNames,
    AutoMethodOf,
    CovarianceOf,
    Interactions,
    MergeOf,
    Modelled,
    SampleQuery,
)


class TableQuery(SampleQuery[Result[Any]], frozen=True, kw_only=True):
    """Reconstructed table of some attributes, each cell with its bounds."""

    attributes: AttributeNames
    merge: MergeOf = msgspec.field(default_factory=dict)
    estimate: AutoMethodOf = "auto"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None
    covariance: CovarianceOf = False
