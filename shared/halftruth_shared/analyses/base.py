"""Common types of queries and results.

The annotated type of a query's field holds its range, choices and description, and whether it
names attributes of the survey. Parsing, validation, the HTTP interface with its description, the
command line, the pages and the methods of ``Analyst`` are derived from it.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from halftruth_shared.analyses.wording import items as words

from ..errors import ParameterError
from ..protocol.base import Message, Request
from .claims import Claim, Test
from .estimate import ESTIMATE_COLUMNS, Estimate, estimate_cells, expanded, expanded_cells
from .estimate import Columns as Columns
from .estimate import Interval as Interval
from .estimate import MeasureEstimate as MeasureEstimate
from .showing import chart_of, name_of_result, shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Decision = Literal["frequent", "undecided"]

#: What supports are.
Method = Literal["moment", "likelihood", "model"]

#: Target of inference: a population that the respondents are a sample of, or these alone.
Target = Literal["population", "respondents"]

#: Where the shares of groups and the confidences of rules come from.
Source = Literal["moment", "model"]

Items = dict[str, str]

#: One category, or any of several, for each of some attributes.
Answers = Mapping[str, str | Sequence[str]]

#: Treatment of categories that are missing values.
Missing = Literal["keep", "exclude"]

#: Texts that identify a row, its estimate, and the cells of the result's other columns.
Row = tuple[Sequence[str | None], Estimate, Sequence[Any]]

_NAME = r"[A-Za-z][A-Za-z0-9_.\-]{0,63}"

AttributeName = Annotated[
    str, Meta(extra_json_schema={"pattern": f"^{_NAME}$"}, extra={"of": "attribute"})
]

#: An attribute, or a question with several answers.
QuestionName = Annotated[
    str, Meta(extra_json_schema={"pattern": f"^{_NAME}$"}, extra={"of": "question"})
]
MeasureName = Annotated[str, Meta(extra={"of": "measure"})]

#: A category of the one attribute that the query names; it may hold commas.
CategoryName = Annotated[str, Meta(extra={"of": "category"})]

AttributeNames = Annotated[
    list[AttributeName],
    Meta(
        min_length=1,
        description="Which attributes, in this order.",
        extra_json_schema={"uniqueItems": True},
    ),
]
MeasureNames = Annotated[
    list[MeasureName],
    Meta(
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
        description="Only people who give these answers, as attribute=category; of an attribute"
        " that is given several times, any of them. Shares are shares of these people, with errors"
        " that include that of how many they are."
    ),
]
MissingOf = Annotated[
    Missing,
    Meta(
        description="Whether what is no answer, as not asked or not said, counts like an answer, or"
        " shares are of those who answered every question that they are about."
    ),
]
Confidence = Annotated[
    float,
    Meta(
        gt=0,
        lt=1,
        examples=[0.95],
        description="Level of each single interval, not of all together.",
    ),
]
TargetOf = Annotated[
    Target,
    Meta(description="Whether the respondents are a sample of those spoken of, or all of them."),
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
        description="What the supports are: unbiased moment estimates; those of a loglinear model"
        " of all answers, of any length; or best guesses (likelihood), which have no intervals but"
        " a typical error from held-out reports."
    ),
]


SourceOf = Annotated[
    Source,
    Meta(
        description="What the shares are: unbiased moment estimates, or those of a model of all"
        " answers, which are more precise where it holds."
    ),
]
Interactions = Annotated[
    list[list[AttributeName]],
    Meta(
        description="Of estimate = model: interactions of three or more attributes that the model"
        " has besides all pairs, each the names of its attributes with commas between them."
    ),
]
Modelled = Annotated[
    list[AttributeName],
    Meta(
        min_length=2,
        description="Of estimate = model: the attributes that the model is about; by default all.",
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


class TestedInteraction(Message, frozen=True, kw_only=True):
    """Interaction of some attributes, with the p-value of the test that the model needs none."""

    attributes: list[AttributeName]
    p_value: float | None


class ModelFit(Message, frozen=True, kw_only=True):
    """Loglinear model of all answers that estimates are of.

    It has all pairs of `attributes`, and `interactions`, each tested against the model without it.
    `p_value` is of the test that no other interaction of three is needed, calibrated by simulated
    reports; null where it was not computed, which `untested` says why. `clearest` is the
    interaction left out that reports tell of most clearly, with the same p-value.
    """

    attributes: list[AttributeName]
    interactions: list[TestedInteraction]
    converged: bool
    p_value: float | None = None
    clearest: TestedInteraction | None = None
    untested: str | None = None


class Contradiction(Message, frozen=True, kw_only=True):
    """Questions whose reports no shares of answers explain, as the design of the survey says.

    `p_value` is of the likelihood-ratio test that some shares do, from `simulated` sets of reports.
    """

    attributes: list[AttributeName]
    p_value: float
    simulated: int


class TypicalError(Message, frozen=True, kw_only=True):
    """Typical error of best guesses of tables of `length` questions, from held-out reports.

    `error` is the root mean square over cells, null where it is unknown, and only an upper bound
    (95 %) where `bound`. `learned` is whether held-out reports favour the best guess over
    independent answers; there is nothing to learn about a single question.
    """

    length: int
    error: float | None
    bound: bool
    learned: bool


def texts(*names: str) -> Columns:
    """Columns of text."""
    return [(name, str) for name in names]


def numbers(*names: str) -> Columns:
    """Columns of numbers."""
    return [(name, float) for name in names]


class Tabular(Protocol):
    """Object with rows and columns."""

    @property
    def columns(self) -> Columns: ...

    def rows(self) -> Iterator[tuple[Any, ...]]: ...


class Group(Message, frozen=True, kw_only=True):
    """Domain: the people that a filter selects.

    `share` is their share of everybody, for the requested target, and `people` the estimated number
    of respondents; each has its interval, or null where its error is unknown. `items` lists the
    answers if any of several is meant.
    """

    items: dict[str, str | list[str]]
    share: float
    interval: Interval | None
    people: float
    people_interval: Interval | None


class Result(Message, frozen=True, kw_only=True):
    """Result of an analysis: its provenance, and a table of estimates."""

    survey: Annotated[str, Meta(description="Id of the survey.")]
    digest: Annotated[
        str,
        Meta(description="Digest of the survey.", extra_json_schema={"pattern": "^[0-9a-f]{64}$"}),
    ]
    reports: Annotated[int, Meta(ge=0, description="Reports counted by then.")]
    as_of: Annotated[datetime, Meta(description="When the counts were read.")]
    group: Group | None = None
    model_fit: ModelFit | None = None
    contradictions: Annotated[
        list[Contradiction],
        Meta(description="Questions of this result whose reports no shares of answers explain."),
    ] = msgspec.field(default_factory=list)
    tests: Annotated[
        list[Test], Meta(description="Tests that the claims of this result rest on.")
    ] = msgspec.field(default_factory=list)
    claims: Annotated[
        list[Claim], Meta(description="What the headline of this result states, in its order.")
    ] = msgspec.field(default_factory=list)

    @property
    def columns(self) -> Columns:
        """Name and type of each column of its table."""
        raise NotImplementedError

    @property
    def index(self) -> int:
        """Number of leading columns that identify a row."""
        return 0

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows of its table; None where a number is undefined."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return shown(self).text()

    def _repr_html_(self) -> str:
        return shown(self).html()

    def to_pandas(self) -> "pd.DataFrame":
        """Return its table as a data frame, indexed by the columns that identify a row.

        The frame's ``attrs`` hold their provenance: `survey`, `reports`, `as_of`, `filter`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        frame = data_frame(self, self.index)
        frame.attrs = {
            "survey": self.survey,
            "reports": self.reports,
            "as_of": self.as_of.isoformat(),
            "filter": "" if self.group is None else words(self.group.items),
        }
        return frame

    def plot(self) -> "Figure":
        """Draw its estimates with their intervals; notebooks show the figure.

        Where all are shares they are bars, else dots. Unusable estimates are pale and dashed. Its
        ``savefig`` writes a file.

        Raises
        ------
        ParameterError
            If it has no estimates with intervals.
        ImportError
            If Matplotlib is not installed.
        """
        if not isinstance(self, EstimatesResult):
            name = name_of_result(self)
            raise ParameterError(f"plot: {name} has no estimates with intervals; see to_pandas()")
        try:
            from .charts.drawing import draw
        except ImportError:
            raise _missing("plot", "Matplotlib", "plot") from None
        return draw(chart_of(self))


