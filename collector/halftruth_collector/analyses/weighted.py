"""Distributions where the margins of other questions are known."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema, Survey
from halftruth_shared.analyses.weighted import WeightedQuery
from halftruth_shared.results import (
    QUANTITIES,
    Block,
    Caveat,
    EstimateColumns,
    Labels,
    Result,
    Show,
    Texts,
    note,
    warning,
)
from halftruth_shared.results.caveats import listed
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.layout import in_words
from halftruth_shared.results.wording import number_in_words
from msgspec.structs import replace

from ..estimation.bounds import Array
from ..estimation.calibration import Margin, Weighted, calibrate, known_margins, rake
from ..estimation.estimates import Estimates, covariance_of, shares_of_table
from ..estimation.groups import survey_in_groups
from ..estimation.reconstruction import reconstruction
from .base import Analysis, AnalysisContext, RowBuilder, asked_together, clearest, wanted_pairs
from .deciding import AtLevel, as_selected, selected_sets
from .shares import precision

#: P-value below which a caveat says that respondents are not a sample with these margins.
_OFF = 0.01


class _Question(NamedTuple):
    """Distribution of one question: its estimates, their covariance, and how it was weighted."""

    name: str
    answers: Sequence[str]
    parts: Sequence[EstimateColumns]
    covariance: Sequence[Array]
    precision: Caveat
    weighted: Weighted
    people: float


def compute(counted: AnalysisContext, query: WeightedQuery) -> Result[WeightedQuery]:
    """Weight the distribution of each question, from one table of it and all margins."""
    if query.population is not None and query.method == "raking":
        raise ParameterError(
            "population: raked respondents are no simple random sample; expected none, or"
            " calibration",
            field="population",
        )
    schema = counted.estimator.schema
    margins, people = known_margins(schema, query.margins)
    names, identified = query.attributes, counted.estimator.identified
    if names is None:
        others = [name for name in schema.names if name not in query.margins]
        names = [name for name in others if identified([name, *query.margins])]
    schema.positions([*(names or query.margins)])
    known = [name for name in names if name in query.margins]
    if known or not names:
        reason = (
            f"the margin of '{known[0]}' is known"
            if known
            else f"no report asks {' and '.join(query.margins)} together with another question"
            if len(query.margins) < len(schema.names)
            else "all margins are known"
        )
        raise ParameterError(f"attributes: {reason}; expected other questions", field="attributes")
    questions = [_weighted(counted, query, margins, people, name) for name in names]
    rows = RowBuilder(question={"kind": "question"}, answer={"kind": "answer"})
    for each in questions:
        for part in each.parts:
            rows.add(part, question=each.name, answer=each.answers)
    blocks = [block for q in questions for block in q.covariance]
    return counted.result(
        query,
        rows.keys,
        rows.parts,
        tests=[
            Test(name="margins", p_value=q.weighted.p_value, undefined=q.weighted.undefined)
            for q in questions
            if query.method == "calibration"
        ],
        caveats=[*_caveats(query, margins, questions), *_left_out(schema, query, names)],
        covariance=covariance_of(*blocks) if query.covariance else None,
    )


def _weighted(
    counted: AnalysisContext,
    query: WeightedQuery,
    margins: Sequence[Margin],
    people: float | None,
    name: str,
) -> _Question:
    """Return the distribution of one question given the margins, and without them."""
    schema = counted.estimator.schema
    attribute = schema.attributes[schema.position(name)]
    others = [margin.attribute.name for margin in margins]
    table = counted.estimator.table([name, *others])
    method = {"raking": rake, "calibration": calibrate}[query.method]
    weighted = method(table, margins)
    answers = weighted.answers
    by_itself = counted.estimator.table([name], answering=others)
    unweighted = dataclasses.replace(
        shares_of_table(by_itself, QUANTITIES["unweighted"]), parts=None
    )
    effective = by_itself.effective_reports / (weighted.design_effect or 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.maximum(np.diag(answers.covariance), 0.0) / by_itself.variance()
    parts = [
        answers.columns(query.confidence),
        unweighted.columns(query.confidence),
        # It is a ratio of two known errors, and therefore has no standard error.
        replace(
            Estimates.numbers(QUANTITIES["design_effect"], effect).columns(),
            reliability=Texts.of(["usable" if known else None for known in np.isfinite(effect)]),
        ),
    ]
    return _Question(
        name,
        attribute.categories,
        parts,
        [answers.covariance, by_itself.covariance(), np.full_like(answers.covariance, np.nan)],
        precision(answers.interval(query.confidence).half_width, effective, question=name),
        weighted,
        float(table.reports if people is None else people),
    )


def _caveats(
    query: WeightedQuery, margins: Sequence[Margin], questions: Sequence[_Question]
) -> Iterator[Caveat]:
    """Yield caveats on the margins, their fit, the precision of shares, and the assumptions."""
    if all(len(set(shares.values())) == 1 for shares in query.margins.values()):
        yield warning("even margins")
    for each in questions:
        if each.weighted.undefined is None and each.precision.weight == "warning":
            yield each.precision
    # If the same people answered all questions, this is a single test.
    p_values = [q.weighted.p_value for q in questions]
    tests = {round(p, 9) for p in p_values if p is not None}
    unlikely = [
        None if p is None or p * len(tests) >= _OFF else warning("unlikely margins", p_value=p)
        for p in p_values
    ]
    yield from _by_question(questions, unlikely)
    known = {
        margin.attribute.name: dict(
            zip(margin.attribute.categories, margin.shares.tolist(), strict=True)
        )
        for margin in margins
    }
    yield note("margins", margins=known)
    yield from _by_question(questions, [_weights(q) for q in questions])
    yield note(query.method)


def _left_out(schema: Schema, query: WeightedQuery, names: Sequence[str]) -> Iterator[Caveat]:
    """Yield a note on the questions that no report asks together with those of the margins."""
    left = [name for name in schema.names if name not in (*names, *query.margins)]
    if left and query.attributes is None:
        yield note("unasked with margins", questions=left)


def _weights(question: _Question) -> Caveat | None:
    """Return the range of the weights of the people who answered."""
    weights = question.weighted.weights
    if weights is None:
        return None
    used = weights[weights > 0]
    return note(
        "weights",
        people=question.people,
        smallest=float(used.min()),
        largest=float(used.max()),
        design_effect=question.weighted.design_effect,
    )


def _by_question(
    questions: Sequence[_Question], caveats: Sequence[Caveat | None]
) -> Iterator[Caveat]:
    """Name the question of each caveat, unless all have the same one."""
    said = {each and each.sentence for each in caveats}
    first, same = caveats[0], len(said) == 1
    for question, each in zip(questions, caveats, strict=True):
        if each is not None and not same:
            yield replace(each, values={"question": question.name, **each.values})
    if first is not None and same:
        yield first


def layout(result: Result[WeightedQuery], labels: Labels) -> list[Block]:
    """Arrange a line for each answer, with its share given the margins, and without them."""
    how, label = {
        "raking": ("weighted to", "weighted"),
        "calibration": ("calibrated by", "calibrated"),
    }[result.query.method]
    return [
        Block(
            title=f"Answers · {how} {listed([*map(labels.quoted, result.query.margins)])}",
            lines=["question", "answer"],
            shows=[
                Show(quantity="share", label=label),
                Show(quantity="unweighted", parts=["value"], label="unweighted", drawn=False),
                Show(quantity="design_effect", parts=["value"], drawn=False),
            ],
            panels=1,
            picture="bars",
        )
    ]


def decide(result: Result[WeightedQuery], at_level: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Find the share that weighting changes most: a description of two estimates, not a test."""
    shares, without = result.places("share"), result.places("unweighted")
    change = np.abs(result.estimates.value[shares] - result.estimates.value[without])
    if np.isnan(change).all():
        return result.tests, [Claim(kind="untested")]
    # Both answers to a yes/no question change equally up to rounding: name the first one.
    most = int(np.nanargmax(np.round(change, 12)))
    row, many = int(shares[most]), int(np.isfinite(change).sum())
    rows = [row, int(without[most])]
    sets = selected_sets(result, at_level, rows, 1 - result.query.confidence, many)
    return result.tests, [Claim(kind="estimate", rows=rows, sets=sets)]


