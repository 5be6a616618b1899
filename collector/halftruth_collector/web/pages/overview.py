"""The first page about a survey's results: a card for each question, and its reports by day."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from halftruth_shared import Survey
from halftruth_shared.analyses.base import DayCount
from halftruth_shared.analyses.overview import OverviewResult, QuestionOverview
from halftruth_shared.results.charts import Mark
from halftruth_shared.results.estimate import Estimate, Interval
from halftruth_shared.results.wording import estimate_in_words, interval_in_words, number

from ...analyses.overview import MISSING, describe_options
from ...analyses.sentences import drawn, sentence

#: Ends of the axis of every bar in percent, as in charts.
ENDS = (-4.0, 104.0)


@dataclass(frozen=True)
class Bar:
    """A share in a card, drawn in percent from one of the `ENDS` to the other, 10 high.

    Attributes
    ----------
    mark : Mark
        What charts draw of it.
    share, interval : str
        In words; `interval` is empty where there is none.
    heading : str
        What is written above this bar and those that follow.
    """

    mark: Mark
    share: str
    interval: str
    heading: str

    @classmethod
    def of(cls, label: str, estimate: Estimate, confidence: float, heading: str = "") -> "Bar":
        """The bar of a share; a best guess has no interval."""
        return cls(
            drawn(label, estimate, confidence),
            estimate_in_words(estimate, as_share=True),
            interval_in_words(estimate, as_share=True) if estimate.ends else "",
            heading,
        )

    @property
    def rectangle(self) -> Interval:
        """Start and width, in percent of the axis."""
        value = _percentage(self.mark.value or 0.0)
        return min(value, 0.0), abs(value)

    @property
    def line(self) -> str:
        """Path of the interval, with an arrow where it goes on beyond an end of the axis."""
        path = _path(self.mark.interval)
        for end, back in zip(self.mark.interval or (), (3, -3), strict=False):
            place = _percentage(end)
            beyond = not ENDS[0] <= 100 * end <= ENDS[1]
            path += f"M{place + back} 2L{place} 5L{place + back} 8" if beyond else f"M{place} 3V7"
        return path

    @property
    def inner(self) -> str:
        """Path of the interval that there would be without perturbation."""
        return _path(self.mark.inner)


def _path(ends: Interval | None) -> str:
    return "" if ends is None else f"M{_percentage(ends[0])} 5H{_percentage(ends[1])}"


@dataclass(frozen=True)
class Card:
    """A question with the shares of its answers.

    Attributes
    ----------
    title, address : str
        The question, and where its answers are compared by groups.
    notes : tuple of str
        How precise it is.
    bars : tuple of Bar
    """

    title: str
    address: str
    notes: tuple[str, ...]
    bars: tuple[Bar, ...]


def cards(survey: Survey, result: OverviewResult, address: Callable[[str], str]) -> Iterator[Card]:
    """Cards of the questions of a result, in the order of the survey.

    A question with several answers has the shares of those who chose each of its options.

    Parameters
    ----------
    survey : Survey
    result : OverviewResult
        With the names of attributes and categories.
    address : callable
        Where the answers to an attribute are compared by groups.
    """
    confidence = result.query.confidence
    for question in result.questions:
        attributes = survey.schema.attributes_of(question.attribute)
        categories = dict(zip(attributes[0].categories, attributes[0].answers_in(), strict=True))
        labels = categories
        if question.multiple_response:
            labels = {str(option.option): option.option_in() for option in attributes}
        bars = [
            *(Bar.of(labels.get(a.answer, a.answer), a, confidence) for a in question.answers),
            *(
                Bar.of(categories[a.answer], a, confidence, "" if i else MISSING)
                for i, a in enumerate(question.missing)
            ),
        ]
        yield Card(
            question.label, address(question.attribute), tuple(_notes(question)), tuple(bars)
        )


def _notes(question: QuestionOverview) -> list[str]:
    notes, effective = [sentence(question.verdict)], question.effective_reports
    if effective is not None:
        notes.append(f"As precise as {number(effective, 0)} answers without perturbation.")
    return [*notes, *describe_options(question)]


@dataclass(frozen=True)
class Day:
    """Reports of a day, and what part of the most of a day they are, in percent."""

    day: date
    reports: int
    part: float


def by_day(days: Sequence[DayCount]) -> list[Day]:
    """Every day from the first to the last report, those without any, too; none of a single day."""
    if len(days) < 2:
        return []
    counted = {each.day: each.reports for each in days}
    first, last, most = days[0].day, days[-1].day, max(counted.values())
    every = [first + timedelta(days=after) for after in range((last - first).days + 1)]
    return [Day(day, counted.get(day, 0), 100 * counted.get(day, 0) / most) for day in every]


def _percentage(share: float) -> float:
    return round(min(max(100 * share, ENDS[0]), ENDS[1]), 2)
