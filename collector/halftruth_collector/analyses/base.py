"""What an analysis is, besides its question and answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Generic, TypeVar

from halftruth_shared import Survey
from halftruth_shared.analyses import Query, Result, name_of, result_of
from halftruth_shared.analyses.reading import Field, fields

from ..charts import Chart
from ..estimation import Counts, Estimator
from ..estimation.bounds import Array
from ..estimation.measures import ALIASES, MEASURE_NAMES

Q = TypeVar("Q", bound=Query[Any])
R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Counted:
    """What was counted of a survey, and when."""

    survey: Survey
    counts: Counts
    as_of: datetime

    @cached_property
    def estimator(self) -> Estimator:
        """Estimates from these counts.

        Raises
        ------
        NoReports
            If nothing has been counted.
        """
        return Estimator(self.survey, self.counts)

    def origin(self) -> dict[str, Any]:
        """Fields of every result that say where it comes from."""
        return {
            "survey": self.survey.id,
            "digest": self.survey.digest,
            "reports": self.counts.reports,
            "as_of": self.as_of,
        }


@dataclass(frozen=True)
class Grid:
    """A table for people: a header, and rows of as many cells."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True, kw_only=True)
class Analysis(Generic[Q, R]):
    """How a question is answered, and how the answer is shown.

    Attributes
    ----------
    query : type
        It gives the analysis its name, its parameters, and the type of its result.
    title : str
        What it gives, for a heading.
    compute : callable
        The answer to a question.
    of_people : callable or None
        The same of people whose true answers are at hand, which no collector ever sees: from the
        survey, the question, and what counts these people by the attributes that it is given.
    start : callable
        The question with which a page about a survey begins; also the example of the description.
    grid : callable
        The answer as a table for people.
    chart : callable or None
        The answer as a chart.
    notices : callable
        What has to be known before concluding anything from an answer, in sentences.
    reading : callable
        What else is to be said of an answer, in sentences.
    options : mapping of str to str
        Further names of options on the command line, by field.
    order : int
        Place in lists; the smallest comes first.
    """

    query: type[Q]
    title: str
    compute: Callable[[Counted, Q], R]
    start: Callable[[Survey], Q]
    grid: Callable[[R], Grid]
    of_people: Callable[[Survey, Q, Callable[[Sequence[str]], Array]], R] | None = None
    chart: Callable[[R], Chart] | None = None
    notices: Callable[[R], list[str]] = lambda _: []
    reading: Callable[[R], list[str]] = lambda _: []
    options: Mapping[str, str] = field(default_factory=dict)
    order: int = 100

    @property
    def name(self) -> str:
        """As in addresses and commands."""
        return name_of(self.query)

    @property
    def result(self) -> type[R]:
        """Type of its answers."""
        return result_of(self.query)

    @property
    def summary(self) -> str:
        """What it answers, in one sentence."""
        return (self.query.__doc__ or "").partition("\n\n")[0]

    @property
    def fields(self) -> Mapping[str, Field]:
        """What it can be asked, by name."""
        return fields(self.query)


def choices(field: Field, survey: Survey | None = None) -> tuple[str, ...]:
    """All that a field accepts, as far as it can be listed; of attributes, those of a survey."""
    if field.of == "measure":
        return (*field.choices, *MEASURE_NAMES, *ALIASES)
    if field.of == "attribute" and survey is not None:
        return survey.schema.names
    return field.choices