def state(result: Result[WeightedQuery], claim: Claim, labels: Labels) -> str:
    """State a share with and without the margins."""
    if claim.kind == "untested":
        reason = next(filter(None, result.estimates.texts("undefined")), "")
        return f"With these margins no share is defined{f': {reason}' if reason else ''}."
    most, without = as_selected(result, claim), result.rows[claim.rows[1]]
    about = labels.quoted_items({most["question"]: most["answer"]})
    if most.reliability == "not usable":
        return f"Weighting changes {about} most, which is not known precisely enough to use."
    return (
        f"Weighting changes {about} most: {in_words(most)},"
        f" {number_in_words(without, without.of)} unweighted."
    )


def _start(survey: Survey) -> WeightedQuery:
    """Return the initial query: uniform placeholder margins of one question.

    With wanted tables it is the group whose shares are the most precise in a table by it, relative
    to the share of each of its answers if all are even; otherwise the question with fewest answers.
    Each of them is likely to be frequent enough for weighting.
    """
    shortest = (asked_together(survey, clearest(survey), 2) or clearest(survey))[0]
    source = reconstruction(survey_in_groups(survey))

    def relative_variance(table: tuple[Attribute, Attribute]) -> float:
        outcomes, groups = (len(each.categories) for each in table)
        cells = source.unit_variance([each.name for each in table], "population")
        return float(np.mean(cells.at(1 / (outcomes * groups)))) * outcomes * groups**2

    if wanted := wanted_pairs(survey):
        shortest = min(wanted, key=relative_variance)[1]
    even = dict.fromkeys(shortest.categories, round(1 / len(shortest.categories), 6))
    return WeightedQuery(margins={shortest.name: even})


ANALYSIS = Analysis(
    query=WeightedQuery,
    title="Weighting",
    compute=compute,
    start=_start,
    layout=layout,
    decide=decide,
    state=state,
    min_order=2,
    place="Overview",
    order=40,
)
