"""People who choose at least some number of options."""

from typing import Annotated, Any

from halftruth_shared.analyses.base import EstimateQuery, QuestionName
from halftruth_shared.results import Result
from halftruth_shared.results.caveats import Sentences
from halftruth_shared.results.quantities import by_name, share
from msgspec import Meta


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
