"""Everything that a survey showed, to be read and printed: the same as a page and as a file."""

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import msgspec
import numpy as np
from halftruth_shared import Protection, Survey
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.results import Caveat, Result
from halftruth_shared.results.charts import Chart, EstimateChart
from halftruth_shared.results.claims import Claim
from halftruth_shared.results.estimate import Interval, Reliability
from halftruth_shared.results.layout import Cell, chart
from halftruth_shared.results.presentation import Part, present
from halftruth_shared.results.showing import contradicted
from halftruth_shared.results.wording import half_width, items, number, share, share_interval

from ..estimation.bounds import normal_quantile
from ..estimation.independence import Departures, JointTest
from ..estimation.intervals import table_intervals
from ..estimation.ratios import conditional_covariance, conditional_shares
from ..estimation.reconstruction import reconstruction
from ..estimation.reliability import reliability, typical
from ..estimation.selection import listed_alpha
from ..estimation.table import Table
from . import overview
from .base import AnalysisContext, Grid
from .labels import Labels, labelled
from .sentences import listed, of_reports

#: Level of intervals, and chance of naming any association that there is not.
_CONFIDENCE = 0.95

#: Associations that are shown, and questions and pairs of them that are named as not usable.
_SHOWN, _NAMED = 10, 10


@dataclass(frozen=True)
class SurveyReport:
    """Report about a survey.

    Attributes
    ----------
    title, lead : str
    charts : tuple of Chart
        One for each question, with its label as the title.
    tables : tuple of Part
        Share of every answer with its interval, and further ones about questions.
    associations : Grid
        The strongest ones; perhaps without rows.
    claims : tuple of Claim
        What the summary states; rows are those of all associations, the first of which are shown.
    summary : str
        How many pairs are associated.
    methods : tuple of (str, str)
        What was done, under a word for each.
    not_usable : tuple of str
        What nothing can be concluded from.
    """

    title: str
    lead: str
    charts: tuple[Chart, ...]
    tables: tuple[Part, ...]
    associations: Grid
    claims: tuple[Claim, ...]
    summary: str
    methods: tuple[tuple[str, str], ...]
    not_usable: tuple[str, ...]


def survey_report(counted: AnalysisContext) -> SurveyReport:
    """The report on a survey.

    Parameters
    ----------
    counted : AnalysisContext

    Raises
    ------
    TooFewReports
    """
    survey, labels = counted.survey, Labels.of(counted.survey.schema)
    query = OverviewQuery(confidence=_CONFIDENCE)
    found = overview.ANALYSIS.compute(counted, query)
    impossible = {name for each in found.contradictions for name in each.attributes}
    result, pairs = labelled(found, survey), _Pairs.of(counted, impossible)
    claim, counted_on = _claim(pairs), overview.period([*counted.days])
    return SurveyReport(
        title=survey.title_in(),
        lead=f"{', '.join(filter(None, [of_reports(result), counted_on]))}.",
        charts=tuple(_charts(survey, result)),
        tables=tuple(present(result).parts),
        associations=_associations(pairs, labels),
        claims=(claim,),
        summary=_state(claim),
        methods=tuple(_methods(counted)),
        not_usable=tuple(_not_usable(result, pairs, labels)),
    )


def precision(survey: Survey, reports: int) -> str:
    """Describe the precision of single questions' shares for a number of reports."""
    unbiased = reconstruction(survey)
    worst = max(
        float(unbiased.unit_variance([name], "population").worst.max())
        for name in survey.schema.names
    )
    width = normal_quantile(1 - _CONFIDENCE) * float(np.sqrt(worst / reports))
    return f"shares of answers are known to {half_width(width)} or better"


def _charts(survey: Survey, result: Result[OverviewQuery]) -> Iterator[Chart]:
    """Yield a chart of each question, with its text and its precision as notes."""
    [answers, *_] = result.layout
    named = result.key("question").values
    for question, name in zip(survey.schema.questions, dict.fromkeys(named), strict=True):
        rows = [row for row, each in enumerate(named) if each == name]
        keys = [msgspec.structs.replace(k, values=k.values.take(rows)) for k in result.keys]
        alone = msgspec.structs.replace(result, keys=keys, estimates=result.estimates.take(rows))
        text = question.label_in()
        notes = [text] if text != name else []
        notes += [
            f"{each.values['reliability'].capitalize()}."
            for each in _doubtful(result)
            if each.values["question"] == name
        ]
        drawn = chart(alone, answers)
        if isinstance(drawn, EstimateChart):
            panels = tuple(replace(panel, heading="") for panel in drawn.panels)
            yield replace(drawn, title=name, notes=tuple(notes), panels=panels)


