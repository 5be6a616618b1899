"""Distributions where the margins of other questions are known."""

from collections.abc import Sequence
from itertools import islice

import numpy as np
from halftruth_shared import ParameterError, Survey
from halftruth_shared.analyses.weighted import (
    WeightedAnswer,
    WeightedQuery,
    WeightedQuestion,
    WeightedResult,
    Weights,
)
from halftruth_shared.results.charts import EstimateChart
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import (
    number,
    p_value,
    percent,
    share,
    value,
)

from ..estimation.association import known_covariance
from ..estimation.bounds import Array, normal_quantile, optional
from ..estimation.calibration import Margin, Weighted, calibrate, known_margins, rake
from ..estimation.estimates import covariance_of, estimates
from ..estimation.intervals import SHARE
from ..estimation.variances import error_parts
from . import sentences, verdicts
from .base import Analysis, Counted, Grid, clearest
from .deciding import as_selected, interval_of_selected
from .overview import chart_of_questions

#: P-value below which respondents are reported to be no sample with these margins.
_OFF = 0.01


def compute(counted: Counted, query: WeightedQuery) -> WeightedResult:
    """Distributions by ``estimation.calibration``, from one table for each question.

    Raises
    ------
    ParameterError, SchemaError
        If the margins are none, or a question is unknown or among theirs.
    DomainTooLarge
        If the table of a question and all margins is too large for its covariance.
    """
    if query.population is not None and query.method == "raking":
        raise ParameterError(
            "population: raked respondents are no simple random sample; expected none, or"
            " calibration",
            field="population",
        )
    schema = counted.estimator.schema
    margins, people = known_margins(schema, query.margins)
    names = (
        [name for name in schema.names if name not in query.margins]
        if query.attributes is None
        else query.attributes
    )
    schema.positions(names)
    known = [name for name in names if name in query.margins]
    if known or not names:
        reason = f"the margin of '{known[0]}' is known" if known else "all margins are known"
        raise ParameterError(f"attributes: {reason}; expected other questions", field="attributes")
    weighted = [_weighted(counted, query, margins, people, name) for name in names]
    questions, covariances = zip(*weighted, strict=True)
    return WeightedResult(
        **counted.origin(),
        query=query,
        questions=list(questions),
        covariance=covariance_of(*covariances) if query.covariance else None,
    )


def _weighted(
    counted: Counted,
    query: WeightedQuery,
    margins: Sequence[Margin],
    people: float | None,
    name: str,
) -> tuple[WeightedQuestion, Array]:
    """Distribution of one question, and the covariance of its shares."""
    schema = counted.estimator.schema
    attribute = schema.attributes[schema.position(name)]
    others = [margin.attribute.name for margin in margins]
    table = counted.estimator.table([name, *others])
    method = {"raking": rake, "calibration": calibrate}[query.method]
    estimate = method(table.support, known_covariance(table, query.target), margins)
    by_itself = counted.estimator.table([name], answering=others)
    before = by_itself.variance(query.target)
    variance = np.diag(estimate.covariance)
    error = np.sqrt(np.where(variance > 0, variance, np.nan))
    of_these = estimate.gradient @ table.covariance("respondents") @ estimate.gradient.T
    perturbation, sampling = error_parts(error**2, np.diag(of_these))
    half_width = normal_quantile(1 - query.confidence) * error
    effective = by_itself.effective_reports / (estimate.design_effect or 1.0)
    reliability, verdict = verdicts.on_table(half_width, effective)
    if estimate.undefined is not None:
        verdict = f"{reliability}: {estimate.undefined}"
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = variance / before
    question = WeightedQuestion(
        attribute=name,
        label=attribute.label_in(),
        reliability=reliability,
        verdict=verdict,
        undefined=estimate.undefined,
        answers=[
            *estimates(
                WeightedAnswer,
                SHARE,
                estimate.share,
                error,
                (estimate.share - half_width, estimate.share + half_width),
                errors=(perturbation, sampling),
                undefined=[estimate.undefined] * len(error),
                answer=attribute.categories,
                unweighted=by_itself.support.tolist(),
                design_effect=[*map(optional, effect.tolist())],
            )
        ],
        sum_of_weights=float(table.reports if people is None else people),
        weights=_weights(estimate),
        p_value=estimate.p_value,
    )
    return question, estimate.covariance


def _weights(weighted: Weighted) -> Weights | None:
    if weighted.weights is None or weighted.design_effect is None:
        return None
    used = weighted.weights[weighted.weights > 0]
    return Weights(
        smallest=float(used.min()),
        largest=float(used.max()),
        design_effect=weighted.design_effect,
    )


def grid(result: WeightedResult) -> Grid:
    """Each answer with its share given the margins, and without; the question beside its first."""
    return Grid(
        [
            "question",
            "answer",
            "weighted" if result.query.method == "raking" else "calibrated",
            sentences.level(result.query.confidence),
            "without margins",
            "design effect",
        ],
        [
            [
                "" if i else question.attribute,
                answer.answer,
                *sentences.share_cells(answer),
                share(answer.unweighted, answer.ends),
                value(answer.design_effect, (0.0, 0.5)),
            ]
            for question in result.questions
            for i, answer in enumerate(question.answers)
        ],
    )


