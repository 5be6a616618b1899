"""Prevalence from two samples of one question that were randomized differently."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from halftruth_shared import Attribute, ParameterError, Survey
from halftruth_shared.analyses.charts import EstimateChart
from halftruth_shared.analyses.showing import chart_of
from halftruth_shared.analyses.two_samples import (
    SampleEstimate,
    TwoSamplesQuery,
    TwoSamplesResult,
)
from halftruth_shared.analyses.wording import number, p_value, percent
from halftruth_shared.errors import listing

from ..estimation.answers import answer_codes, category_code
from ..estimation.bounds import optional
from ..estimation.estimates import estimates
from ..estimation.model.perturbed_outcome import Reported, channel_of_outcome
from ..estimation.two_samples import QUANTITIES, TwoSamples
from . import sentences
from .base import Analysis, Counted, Grid, names_of_clearest

#: Moment estimates so far outside of 0 to 1 are said to be there.
_OUTSIDE = 0.0005

#: P-value below which a test rejects.
_REJECTED = 0.05


def compute(counted: Counted, query: TwoSamplesQuery) -> TwoSamplesResult:
    """Shares by ``estimation.two_samples``, from the numbers of reports of both questions.

    Raises
    ------
    SchemaError, ParameterError
        If a question or `where` is unknown, or a question has not two answers.
    """
    survey = counted.survey
    for name in query.present:
        if name not in query.attributes:
            raise ParameterError(
                f"present: '{name}' is none of the attributes; expected some of:"
                f" {listing(query.attributes)}",
                field="present",
            )
    positions = survey.schema.positions(query.attributes)
    attributes = [survey.schema.attributes[position] for position in positions]
    present = {a.name: _present(a, query.present) for a in attributes}
    reported = [_reported(counted, query, a, present[a.name]) for a in attributes]
    told = [each for each in reported if each is not None]
    undefined, two = _undefined(counted, query, positions, [each[1] for each in told]), None
    if undefined is None:
        yes, reports, channels = (np.array(column) for column in zip(*told, strict=True))
        two = TwoSamples(yes, reports, channels, query.design)
        undefined = two.undefined
    found = [] if two is None or undefined else [*two.shares(query.confidence)]
    columns = {
        name: [getattr(share, name) for share in found] or [np.nan] * len(QUANTITIES[query.design])
        for name in ("value", "moment", "standard_error", "lower", "upper")
    }
    shares = estimates(
        SampleEstimate,
        columns["value"],
        columns["standard_error"],
        (columns["lower"], columns["upper"]),
        undefined=[
            undefined or ("it is of nobody" if np.isnan(value) else None)
            for value in columns["value"]
        ],
        quantity=list(QUANTITIES[query.design]),
        moment=[*map(optional, columns["moment"])],
    )
    return TwoSamplesResult(
        **counted.origin(),
        query=query,
        present=present,
        samples=[int(each[1]) for each in told],
        shares=list(shares),
        p_value=two.p_value if two is not None and found else None,
    )


def _present(attribute: Attribute, present: dict[str, str]) -> str:
    """The answer that counts as yes; of two the last where nothing says which."""
    answers = [attribute.categories[code] for code in answer_codes(attribute)]
    if len(answers) != 2:
        raise ParameterError(
            f"attributes: '{attribute.name}' has {len(answers)} answers; expected a question with"
            " two",
            field="attributes",
        )
    items = [answer for answer in answers if answer in (attribute.items or ())]
    chosen = present.get(attribute.name, items[0] if len(items) == 1 else answers[1])
    if chosen not in answers:
        category_code(attribute, chosen, "present")
        raise ParameterError(
            f"present: '{chosen}' is no answer of '{attribute.name}'; expected one of:"
            f" {listing(answers)}",
            field="present",
        )
    return chosen


def _reported(
    counted: Counted, query: TwoSamplesQuery, attribute: Attribute, present: str
) -> tuple[float, float, Sequence[float]] | None:
    """Reports of yes, all reports, and P(yes | yes) and P(yes | no), if reports tell that."""
    survey = counted.survey
    channel = channel_of_outcome(survey, attribute.name, list(query.where))
    if channel is None:
        return None
    numbers = Reported.of(survey, counted.counts, attribute.name, [], query.where).numbers
    [yes] = np.flatnonzero(np.array(answer_codes(attribute)) == attribute.categories.index(present))
    total = numbers.sum(axis=0) if len(numbers) else np.zeros(2)
    return float(total[yes]), float(total.sum()), (channel[yes, yes], channel[yes, 1 - yes])


def _undefined(
    counted: Counted, query: TwoSamplesQuery, positions: Sequence[int], reports: Sequence[float]
) -> str | None:
    """Why these are not two samples of a question that was randomized by itself, if so."""
    if len(reports) < 2:
        return "reports do not tell each of these questions by itself, and directly who is meant"
    if not all(reports):
        return "nobody answered one of the questions"
    schema, counts = counted.survey.schema, counted.counts
    answered = [
        np.isin(counts.cells[:, position], answer_codes(schema.attributes[position]))
        for position in positions
    ]
    if counts.counts[np.logical_and(*answered)].any():
        return "somebody answered both questions; expected samples of different people"
    return None


def chart(result: TwoSamplesResult) -> EstimateChart:
    """The shares as bars."""
    about = " × ".join(result.query.attributes)
    return replace(chart_of(result), title=f"Two samples · {about} · {result.survey}")


def headline(result: TwoSamplesResult) -> str:
    """The first share, and what the samples say of the instructions."""
    first = result.shares[0]
    if first.undefined:
        return f"There is no prevalence, as {first.undefined}."
    said = f"{first.quantity}: {sentences.of_share(first)}"
    if result.p_value is not None and result.p_value < _REJECTED:
        said += "; but some do not follow the instructions, or the samples differ otherwise"
    return sentences.sentence(said)


def _statement(result: TwoSamplesResult, *, clear: bool) -> list[str]:
    """Say what the test says, if it says so clearly or if it does not."""
    if result.p_value is None or (result.p_value < _REJECTED) != clear:
        return []
    supposed = {
        "compliance": "both samples have one prevalence, and all follow the instructions",
    }.get(result.query.design, "nobody answers no whatever the instructions")
    told = f"the samples would {'seldom' if clear else 'often'} differ as much"
    rest = "" if clear else " That does not show that it is so."
    return [f"If {supposed}, {told} (p-value {p_value(result.p_value)}).{rest}"]


def warnings(result: TwoSamplesResult) -> list[str]:
    """Name estimates that are undefined, too uncertain or cut, and instructions not followed."""
    named = [(share.quantity, share) for share in result.shares]
    cut = [
        f"{share.quantity} ({percent(share.moment, 1)})"
        for share in result.shares
        if share.moment is not None and not -_OUTSIDE < share.moment < 1 + _OUTSIDE
    ]
    return [
        *sentences.undefined(named),
        *sentences.too_uncertain(named),
        *(
            [
                "Outside of 0 to 100 % without restriction, so that it is chance, or an assumption"
                f" is wrong: {sentences.listed(cut)}."
            ]
            if cut
            else []
        ),
        *_statement(result, clear=True),
    ]


#: What each design assumes, besides that everybody is in a sample by chance.
_ASSUMED = {
    "compliance": "All are assumed to follow the instructions. Who answers at random is not found"
    " out where one sample’s probabilities are those of the other with yes and no exchanged.",
    "cheater-detection": "Who does not follow the instructions is assumed to answer no, and what is"
    " true of these is not known: prevalence is from “honest yes” to “honest yes” and “cheaters”"
    " together.",
    "lie-detector": "Everybody whose answer is no is assumed to follow the instructions, and"
    " whoever does not to answer no.",
    "unrelated-question": "All are assumed to follow the instructions, and the harmless question to"
    " have one prevalence in both samples.",
}


def interpretation(result: TwoSamplesResult) -> list[str]:
    """Say what was assumed, of how many, and what intervals are."""
    told = zip(result.query.attributes, result.samples, strict=False)
    answers = [f"{name} {number(reports, 0)}" for name, reports in told]
    return [
        *sentences.presence(result.present),
        f"Answers: {sentences.listed(answers)}.",
        _ASSUMED[result.query.design],
        *_statement(result, clear=False),
        "Estimates are of maximum likelihood, and intervals of the profile likelihood.",
    ]


def grid(result: TwoSamplesResult) -> Grid:
    """Each share with its interval, and as it is without restriction to 0 to 100 %."""
    return Grid(
        ["quantity", "share", sentences.level(result.query.confidence), "without restriction"],
        [
            [
                share.quantity,
                *sentences.share_cells(share),
                "" if share.moment is None else percent(share.moment, 1),
            ]
            for share in result.shares
        ],
    )


def _pair(survey: Survey) -> list[str]:
    """Two questions that may be samples of one: perturbed, with the same two answers."""
    seen: dict[object, str] = {}
    for attribute in survey.schema.attributes:
        answers = len(attribute.categories) - len(attribute.missing)
        if answers == 2 and attribute.missing and attribute.sensitive:
            first = seen.setdefault((attribute.categories, attribute.missing), attribute.name)
            if first != attribute.name:
                return [first, attribute.name]
    return []


ANALYSIS = Analysis(
    query=TwoSamplesQuery,
    title="Two samples",
    compute=compute,
    start=lambda survey: TwoSamplesQuery(attributes=_pair(survey) or names_of_clearest(survey)),
    grid=grid,
    headline=headline,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    applies=lambda survey: bool(_pair(survey)),
    place="Overview",
    order=35,
)