def _doubtful(result: Result[OverviewQuery]) -> list[Caveat]:
    """Return how precise each question is that is not usable without reserve."""
    return [each for each in result.caveats if each.code == "precision"]


@dataclass(frozen=True)
class _Departure:
    """Return the pair of answers with the most significant departure from independence."""

    answers: dict[str, str]
    share: float
    interval: Interval
    expected: float
    residual: float


@dataclass(frozen=True)
class _Pairs:
    """Associations in the tables of all pairs of questions.

    Attributes
    ----------
    names : tuple of (str, str)
    usable : tuple of {"usable", "barely usable", "not usable"}
        Whether the differences between groups in the table of each pair are.
    test : JointTest
    departures : tuple of _Departure
        At most one of each pair, the clearest first: of the pairs that are significant.
    """

    names: tuple[tuple[str, str], ...]
    usable: tuple[Reliability, ...]
    test: JointTest
    departures: tuple[_Departure, ...]

    @classmethod
    def of(cls, counted: AnalysisContext, impossible: Collection[str]) -> "_Pairs":
        """Test all pairs but those of questions whose reports nothing explains."""
        estimator = counted.estimator
        names = tuple(combinations([n for n in estimator.schema.names if n not in impossible], 2))
        test = estimator.associated(names)
        significant = test.adjusted <= 1 - _CONFIDENCE
        # The answers that are listed were selected among all cells.
        alpha = listed_alpha(_CONFIDENCE, int(significant.sum()), int(test.tested.sum()))
        departures = [
            _departure(counted, test.departures[place], alpha)
            for place in np.argsort(test.clearest, kind="stable")[::-1]
            if significant[place]
        ]
        usable = tuple(_judged(each.table) for each in test.departures)
        return cls(names, usable, test, tuple(departures))


def _departure(counted: AnalysisContext, departures: Departures, alpha: float) -> _Departure:
    table, scores = departures.table, departures.scores
    cell = np.unravel_index(np.nanargmax(np.abs(scores)), scores.shape)
    schema = counted.survey.schema
    lower, upper = table_intervals(table, 1 - alpha)
    return _Departure(
        {
            name: schema.attributes[schema.position(name)].categories[code]
            for name, code in zip(table.axes, cell, strict=True)
        },
        float(table.value[cell]),
        (float(lower[cell]), float(upper[cell])),
        float(departures.expected[cell]),
        float(departures.residuals[cell]),
    )


def _judged(table: Table) -> Reliability:
    """Judge the differences between the shares within two groups, of either question."""
    quantile = normal_quantile(1 - _CONFIDENCE)
    known = table.identified_covariance()
    worst = 0.0
    for axis in (0, 1):
        groups = conditional_shares(table.value, known, [axis])
        spread = conditional_covariance(table.value, known, [axis])
        # NaN where the base of a group is not significantly above zero.
        spread[np.isnan(groups.variance.ravel())] = np.nan
        cells = np.moveaxis(np.arange(table.value.size).reshape(table.value.shape), axis, 0)
        one, other = np.triu_indices(len(cells), 1)
        first, second = cells[one].ravel(), cells[other].ravel()
        variance = spread[first, first] + spread[second, second] - 2 * spread[first, second]
        width = typical(quantile * np.sqrt(np.maximum(variance, 0.0)))
        worst = max(worst, math.inf if width is None else width)
    return reliability(worst)


def _associations(pairs: _Pairs, labels: Labels) -> Grid:
    return Grid(
        [
            "answers together",
            "share",
            "interval",
            "if independent",
            "apart, in standard errors",
        ],
        [
            [
                Cell(items(labels.items(pair.answers))),
                Cell(share(pair.share, pair.interval), pair.share),
                Cell(share_interval(pair.interval), pair.interval[0]),
                Cell(share(pair.expected, pair.interval), pair.expected),
                Cell(number(pair.residual, 1), pair.residual),
            ]
            for pair in pairs.departures[:_SHOWN]
        ],
    )


