"""Questions with several answers: shares of the options, their pairs and combinations."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from msgspec import Meta

from ..protocol.base import Message
from .base import (
    AttributeName,
    AttributeNames,
    CategoryName,
    Columns,
    EstimateQuery,
    FiellerSet,
    Interval,
    Items,
    Result,
    Usability,
    ends,
    numbers,
    texts,
)
from .distribution import MomentEstimate


class OptionShare(Message, frozen=True, kw_only=True):
    """Share of those who chose an option, of those who answered it.

    `answer` is the category that means that it was chosen, and `label` the label of the option in a
    form. `base` is the estimated share of everybody who answered it; unless it is significantly
    above zero there is no share, and `undefined` gives the reason.
    """

    attribute: AttributeName
    answer: CategoryName
    label: str
    base: float
    share: float | None
    standard_error: float | None
    interval: Interval | None
    usability: Usability
    undefined: str | None = None


class ConditionalShare(Message, frozen=True, kw_only=True):
    """Share of those who chose the option `of`, among those who chose `among`."""

    of: AttributeName
    among: AttributeName
    share: float | None
    standard_error: float | None
    confidence_set: FiellerSet | None
    usability: Usability


class Lift(Message, frozen=True, kw_only=True):
    """Lift of two options: the share of both over that under independence.

    The standard error is that of its logarithm. An interval whose end is null is unbounded: the
    share of one of the options is not significantly above zero.
    """

    value: float | None
    standard_error: float | None
    interval: tuple[float, float | None] | None
    usability: Usability
    verdict: str
    undefined: str | None = None


class PairEstimate(Message, frozen=True, kw_only=True):
    """Two options: the share of those who chose both, each among the other, and their lift."""

    first: AttributeName
    second: AttributeName
    share: float | None
    standard_error: float | None
    interval: Interval | None
    usability: Usability
    conditional: list[ConditionalShare]
    lift: Lift


class Combination(Message, frozen=True, kw_only=True):
    """Three options or more, and the share of those who chose at least all of them."""

    items: Items
    share: float
    standard_error: float | None
    interval: Interval | None
    usability: Usability


class SeveralResult(Result, frozen=True, kw_only=True):
    """Options in the order of the survey, their pairs, and longer combinations.

    `usability` and `verdict` are of the shares of single options. `mean` is how many of the options
    a person who answered chose on average. Combinations are those whose estimated share reaches
    `min_support`, by size and most frequent first. They have at most `longest` of the options in
    `combined`: all options, or the most frequent of very many.
    """

    query: "SeveralQuery"
    label: str
    usability: Usability
    verdict: str
    options: list[OptionShare]
    mean: MomentEstimate
    pairs: list[PairEstimate]
    combinations: list[Combination]
    combined: list[AttributeName]
    longest: int

    @property
    def columns(self) -> Columns:
        return [
            *texts("estimate", "options", "among"),
            *numbers("value", "standard_error", "lower", "upper"),
            *texts("set", "usability", "undefined"),
        ]

    @property
    def index(self) -> int:
        return 3

    @property
    def panels(self) -> int:
        return 1

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for option in self.options:
            yield ("share", option.attribute, "", *_row(option.share, option), option.undefined)
        yield ("mean_number", "", "", *_row(self.mean.value, self.mean), self.mean.undefined)
        for pair in self.pairs:
            yield (
                "share_of_all",
                _joined((pair.first, pair.second)),
                "",
                *_row(pair.share, pair),
                None,
            )
        for pair in self.pairs:
            for share in pair.conditional:
                ratios = share.confidence_set
                yield (
                    *("conditional_share", share.of, share.among),
                    *(share.share, share.standard_error),
                    *((ratios.lower, ratios.upper, ratios.kind) if ratios else (None, None, None)),
                    *(share.usability, None),
                )
        for pair in self.pairs:
            lift = pair.lift
            lower, upper = lift.interval or (None, None)
            yield (
                *("lift", _joined((pair.first, pair.second)), "", lift.value, lift.standard_error),
                *(lower, upper, None, lift.usability, lift.undefined),
            )
        for combination in self.combinations:
            yield (
                *("share_of_all", _joined(list(combination.items)), ""),
                *(*_row(combination.share, combination), None),
            )


def _row(value: float | None, estimate: Any) -> tuple[Any, ...]:
    return (value, estimate.standard_error, *ends(estimate.interval), None, estimate.usability)


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
