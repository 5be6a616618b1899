"""Prevalence from samples of one question that were randomized differently."""

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

from ..estimation.answers import answer_codes, answers_of, category_code
from ..estimation.bounds import Array, optional
from ..estimation.estimates import estimates
from ..estimation.model.perturbed_outcome import Reported, channel_of_outcome
from ..estimation.two_samples import QUANTITIES, TwoSamples, anchored, stratified
from . import sentences
from .base import Analysis, Counted, Grid, names_of_clearest
from .samples import ASSUMED, no_samples

#: P-value below which a test rejects.
_REJECTED = 0.05


def compute(counted: Counted, query: TwoSamplesQuery) -> TwoSamplesResult:
    """Shares by ``estimation.two_samples``, from the numbers of reports of the questions.

    Raises
    ------
    SchemaError, ParameterError
        If a question or `where` is unknown, a question has not two answers, or sizes of strata do
        not fit.
    """
    survey, names = counted.survey, query.attributes
    for name in query.present:
        if name not in names:
            raise ParameterError(
                f"present: '{name}' is none of the attributes; expected some of: {listing(names)}",
                field="present",
            )
    sizes = _sizes(query)
    attributes = [survey.schema.attributes[place] for place in survey.schema.positions(names)]
    present = {a.name: _present(a, query.present) for a in attributes}
    reported = [_reported(counted, query, a, present[a.name]) for a in attributes]
    known = [each for each in reported if each is not None]
    same = query.design == "anchor"
    numbers = [each and each[1] for each in reported]
    undefined, estimated = no_samples(counted, names, numbers, same_people=same), []
    test: float | None = None
    if undefined is None:
        yes, reports, channels = (np.array(column) for column in zip(*known, strict=True))
        if query.design == "strata":
            few = (reports < 2).any()
            undefined = "a stratum has one report, which shows no error" if few else None
            estimated = [] if few else [stratified(yes, reports, channels, sizes, query.confidence)]
        elif query.design == "anchor":
            both = _both(counted, query, attributes, present)
            estimated, test = anchored(both, channels, query.confidence)
            if np.isnan(test):
                undefined = "the anchor does not tell that anybody follows the instructions"
        else:
            two = TwoSamples(yes, reports, channels, query.design)
            undefined = two.undefined
            if undefined is None:
                estimated, test = [*two.shares(query.confidence)], two.p_value
    columns = {
        name: [getattr(share, name) for share in estimated]
        or [np.nan] * len(QUANTITIES[query.design])
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
        samples=[int(each[1]) for each in known],
        shares=list(shares),
        p_value=None if undefined else test,
    )


def _sizes(query: TwoSamplesQuery) -> Array:
    """Shares of the strata, none where samples are of no strata."""
    questions, strata = len(query.attributes), query.design == "strata"
    if not strata and questions != 2:
        raise ParameterError(
            f"attributes: {questions} questions; expected two, or strata as the design",
            field="attributes",
        )
    if len(query.sizes) != (questions if strata else 0):
        accepted = f"{questions} numbers of people" if strata else "none without strata"
        raise ParameterError(f"sizes: expected {accepted}", field="sizes")
    sizes = np.array(query.sizes, dtype=np.float64)
    return np.asarray(sizes / sizes.sum())


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


def _both(
    counted: Counted,
    query: TwoSamplesQuery,
    attributes: Sequence[Attribute],
    present: dict[str, str],
) -> Array:
    """Reports of those who answered both questions, no and yes of the first and then the second."""
    question, anchor = attributes
    reports = Reported.of(counted.survey, counted.counts, question.name, [anchor.name], query.where)
    both = np.zeros((2, 2))
    both[:, reports.cells[:, 0]] = reports.numbers.T
    for axis, attribute in enumerate(attributes):
        if answers_of(attribute)[0] == present[attribute.name]:
            both = np.flip(both, axis)
    return both


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
        said += "; but some do not follow the instructions"
        said += "" if result.query.design == "anchor" else ", or the samples differ otherwise"
    return sentences.sentence(said)


def _statement(result: TwoSamplesResult, *, clear: bool) -> list[str]:
    """Say what the test says, if it says so clearly or if it does not."""
    if result.p_value is None or (result.p_value < _REJECTED) != clear:
        return []
    supposed = {
        "compliance": "both samples have one prevalence, and all follow the instructions",
        "anchor": "nobody answers at random",
    }.get(result.query.design, "nobody answers no whatever the instructions")
    differ = "the anchor’s reports" if result.query.design == "anchor" else "the samples"
    verdict = f"{differ} would {'seldom' if clear else 'often'} differ as much"
    rest = "" if clear else " That does not show that it is so."
    return [f"If {supposed}, {verdict} (p-value {p_value(result.p_value)}).{rest}"]


def warnings(result: TwoSamplesResult) -> list[str]:
    """Name estimates that are undefined, too uncertain or cut, and instructions not followed."""
    named = [(share.quantity, share) for share in result.shares]
    # The headline has the reason why the first share is undefined, which most often is that of all.
    others = [(name, share) for name, share in named if share.undefined != named[0][1].undefined]
    return [
        *sentences.undefined(others),
        *sentences.too_uncertain(named),
        *sentences.outside(result.shares),
        *_statement(result, clear=True),
    ]


def interpretation(result: TwoSamplesResult) -> list[str]:
    """Say what was assumed, of how many, and what intervals are."""
    samples = zip(result.query.attributes, result.samples, strict=False)
    answers = [f"{sentences.quoted(name)} {number(reports, 0)}" for name, reports in samples]
    return [
        *sentences.presence(result.present),
        *([f"Answers: {sentences.listed(answers)}."] if answers else []),
        ASSUMED[result.query.design],
        *_statement(result, clear=False),
        {
            "strata": "The share is that of all strata by their sizes, and its interval a normal"
            " one.",
            "anchor": "Intervals are normal ones.",
        }.get(
            result.query.design,
            "Estimates are of maximum likelihood, and intervals of the profile likelihood.",
        ),
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