def _claim(pairs: _Pairs) -> Claim:
    """Which pairs of questions are associated, by the rows of the report's table."""
    count = len(pairs.names)
    if not pairs.test.tested.any():
        return Claim(kind="untested", count=count)
    if not pairs.departures:
        return Claim(kind="none found", count=count)
    rows = list(range(len(pairs.departures)))
    rate = round(1 - _CONFIDENCE, 9)
    return Claim(kind="associated", rows=rows, rate=rate, by_rate=True, count=count)


def _state(claim: Claim) -> str:
    """State how many pairs of questions are associated."""
    if claim.kind == "untested":
        return "No two questions are known precisely enough to be tested for an association."
    many, rate = number(claim.count or 0), "false discovery rate 5\u202f%"
    if claim.kind == "none found":
        return (
            f"No significant association among {many} pairs of questions ({rate}). Weak"
            " associations cannot be seen in perturbed reports."
        )
    return (
        f"{number(len(claim.rows))} of {many} pairs of questions are significantly associated"
        f" ({rate}). Those with the strongest evidence come first, each with the two answers that"
        " depart most from independence. Other pairs may still be associated; the reports cannot"
        " show it."
    )


#: How answers became reports, by who randomized them.
_CHANGED = {
    "device": "Each person's own device changed the answers at random before anything was sent"
    " ({kind}). The collector never had a true record.",
    "respondent": "Respondents randomized their answers themselves, before anybody heard them"
    " ({kind}). What they were asked directly is counted as they answered it.",
}


def _methods(counted: AnalysisContext) -> list[tuple[str, str]]:
    survey = counted.survey
    rows = [
        (
            "Answers",
            _CHANGED[survey.mechanism.randomized_by].format(kind=survey.mechanism.kind),
        ),
        ("What is promised", " ".join(Protection.of(survey).sentences())),
        (
            "Estimates",
            "Shares are moment estimates: the known chances of the change are undone in the counts"
            " of reports. They are unbiased, and may be below 0 % or above 100 % by chance; nothing"
            " is cut.",
        ),
        (
            "Intervals",
            "95 %, each by itself, for the population that the respondents are a simple random"
            " sample of. They cover what comes of the perturbation and of sampling, and nothing of"
            " who did not take part, or of who did not answer truly.",
        ),
        (
            "Associations",
            "Each cell of each table of two questions is compared with what independent answers"
            " with the same margins would give, in standard errors of that difference. Of each pair"
            " of questions the largest difference is tested, with Bonferroni's correction for the"
            " cells of its table; the false discovery rate among the pairs is 5\u202f%. The error"
            " is that of reports of independent answers, with their skewness. Intervals of the"
            " pairs of answers that are listed are widened, since these were selected.",
        ),
        ("Digest of the survey", survey.digest),
    ]
    return (
        rows if len(survey.schema.names) > 1 else [row for row in rows if row[0] != "Associations"]
    )


def _not_usable(result: Result[OverviewQuery], pairs: _Pairs, labels: Labels) -> list[str]:
    doubtful = _doubtful(result)
    lines = [*contradicted(result), *(each.sentence for each in doubtful[:_NAMED])]
    left = len(doubtful) - _NAMED
    if left > 0:
        lines.append(f"{number(left)} more questions; each says so in its chart.")
    bad = [
        " by ".join(f"“{labels.questions[name]}”" for name in names)
        for names, usable in zip(pairs.names, pairs.usable, strict=True)
        if usable == "not usable"
    ]
    if bad and len(bad) == len(pairs.names):
        lines.append("Differences between groups, in every table of two questions.")
    elif bad:
        named = listed(bad) if len(bad) <= _NAMED else f"{', '.join(bad[:_NAMED])} and others"
        every = number(len(pairs.names))
        lines.append(
            f"Differences between groups, in {number(len(bad))} of {every} tables of two questions:"
            f" {named}."
        )
    return lines
