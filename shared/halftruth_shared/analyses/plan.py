"""Plans: expected precision of a survey."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..protocol.base import Message, Request
from ..results.estimate import Columns
from ..survey import Promise
from .base import AttributeName, AttributeNames, Confidence, TargetOf, data_frame

if TYPE_CHECKING:
    import pandas as pd

#: Planned quantities: margins of error of a share, of a mean as a part of its range, of a share
#: within a group, of a difference between two groups, and of an odds ratio, as a factor; and the
#: smallest share, difference, Cramér's V and correlation of two scales that a test at 5 % detects
#: with a power of 80 %.
Planned = Literal[
    "share",
    "detectable_share",
    "mean",
    "share_within",
    "difference",
    "detectable_difference",
    "detectable_association",
    "detectable_correlation",
    "odds_ratio",
]


#: The survey's own design, and those that are proposed: views for all pairs of questions, for
#: wanted tables, and for wanted tables with groups of answers.
DesignName = Literal["own", "all pairs", "tables", "tables of groups"]


class PlanQuery(Request, frozen=True, kw_only=True):
    """Query for the expected precision of a survey before field work; see ``plan``."""

    respondents: Annotated[int, Meta(ge=2, le=10**18, description="Number of respondents.")] = 1_000
    half_width: (
        Annotated[
            float,
            Meta(
                ge=1e-9,
                lt=1,
                examples=[0.01],
                description="Desired margin of error of shares and differences, such as 0.02. The"
                " plan computes the number of respondents that it takes.",
            ),
        ]
        | None
    ) = None
    groups: (
        Annotated[
            AttributeNames,
            Meta(description="Questions whose answers are groups of people; by default all."),
        ]
        | None
    ) = None
    questions: (
        Annotated[
            AttributeNames,
            Meta(description="Questions whose shares are estimated; by default all."),
        ]
        | None
    ) = None
    detect: (
        Annotated[
            list[str],
            Meta(
                min_length=1,
                max_length=40,
                description="Difference to detect, as in 'drugs by sex: 10 points'. The plan shows"
                " the difference that each design can detect, and the lines of the"
                " survey file for the best design.",
                extra={"written": "of: outcome by group: points"},
            ),
        ]
        | None
    ) = None
    outcome: (
        Annotated[
            AttributeName,
            Meta(description="Outcome of a regression; needs predictors."),
        ]
        | None
    ) = None
    predictors: (
        Annotated[AttributeNames, Meta(description="Predictors of the regression.")] | None
    ) = None
    relay: (
        Annotated[
            int,
            Meta(
                ge=6,
                le=99,
                examples=[10],
                description="Plan the survey with a relay, with the largest γ for this bound: the"
                " highest probability, in percent, after a report of what was 5 % likely"
                " before it.",
            ),
        ]
        | None
    ) = None
    confidence: Confidence = 0.95
    target: TargetOf = "population"
    alone: Annotated[
        bool,
        Meta(description="Plan only this survey, without other mechanisms and designs."),
    ] = False


class PlanRequest(PlanQuery, frozen=True, kw_only=True):
    """Plan query with the survey, which need not be published."""

    survey: Annotated[msgspec.Raw, Meta(description="The survey, in the format of a survey file.")]


class PlannedMargin(Message, frozen=True, kw_only=True):
    """Expected precision of one quantity, over the questions or pairs of questions it is about.

    `median` and `worst` are over these questions or pairs, each represented by the median over its
    cells. They are null if this number of reports cannot show the quantity. `rare` is the median if
    20 % of the people are in one of the groups, or, for an odds ratio, give the answer, where
    evenly spread answers make it more; it is null if it is unknown, if the quantity is neither
    about groups nor an odds ratio, and with a pilot. `worst_of` names the questions of the worst
    margin, a group first. `respondents_needed` is the number of respondents for which the median is
    the requested half-width. `examined` of `possible` questions or pairs were evaluated. The margin
    of a mean is a part of the range of its numbers; `unit` is the range for the worst margin.
    `undone_by` is of the smallest detectable difference, association and correlation: how many
    false reports would undo the finding in a typical survey with just this effect, as the median
    over the pairs; null where no number would, and for other quantities.
    """

    quantity: Planned
    median: float | None
    worst: float | None
    rare: float | None = None
    worst_of: list[str]
    respondents_needed: int | None
    examined: int
    possible: int
    unit: float | None = None
    undone_by: int | None = None


class MechanismPlan(Message, frozen=True, kw_only=True):
    """Expected precision under one mechanism or design; `own` if it is the survey's.

    `name` tells apart those of one `kind`. `collected` is false for protocols of the literature,
    which are compared by closed formulas and of which no reports can be collected. `max_length` is
    the largest number of questions for which all tables can be estimated. `amplification` is γ of
    all perturbed answers together, and `answer_amplification` the largest one of a single question,
    to someone who already knows all other answers; null if it is infinite. Mechanisms of one γ
    divide it differently. `times_bound` is the ratio of the error of its tables of one and two
    questions to the least that any unbiased estimate at this γ can have in all of them, under
    uniform answers; null if there is no such bound.
    """

    kind: str
    name: str
    own: bool
    collected: bool
    max_length: int
    amplification: float | None
    answer_amplification: float | None
    times_bound: float | None
    margins: list[PlannedMargin]


class PromisePlan(Message, frozen=True, kw_only=True):
    """Expected precision of a design that is chosen by a promise; `own` if it is the survey's.

    `gamma` is that of the record or of each answer, as `promise` says. `amplification` is γ of all
    perturbed answers together, and `answer_amplification` the largest one of a single question, to
    someone who knows all other answers; anybody else can learn more where answers go together, at
    most what `amplification` allows. Either is null if it exceeds floating-point numbers.
    """

    kind: str
    promise: Promise
    gamma: float
    own: bool
    amplification: float | None
    answer_amplification: float | None
    margins: list[PlannedMargin]


class Goal(Message, frozen=True, kw_only=True):
    """Difference of an answer's shares between two groups that is to be detected."""

    outcome: AttributeName
    group: AttributeName
    difference: float


