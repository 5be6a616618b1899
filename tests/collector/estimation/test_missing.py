"""Missing answers excluded from bases: formula, coverage, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_shared import (
    Attribute,
    DomainTooLarge,
    EstimateError,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from mined import itemsets_of
from respondents import drawn_counts
from sources import aim

from .definitions import TARGETS, differences

SHAPE = (2, 3, 3)
NAMES = ("a", "b", "c")
MISSING = {"b": ("c2",), "c": ("c0",)}


def with_missing(survey):
    """Return the same survey with some categories declared missing."""
    attributes = [replace(a, missing=MISSING.get(a.name, ())) for a in survey.schema.attributes]
    return replace(survey, schema=Schema(attributes))


def answered(table, where=()):
    """Return shares of those who answered, from a table of all attributes."""
    part = table.reshape(SHAPE)[:, :2, 1:]
    part = part[1] if where else part
    return (part / part.sum()).ravel()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("where", [{}, {"a": "c1"}], ids=str)
def test_a_table_is_of_those_who_answered_all_its_questions(reports, oracle, where, target):
    """Against a dense covariance, and a gradient by finite differences."""
    survey, found = reports
    whole = oracle.support(survey, found, NAMES)
    covariance = oracle.covariance(survey, found, NAMES, target)
    slopes = differences(lambda table: answered(table, where), whole)
    expected = slopes @ covariance @ slopes.T

    survey = with_missing(survey)
    estimator = Estimator(survey, Counts.from_reports(survey, found), where, "exclude")
    names = [name for name in NAMES if name not in where]
    table = estimator.table(names)
    np.testing.assert_allclose(table.value.ravel(), answered(whole, where), atol=1e-9)
    np.testing.assert_allclose(
        aim(table, target).covariance(), expected, atol=1e-8 * expected.max()
    )
    np.testing.assert_allclose(aim(table, target).variance().ravel(), np.diag(expected), rtol=1e-6)
    base = whole.reshape(SHAPE)[1 if where else slice(None), :2, 1:]
    assert table.reports == round(30_000 * base.sum())

    # The base of one question is those who answered it, and the other questions on request.
    of_b = whole.reshape(SHAPE)[1 if where else slice(None)]
    of_b = of_b.sum(axis=tuple(axis for axis in range(of_b.ndim) if axis != of_b.ndim - 2))
    np.testing.assert_allclose(estimator.table(["b"]).value, of_b[:2] / of_b[:2].sum())
    margin = table.value.sum(axis=(*range(table.value.ndim - 2), -1))
    others = [name for name in names if name != "b"]
    np.testing.assert_allclose(estimator.table(["b"], answering=others).value, margin)
    share, lower, upper = estimator.people(["b"], others, quantile=2.0)
    np.testing.assert_allclose(share, margin * base.sum())
    kept = np.zeros((2, *SHAPE))
    for code in range(2):
        kept[code, 1 if where else slice(None), code, 1:] = 1
    kept = kept.reshape(2, -1)
    known = oracle.covariance(survey, found, NAMES, "respondents")
    error = np.sqrt(np.diag(kept @ known @ kept.T))
    np.testing.assert_allclose([lower, upper], [share - 2 * error, share + 2 * error], rtol=1e-6)


def test_likelihood_estimates_are_of_those_who_answered(reports):
    survey, found = reports
    survey = with_missing(survey)
    counts = Counts.from_reports(survey, found)
    every = Estimator(survey, counts).best_guess.table(["c", "b"])[1:, :2]
    excluded = Estimator(survey, counts, None, "exclude").best_guess.table(["c", "b"])
    np.testing.assert_allclose(excluded, every / every.sum())


SCHEMA = Schema(
    (
        Attribute("sex", ("female", "male", "not said"), missing=("not said",)),
        Attribute("vote", ("left", "right", "none"), optional=True),
        Attribute("town", ("big", "small")),
    )
)
MECHANISMS = [
    SplitQuestionnaire.designed(SCHEMA, "19", (), {1: 1.0, 2: 1.0, 3: 1.0}),
    RandomizedResponse({"sex": "0.85", "vote": "0.8", "town": "0.85"}),
    GammaDiagonal("19"),
]


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.kind)
def test_intervals_of_those_who_answered_have_their_nominal_coverage(mechanism, target):
    """400 surveys of 4 000 people, but 100 for views, which are slow and gave the same with 400.

    Each has 11 dependent intervals: the coverage has an error of about 0.6 points.
    """
    survey = Survey("s", "S", SCHEMA, mechanism)
    shares = np.random.default_rng(7).dirichlet(np.full(SCHEMA.size, 6.0)).reshape(SCHEMA.shape)
    many = 100 if mechanism.kind == "split-questionnaire" else 400
    truth, surveys = drawn_counts(survey, shares, 4_000, many, target)
    of_vote, of_both = truth.sum(axis=(0, 2))[:3], truth.sum(axis=2)[:2, :3]
    asked = [
        ({}, ["vote"], of_vote / of_vote.sum()),
        ({}, ["sex", "vote"], of_both / of_both.sum()),
        ({"vote": ["left", "none"]}, ["sex"], of_both[:, [0, 2]].sum(1) / of_both[:, [0, 2]].sum()),
    ]
    hits = []
    for counts in surveys:
        for where, names, expected in asked:
            table = Estimator(survey, counts, where, "exclude").table(names)
            lower, upper = table_intervals(aim(table, target), 0.95)
            hits.append(((lower <= expected) & (expected <= upper)).ravel())
    assert 0.93 <= np.concatenate(hits).mean() <= 0.97


def few_of(count, reports=400, categories=("c0", "c1", "-")):
    """Unperturbed reports, `count` of which answer."""
    schema = Schema([Attribute("a", categories, missing=("-",), sensitive=False)])
    survey = Survey("s", "S", schema, RandomizedResponse({"a": "1"}))
    rows = np.full((reports, 1), len(categories) - 1)
    rows[:count:2], rows[1:count:2] = 0, len(categories) - 2
    return Estimator(survey, Counts.from_reports(survey, rows), None, "exclude")


def test_unperturbed_answers_have_the_errors_of_those_who_answered():
    table = few_of(100).table(["a"])
    np.testing.assert_allclose(table.value, 0.5)
    np.testing.assert_allclose(table.variance(), 0.25 / 100 * 400 / 399)
    np.testing.assert_allclose(table.alone.variance(), 0, atol=1e-15)


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        (lambda: few_of(4).table(["a"]), EstimateError, "missing: those who answered a are 1.0"),
        (
            lambda: few_of(100, categories=("c0", "-")).table(["a"]),
            ParameterError,
            "missing: 'a' has one answer besides those missing; expected keep",
        ),
        (lambda: itemsets_of(few_of(100), 0.1), ParameterError, "missing: "),
        (
            lambda: Estimator(few_of(9).survey, few_of(9).counts, None, "drop"),
            ParameterError,
            "missing: expected one of: keep, exclude",
        ),
        (
            lambda: Estimator(few_of(9).survey, few_of(9).counts, {"a": []}),
            ParameterError,
            "where: 'a' has no answer; expected one or more",
        ),
    ],
)
def test_invalid_requests_are_refused_in_one_line(asked, error, said):
    with pytest.raises(error) as caught:
        asked()
    assert caught.value.field == said.partition(":")[0]
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_too_many_cells_are_refused_in_one_line():
    names = "abcdefg"
    schema = Schema([Attribute(n, ("x", "y", "-"), missing=("-",)) for n in names])
    survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(names, "0.9")))
    rows = np.random.default_rng(2).integers(0, 2, size=(500, len(names)))
    estimator = Estimator(survey, Counts.from_reports(survey, rows), None, "exclude")
    with pytest.raises(DomainTooLarge, match="2187 cells") as caught:
        estimator.table(list(names))
    assert caught.value.field == "missing"
