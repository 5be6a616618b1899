"""Distributions of the answers to all questions."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..results import Result
from .base import Interactions, MergeOf, MethodOf, Modelled, QuestionName, SampleQuery


class OverviewQuery(SampleQuery[Result[Any]], frozen=True, kw_only=True):
    """Distribution of the answers to every question, each share with its bounds.

    A question with several answers has the *share* of those who chose each option, and of those who
    chose none, where the reports identify it; its *mean_number* is that of options chosen by those
    who answered. Categories that the survey declares missing are *missing*, as shares of everybody.
    Without perturbation *effective_reports* answers would be as precise.
    """

    attributes: (
        Annotated[
            list[QuestionName],
            Meta(
                min_length=1,
                description="Which questions; by default all.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | None
    ) = None
    merge: MergeOf = msgspec.field(default_factory=dict)
    estimate: MethodOf = "moment"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None
