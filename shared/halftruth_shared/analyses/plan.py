"""Plans: expected precision of a survey."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from ..protocol.base import Message, Request
from ..results.estimate import Columns
from .base import Confidence, TargetOf, data_frame

if TYPE_CHECKING:
    import pandas as pd


class PlanQuery(Request, frozen=True, kw_only=True):
    """Query for the expected precision of a survey before field work; see ``plan``."""

    respondents: Annotated[int, Meta(ge=2, le=10**18, description="How many people answer.")]
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
                lt=1,
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
    designs: Annotated[
        bool,
        Meta(
            description="Whether designs for tables of one attribute, two and so on are compared,"
            " by unbiased estimates and by the model of all answers."
        ),
    ] = False


class PlanRequest(PlanQuery, frozen=True, kw_only=True):
    """Plan query with the survey, which need not be published."""

    survey: Annotated[msgspec.Raw, Meta(description="The survey in the shape of a survey file.")]


class EvenPlan(Message, frozen=True, kw_only=True):
    """Expected precision of tables of one length under uniform answers.

    Root mean square over all cells of all tables.
    """

    standard_error: float
    half_width: float
    respondents_needed: int | None


class LengthPlan(EvenPlan, frozen=True, kw_only=True):
    """Expected precision of one length.

    `standard_error`, `half_width` and `respondents_needed` are of the tables without public
    attributes, under uniform answers; of all tables if each has a public attribute. `worst_…` are
    those of the worst itemset under the worst distribution. `smallest_support` is the smallest
    support that is significantly above zero in half of all surveys, null if there is none.
    `examined` of `possible` sets of attributes were evaluated.
    """

    length: int
    worst_standard_error: float
    worst_half_width: float
    smallest_support: float | None
    examined: int
    possible: int


class LengthBound(EvenPlan, frozen=True, kw_only=True):
    """Information bound on unbiased estimates of tables of one length, under uniform answers.

    The largest error over all requested lengths is minimal.
    """

    length: int


class SetPlan(EvenPlan, frozen=True, kw_only=True):
    """Expected precision of the table of some attributes under uniform answers."""

    attributes: list[str]


class LengthMargin(EvenPlan, frozen=True, kw_only=True):
    """Expected precision of tables of one length under uniform answers."""

    length: int


class DesignPlan(Message, frozen=True, kw_only=True):
    """Expected precision of a survey designed for tables of up to `max_length` attributes.

    `own` if that is the survey's mechanism as it is.
    `unbiased` are tables as reports tell of them, `model` those by the model of all answers, which
    assumes no interaction of three or more; empty where reports do not tell of all pairs, or there
    are too many cells. `odds_ratio` is the margin of an odds ratio in a regression of one answer on
    all others, as a factor.
    """

    max_length: int
    own: bool
    unbiased: list[LengthMargin]
    model: list[LengthMargin]
    odds_ratio: float | None


class MechanismPlan(Message, frozen=True, kw_only=True):
    """Expected precision under one mechanism; `own` if it is the survey's.

    `answer_amplification` is the largest amplification of a single question, to someone who already
    knows all other answers; null if there is none. Mechanisms of one γ divide it differently.
    `times_bound` is the ratio of its largest error over the lengths to the information bound, under
    uniform answers; null if it does not identify all of them or there is no bound.
    """

    kind: str
    own: bool
    answer_amplification: float | None
    times_bound: float | None
    lengths: list[LengthPlan]


class PlanResult(Message, frozen=True, kw_only=True):
    """Expected precision of a survey, mechanism by mechanism at the same amplification γ.

    `gamma` is null if the survey's own mechanism has none, and then no other is compared with it,
    or if it is beyond floating point. `protection` describes the guarantee for the whole record and
    for a single answer. `bound` is the information bound by length: the precision of the best
    unbiased estimate under the best mechanism of this γ, with uniform answers. A mechanism may be
    more accurate at one length at the expense of another, or when answers are not uniform. `sets`
    are the requested sets of attributes, under the survey's own mechanism. `designs`, if requested,
    compare this mechanism designed for tables of different lengths; `advice` says which is best for
    what.
    """

    query: PlanQuery
    gamma: float | None
    mechanisms: list[MechanismPlan]
    bound: list[LengthBound]
    sets: list[SetPlan]
    recommended: str
    reason: str
    protection: list[str]
    designs: list[DesignPlan] = msgspec.field(default_factory=list)
    advice: list[str] = msgspec.field(default_factory=list)

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
            *((f"bound_{n}", int if n in counted else float) for n in _OF_EVEN),
        ]

    def to_pandas(self) -> "pd.DataFrame":
        """Return a data frame with a row for each mechanism and length."""
        return data_frame(self, 0).set_index(["mechanism", "length"])

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows, one for each mechanism and length."""
        bounds = {bound.length: bound for bound in self.bound}
        for mechanism in self.mechanisms:
            for length in mechanism.lengths:
                yield (
                    mechanism.kind,
                    mechanism.own,
                    mechanism.answer_amplification,
                    mechanism.times_bound,
                    *(getattr(length, name) for name in _OF_LENGTH),
                    *(getattr(bounds.get(length.length), name, None) for name in _OF_EVEN),
                )


_OF_EVEN = EvenPlan.__struct_fields__
_OF_LENGTH = LengthPlan.__struct_fields__