def chart(result: WeightedResult) -> EstimateChart:
    """Shares of all answers given the margins, grouped by question."""
    how = {"raking": "weighted to", "calibration": "calibrated by"}[result.query.method]
    by = f"{how} {sentences.listed([*map(sentences.quoted, result.query.margins)])}"
    title = sentences.title(result, "Answers", by)
    return chart_of_questions(result, title, warnings(result))


def decide(result: WeightedResult) -> tuple[list[Test], list[Claim]]:
    """The share that the margins change most: a description of two estimates, not a test."""
    known = [
        (abs(share.value - unweighted), i)
        for i, (_, share, (unweighted, _)) in enumerate(result.estimates())
        if share.value is not None
    ]
    if not known:
        return [], [Claim(kind="untested")]
    row = max(known, key=lambda pair: pair[0])[1]
    _, most, _ = next(islice(result.estimates(), row, None))
    interval = interval_of_selected(most, 1 - result.query.confidence, len(known))
    return [], [Claim(kind="estimate", rows=[row], interval=interval)]


def state(result: WeightedResult, claim: Claim) -> str:
    """State a share with and without the margins."""
    if claim.kind == "untested":
        return "With these margins no share is defined."
    (name, _, answer), most, (unweighted, _) = next(islice(result.estimates(), claim.rows[0], None))
    most = as_selected(most, claim)
    return (
        f"The margins change most: {sentences.quoted(str(name))}, {answer}:"
        f" {sentences.of_share(most)}, {share(unweighted, most.ends)} without them."
    )


def warnings(result: WeightedResult) -> list[str]:
    """Warn of default margins, undefined or imprecise estimates, and unlikely margins."""
    even = all(len(set(shares.values())) == 1 for shares in result.query.margins.values())
    example = ["These margins are even, as on a page that was asked nothing: put known ones there."]
    reasons = dict.fromkeys(q.undefined for q in result.questions if q.undefined)
    lines = [*(example if even else []), *(f"Undefined: {reason}." for reason in reasons)]
    lines += [
        f"{sentences.quoted(question.attribute)} is {question.verdict}."
        for question in result.questions
        if question.undefined is None and question.reliability != "usable"
    ]
    # Where the same people count for all questions, this is one test.
    tests = {round(q.p_value, 9) for q in result.questions if q.p_value is not None}
    off = [
        "The respondents are hardly people with these margins (p-value"
        f" {p_value(q.p_value)}): if some are missing, calibration is biased."
        if q.p_value is not None and q.p_value * len(tests) < _OFF
        else None
        for q in result.questions
    ]
    return [*lines, *_by_question(result, off)]


def _by_question(result: WeightedResult, said: Sequence[str | None]) -> list[str]:
    """The sentence of each question, with its name unless all have the same one."""
    if len(set(said)) == 1:
        return [sentence for sentence in said[:1] if sentence]
    pairs = zip(result.questions, said, strict=True)
    return [f"“{q.attribute}”: {sentence}" for q, sentence in pairs if sentence]


def interpretation(result: WeightedResult) -> list[str]:
    """Describe the margins, the design effect, and the assumptions."""
    lines = [f"Margins: {_in_words(result)}."]
    weights = [
        f"Sum of weights {number(q.sum_of_weights, 0)}; weights from"
        f" {number(q.weights.smallest, 2)} to {number(q.weights.largest, 2)} times their mean,"
        f" with a design effect of {number(q.weights.design_effect, 2)} by themselves."
        if q.weights
        else None
        for q in result.questions
    ]
    lines += _by_question(result, weights)
    if result.query.method == "raking":
        lines.append(
            "This makes up for who responded only as far as that depends on the margins' questions"
            " alone."
        )
    else:
        lines.append("This makes up for no missing people; it assumes that there are none.")
    return lines


def _in_words(result: WeightedResult) -> str:
    parts = []
    for name, shares in result.query.margins.items():
        total = sum(shares.values())
        each = ", ".join(f"{category} {percent(s / total, 1)}" for category, s in shares.items())
        parts.append(f"{sentences.quoted(name)} ({each})")
    return sentences.listed(parts)


def _start(survey: Survey) -> WeightedQuery:
    """Even shares of the question with the fewest answers, where known ones belong.

    Of few answers none is likely to be so rare that nothing can be weighted by it.
    """
    shortest = clearest(survey)[0]
    even = dict.fromkeys(shortest.categories, round(1 / len(shortest.categories), 6))
    return WeightedQuery(margins={shortest.name: even})


ANALYSIS = Analysis(
    query=WeightedQuery,
    title="Weighting",
    compute=compute,
    start=_start,
    grid=grid,
    decide=decide,
    state=state,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    together=2,
    place="Overview",
    order=40,
)
