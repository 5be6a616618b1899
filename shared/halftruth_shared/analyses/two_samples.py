"""Prevalence from two samples that were asked one question by different randomization."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from .base import AttributeName, EstimatesResult, FilteredQuery, Items, Presence, Row
from .base import Confidence as Confidence
from .estimate import Estimate

SampleDesign = Literal["compliance", "cheater-detection", "lie-detector", "unrelated-question"]


class SampleEstimate(Estimate, frozen=True, kw_only=True):
    """Share that the design identifies.

    `value` is the maximum likelihood estimate, and `moment` the unrestricted one, which may be
    outside of 0 to 1; `standard_error` is of that. `interval` is that of the profile likelihood. Of
    strata, of an anchor and in a regression all are unrestricted, with a normal interval.
    """

    quantity: str
    moment: float | None


#: What two samples are for, samples of strata, or two questions of one sample.
Samples = Literal[SampleDesign, "strata", "anchor"]


class TwoSamplesResult(EstimatesResult, frozen=True, kw_only=True):
    """Shares that two samples identify together, and a test that everybody follows instructions.

    `samples` are the numbers of answers, and `present` the category of each question that counts as
    yes. `p_value` is null where the design has no test, or nothing can be tested.
    """

    query: "TwoSamplesQuery"
    present: Items
    samples: list[int]
    shares: list[SampleEstimate]
    p_value: float | None

    KEYS: ClassVar = ("quantity",)
    QUANTITY: ClassVar = "share"
    OTHERS: ClassVar = (("moment", float), ("compliance_p_value", float))

    def estimates(self) -> Iterator[Row]:
        for share in self.shares:
            yield (share.quantity,), share, (share.moment, self.p_value)


class TwoSamplesQuery(FilteredQuery[TwoSamplesResult], frozen=True, kw_only=True):
    """Prevalence from two samples of one question, randomized with different probabilities.

    Each person was drawn into one of the samples by chance, and answered its question alone. Or the
    samples are of strata, whose sizes are known; or all answered an anchor question besides.
    """

    attributes: Annotated[
        list[AttributeName],
        Meta(
            min_length=2,
            description="The question as each of the two samples, or each stratum, was asked it.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    design: Annotated[
        Samples,
        Meta(
            description="What the samples tell besides prevalence. compliance: whether all follow"
            " the instructions. cheater-detection: how many answer no whatever the instructions."
            " lie-detector: the same, if their true answer is yes. unrelated-question: the"
            " prevalence of the harmless question, which is not taken from the survey. strata:"
            " the prevalence in all strata together, by their sizes. anchor: how many answer at"
            " random, by a second question of the same people to which nobody's answer is yes."
        ),
    ] = "compliance"
    sizes: Annotated[
        list[Annotated[int, Meta(ge=1)]],
        Meta(description="Of strata: how many people each has, in the order of the questions."),
    ] = msgspec.field(default_factory=list)
    present: Presence = msgspec.field(default_factory=dict)
    confidence: Confidence = 0.95
