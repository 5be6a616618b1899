"""Provenance of results, and conversion to data frames."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Protocol, runtime_checkable

import msgspec
from msgspec import Meta

from ..protocol.base import Message
from .estimate import Columns, Interval

if TYPE_CHECKING:
    import pandas as pd

Items = dict[str, str]

_NAME = r"[A-Za-z][A-Za-z0-9_.\-]{0,63}"

AttributeName = Annotated[
    str, Meta(extra_json_schema={"pattern": f"^{_NAME}$"}, extra={"of": "attribute"})
]

#: An attribute or a multiple-response question.
QuestionName = Annotated[
    str, Meta(extra_json_schema={"pattern": f"^{_NAME}$"}, extra={"of": "question"})
]
MeasureName = Annotated[str, Meta(extra={"of": "measure"})]

#: A category of the single attribute that the query names; it can contain commas.
CategoryName = Annotated[str, Meta(extra={"of": "category"})]


#: Significance level of tests of a model.
CONTRADICTED = 0.05


class TestedInteraction(Message, frozen=True, kw_only=True):
    """Interaction of some attributes, with the p-value of the test that it is 0."""

    attributes: list[AttributeName]
    p_value: float | None


class ModelFit(Message, frozen=True, kw_only=True):
    """Loglinear model of all answers on which estimates are based.

    It has the interactions of all pairs of `attributes` that some report asks together, and
    `interactions`, each tested against the model without it. The `unasked_pairs` have no
    interaction: the model assumes that these two are independent given the other answers, which no
    report can contradict. Those that the query names come first. Of the `linear_pairs`, two scales
    each, it has only the linear-by-linear term: the odds ratio of neighbouring answers is the same
    at all places of both scales. `added` are further interactions,
    in the order in which they were added because the reports speak against the model without them
    (at 20 %), each with the p-value of that test.
    `p_value` is of the test that no other interaction is needed, calibrated by simulated
    reports; if it is null, `untested` is the reason. `clearest` is the omitted interaction with the
    strongest evidence, with the same p-value.
    """

    attributes: list[AttributeName]
    interactions: list[TestedInteraction]
    added: list[TestedInteraction] = msgspec.field(default_factory=list)
    unasked_pairs: list[list[AttributeName]] = msgspec.field(default_factory=list)
    linear_pairs: list[list[AttributeName]] = msgspec.field(default_factory=list)
    converged: bool
    p_value: float | None = None
    clearest: TestedInteraction | None = None
    untested: str | None = None

    @property
    def contradicted(self) -> bool:
        """Whether the reports contradict the model, so that no estimate by it is usable."""
        return self.p_value is not None and self.p_value < CONTRADICTED


class Contradiction(Message, frozen=True, kw_only=True):
    """Questions whose reports contradict the mechanism: no shares of answers explain them.

    `p_value` is of the likelihood-ratio test that some shares explain the reports, from `simulated`
    sets of reports; if there are none, it is an upper bound by the χ² distribution.
    """

    attributes: list[AttributeName]
    p_value: float
    simulated: int


class TypicalError(Message, frozen=True, kw_only=True):
    """Typical error of best guesses for tables of `length` questions, from held-out reports.

    `error` is the root mean square over cells, null if unknown, and an upper bound (95 %) if
    `bound`. `learned` is whether held-out reports favour the best guess over independent answers;
    it has no meaning for a single question.
    """

    length: int
    error: float | None
    bound: bool
    learned: bool


def texts(*names: str) -> Columns:
    """Return columns of text."""
    return [(name, str) for name in names]


def numbers(*names: str) -> Columns:
    """Return columns of numbers."""
    return [(name, float) for name in names]


class Tabular(Protocol):
    """Object with rows and columns."""

    @property
    def columns(self) -> Columns: ...

    def rows(self) -> Iterator[tuple[Any, ...]]: ...


@runtime_checkable
class Columnar(Protocol):
    """Object with columns as lists."""

    @property
    def columns(self) -> Columns: ...

    def column_lists(self) -> list[Sequence[Any]]: ...


class Group(Message, frozen=True, kw_only=True):
    """Domain (subpopulation): the people that a filter selects.

    `share` is their share of all people, for the requested target, and `people` the estimated
    number of respondents; each has an interval, or null if its error is unknown. `items` has lists
    of answers if the filter accepts several.
    """

    items: dict[str, str | list[str]]
    share: float
    interval: Interval | None
    people: float
    people_interval: Interval | None


def data_frame(result: Tabular | Columnar, index: int) -> "pd.DataFrame":
    """Return the table of a result as a data frame, indexed by its first columns."""
    try:
        import pandas as pd
    except ImportError:
        raise missing_library("to_pandas", "pandas", "pandas") from None

    # Columns of the index can have the same names as other columns.
    if isinstance(result, Columnar):
        rows = list(zip(*result.column_lists(), strict=True))
    else:
        rows = list(result.rows())
    names = [name for name, _ in result.columns]
    frame = pd.DataFrame([row[index:] for row in rows], columns=names[index:])
    # A column of numbers without any value needs its type.
    frame = frame.astype({n: float for n, kind in result.columns[index:] if kind is float})
    if index == 1:
        frame.index = pd.Index([row[0] for row in rows], name=names[0])
    elif index:
        keys = [tuple(row[:index]) for row in rows]
        frame.index = pd.MultiIndex.from_tuples(keys, names=names[:index])
    return frame


def missing_library(method: str, library: str, extra: str) -> ImportError:
    """Return the error of a method whose library is not installed."""
    return ImportError(
        f"{method}: expected {library}, which is not installed here"
        f" (pip install 'halftruth-client[{extra}]')"
    )
