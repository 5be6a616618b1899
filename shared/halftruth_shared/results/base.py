"""Provenance of results: what they are of, and what their estimates rest on."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from ..errors import ParameterError
from ..protocol.base import Message
from .claims import Claim, Test
from .estimate import (
    Columns,
    Interval,
)
from .showing import name_of_result
from .wording import items as words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .charts import Chart

Items = dict[str, str]

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
        raise NotImplementedError

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows of its table; None where a number is undefined."""
        raise NotImplementedError

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


def draw_chart(result: Any, chart: "Chart | None") -> "Figure":
    """Draw the chart of a result.

    Raises
    ------
    ParameterError
        If it has none.
    ImportError
        If Matplotlib is not installed.
    """
    if chart is None:
        name = name_of_result(result)
        raise ParameterError(f"plot: {name} has no estimates with intervals; see to_pandas()")
    try:
        from .charts.drawing import draw
    except ImportError:
        raise _missing("plot", "Matplotlib", "plot") from None
    return draw(chart)


def covariance_frame(result: Any) -> "pd.DataFrame":
    """Return the covariance of a result's estimates as a data frame, labelled like its rows.

    Raises
    ------
    ParameterError
        If the query did not ask for it, or there is none.
    ImportError
        If pandas is not installed.
    """
    if result.covariance is None:
        raise ParameterError("covariance: there is none; expected a query with covariance=True")
    frame: pd.DataFrame = result.to_pandas()
    return type(frame)(result.covariance, index=frame.index, columns=frame.index, dtype=float)


def data_frame(result: Tabular, index: int) -> "pd.DataFrame":
    """Return the table of a result as a data frame, indexed by its first columns."""
    try:
        import pandas as pd
    except ImportError:
        raise _missing("to_pandas", "pandas", "pandas") from None

    # Columns of the index may have the names of other columns.
    cells = getattr(result, "column_lists", None)
    rows = list(zip(*cells(), strict=True)) if cells else list(result.rows())
    names = [name for name, _ in result.columns]
    frame = pd.DataFrame([row[index:] for row in rows], columns=names[index:])
    # A column without any number is one of numbers all the same.
    frame = frame.astype({n: float for n, kind in result.columns[index:] if kind is float})
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
