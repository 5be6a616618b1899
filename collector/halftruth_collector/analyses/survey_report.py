"""Report with all main results of a survey, as a page and as a file."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import NamedTuple

import msgspec
import numpy as np
from halftruth_shared import Protection, Survey
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import (
    Block,
    Caveat,
    EstimateColumns,
    Key,
    Labels,
    Result,
)
from halftruth_shared.results.caveats import folded
from halftruth_shared.results.charts import Chart
from halftruth_shared.results.claims import Claim
from halftruth_shared.results.layout import Arranged, Cell, Grid, in_words
from halftruth_shared.results.long_table import Rows
from halftruth_shared.results.showing import contradicted, of_reports
from halftruth_shared.results.wording import (
    half_width,
    interval_in_words,
    number,
    number_in_words,
    share,
    share_interval,
)
from halftruth_shared.texts import NARROW_SPACE

from ..counts import CountsKey, RecentResults, key_of
from ..estimation import Estimator
from ..estimation.association import PairTests, by_design, tests_of_pairs
from ..estimation.false_reports import statistics
from ..estimation.independence import Departures
from ..estimation.intervals import SHARE, table_intervals
from ..estimation.selection import listed_alpha
from . import overview
from .answering import answer
from .base import AnalysisContext
from .labels import labels_of

#: Level of intervals, and 1 − probability of stating any false association.
_CONFIDENCE = 0.95

#: How the correlation of two scales is named, beside shares.
_CORRELATION = "correlation"

#: Largest numbers of listed associations, and of those among the findings.
_SHOWN, _FOUND = 10, 3


@dataclass(frozen=True)
class SurveyReport:
    """Report about a survey.

    `findings` come first, then the `precision` of the questions, one line for each grade, and what
    is `unknown`. There is a chart for each question, with its label as the title. `claim` is the
    claim of the summary, and `methods` are titles and texts of paragraphs.
    """

    title: str
    lead: str
    charts: tuple[Chart, ...]
    tables: tuple[Arranged, ...]
    associations: Grid
    claim: Claim
    summary: str
    methods: tuple[tuple[str, str], ...]
    findings: tuple[str, ...]
    precision: tuple[str, ...]
    unknown: tuple[str, ...]


class Associations(NamedTuple):
    """Claim about all pairs of questions, and a line for each pair with the strongest evidence.

    No report asks `apart` further pairs together.
    """

    claim: Claim
    grid: Grid
    apart: int


class _Alone(NamedTuple):
    """A single estimate without keys, which is read as the row of a table."""

    estimates: EstimateColumns
    keys: list[Key]


def survey_report(counted: AnalysisContext) -> SurveyReport:
    """Return the report about a survey."""
    survey = counted.survey
    result = answer(overview.ANALYSIS, counted, OverviewQuery(confidence=_CONFIDENCE))
    labels = labels_of(survey)
    tables = overview.ANALYSIS.present(result, labels).parts
    found = find_associations(counted)
    counted_on = overview.period([*counted.days])
    return SurveyReport(
        title=survey.title_in(),
        lead=f"{', '.join(filter(None, [of_reports(result), counted_on]))}.",
        charts=tuple(_charts(survey, result, tables[0].block, labels)),
        tables=tuple(tables),
        associations=found.grid,
        claim=found.claim,
        summary=_state(found.claim),
        methods=tuple(_methods(survey)),
        findings=tuple(_findings(result, found, labels)),
        precision=tuple(_precision(result, labels)),
        unknown=tuple(_unknown(result, found, labels)),
    )


#: Associations by counts, for lists of many surveys.
_KEPT = RecentResults[CountsKey, Associations](64)


def find_associations(counted: AnalysisContext) -> Associations:
    """Test all pairs of questions that reports ask together, in groups of answers if they do."""
    counted = counted.read_for(MeasuresQuery())
    return _KEPT.get(key_of(counted.survey, counted.counts), lambda: _associations(counted))


def brief_findings(counted: AnalysisContext) -> list[str]:
    """Return the main findings of a survey in two lines, for lists of surveys."""
    found, labels = find_associations(counted), labels_of(counted.survey)
    result = answer(overview.ANALYSIS, counted, OverviewQuery(confidence=_CONFIDENCE))
    if found.claim.kind == "associated":
        first = f"{_count(found.claim)}. Strongest evidence: {next(_together(found))}"
    else:
        first = _state(found.claim).partition(". ")[0].rstrip(".") + "."
    said = [overview.ANALYSIS.state(result, claim, labels) for claim in result.claims[1:]]
    return [*contradicted(result, labels), *([first] if found.claim.count else []), *said]


def _findings(result: Result[OverviewQuery], found: Associations, labels: Labels) -> Iterator[str]:
    """Yield the associations with the strongest evidence, and the shares of yes/no questions."""
    if found.claim.kind == "associated":
        yield f"{_count(found.claim)} (false discovery rate 5{NARROW_SPACE}%)."
        yield from islice(_together(found), _FOUND)
    elif found.claim.count:
        yield _state(found.claim).partition(". ")[0].rstrip(".") + "."
    shares = [result.rows[place] for place in result.places("share", answer="yes")]
    known = [row for row in shares if row.reliability != "not usable" and row.value is not None]
    if known:
        said = "; ".join(f"{labels.question(row['question'])} {in_words(row)}" for row in known)
        yield f"Share of yes: {said}."


def _count(claim: Claim) -> str:
    found = len(claim.rows)
    return (
        f"{number(found)} of {number(claim.count or 0)} pairs of questions"
        f" {'is' if found == 1 else 'are'} significantly associated"
    )


def _together(found: Associations) -> Iterator[str]:
    """Yield a sentence for each line of the table of associations."""
    for about, found_, interval, expected, _ in found.grid.rows:
        of = "" if found_.text.startswith(_CORRELATION) else " of people"
        yield f"{about}: {found_} ({interval}){of}; {expected} if independent."


def _precision(result: Result[OverviewQuery], labels: Labels) -> Iterator[str]:
    """Yield a line for each grade of precision, with the questions that have it."""
    doubtful = {each.values["question"]: each.values for each in _doubtful(result)}
    grades: dict[str, list[str]] = {}
    for name in dict.fromkeys(result.key("question").values):
        grade = doubtful[name]["reliability"] if name in doubtful else "usable"
        grades.setdefault(grade, []).append(name)
    for grade in (each for each in ("usable", "barely usable", "not usable") if each in grades):
        names = grades[grade]
        margins = [doubtful[name]["margin"] for name in names if "margin" in doubtful.get(name, {})]
        known = ""
        if margins:
            least, most = map(half_width, (min(margins), max(margins)))
            ends = most if least == most else f"{least.removesuffix(' points')} to {most}"
            known = f" (shares known to {ends})"
        sentence = f"{grade.capitalize()}{known}: {{}}."
        yield folded(sentence, [*map(labels.quoted, names)], "questions")


def _unknown(result: Result[OverviewQuery], found: Associations, labels: Labels) -> Iterator[str]:
    """Yield what the reports cannot tell."""
    yield from contradicted(result, labels)
    if found.apart:
        plural = "" if found.apart == 1 else "s"
        yield (
            f"No report asks {number(found.apart)} pair{plural} of questions together: whether they"
            " are associated cannot be said."
        )
    if found.claim.kind == "untested" and found.claim.count:
        yield _state(found.claim)
    elif found.claim.count:
        yield (
            "Pairs that are not significant may still be associated: weak associations cannot be"
            " seen in perturbed reports."
        )
    yield (
        "Intervals cover the errors from perturbation and sampling, but not nonresponse or untrue"
        " answers."
    )


def _charts(
    survey: Survey, result: Result[OverviewQuery], answers: Block, labels: Labels
) -> Iterator[Chart]:
    """Yield a chart of each question, with its text and its precision as notes."""
    block = msgspec.structs.replace(answers, lines=["answer"], panels=0, most=None, folded=False)
    named = result.key("question").values
    for question, name in zip(survey.schema.questions, dict.fromkeys(named), strict=True):
        check_deadline()
        rows = [row for row, each in enumerate(named) if each == name]
        keys = [msgspec.structs.replace(k, values=k.values.take(rows)) for k in result.keys]
        alone = msgspec.structs.replace(result, keys=keys, estimates=result.estimates.take(rows))
        text = question.label_in()
        label = labels.question(name)
        notes = [text] if text != label else []
        notes += [
            f"{each.values['reliability'].capitalize()}."
            for each in _doubtful(result)
            if each.values["question"] == name
        ]
        drawn = Arranged(alone, block, labels).chart
        if drawn is not None:
            yield replace(drawn, title=label, notes=tuple(notes))


def _doubtful(result: Result[OverviewQuery]) -> list[Caveat]:
    """Return the reliability of each question that is not fully usable."""
    return [each for each in result.caveats if each.code == "precision"]


def _associations(counted: AnalysisContext) -> Associations:
    """Test all pairs of questions that are not associated by design.

    Questions whose reports contradict the mechanism are left out.
    """
    labels = labels_of(counted.survey)
    impossible = {name for each in counted.contradictions for name in each.attributes}
    header = [
        "together",
        "share, or correlation",
        "interval",
        "if independent",
        "difference, in standard errors",
    ]
    estimator = counted.estimator
    possible = [name for name in estimator.schema.names if name not in impossible]
    pairs = [pair for pair in combinations(possible, 2) if not by_design(estimator.schema, *pair)]
    names = [pair for pair in pairs if estimator.identified(pair)]
    apart = len(pairs) - len(names)
    test = tests_of_pairs(estimator, names)
    adjusted = test.adjusted
    if np.isnan(adjusted).all():
        return Associations(Claim(kind="untested", count=len(names)), Grid(header, []), apart)
    significant = int((adjusted <= 1 - _CONFIDENCE).sum())
    if not significant:
        return Associations(Claim(kind="none found", count=len(names)), Grid(header, []), apart)
    # The listed answers were selected among all cells.
    alpha = listed_alpha(_CONFIDENCE, significant, test.tested)
    strongest = np.argsort(test.p_values, kind="stable")[:significant]
    lines = [
        _line(counted.survey, estimator, test, names[place], place, alpha, labels)
        for place in strongest[:_SHOWN]
    ]
    rate, rows = round(1 - _CONFIDENCE, 9), list(range(significant))
    claim = Claim(kind="associated", rows=rows, rate=rate, by_rate=True, count=len(names))
    return Associations(claim, Grid(header, lines), apart)


def _line(
    survey: Survey,
    estimator: Estimator,
    test: PairTests,
    pair: tuple[str, str],
    place: int,
    alpha: float,
    labels: Labels,
) -> list[Cell]:
    """Describe the correlation of two scales, or the two answers that depart most.

    A correlation without an estimate is described by its answers, too.
    """
    found = test.correlations.get(pair)
    if found is not None and np.isfinite(found.value).all():
        [row] = Rows(_Alone(found.columns(1 - alpha), []))
        evidence = float(statistics(test.p_values[place]))
        return [
            Cell(" and ".join(map(labels.quoted, pair))),
            Cell(f"{_CORRELATION} {number_in_words(row, row.of)}", row.value),
            Cell(interval_in_words(row, row.of), row.interval and row.interval[0]),
            Cell("0", 0.0),
            Cell(number(evidence, 1), evidence),
        ]
    departures = test.departures.get(pair) or Departures(estimator.table(pair))
    table, scores = departures.table, departures.scores
    cell = np.unravel_index(np.nanargmax(np.abs(scores)), scores.shape)
    known = [survey.schema.attributes[j] for j in survey.schema.positions(table.axes)]
    answers = {a.name: a.categories[code] for a, code in zip(known, cell, strict=True)}
    ends = (float(ends[cell]) for ends in table_intervals(table, 1 - alpha))
    lower, upper = (min(max(end, SHARE.lower), SHARE.upper) for end in ends)
    value, expected = float(table.value[cell]), float(departures.expected[cell])
    residual = float(departures.residuals[cell])
    return [
        Cell(labels.items(answers)),
        Cell(share(value, (lower, upper)), value),
        Cell(share_interval((lower, upper)), lower),
        Cell(share(expected, (lower, upper)), expected),
        Cell(number(residual, 1), residual),
    ]


def _state(claim: Claim) -> str:
    """State the number of associated pairs of questions."""
    if claim.kind == "untested":
        return "No two questions are known precisely enough to be tested for an association."
    many, rate = number(claim.count or 0), "false discovery rate 5\u202f%"
    if claim.kind == "none found":
        return (
            f"No significant association among {many} pairs of questions ({rate}). Weak"
            " associations cannot be seen in perturbed reports."
        )
    return (
        f"{_count(claim)} ({rate}). Those with the strongest evidence come first, each with the two"
        " answers that depart most from independence. Other pairs may still be associated; the"
        " reports cannot show it."
    )


#: Description of the randomization, by the party that randomizes.
_CHANGED = {
    "device": "Each person's own device changed the answers at random before anything was sent"
    " ({kind}). The collector never had a true record.",
    "respondent": "Respondents randomized their answers themselves, before anyone heard them"
    " ({kind}). Answers to direct questions are counted unchanged.",
}


def _methods(survey: Survey) -> list[tuple[str, str]]:
    rows = [
        (
            "Answers",
            _CHANGED[survey.mechanism.randomized_by].format(kind=survey.mechanism.kind),
        ),
        ("Privacy promise", " ".join(Protection.of(survey).sentences())),
        (
            "Estimates",
            "Shares are moment estimates: the counts of reports are corrected for the known"
            " perturbation probabilities. They are unbiased. An estimate below 0 % or above 100 %"
            " is shown as 0 % or 100 %; the files have the unbiased number.",
        ),
        (
            "Intervals",
            "95 % for each single interval, for the population of which the respondents are a"
            " simple random sample. They include the errors from perturbation and sampling, but not"
            " those from nonresponse or untrue answers.",
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