class DesignPlan(Message, frozen=True, kw_only=True):
    """Expected precision of a design for the differences that are to be detected.

    `lines` are those of the survey file that differ; empty for the survey's own design.
    `detectable` has for each difference the smallest one that is detected with a power of 80 %, and
    `rare` the same if 20 % of the people are in one of the groups (null with a pilot); null for one
    that no number of points makes detectable. `undone_by` has for each difference how many false
    reports would undo it in a typical survey with just this difference; null if it is not even
    typically significant, or if no number would. `share` is the typical margin of a share of an
    answer to a single question, and `worst_share` the largest one, of the question `worst_of`.
    """

    design: DesignName
    lines: str
    detectable: list[float | None]
    rare: list[float | None] | None
    undone_by: list[int | None]
    share: float | None
    worst_share: float | None
    worst_of: AttributeName | None


class RelayedPlan(Message, frozen=True, kw_only=True):
    """Expected precision behind a relay, of the same kind of mechanism with a larger amplification.

    `gamma` is the largest integer γ for which a batch of `batch` honest reports keeps the requested
    bound. `pairs` is true for a split questionnaire with ``pairs = true`` in its file. A property
    with a prior probability of 5 % has a posterior probability of at most `apart` percent, except
    with a probability of 10⁻⁸ (10⁻⁶ below 2 000 reports), if relay and collector do not collude and
    the relay passes on what it received and adds nothing, and at most `together` percent in any
    other case.
    """

    batch: int
    gamma: int
    pairs: bool
    apart: int
    together: int
    margins: list[PlannedMargin]


class PlanResult(Message, frozen=True, kw_only=True):
    """Expected precision of a survey, under evenly spread answers or those of a pilot (`pilot`).

    `gamma` is null if the survey's mechanism has no finite amplification above 1, so that no other
    mechanism is compared with it, or if it exceeds floating-point numbers. `margins` are
    those of the unchanged survey, and `mechanisms` compares it with other designs and mechanisms of
    the same γ, and with protocols of the literature, by shares and by shares within groups. These
    are of the wanted tables or goals, if there are any, and of the questions `grouped` within their
    groups of answers, also where a mechanism asks for the answers in detail. `advice` is a sentence
    about the best `max_length`. `promises` compares a promise for the record with one for each
    answer; it is empty for a single question. `goals` are the differences that are to be detected,
    and `designs` the designs that are compared for them, the survey's own first.
    `relayed` is null if no bound behind a relay is requested. `protection` describes the guarantee
    for the whole record and for a single answer, and what γ permits somebody to learn.
    """

    query: PlanQuery
    gamma: float | None
    margins: list[PlannedMargin]
    mechanisms: list[MechanismPlan]
    promises: list[PromisePlan]
    grouped: list[str]
    recommended: str
    reason: str
    advice: list[str]
    protection: list[str]
    goals: list[Goal] = msgspec.field(default_factory=list)
    designs: list[DesignPlan] = msgspec.field(default_factory=list)
    relayed: RelayedPlan | None = None
    pilot: bool = False

    @property
    def columns(self) -> Columns:
        """Name and type of each column of `rows`."""
        return [
            ("mechanism", str),
            ("quantity", str),
            ("median", float),
            ("rare", float),
            ("worst", float),
            ("worst_of", str),
            ("respondents_needed", int),
            ("examined", int),
            ("possible", int),
        ]

    def to_pandas(self) -> "pd.DataFrame":
        """Return a data frame with a row for each mechanism and quantity."""
        return data_frame(self, 0).set_index(["mechanism", "quantity"])

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows, one for each mechanism and quantity, the survey's own first."""
        for mechanism in self.mechanisms:
            for each in self.margins if mechanism.own else mechanism.margins:
                yield (
                    mechanism.name,
                    each.quantity,
                    each.median,
                    each.rare,
                    each.worst,
                    ", ".join(each.worst_of),
                    each.respondents_needed,
                    each.examined,
                    each.possible,
                )
