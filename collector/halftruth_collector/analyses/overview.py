"""Every question's distribution."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec
import numpy as np
from halftruth_shared import Attribute, HalftruthError
from halftruth_shared.analyses.base import DayCount
from halftruth_shared.analyses.overview import (
    AnswerShare,
    OverviewQuery,
    OverviewResult,
    QuestionOverview,
)
from halftruth_shared.attribute import OPTION
from halftruth_shared.results.charts import Axis, EstimateChart, Panel
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.estimate import Estimate
from halftruth_shared.results.wording import half_width, number, with_interval

from ..estimation import Estimator
from ..estimation.bounds import TOO_SMALL, normal_quantile
from ..estimation.estimates import estimates
from ..estimation.intervals import SHARE, mean_of
from ..estimation.options import chosen_code, mean_number, mean_share
from ..estimation.reliability import RELIABILITIES
from . import sentences
from .base import Analysis, Counted, Grid
from .shares import Shares, estimate_shares

#: Most answers in a chart, of the first questions.
MAX_ANSWERS = 100

#: Mark of missing values.
MISSING = "no answer, of all"

#: Answer of those who chose no option of a question with several answers; a name has no blanks.
NONE = "none of these"

#: Most options whose mean number is estimated, from the tables of all pairs.
MAX_OPTIONS = 32

#: Most cells of the table of all options, from which the share of those who chose none is.
MAX_CELLS = 4_096

#: Most recent days that are listed.
MAX_DAYS = 7


def compute(counted: Counted, query: OverviewQuery) -> OverviewResult:
    """Distributions as ``Estimator.table`` gives them, one table for each question."""
    schema = counted.estimator.schema
    names = query.attributes
    if names is None:
        names = [question.name for question in schema.questions]
    # All names are checked before anything is computed.
    schema.positions([each.name for name in names for each in schema.attributes_of(name)])
    questions = [
        _multiple_response(counted, query, name)
        if name in schema.options
        else _question(counted, query, name)
        for name in names
    ]
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


def _multiple_response(counted: Counted, query: OverviewQuery, name: str) -> QuestionOverview:
    """Shares of the options of a question with several answers."""
    estimator = counted.estimator
    options, every = estimator.schema.options[name], counted.survey.schema.options[name]
    shares, chosen = [], []
    for option in options:
        answers = [str(option.option)] * len(option.categories)
        shares.append(estimate_shares(estimator, [option.name], query, AnswerShare, answer=answers))
        chosen.append(shares[-1].cells[chosen_code(option)])
    worst = max(shares, key=lambda each: RELIABILITIES.index(each.reliability))
    effective = [e for each in shares if (e := each.effective_reports) is not None]
    # Whoever is filtered by an option chose it, or not.
    whole, guess = len(options) == len(every), query.estimate == "likelihood"
    return QuestionOverview(
        attribute=name,
        label=next(q.label_in() for q in counted.survey.schema.questions if q.name == name),
        multiple_response=True,
        mean_number=_mean_number(counted, query, options) if whole and not guess else None,
        reliability=worst.reliability,
        verdict=worst.verdict,
        typical=worst.typical,
        effective_reports=min(effective, default=None),
        answers=[*chosen, *(_none(estimator, query, options) if whole else [])],
        missing=[] if guess else list(_missing(counted, query, options)),
    )


def _none(
    estimator: Estimator, query: OverviewQuery, options: Sequence[Attribute]
) -> list[AnswerShare]:
    """Share of those who chose no option, where the reports identify it."""
    names, shape = [o.name for o in options], [len(o.categories) for o in options]
    cell = np.ravel_multi_index([o.categories.index(OPTION[0]) for o in options], shape)
    try:
        estimator.tables.check(names, MAX_CELLS)
        answers = [NONE] * int(np.prod(shape))
        shares = estimate_shares(estimator, names, query, AnswerShare, answer=answers)
    except HalftruthError:
        return []
    return [shares.cells[cell]]


def _mean_number(
    counted: Counted, query: OverviewQuery, options: Sequence[Attribute]
) -> Estimate | None:
    """Mean number of options that were chosen by those who answered."""
    if len(options) > MAX_OPTIONS:
        return None
    schema = counted.of_all.schema
    every = [schema.attributes[schema.position(option.name)] for option in options]
    mean, error = mean_number(counted.of_all, every, query.target)
    if np.isnan(mean):
        return Estimate(undefined=f"who answered has a share {TOO_SMALL}")
    width = normal_quantile(1 - query.confidence) * error
    of = mean_of([0, len(options)], name="mean_number")
    return next(estimates(Estimate, of, mean, error, (mean - width, mean + width)))


def _missing(
    counted: Counted, query: OverviewQuery, options: Sequence[Attribute]
) -> Iterator[AnswerShare]:
    """Share of each missing category, which all options have in common."""
    schema = counted.of_all.schema
    every = [schema.attributes[schema.position(option.name)] for option in options]
    quantile = normal_quantile(1 - query.confidence)
    for category in every[0].missing if len(options) <= MAX_OPTIONS else ():
        share, error = mean_share(counted.of_all, every, category, query.target)
        ends = (share - quantile * error, share + quantile * error)
        yield from estimates(AnswerShare, SHARE, share, error, ends, answer=[category])


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


def chart_of_questions(result: OverviewResult, title: str, notes: Sequence[str]) -> EstimateChart:
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
        bars=True,
    )


def decide(result: OverviewResult) -> tuple[list[Test], list[Claim]]:
    """The number of reports, and the median margin of error of the shares."""
    margins = [
        (i, (share.ends[1] - share.ends[0]) / 2)
        for i, (_, share, _) in enumerate(result.estimates())
        if share.ends is not None
    ]
    claims = [Claim(kind="counted")]
    if margins:
        median = float(np.median([width for _, width in margins]))
        claims.append(Claim(kind="margin", rows=[i for i, _ in margins], bound=median))
    return [], claims


def state(result: OverviewResult, claim: Claim) -> str:
    """State the number of reports with their days, or the typical margin of error."""
    if claim.kind == "counted":
        return f"{', '.join(filter(None, [sentences.counted(result), period(result)]))}."
    return (
        f"The typical margin of error of a share is {half_width(claim.bound or 0.0)}"
        f" ({sentences.level(result.query.confidence)})."
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
    """Describe the days of reports, the shares, and questions with several answers."""
    lines = [*_by_day(result), *sentences.estimated(result.query.estimate)]
    for question in result.questions:
        quoted = sentences.quoted(question.attribute)
        lines += [f"{quoted}: {sentence}" for sentence in describe_options(question)]
    return lines


def describe_options(question: QuestionOverview) -> list[str]:
    """Describe the mean number of options chosen, and whether it is known how many chose none."""
    lines, mean = [], question.mean_number
    if mean is None:
        return []
    if mean.value is not None:
        lines.append(f"{with_interval(mean)} options on average, of those who answered.")
    if all(share.answer != NONE for share in question.answers):
        lines.append("The reports do not tell how many chose none.")
    return lines


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
    decide=decide,
    state=state,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    place="Overview",
    order=0,
)
