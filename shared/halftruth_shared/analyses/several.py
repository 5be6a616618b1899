"""Questions of which several options may be chosen: how many choose each, and which together."""

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

    `answer` is the category that means that it was chosen, and `label` what a form calls the
    option. `base` is the estimated share of everybody who answered it; where that cannot be told
    from nobody there is no share, and `undefined` says so.
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
    """How many chose both options, as a multiple of how many would if choices were independent.

    The standard error is that of its logarithm. An interval whose end is null has none: one of the
    options cannot be told from one that nobody chose.
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
    """Three options or more, and the share of those who chose all of them, and maybe others."""

    items: Items
    share: float
    standard_error: float | None
    interval: Interval | None
    usability: Usability


class SeveralResult(Result, frozen=True, kw_only=True):
    """Options in the order of the survey, their pairs, and longer combinations.

    `usability` and `verdict` are of the shares of single options. `mean` is how many of the options
    a person who answered chose on average. Combinations are those whose estimated share reaches
    `min_support`, by size and most frequent first. They are of at most `longest` of the options in
    `combined`, which are all, or of very many those that are chosen most often.
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
        for one in self.options:
            yield ("share", one.attribute, "", *_row(one.share, one), one.undefined)
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
            for found in pair.conditional:
                known = found.confidence_set
                yield (
                    *("conditional_share", found.of, found.among),
                    *(found.share, found.standard_error),
                    *((known.lower, known.upper, known.kind) if known else (None, None, None)),
                    *(found.usability, None),
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


def _row(value: float | None, found: Any) -> tuple[Any, ...]:
    return (value, found.standard_error, *ends(found.interval), None, found.usability)


def _joined(names: Sequence[str]) -> str:
    return " + ".join(names)


class SeveralQuery(EstimateQuery[SeveralResult], frozen=True, kw_only=True):
    """How many choose each option of a question with several answers, and which go together.

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
