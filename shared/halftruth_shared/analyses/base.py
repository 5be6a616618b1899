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
    " By default (auto), the model is used if the reports do not identify the table, or if the"
    " expected margins of unbiased estimates are more than twice those of the model. The design of"
    " the survey decides this, never the estimates."
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
        description="Attributes to analyse, in this order.",
        extra_json_schema={"uniqueItems": True},
    ),
]
MeasureNames = Annotated[
    list[MeasureName],
    Meta(
        min_length=1,
        description="Measures to compute, by name; by default all that apply.",
        extra_json_schema={"uniqueItems": True},
    ),
]
Presence = Annotated[
    Items,
    Meta(
        description="Category that counts as present, as attribute=category; by default the only"
        " item of an attribute, or the second of two categories."
    ),
]
Where = Annotated[
    dict[str, str | list[str]],
    Meta(
        extra=KEPT,
        description="Only people with these answers, as attribute=category; several answers"
        " to one question mean any of them. Shares are shares of these people,"
        " and their errors include the uncertainty of the size of this group.",
    ),
]
MergeOf = Annotated[
    dict[str, list[list[str]]],
    Meta(
        extra=KEPT,
        description="Categories to merge into one, as attribute=category,category; can be given"
        " several times. Put a backslash before a comma inside a category. The merged category"
        " has the names of all of them, with “or” in between.",
    ),
]
MissingOf = Annotated[
    Missing,
    Meta(
        extra=KEPT,
        description="How to treat missing answers, such as not asked or not said: keep them as"
        " categories, or exclude people with any in the questions of an estimate.",
    ),
]
Confidence = Annotated[
    float,
    Meta(
        extra=KEPT,
        gt=0,
        lt=1,
        examples=[0.95],
        description="Confidence level of each single interval, not of all intervals jointly.",
    ),
]
TargetOf = Annotated[
    Target,
    Meta(
        extra=KEPT,
        description="Estimate for the population that the respondents were sampled from, or for"
        " the respondents themselves.",
    ),
]
PopulationOf = (
    Annotated[
        int,
        Meta(
            ge=1,
            le=10**18,
            description="Size of the population, if the respondents are a simple random sample of"
            " it; by default very large. A finite population has a smaller sampling error; the"
            " error from perturbation stays.",
        ),
    ]
    | None
)
MethodOf = Annotated[
    Method,
    Meta(
        extra=KEPT,
        description="Estimator of the supports: unbiased (moment); a loglinear model of all"
        " answers, for any length (model); or best guesses (likelihood), which have no intervals"
        " but a typical error from held-out reports.",
    ),
]


SourceOf = Annotated[
    Source,
    Meta(
        extra=KEPT,
        description="Estimator of the shares: unbiased (moment), or a loglinear model of"
        " all answers (model), which is more precise if it fits.",
    ),
]
AutoMethodOf = Annotated[
    AutoMethod,
    Meta(
        extra=KEPT,
        description="Estimator of the shares: unbiased (moment); a loglinear model of all"
        " answers, for any number of questions (model); or best guesses (likelihood), which have"
        " no intervals but a typical error from held-out reports." + _AUTO,
    ),
]
AutoSourceOf = Annotated[
    AutoSource,
    Meta(
        extra=KEPT,
        description="Estimator of the shares: unbiased (moment), or a loglinear model of all"
        " answers (model), which is more precise where it holds." + _AUTO,
    ),
]
Interactions = Annotated[
    list[list[AttributeName]],
    Meta(
        extra=KEPT,
        description="With estimate = model: interactions of three or more attributes that the"
        " model has in addition to all pairs, and those of two scales that it has in full instead"
        " of a linear-by-linear term; each is written as names separated by commas.",
    ),
]
Modelled = Annotated[
    list[AttributeName],
    Meta(
        min_length=2,
        description="With estimate = model: attributes of the model; by default all, or those"
        " that the query names if all are too many for one model.",
        extra_json_schema={"uniqueItems": True},
    ),
]
CovarianceOf = Annotated[
    bool,
    Meta(
        description="Also give the covariance matrix of the estimates, in the order of the"
        " rows; null where a covariance is unknown."
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
    float, Meta(gt=0, le=1, examples=[0.02], description="Smallest support, from 0 to 1.")
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
                description="Largest length of itemsets; by default every length whose margins of"
                " error can be below the threshold, unless there are too many itemsets.",
            ),
        ]
        | None
    ) = None
    all_answers: Annotated[
        bool,
        Meta(
            description="Count all answers, also those that the survey does not count in itemsets,"
            " such as the no of yes/no questions. Options of a question with several answers count"
            " only if they are chosen."
        ),
    ] = False
