"""Every question's distribution."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
from halftruth_shared.analyses.base import DayCount
from halftruth_shared.analyses.charts import Axis, EstimateChart, Panel
from halftruth_shared.analyses.overview import (
    AnswerShare,
    OverviewQuery,
    OverviewResult,
    QuestionOverview,
)
from halftruth_shared.analyses.weighted import WeightedResult
from halftruth_shared.analyses.wording import half_width, number

from ..estimation import Estimator
from . import sentences
from .base import Analysis, Counted, Grid
from .shares import Shares, estimate_shares

#: Most answers in a chart, of the first questions.
MAX_ANSWERS = 100

#: Mark of missing values.
MISSING = "no answer, of all"

#: Most recent days that are listed.
MAX_DAYS = 7


def compute(counted: Counted, query: OverviewQuery) -> OverviewResult:
    """Distributions as ``Estimator.table`` gives them, one table for each question."""
    schema = counted.estimator.schema
    names = schema.names if query.attributes is None else query.attributes
    # All names are checked before anything is computed.
    schema.positions(names)
    questions = [_question(counted, query, name) for name in names]
    days = [DayCount(day=day, reports=count) for day, count in counted.days.items()]
    return OverviewResult(**counted.origin(), query=query, days=days, questions=questions)


def _question(counted: Counted, query: OverviewQuery, name: str) -> QuestionOverview:
    attribute = counted.survey.schema.attributes[counted.survey.schema.position(name)]

    def shares(estimator: Estimator) -> Shares[AnswerShare]:
        """Share of each category that counts, and how precise they are."""
        place = estimator.schema.position(name)
        categories = estimator.schema.attributes[place].categories
        return estimate_shares(estimator, [name], query, AnswerShare, answer=categories)

    estimated = shares(counted.estimator)
    of_all = shares(counted.of_all) if attribute.missing else estimated
    return QuestionOverview(
        attribute=name,
        label=attribute.label_in(),
        reliability=estimated.reliability,
        verdict=estimated.verdict,
        typical=estimated.typical,
        effective_reports=estimated.effective_reports,
        answers=[share for share in estimated.cells if share.answer not in attribute.missing],
        missing=[share for share in of_all.cells if share.answer in attribute.missing],
    )


def grid(result: OverviewResult) -> Grid:
    """Table of answers with share and interval; the first one also has the question."""
    # Best guesses have no intervals.
    shown = 1 if result.query.estimate == "likelihood" else 2
    rows = [
        ["" if i else heading, answer.answer, *sentences.share_cells(answer)[:shown]]
        for question in result.questions
        for heading, answers in (
            (question.attribute, question.answers),
            (MISSING, question.missing),
        )
        for i, answer in enumerate(answers)
    ]
    header = ["question", "answer", "share", sentences.level(result.query.confidence)]
    return Grid(header[: 2 + shown], rows)


def chart(result: OverviewResult) -> EstimateChart:
    """Shares of all answers, grouped by question."""
    title = sentences.title(result, "Answers")
    return chart_of_questions(result, title, sentences.estimated(result.query.estimate))


def question_chart(result: OverviewResult, question: QuestionOverview) -> EstimateChart:
    """Shares of one question's answers, with its text as a note, without common notes."""
    alone = chart(msgspec.structs.replace(result, questions=[question]))
    panels = tuple(replace(panel, heading="") for panel in alone.panels)
    notes = [] if question.label == question.attribute else [question.label]
    if question.reliability != "usable":
        notes.append(f"{question.reliability.capitalize()}.")
    return replace(alone, title=question.attribute, notes=tuple(notes), panels=panels)


def chart_of_questions(
    result: OverviewResult | WeightedResult, title: str, notes: Sequence[str]
) -> EstimateChart:
    """Shares of the answers to the first questions, as many as can be read."""
    panels: list[Panel] = []
    axis = Axis("share of the people", shares=True)
    shown, whole, confidence = 0, 0, result.query.confidence
    for question in result.questions:
        shown += len(question.answers)
        if panels and shown > MAX_ANSWERS:
            break
        whole += 1
        missing = question.missing if isinstance(question, QuestionOverview) else []
        for heading, answers in (
            (question.attribute, question.answers),
            (f"{question.attribute} – {MISSING}", missing),
        ):
            # Why shares are undefined is the same for all, and in the notes.
            drawn = (sentences.drawn(answer.answer, answer, confidence) for answer in answers)
            bars = tuple(replace(bar, reason=None) for bar in drawn)
            panels += [Panel(axis, bars, heading)] if bars else []
    every = [bar for panel in panels for bar in panel.rows]
    return EstimateChart(
        title=title,
        notes=(
            *sentences.notes(result, every),
            *notes,
            *sentences.negative(every),
            *sentences.in_one_tone(every),
            *sentences.left_out(whole, len(result.questions), "questions, the first ones"),
        ),
        panels=tuple(panels),
        values_label=sentences.with_level("share", result),
        bars=True,
        labels="answer",
    )


def headline(result: OverviewResult) -> str:
    """Number of reports, their days, and the margin of error of shares."""
    margins = [
        (share.ends[1] - share.ends[0]) / 2
        for question in result.questions
        for share in (*question.answers, *question.missing)
        if share.ends is not None
    ]
    counted = ", ".join(filter(None, [sentences.counted(result), period(result)]))
    if not margins:
        return f"{counted}."
    return (
        f"{counted}: of {len(margins)} shares half are known to"
        f" {half_width(float(np.median(margins)))} or better, all to {half_width(max(margins))}."
    )


def period(result: OverviewResult) -> str:
    """First and last day of reports; empty without any."""
    if not result.days:
        return ""
    first, last = result.days[0].day, result.days[-1].day
    return f"counted on {first}" if first == last else f"counted from {first} to {last}"


def warnings(result: OverviewResult) -> list[str]:
    """Warn of questions whose shares are too uncertain."""
    return [
        f"{sentences.quoted(question.attribute)} is {question.verdict}."
        for question in result.questions
        if question.reliability != "usable"
    ]


def interpretation(result: OverviewResult) -> list[str]:
    """Describe the days of reports, and the shares."""
    return [*_by_day(result), *sentences.estimated(result.query.estimate)]


def _by_day(result: OverviewResult) -> list[str]:
    if len(result.days) < 2:
        return []
    last = result.days[-MAX_DAYS:]
    before = len(result.days) - len(last)
    each = ", ".join(f"{day.day} {number(day.reports, 0)}" for day in last)
    earlier = f"; earlier ones on {number(before, 0)} more days" if before else ""
    return [f"Reports by day (UTC): {each}{earlier}."]


ANALYSIS = Analysis(
    query=OverviewQuery,
    title="Overview",
    compute=compute,
    start=lambda _: OverviewQuery(),
    grid=grid,
    headline=headline,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    place="Overview",
    order=0,
)
