"""People who choose at least some number of options."""

from typing import Annotated, Any

from msgspec import Meta

from ..results import Result
from .base import EstimateQuery, QuestionName


class AtLeastQuery(EstimateQuery[Result[Any]], frozen=True, kw_only=True):
    """Share of people who choose at least some number of options of a question."""

    question: Annotated[QuestionName, Meta(description="Question with several answers.")]
    least: Annotated[int, Meta(ge=1, le=20, description="Smallest number of options.")] = 2
