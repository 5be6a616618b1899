"""Report with all main results of a survey, as a page and as a file."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import msgspec
import numpy as np
from halftruth_shared import Protection, Survey
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import (
    Block,
    Caveat,
    Labels,
    Result,
)
from halftruth_shared.results.charts import Chart
from halftruth_shared.results.claims import Claim
from halftruth_shared.results.layout import Arranged, Cell, Grid
from halftruth_shared.results.showing import contradicted, of_reports
from halftruth_shared.results.wording import number, share, share_interval

from ..estimation.association import by_design
from ..estimation.independence import Departures, JointTest
from ..estimation.intervals import table_intervals
from ..estimation.selection import listed_alpha
from . import overview
from .answering import answer
from .base import AnalysisContext
from .labels import labels_of

#: Level of intervals, and 1 − probability of stating any false association.
_CONFIDENCE = 0.95

#: Largest numbers of listed associations, and of questions named as not usable.
_SHOWN, _NAMED = 10, 10


@dataclass(frozen=True)
class SurveyReport:
    """Report about a survey.

    There is a chart for each question, with its label as the title. `claim` is the claim of the
    summary, and `methods` are titles and texts of paragraphs. Nothing can be concluded from the
    estimates that `not_usable` names.
    """

    title: str
    lead: str
    charts: tuple[Chart, ...]
    tables: tuple[Arranged, ...]
    associations: Grid
    claim: Claim
    summary: str
    methods: tuple[tuple[str, str], ...]
    not_usable: tuple[str, ...]


def survey_report(counted: AnalysisContext) -> SurveyReport:
    """Return the report about a survey."""
    survey = counted.survey
    result = answer(overview.ANALYSIS, counted, OverviewQuery(confidence=_CONFIDENCE))
    impossible = {name for each in result.contradictions for name in each.attributes}
    labels = labels_of(survey)
    tables = overview.ANALYSIS.present(result, labels).parts
    claim, associations = _associations(counted, impossible, labels)
    counted_on = overview.period([*counted.days])
    return SurveyReport(
        title=survey.title_in(),
        lead=f"{', '.join(filter(None, [of_reports(result), counted_on]))}.",
        charts=tuple(_charts(survey, result, tables[0].block, labels)),
        tables=tuple(tables),
        associations=associations,
        claim=claim,
        summary=_state(claim),
        methods=tuple(_methods(survey)),
        not_usable=tuple(_not_usable(result, labels)),
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


def _associations(
    counted: AnalysisContext, impossible: Collection[str], labels: Labels
) -> tuple[Claim, Grid]:
    """Test all pairs of questions that are not associated by design.

    Questions whose reports contradict the mechanism are left out.
    """
    header = [
        "answers together",
        "share",
        "interval",
        "if independent",
        "apart, in standard errors",
    ]
    estimator = counted.estimator
    possible = [name for name in estimator.schema.names if name not in impossible]
    pairs = filter(estimator.identified, combinations(possible, 2))
    names = [pair for pair in pairs if not by_design(estimator.schema, *pair)]
    test = JointTest([Departures(estimator.table(pair)) for pair in names])
    if not test.tested.any():
        return Claim(kind="untested", count=len(names)), Grid(header, [])
    significant = test.adjusted <= 1 - _CONFIDENCE
    if not significant.any():
        return Claim(kind="none found", count=len(names)), Grid(header, [])
    # The listed answers were selected among all cells.
    alpha = listed_alpha(_CONFIDENCE, int(significant.sum()), int(test.tested.sum()))
    order = np.argsort(test.clearest, kind="stable")[::-1]
    strongest = [test.departures[place] for place in order if significant[place]]
    lines = [_line(counted.survey, each, alpha, labels) for each in strongest[:_SHOWN]]
    rate, rows = round(1 - _CONFIDENCE, 9), list(range(len(strongest)))
    claim = Claim(kind="associated", rows=rows, rate=rate, by_rate=True, count=len(names))
    return claim, Grid(header, lines)


def _line(survey: Survey, departures: Departures, alpha: float, labels: Labels) -> list[Cell]:
    """Describe the two answers with the most significant departure from independence."""
    table, scores = departures.table, departures.scores
    cell = np.unravel_index(np.nanargmax(np.abs(scores)), scores.shape)
    known = [survey.schema.attributes[j] for j in survey.schema.positions(table.axes)]
    answers = {a.name: a.categories[code] for a, code in zip(known, cell, strict=True)}
    lower, upper = (float(ends[cell]) for ends in table_intervals(table, 1 - alpha))
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
        f"{number(len(claim.rows))} of {many} pairs of questions are significantly associated"
        f" ({rate}). Those with the strongest evidence come first, each with the two answers that"
        " depart most from independence. Other pairs may still be associated; the reports cannot"
        " show it."
    )


#: Description of the randomization, by the party that randomizes.
_CHANGED = {
    "device": "Each person's own device changed the answers at random before anything was sent"
    " ({kind}). The collector never had a true record.",
    "respondent": "Respondents randomized their answers themselves, before anybody heard them"
    " ({kind}). What they were asked directly is counted as they answered it.",
}


def _methods(survey: Survey) -> list[tuple[str, str]]:
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


def _not_usable(result: Result[OverviewQuery], labels: Labels) -> list[str]:
    doubtful = _doubtful(result)
    lines = contradicted(result, labels)
    lines += [each.in_words(labels) for each in doubtful[:_NAMED]]
    left = len(doubtful) - _NAMED
    return (
        [*lines, f"{number(left)} more questions; each says so in its chart."]
        if left > 0
        else lines
    )
