"""Distributions where the margins of other questions are known."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from ..results import Result
from .base import AttributeNames, CovarianceOf, SampleQuery

Weighting = Literal["raking", "calibration"]

Margins = Annotated[
    dict[str, Annotated[dict[str, Annotated[float, Meta(ge=0)]], Meta(min_length=1)]],
    Meta(
        min_length=1,
        description="What is known of other questions (of a group, where one is asked about), as"
        " attribute=category:number: the share of every category, or its number of people.",
    ),
]


class WeightedQuery(SampleQuery[Result[Any]], frozen=True, kw_only=True):
    """Distribution of answers in a population of known margins.

    *share* is the share of an answer given the margins, *unweighted* the share without them, and
    *design_effect* the ratio of their variances. Calibration has one test for each question, in the
    order of the questions: whether the respondents with an answer are a sample of people with these
    margins.
    """

    margins: Margins
    attributes: (
        Annotated[
            AttributeNames, Meta(description="Which questions; by default all without a margin.")
        ]
        | None
    ) = None
    method: Annotated[
        Weighting,
        Meta(
            description="raking weights respondents who are no simple random sample of their"
            " population (post-stratification, if there is one margin). calibration makes estimates"
            " more precise by margins of the respondents themselves, or of a population whose"
            " simple random sample they are."
        ),
    ] = "raking"
    covariance: CovarianceOf = False
