"""Distributions where the margins of other questions are known."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences, folded, listed
from ..results.labels import Labels
from ..results.quantities import Quantity, by_name, share
from ..results.wording import number, percent
from ..results.wording import p_value as p_in_words
from .base import AttributeNames, CovarianceOf, SampleQuery

Weighting = Literal["raking", "calibration"]

Margins = Annotated[
    dict[str, Annotated[dict[str, Annotated[float, Meta(ge=0)]], Meta(min_length=1)]],
    Meta(
        min_length=1,
        description="Known margins of other questions, as attribute=category:number, with"
        " the share or the number of people of every category. If the query is"
        " restricted to some people (where), the margins of these people.",
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
            AttributeNames,
            Meta(description="Questions to include; by default all without a margin."),
        ]
        | None
    ) = None
    method: Annotated[
        Weighting,
        Meta(
            description="Use raking if the respondents are not a simple random sample of their"
            " population; with one margin, it is post-stratification. Use calibration for more"
            " precise estimates if the margins are those of the respondents themselves, or of a"
            " population that they are a simple random sample of."
        ),
    ] = "raking"
    covariance: CovarianceOf = False


def _about(labels: Labels, question: str) -> str:
    return f"{labels.quoted(question)}: " if question else ""


def _margins(labels: Labels, margins: Mapping[str, Mapping[str, float]]) -> str:
    """List known distributions of answers.

    >>> from halftruth_shared.results import NAMES
    >>> _margins(NAMES, {"sex": {"female": 0.6, "male": 0.4}}).replace(chr(0x202F), " ")
    'Margins: sex (female 60.0 %, male 40.0 %).'
    """
    each = (
        f"{labels.quoted(name)}"
        f" ({', '.join(f'{labels.answer(name, a)} {percent(s, 1)}' for a, s in shares.items())})"
        for name, shares in margins.items()
    )
    return f"Margins: {listed([*each])}."


def _weights(
    labels: Labels,
    people: float,
    smallest: float,
    largest: float,
    design_effect: float,
    question: str = "",
) -> str:
    return (
        f"{_about(labels, question)}Sum of weights {number(people, 0)}; weights from"
        f" {number(smallest, 2)} to {number(largest, 2)} times their mean, with a design effect of"
        f" {number(design_effect, 2)} due to weighting."
    )


#: Quantities of this analysis.
QUANTITIES = by_name(
    share("unweighted", "unweighted share"),
    Quantity("design_effect", "design effect", lower=0.0),
)

#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "even margins": lambda _: "Placeholders with equal shares: enter known margins.",
    "margins": _margins,
    "unlikely margins": lambda labels, p_value, question="": (
        f"{_about(labels, question)}The respondents do not have these margins (p-value"
        f" {p_in_words(p_value)}): if people are missing, calibration is biased."
    ),
    "weights": _weights,
    "unasked with margins": lambda labels, questions: folded(
        "Not weighted, because no report asks them together with the questions of the margins: {}.",
        [*map(labels.quoted, questions)],
        "questions",
    ),
    "raking": lambda _: (
        "Raking corrects for nonresponse only as far as it depends on the questions of the margins."
    ),
    "calibration": lambda _: (
        "Calibration does not correct for nonresponse; it assumes that everybody responded."
    ),
}
