"""Distribution of every question, including questions with multiple response."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from halftruth_shared import Attribute, HalftruthError
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.attribute import OPTION
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.errors import NotReportedYet
from halftruth_shared.results import (
    QUANTITIES,
    Block,
    Caveat,
    EstimateColumns,
    Labels,
    Result,
    Show,
    note,
    warning,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.showing import report_count
from halftruth_shared.results.wording import half_width, percent

from ..estimation.bounds import TOO_SMALL, normal_quantile
from ..estimation.estimates import Estimates, shares_of_table
from ..estimation.intervals import SHARE, mean_of
from ..estimation.options import chosen_code, mean_number, mean_share
from ..estimation.reliability import NOT, RELIABILITIES
from ..estimation.table import Table
from .base import Analysis, AnalysisContext, RowBuilder
from .deciding import AtLevel
from .shares import effective_reports, share_columns

#: Largest number of answers in a chart.
MAX_ANSWERS = 100

#: Answer for choosing no option of a multiple-response question; no name contains spaces.
NONE = "none of these"

#: Reason why a question has no shares although there are reports.
NOT_REPORTED = "no report is about this question yet"

#: Largest number of options for which the mean number is estimated, from tables of all pairs.
MAX_OPTIONS = 32

#: Largest table of all options from which the share of choosing none is estimated.
MAX_CELLS = 4_096


#: Estimates about one question, with the answers that they are about.
_Part = tuple[EstimateColumns, Sequence[str] | None]


def compute(counted: AnalysisContext, query: OverviewQuery) -> Result[OverviewQuery]:
    """Estimate the distribution of each question from its table."""
    schema = counted.estimator.schema
    names = query.attributes
    if names is None:
        names = [question.name for question in schema.questions]
    # Check all names before computing.
    schema.positions([each.name for name in names for each in schema.attributes_of(name)])
    guess = query.estimate == "likelihood"
    caveats = [note("best guesses")] if guess else []
    caveats += [note("rare by model")] if query.estimate == "model" else []
    rows = RowBuilder(question={"kind": "question"}, answer={"kind": "answer"})
    for name in names:
        check_deadline()
        of = _multiple_response if name in schema.options else _question
        found, precision, *more = of(counted, query, name)
        # Intervals show the precision; best guesses have none and need a note.
        caveats += [precision] if guess or precision.weight == "warning" else []
        caveats += more
        for part, answers in found:
            rows.add(part, question=name, answer=answers)
    if counted.days:
        days = {day.isoformat(): reports for day, reports in counted.days.items()}
        caveats.append(note("days", days=days))
    return counted.result(query, rows.keys, rows.parts, caveats=caveats)


def _question(counted: AnalysisContext, query: OverviewQuery, name: str) -> tuple[Any, ...]:
    """Return the shares of answers and of missing values, with a note on their precision."""
    attribute = counted.survey.schema.attributes[counted.survey.schema.position(name)]
    parts: list[_Part] = []
    try:
        counted.of_all.table([name])
    except NotReportedYet:
        return _not_reported(
            [each for each in attribute.categories if each not in attribute.missing], name
        )
    for quantity, source in (("share", counted.estimator), ("missing", counted.of_all)):
        categories = source.schema.attributes[source.schema.position(name)].categories
        missing = np.isin(categories, attribute.missing)
        chosen = np.flatnonzero(missing == (quantity == "missing"))
        if not len(chosen):
            continue
        found, caveats = share_columns(source, [name], query, quantity=quantity, question=name)
        parts.append((found.take(chosen), [categories[code] for code in chosen]))
        if quantity == "share":
            precision = caveats[0]
            parts += _effective([effective_reports(found)])
    return parts, precision


def _not_reported(answers: Sequence[str], name: str) -> tuple[Any, ...]:
    """Return undefined shares of a question that no report is about yet."""
    unknown = Estimates.numbers(QUANTITIES["share"], [np.nan] * len(answers), NOT_REPORTED)
    return [(unknown.columns(), answers)], warning(
        "precision", reliability=RELIABILITIES[NOT], question=name
    )


def _effective(known: Sequence[float | None]) -> list[_Part]:
    least = min((reports for reports in known if reports is not None), default=None)
    if least is None:
        return []
    return [(Estimates.numbers(QUANTITIES["effective_reports"], [least]).columns(), None)]


def _multiple_response(
    counted: AnalysisContext, query: OverviewQuery, name: str
) -> tuple[Any, ...]:
    """Return the shares of the options of a multiple-response question."""
    estimator = counted.estimator
    options, every = estimator.schema.options[name], counted.survey.schema.options[name]
    try:
        for option in options:
            counted.of_all.table([option.name])
    except NotReportedYet:
        return _not_reported([str(option.option) for option in options], name)
    shares = [share_columns(estimator, [each.name], query, question=name) for each in options]
    chosen = EstimateColumns.concatenate(
        [
            found.take([chosen_code(option)])
            for option, (found, _) in zip(options, shares, strict=True)
        ]
    )
    worst: Caveat = max(
        (caveats[0] for _, caveats in shares),
        key=lambda each: RELIABILITIES.index(each.values["reliability"]),
    )
    parts: list[_Part] = [(chosen, [str(option.option) for option in options])]
    caveats = [worst]
    guess = query.estimate == "likelihood"
    # With a filter on an option, the share of choosing none is not meaningful.
    numbers = None if guess or len(options) < len(every) else counted.of_all.numbers(name)
    if numbers is not None:
        parts += _numbers(query, numbers, _with_missing(counted, options))
    elif len(options) == len(every):
        none = _none(counted, query, options)
        parts += none
        if not none:
            caveats.append(note("none unknown", question=name))
        if not guess and len(options) <= MAX_OPTIONS:
            # Reports may not be about each pair of options yet.
            with suppress(NotReportedYet):
                parts.append((_mean_number(counted, query, options), None))
    parts += _effective([effective_reports(found) for found, _ in shares])
    if not guess and len(options) <= MAX_OPTIONS:
        with suppress(NotReportedYet):
            parts += [*_missing(counted, query, options)]
    return parts, *caveats


def _numbers(query: OverviewQuery, numbers: Table, options: Sequence[Attribute]) -> Iterator[_Part]:
    """Yield the share of each number of chosen options, of none among them, and the mean."""
    answered = numbers.value.size - len(options[0].missing)
    places = np.arange(answered)
    if query.missing == "keep" or answered == numbers.value.size:
        none = shares_of_table(numbers, QUANTITIES["share"])
        yield none.take(places[:1]).columns(query.confidence), [NONE]
    chosen = shares_of_table(numbers, QUANTITIES["number_chosen"])
    yield chosen.take(places).columns(query.confidence), [str(number) for number in places.tolist()]

    def mean(shares: Any) -> Any:
        own = shares[:answered]
        return (np.tensordot(places, own, 1) / own.sum(axis=0))[np.newaxis]

    of = mean_of([0, len(options)], name="mean_number")
    yield Estimates.contrast(numbers, mean, of).columns(query.confidence), None


def _none(
    counted: AnalysisContext, query: OverviewQuery, options: Sequence[Attribute]
) -> list[_Part]:
    """Return the share of people who chose no option, if the reports identify it."""
    names, shape = [o.name for o in options], [len(o.categories) for o in options]
    cell = np.ravel_multi_index([o.categories.index(OPTION[0]) for o in options], shape)
    try:
        counted.estimator.check(names, MAX_CELLS)
        shares, _ = share_columns(counted.estimator, names, query)
    except HalftruthError:
        return []
    return [(shares.take([int(cell)]), [NONE])]


def _mean_number(
    counted: AnalysisContext, query: OverviewQuery, options: Sequence[Attribute]
) -> EstimateColumns:
    """Return the mean number of chosen options among people who answered."""
    of = mean_of([0, len(options)], name="mean_number")
    mean, error = mean_number(counted.of_all, _with_missing(counted, options))
    if np.isnan(mean):
        reason = f"who answered has a share {TOO_SMALL}"
        return Estimates.numbers(of, [np.nan], reason).columns()
    return Estimates.normal(of, [mean], [error]).columns(query.confidence)


def _missing(
    counted: AnalysisContext, query: OverviewQuery, options: Sequence[Attribute]
) -> Iterator[_Part]:
    """Yield the share of each missing category, which all options have in common."""
    every = _with_missing(counted, options)
    for category in every[0].missing:
        share, error = mean_share(counted.of_all, every, category)
        found = Estimates.normal(QUANTITIES["missing"], [share], [error])
        yield found.columns(query.confidence), [category]


def _with_missing(counted: AnalysisContext, options: Sequence[Attribute]) -> list[Attribute]:
    schema = counted.of_all.schema
    return [schema.attributes[schema.position(option.name)] for option in options]


def decide(result: Result[OverviewQuery], _: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Claim the number of reports, and the median margin of error of the shares."""
    table = result.estimates
    lower, upper, error = map(table.numbers, ("lower", "upper", "standard_error"))
    # Half of an interval that ends at 0 or 1 is less than the margin of error.
    cut = (lower <= SHARE.lower) | (upper >= SHARE.upper)
    by_error = normal_quantile(1 - result.query.confidence) * error
    margins = np.where(cut, by_error, (upper - lower) / 2)
    quantities = table.texts("quantity")
    shares = quantities.equals("share") | quantities.equals("missing")
    rows = np.flatnonzero(shares & table.texts("set").equals("interval") & np.isfinite(margins))
    claims = [Claim(kind="counted")]
    if len(rows):
        median = float(np.median(margins[rows]))
        claims.append(Claim(kind="margin", rows=rows.tolist(), bound=median))
    return [], claims