class EstimatesResult(Result, frozen=True, kw_only=True):
    """Result whose rows are estimates.

    `KEYS` are the columns that identify a row, `OTHERS` those after the estimate's, `QUANTITY` is
    what is estimated, and `PANELS` the largest number of keys that select the panel of a chart.
    `covariance` is that of the estimates in the order of the rows, null if it was not asked for.
    """

    KEYS: ClassVar[Sequence[str]] = ()
    OTHERS: ClassVar[Columns] = ()
    QUANTITY: ClassVar[str] = "value"
    PANELS: ClassVar[int] = 1

    covariance: list[list[float | None]] | None = None

    def covariance_to_pandas(self) -> "pd.DataFrame":
        """Return the covariance of its estimates as a data frame, rows and columns like its rows.

        Raises
        ------
        ParameterError
            If the query did not ask for it, or there is none.
        ImportError
            If pandas is not installed.
        """
        if self.covariance is None:
            raise ParameterError("covariance: there is none; expected a query with covariance=True")
        frame = self.to_pandas()
        return type(frame)(self.covariance, index=frame.index, columns=frame.index, dtype=float)

    @property
    def keys(self) -> Sequence[str]:
        """Names of the columns that identify a row; an attribute may be called like another."""
        return self.KEYS

    @property
    def others(self) -> Columns:
        """Columns after those of the estimate."""
        return self.OTHERS

    def estimates(self) -> Iterator[Row]:
        """Iterate over the estimates, each with its keys and the cells of the other columns."""
        raise NotImplementedError

    @property
    def columns(self) -> Columns:
        return [*texts(*self.keys), *ESTIMATE_COLUMNS, *expanded(self.others)]

    @property
    def index(self) -> int:
        return len(self.keys)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for keys, estimate, others in self.estimates():
            yield (*keys, *estimate_cells(estimate), *expanded_cells(self.others, others))


