"""The first page about a survey's results: a card for each question, and its reports by day."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from halftruth_shared import Survey
from halftruth_shared.analyses.base import DayCount
from halftruth_shared.analyses.charts import Mark
from halftruth_shared.analyses.estimate import Estimate, Interval
from halftruth_shared.analyses.overview import OverviewResult, QuestionOverview
from halftruth_shared.analyses.wording import estimate_in_words, interval_in_words, number

from ...analyses.overview import MISSING
from ...analyses.sentences import drawn, sentence
from ...estimation.options import option_code

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

    The options of a question with several answers are on one card, with the share of those who
    chose each.

    Parameters
    ----------
    survey : Survey
    result : OverviewResult
        With the names of attributes and categories.
    address : callable
        Where the answers to an attribute are compared by groups.
    """
    confidence = result.query.confidence
    shown = {question.attribute: question for question in result.questions}
    for question in survey.schema.questions:
        asked = [shown[each.name] for each in question.attributes if each.name in shown]
        if not asked:
            continue
        bars: list[Bar] = []
        for attribute in question.attributes:
            labels = dict(zip(attribute.categories, attribute.answers_in(), strict=True))
            one = shown.get(attribute.name)
            if one is None:
                continue
            if question.kind != "several":
                bars += [Bar.of(labels[each.answer], each, confidence) for each in one.answers]
                bars += [
                    Bar.of(labels[each.answer], each, confidence, "" if i else MISSING)
                    for i, each in enumerate(one.missing)
                ]
                continue
            code = option_code(attribute)
            chosen = None if code is None else attribute.categories[code]
            label = attribute.option_in()
            bars += [
                Bar.of(label, share, confidence) for share in one.answers if share.answer == chosen
            ]
        title, link = question.label_in(), address(asked[0].attribute)
        yield Card(title, link, tuple(_notes(asked)), tuple(bars))


def _notes(overviews: Sequence[QuestionOverview]) -> list[str]:
    worst = max(overviews, key=lambda one: _RELIABILITIES.index(one.reliability))
    effective = [one.effective_reports for one in overviews if one.effective_reports is not None]
    notes = [sentence(worst.verdict)]
    if effective:
        known = f"As precise as {number(min(effective), 0)} answers without perturbation."
        notes.append(known)
    return notes


_RELIABILITIES = ("usable", "barely usable", "not usable")


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