def state(result: Result[OverviewQuery], claim: Claim, _: Labels) -> str:
    """State the number of reports with their days, or the typical margin of error."""
    if claim.kind == "counted":
        days = [
            day for each in result.caveats if each.code == "days" for day in each.values["days"]
        ]
        return f"{', '.join(filter(None, [report_count(result), period(days)]))}."
    return (
        f"The typical margin of error of a share is {half_width(claim.bound or 0.0)}"
        f" ({percent(result.query.confidence)} interval)."
    )


def period(days: Sequence[Any]) -> str:
    """Describe the first and the last day of reports; empty without any."""
    if not days:
        return ""
    first, last = min(days), max(days)
    return f"counted on {first}" if first == last else f"counted from {first} to {last}"


def layout(result: Result[Any], _: Labels) -> list[Block]:
    """Arrange a line for each answer, and one for each question."""
    known = result.estimates.texts("quantity").levels
    lines = ["question", "answer"]
    blocks = [
        Block(
            title="Answers",
            lines=lines,
            shows=[Show(quantity="share")],
            panels=1,
            picture="bars",
            most=MAX_ANSWERS,
            folded=True,
        )
    ]
    if "missing" in known:
        shows = [Show(quantity="missing")]
        blocks.append(Block(title="No answer", lines=lines, shows=shows))
    if "number_chosen" in known:
        shows = [Show(quantity="number_chosen")]
        blocks.append(Block(title="Number of options chosen", lines=lines, shows=shows))
    shows = [Show(quantity="effective_reports", parts=["value"]), Show(quantity="mean_number")]
    shows = [show for show in shows if show.quantity in known]
    if shows:
        blocks.append(Block(title="Questions", lines=lines[:1], shows=shows))
    return blocks


ANALYSIS = Analysis(
    query=OverviewQuery,
    title="Overview",
    compute=compute,
    start=lambda _: OverviewQuery(),
    layout=layout,
    decide=decide,
    state=state,
    place="Overview",
    order=0,
)