def data_frame(result: Tabular, index: int) -> "pd.DataFrame":
    """Return the table of a result as a data frame, indexed by its first columns."""
    try:
        import pandas as pd
    except ImportError:
        raise _missing("to_pandas", "pandas", "pandas") from None

    # Columns of the index may have the names of other columns.
    names, rows = [name for name, _ in result.columns], list(result.rows())
    frame = pd.DataFrame([row[index:] for row in rows], columns=names[index:])
    if index == 1:
        frame.index = pd.Index([row[0] for row in rows], name=names[0])
    elif index:
        keys = [tuple(row[:index]) for row in rows]
        frame.index = pd.MultiIndex.from_tuples(keys, names=names[:index])
    return frame


def _missing(method: str, library: str, extra: str) -> ImportError:
    return ImportError(
        f"{method}: expected {library}, which is not installed here"
        f" (pip install 'halftruth-client[{extra}]')"
    )


R = TypeVar("R", bound=Result)


class Query(Request, Generic[R], frozen=True, kw_only=True):
    """Query with result `R`; the module that defines it names the analysis."""


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

    min_support: MinSupport
    max_length: (
        Annotated[int, Meta(ge=1, description="Longest itemsets; by default any length.")] | None
    ) = None


class DayCount(Message, frozen=True, kw_only=True):
    """Number of reports counted on a day (UTC), here or where they were imported from."""

    day: date
    reports: int
