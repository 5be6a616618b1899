"""Distributions of the answers to all questions."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences
from ..results.labels import Labels
from ..results.wording import number
from .base import KEPT, Interactions, MergeOf, MethodOf, Modelled, QuestionName, SampleQuery


class OverviewQuery(SampleQuery[Result[Any]], frozen=True, kw_only=True):
    """Distribution of the answers to every question, each share with its bounds.

    A multiple-response question has the *share* of respondents who chose each option and, if the
    reports identify it, of respondents who chose no option; *mean_number* is the mean number of
    chosen options among respondents who answered. If a respondent chooses a limited number of the
    options (`at_most`), *number_chosen* is the share of each number of them. The shares of missing
    categories, *missing*, and those of numbers refer to all respondents. *effective_reports*
    unperturbed answers would be as precise.
    """

    attributes: (
        Annotated[
            list[QuestionName],
            Meta(
                min_length=1,
                extra=KEPT,
                description="Questions to include; by default all.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | None
    ) = None
    merge: MergeOf = msgspec.field(default_factory=dict)
    estimate: MethodOf = "moment"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None

    @property
    def each_alone(self) -> bool:
        return self.estimate != "model"


#: Largest number of days that a sentence lists.
_MAX_DAYS = 7


def _days(_: Labels, days: Mapping[str, int]) -> str:
    """List the number of reports of the last days."""
    last = [f"{day} {number(reports, 0)}" for day, reports in sorted(days.items())[-_MAX_DAYS:]]
    before = len(days) - len(last)
    earlier = f"; earlier ones on {number(before, 0)} more days" if before else ""
    return f"Reports by day (UTC): {', '.join(last)}{earlier}."


#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "days": _days,
    "none unknown": lambda labels, question: (
        f"{labels.quoted(question)}: the reports do not show how many chose no option."
    ),
}
