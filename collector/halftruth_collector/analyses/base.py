"""What an analysis is, besides its question and answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
from halftruth_shared import Attribute, Survey
from halftruth_shared.analyses import Query, Result, name_of, result_of
from halftruth_shared.analyses.base import Answers, Group, Missing
from halftruth_shared.analyses.reading import Field, fields
from halftruth_shared.analyses.wording import items
from halftruth_shared.mechanisms.records import RecordReconstruction

from ..charts import Chart
from ..errors import TooFewReports
from ..estimation import Counts, Estimator
from ..estimation.bounds import Array, normal_quantile
from ..estimation.measures import ALIASES, MEASURE_NAMES, ORDERED_NAMES

Q = TypeVar("Q", bound=Query[Any])
R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Counted:
    """What was counted of a survey, and when; and the question that it is to answer.

    Of fewer than `min_reports` reports, everybody's or those of a group, nothing is answered.
    `days` says how many were counted each day, the first one first.
    """

    survey: Survey
    counts: Counts
    as_of: datetime
    question: Query[Any] | None = None
    min_reports: int = field(kw_only=True)
    days: Mapping[date, int] = field(default_factory=dict, kw_only=True)

    @cached_property
    def estimator(self) -> Estimator:
        """Estimates from these counts, of the people whom the question is about.

        Raises
        ------
        NoReports
            If nothing has been counted.
        EstimateError
            If the question is about a group whose share is not clearly above 0.
        """
        return Estimator(self.survey, self.counts, self._where, self._missing)

    @cached_property
    def of_all(self) -> Estimator:
        """The same with those whose answers are missing, whatever is asked."""
        if self._missing == "keep":
            return self.estimator
        return Estimator(self.survey, self.counts, self._where)

    def check(self) -> None:
        """Refuse to answer of too few reports.

        Raises
        ------
        TooFewReports
        EstimateError
            If the question is about a group whose share is not clearly above 0.
        """
        served = f"results are served of {self.min_reports} or more"
        found = self.counts.reports
        if found < self.min_reports:
            counted = {0: "no report has", 1: "1 report has"}.get(found, f"{found} reports have")
            raise TooFewReports(f"survey '{self.survey.id}': {counted} been counted; {served}")
        if self._where and self.estimator.reports < self.min_reports:
            raise TooFewReports(
                f"where: about {self.estimator.reports} of the reports are of those with"
                f" {items(self._where)}; {served}",
                field="where",
            )

    def origin(self) -> dict[str, Any]:
        """Fields of every result that say where it comes from."""
        return {
            "survey": self.survey.id,
            "digest": self.survey.digest,
            "reports": self.counts.reports,
            "as_of": self.as_of,
            "group": self._group(),
        }

    def people(
        self, names: Sequence[str], answering: Sequence[str], confidence: float
    ) -> tuple[Array, Array, Array]:
        """About how many respondents are in each cell of ``Estimator.table`` of these names.

        Returns
        -------
        people, lower, upper : ndarray
            With the ends of their intervals, NaN where unknown. Without names, of no axis.
        """
        if not names and not self._where and self._missing == "keep":
            every = np.array(float(self.counts.reports))
            return every, every, every
        share, variance = self.estimator.tables.people(names, answering)
        half_width = normal_quantile(1 - confidence) * np.sqrt(variance)
        reports = self.counts.reports
        return share * reports, (share - half_width) * reports, (share + half_width) * reports

    @property
    def _where(self) -> Answers:
        return getattr(self.question, "where", {})

    @property
    def _missing(self) -> Missing:
        return getattr(self.question, "missing", "keep")

    def _group(self) -> Group | None:
        if not self._where:
            return None
        confidence = getattr(self.question, "confidence", 0.95)
        return self.estimator.group(confidence, getattr(self.question, "target", "population"))


def asked(query: Query[Any]) -> dict[str, Any]:
    """What an estimator is asked: all of a question but whom it is about."""
    asked = msgspec.structs.asdict(query)
    return {name: value for name, value in asked.items() if name not in ("where", "missing")}


@dataclass(frozen=True)
class Grid:
    """A table for people: a header, and rows of as many cells.

    An empty first cell stands for the one above it, wherever the row is sorted to.
    """

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
    aside : callable
        A chart of what the answer rests on, where there is something to be seen.
    notices : callable
        What has to be known before concluding anything from an answer, in sentences.
    reading : callable
        What else is to be said of an answer, in sentences.
    together : int
        Of how many questions together reports have to tell, or it has no answer.
    of_records : bool
        Whether it is about the reports themselves, which have to be records then.
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
    aside: Callable[[R], Chart | None] = lambda _: None
    notices: Callable[[R], list[str]] = lambda _: []
    reading: Callable[[R], list[str]] = lambda _: []
    together: int = 1
    of_records: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    order: int = 100

    def __post_init__(self) -> None:
        compute = self.compute

        def checked(counted: Counted, query: Q) -> R:
            # A filter that an analysis forgot would be a wrong number that nobody sees.
            asked = replace(counted, question=query)
            asked.check()
            return compute(asked, query)

        object.__setattr__(self, "compute", checked)

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

    def answers(self, survey: Survey) -> bool:
        """Whether the reports to a survey can tell anything of it, however many they are."""
        reconstruction = survey.mechanism.reconstruction(survey.schema)
        records = isinstance(reconstruction, RecordReconstruction) or not self.of_records
        return records and self.together <= reconstruction.longest

    @property
    def fields(self) -> Mapping[str, Field]:
        """What it can be asked, by name."""
        return fields(self.query)


def clearest(survey: Survey) -> list[Attribute]:
    """Attributes with the fewest answers first: of these reports tell most."""
    return sorted(survey.schema.attributes, key=lambda attribute: len(attribute.categories))


def names_of_clearest(survey: Survey, count: int = 2) -> list[str]:
    """Names of the clearest attributes, in the order of the survey."""
    names = {attribute.name for attribute in clearest(survey)[:count]}
    return [name for name in survey.schema.names if name in names]


def middle_answer(attribute: Attribute) -> str:
    """The answer in the middle, of two the last; those at the ends are often rare."""
    answers = [name for name in attribute.categories if name not in attribute.missing]
    return answers[len(answers) // 2]


def choices(field: Field, survey: Survey | None = None) -> tuple[str, ...]:
    """All that a field accepts, as far as it can be listed; of names, those of a survey."""
    if field.of == "measure":
        return (*field.choices, *MEASURE_NAMES, *ORDERED_NAMES, *ALIASES)
    if field.of == "attribute" and survey is not None:
        return survey.schema.names
    if field.of == "question" and survey is not None:
        return tuple([q.name for q in survey.schema.questions if q.kind == "several"])
    return field.choices
