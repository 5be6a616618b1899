"""Plans: what a survey will tell."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from ..protocol.base import Message, Request
from .base import Columns, Confidence, TargetOf, data_frame

if TYPE_CHECKING:
    import pandas as pd


class PlanQuery(Request, frozen=True, kw_only=True):
    """What a planner is asked of a survey before any field work; see ``plan``."""

    respondents: Annotated[int, Meta(ge=2, le=10**18, description="How many people answer.")]
    support: Annotated[
        float,
        Meta(gt=0, lt=1, examples=[0.05], description="The support that half_width is about."),
    ] = 0.05
    lengths: (
        Annotated[
            list[Annotated[int, Meta(ge=1)]],
            Meta(description="Lengths of itemsets asked about; by default the usual ones."),
        ]
        | None
    ) = None
    half_width: (
        Annotated[
            float,
            Meta(
                ge=1e-9,
                le=1,
                examples=[0.01],
                description="Half-width wanted of an interval, for which to say how many"
                " respondents it needs.",
            ),
        ]
        | None
    ) = None
    confidence: Confidence = 0.95
    target: TargetOf = "population"
    alone: Annotated[
        bool, Meta(description="Whether no other mechanism is compared with the survey's own.")
    ] = False
    sets: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=1_000,
                description="Most sets of attributes of a length that are listed. All single"
                " attributes are.",
            ),
        ]
        | None
    ) = None


class PlanRequest(PlanQuery, frozen=True, kw_only=True):
    """The same with the survey, which need not have been published."""

    survey: Annotated[msgspec.Raw, Meta(description="The survey in the shape of a survey file.")]


class EvenPlan(Message, frozen=True, kw_only=True):
    """How well tables of one length will be known if answers are spread evenly.

    The root mean square over all cells of all tables.
    """

    standard_error: float
    half_width: float
    respondents_needed: int | None


class LengthPlan(Message, frozen=True, kw_only=True):
    """What the itemsets of one length will be known to.

    `standard_error` and `half_width` are those of the median itemset at the support asked about,
    when everybody else is spread evenly; `worst_…` those of the worst itemset among the worst
    people. `smallest_support` is the smallest one that half of all surveys can tell from zero,
    null if there is none.
    `respondents_needed` is for the half-width asked about. `examined` of `possible` sets of
    attributes were looked at. `even`, which the words of a plan are about, is the root mean square
    over the cells of all tables of attributes that are not public, when answers are spread evenly;
    where no table of the length is without a public attribute, over those of all.
    """

    length: int
    standard_error: float
    half_width: float
    worst_standard_error: float
    worst_half_width: float
    smallest_support: float | None
    respondents_needed: int | None
    examined: int
    possible: int
    even: EvenPlan


class LengthBound(EvenPlan, frozen=True, kw_only=True):
    """How well unbiased estimates could know tables of one length if answers are spread evenly.

    The largest error over all lengths asked about is as small as can be; `by_itself` is how well
    those of this length could be known if no other one mattered, so that no unbiased estimate is
    more accurate.
    """

    length: int
    by_itself: EvenPlan


class SetPlan(EvenPlan, frozen=True, kw_only=True):
    """How well the table of some attributes will be known if answers are spread evenly."""

    attributes: list[str]


class MechanismPlan(Message, frozen=True, kw_only=True):
    """What one mechanism will give; `own` if it is the survey's.

    `answer_amplification` is the largest one of a single answer, when nothing is known of the
    others; null where it has none. Mechanisms of one γ share it out differently. `times_bound` is
    how many times the least possible its largest error over the lengths is, for evenly spread
    answers; null where it does not tell of all of them or there is no bound.
    """

    kind: str
    own: bool
    answer_amplification: float | None
    times_bound: float | None
    lengths: list[LengthPlan]


class PlanResult(Message, frozen=True, kw_only=True):
    """What a survey will tell, mechanism by mechanism at the same amplification γ.

    `gamma` is null where the survey's own mechanism has none, and then no other is compared with
    it, or where it is beyond floating point. `protection` says in words what the survey promises
    of the whole record and of a single answer. `bound` is the information bound by length: what
    the best mechanism of this γ could tell by an unbiased estimate, were answers spread evenly. At
    one length something may be more accurate, at the expense of another one, and so may it be where
    answers are spread unevenly. `sets` are those that were asked about, under the survey's own
    mechanism.
    """

    query: PlanQuery
    gamma: float | None
    mechanisms: list[MechanismPlan]
    bound: list[LengthBound]
    sets: list[SetPlan]
    recommended: str
    reason: str
    protection: list[str]

    @property
    def columns(self) -> Columns:
        """Name and type of each column of `rows`."""
        counted = ("length", "respondents_needed", "examined", "possible")
        return [
            ("mechanism", str),
            ("own", bool),
            ("answer_amplification", float),
            ("times_bound", float),
            *((n, int if n in counted else float) for n in _OF_LENGTH),
            *((f"{of}_{n}", int if n in counted else float) for of in _EVEN for n in _OF_EVEN),
        ]

    def to_pandas(self) -> "pd.DataFrame":
        """A row for each mechanism and length."""
        return data_frame(self, 0).set_index(["mechanism", "length"])

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """One row of `columns` for each mechanism and length."""
        bounds = {bound.length: bound for bound in self.bound}
        for mechanism in self.mechanisms:
            for length in mechanism.lengths:
                yield (
                    mechanism.kind,
                    mechanism.own,
                    mechanism.answer_amplification,
                    mechanism.times_bound,
                    *(getattr(length, name) for name in _OF_LENGTH),
                    *(
                        getattr(even, name, None)
                        for even in (length.even, bounds.get(length.length))
                        for name in _OF_EVEN
                    ),
                )


_OF_EVEN = EvenPlan.__struct_fields__
_OF_LENGTH = tuple(name for name in LengthPlan.__struct_fields__ if name != "even")

#: Beginnings of the columns of what is told if answers are spread evenly, and could be at best.
_EVEN = ("even", "bound")
