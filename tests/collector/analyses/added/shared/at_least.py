"""People who choose at least some number of options."""

from typing import Annotated, Any

from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences
from ..results.quantities import by_name, share
from .base import EstimateQuery, QuestionName


class AtLeastQuery(EstimateQuery[Result[Any]], frozen=True, kw_only=True):
    """Share of people who choose at least some number of options of a question."""

    question: Annotated[QuestionName, Meta(description="Question with several answers.")]
    least: Annotated[int, Meta(ge=1, le=20, description="Smallest number of options.")] = 2


QUANTITIES = by_name(share("at_least", "share with so many"))

CAVEATS: Sentences = {
    "options counted": lambda labels, question, options: (
        f"Counted are the options of {labels.quoted(question)}: {', '.join(options)}."
    )
}
