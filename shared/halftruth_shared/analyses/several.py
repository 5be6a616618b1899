"""Questions with several answers: shares of the options, their pairs and combinations."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from .base import (
    AttributeName,
    AttributeNames,
    CategoryName,
    EstimateQuery,
    EstimatesResult,
    Items,
    Row,
)
from .estimate import Estimate, Reliability


class OptionShare(Estimate, frozen=True, kw_only=True):
    """Share of those who chose an option, of those who answered it.

    `answer` is the category that means that it was chosen, and `label` the label of the option in a
    form. `base` is the estimated share of everybody who answered it; unless it is significantly
    above zero there is no share.
    """

    attribute: AttributeName
    answer: CategoryName
    label: str
    base: float


class ConditionalShare(Estimate, frozen=True, kw_only=True):
    """Share of those who chose the option `of`, among those who chose `among`."""

    of: AttributeName
    among: AttributeName


class PairEstimate(Estimate, frozen=True, kw_only=True):
    """Share of those who chose both of two options, of each among the other, and their lift.

    Lift is the share of both over that under independence. It has no upper end if the share of one
    of the options is not significantly above zero.
    """

    first: AttributeName
    second: AttributeName
    conditional: list[ConditionalShare]
    lift: Estimate


class Combination(Estimate, frozen=True, kw_only=True):
    """Share of those who chose at least all of three options or more."""

    items: Items


class SeveralResult(EstimatesResult, frozen=True, kw_only=True):
    """Options in the order of the survey, their pairs, and longer combinations.

    `reliability` and `verdict` are of the shares of single options. `mean` is how many of the
    options a person who answered chose on average. Combinations are those whose estimated share
    reaches `min_support`, by size and most frequent first. They have at most `max_order` of the
    options in `combined`: all options, or the most frequent of very many.
    """

    query: "SeveralQuery"
    label: str
    reliability: Reliability
    verdict: str
    options: list[OptionShare]
    mean: Estimate
    pairs: list[PairEstimate]
    combinations: list[Combination]
    combined: list[AttributeName]
    max_order: int

    KEYS: ClassVar = ("estimate", "options", "among")

    def estimates(self) -> Iterator[Row]:
        for option in self.options:
            yield ("share", option.attribute, ""), option, ()
        yield ("mean_number", "", ""), self.mean, ()
        for pair in self.pairs:
            yield ("share_of_all", _joined((pair.first, pair.second)), ""), pair, ()
        for pair in self.pairs:
            for share in pair.conditional:
                yield ("conditional_share", share.of, share.among), share, ()
        for pair in self.pairs:
            yield ("lift", _joined((pair.first, pair.second)), ""), pair.lift, ()
        for combination in self.combinations:
            yield ("share_of_all", _joined(list(combination.items)), ""), combination, ()


def _joined(names: Sequence[str]) -> str:
    return " + ".join(names)


class SeveralQuery(EstimateQuery[SeveralResult], frozen=True, kw_only=True):
    """Share of each option of a question with several answers, and of options chosen together.

    Shares are of those who answered. By default it is about the first question of which several
    options may be chosen; without one, about all attributes that have one item, as those of market
    baskets, or about all with two answers.
    """

    question: (
        Annotated[
            str,
            Meta(
                description="The question of which several options may be chosen.",
                extra={"of": "question"},
            ),
        ]
        | None
    ) = None
    attributes: (
        Annotated[
            AttributeNames,
            Meta(
                description="The options instead, attributes with one item or two answers; by"
                " default those of the question."
            ),
        ]
        | None
    ) = None
    min_support: Annotated[
        float,
        Meta(
            gt=0, le=1, description="Least share of combinations of three options or more that are"
            " given, from 0 to 1."
        ),
    ] = 0.05  # fmt: skip
    max_length: Annotated[
        int, Meta(ge=1, le=8, description="Longest combinations, as far as reports tell of them.")
    ] = 3
