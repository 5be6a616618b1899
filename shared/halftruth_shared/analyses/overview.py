"""Distributions of the answers to all questions."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..results import Result
from .base import Interactions, MergeOf, MethodOf, Modelled, QuestionName, SampleQuery


class OverviewQuery(SampleQuery[Result[Any]], frozen=True, kw_only=True):
    """Distribution of the answers to every question, each share with its bounds.

    A multiple-response question has the *share* of respondents who chose each option and, if the
    reports identify it, of respondents who chose no option; *mean_number* is the mean number of
    chosen options among respondents who answered. The shares of missing categories, *missing*,
    refer to all respondents. *effective_reports* unperturbed answers would be as precise.
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
