"""Common types of queries and results.

The annotated type of a query's field holds its range, choices and description, and whether it
names attributes of the survey. Parsing, validation, the HTTP interface with its description, the
command line, the pages and the methods of ``Analyst`` are derived from it.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

from ..protocol.base import Request
from ..results.base import AttributeName as AttributeName
from ..results.base import CategoryName as CategoryName
from ..results.base import Columnar as Columnar
from ..results.base import Contradiction as Contradiction
from ..results.base import Group as Group
from ..results.base import Items as Items
from ..results.base import MeasureName as MeasureName
from ..results.base import ModelFit as ModelFit
from ..results.base import QuestionName as QuestionName
from ..results.base import Tabular as Tabular
from ..results.base import TestedInteraction as TestedInteraction
from ..results.base import TypicalError as TypicalError
from ..results.base import data_frame as data_frame
from ..results.base import numbers as numbers
from ..results.base import texts as texts
from ..results.estimate import Columns as Columns
from ..results.estimate import Interval as Interval
from ..results.result import Result as Result

Decision = Literal["frequent", "undecided"]

#: Estimator of supports.
Method = Literal["moment", "likelihood", "model"]

#: Estimator of supports, or its choice by the design of the reports ("auto").
AutoMethod = Literal["auto", "moment", "likelihood", "model"]

#: Target of inference: the population that the respondents are a sample of, or the respondents.
Target = Literal["population", "respondents"]

#: Estimator of the confidences of rules.
Source = Literal["moment", "model"]

#: Estimator of the shares of groups, or its choice by the design of the reports ("auto").
AutoSource = Literal["auto", "moment", "model"]

_AUTO = (
    " By default (auto) the model is taken where the reports do not tell of the table, or where the"
    " expected margins of unbiased estimates are more than twice those of the model, by the design"
    " of the survey and never by what was estimated."
)

#: One category, or any of several, for each of some attributes.
Answers = Mapping[str, str | Sequence[str]]

#: Groups of categories that are merged into one, for each of some attributes.
Merge = Mapping[str, Sequence[Sequence[str]]]

#: Treatment of categories that are missing values.
Missing = Literal["keep", "exclude"]

#: Marks what links from one page of results to others keep, and the fields that name the main
#: question of a page or the one that defines groups.
KEPT, QUESTION, GROUPS = ({"links": each} for each in ("value", "question", "groups"))

AttributeNames = Annotated[
    list[AttributeName],
    Meta(
        extra=KEPT,
        min_length=1,
        description="Which attributes, in this order.",
        extra_json_schema={"uniqueItems": True},
    ),
]
MeasureNames = Annotated[
    list[MeasureName],
    Meta(
        min_length=1,
        description="Names of measures; by default all that apply.",
        extra_json_schema={"uniqueItems": True},
    ),
]
Presence = Annotated[
    Items,
    Meta(
        description="The category that counts as presence, as attribute=category. By default the"
        " only item of an attribute, or the second of two categories."
    ),
]
Where = Annotated[
    dict[str, str | list[str]],
    Meta(
        extra=KEPT,
        description="Only people who give these answers, as attribute=category; of an attribute"
        " that is given several times, any of them. Shares are shares of these people, with errors"
        " that include that of how many they are.",
    ),
]
MergeOf = Annotated[
    dict[str, list[list[str]]],
    Meta(
        extra=KEPT,
        description="Categories that count as one, as attribute=category,category; several groups"
        " of an attribute each by themselves. A comma inside a category has a backslash before it."
        " The merged category is called after all of them, with “or” in between.",
    ),
]
MissingOf = Annotated[
    Missing,
    Meta(
        extra=KEPT,
        description="Whether what is no answer, as not asked or not said, counts like an answer, or"
        " shares are of those who answered every question that they are about.",
    ),
]
Confidence = Annotated[
    float,
    Meta(
        extra=KEPT,
        gt=0,
        lt=1,
        examples=[0.95],
        description="Level of each single interval, not of all together.",
    ),
]
TargetOf = Annotated[
    Target,
    Meta(
        extra=KEPT,
        description="Whether the respondents are a sample of those spoken of, or all of them.",
    ),
]
PopulationOf = (
    Annotated[
        int,
        Meta(
            ge=1,
            le=10**18,
            description="How many people the respondents are a simple random sample of; by default"
            " many. It makes the error by sampling smaller, not that by perturbation.",
        ),
    ]
    | None
)
MethodOf = Annotated[
    Method,
    Meta(
        extra=KEPT,
        description="What the supports are: unbiased moment estimates; those of a loglinear model"
        " of all answers, of any length; or best guesses (likelihood), which have no intervals but"
        " a typical error from held-out reports.",
    ),
]


SourceOf = Annotated[
    Source,
    Meta(
        extra=KEPT,
        description="What the shares are: unbiased moment estimates, or those of a model of all"
        " answers, which are more precise where it holds.",
    ),
]
AutoMethodOf = Annotated[
    AutoMethod,
    Meta(
        extra=KEPT,
        description="What the shares are: unbiased moment estimates; those of a loglinear model of"
        " all answers, of any length; or best guesses (likelihood), which have no intervals but a"
        " typical error from held-out reports." + _AUTO,
    ),
]
AutoSourceOf = Annotated[
    AutoSource,
    Meta(
        extra=KEPT,
        description="What the shares are: unbiased moment estimates, or those of a model of all"
        " answers, which are more precise where it holds." + _AUTO,
    ),
]
Interactions = Annotated[
    list[list[AttributeName]],
    Meta(
        extra=KEPT,
        description="Of estimate = model: interactions of three or more attributes that the model"
        " has besides all pairs, each the names of its attributes with commas between them.",
    ),
]
Modelled = Annotated[
    list[AttributeName],
    Meta(
        min_length=2,
        description="Of estimate = model: the attributes that the model is about; by default all,"
        " or those that the query names if all are too many for one model.",
        extra_json_schema={"uniqueItems": True},
    ),
]
CovarianceOf = Annotated[
    bool,
    Meta(
        description="Whether to give the covariance of the estimates, too, in the order of the"
        " rows; null of two whose covariance is not known."
    ),
]


R = TypeVar("R", bound=Result[Any])


class Query(Request, Generic[R], frozen=True, kw_only=True):
    """Query with result `R`; the module that defines it names the analysis.

    `of_series` is whether it is about all waves of a series, and `needs_many_tables` whether it
    needs tables of many sets of questions unless it names some.
    """

    of_series: ClassVar[bool] = False

    @property
    def each_alone(self) -> bool:
        """Whether each of its questions is analysed by itself, so that its answers are in detail.

        So are those of a query that names a single question.
        """
        return False

    needs_many_tables: ClassVar[bool] = False


class FilteredQuery(Query[R], Generic[R], frozen=True, kw_only=True):
    """Query that can be restricted to a domain."""

    where: Where = msgspec.field(default_factory=dict)


class EstimateQuery(FilteredQuery[R], Generic[R], frozen=True, kw_only=True):
    """Query for estimates with intervals."""

    confidence: Confidence = 0.95
    target: TargetOf = "population"


class AnsweredQuery(EstimateQuery[R], Generic[R], frozen=True, kw_only=True):
    """Query that can exclude missing values."""

    missing: MissingOf = "keep"


class SampleQuery(AnsweredQuery[R], Generic[R], frozen=True, kw_only=True):
    """Query that can be about a finite population."""

    population: PopulationOf = None


MinSupport = Annotated[
    float, Meta(gt=0, le=1, examples=[0.02], description="Least support, from 0 to 1.")
]


class MiningQuery(EstimateQuery[R], Generic[R], frozen=True, kw_only=True):
    """Query that selects itemsets or rules by support."""

    needs_many_tables: ClassVar[bool] = True

    min_support: MinSupport
    max_length: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="Longest itemsets; by default those whose margins of error can be less"
                " than the threshold, as far as they are not too many.",
            ),
        ]
        | None
    ) = None
