"""Likelihood estimates, against expectation maximization with dense matrices and the truth."""

from functools import reduce

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.likelihood import WholeTable, best_guess
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from sources import estimator_of

SHAPE = (2, 3, 2)


def guessed(survey, reports):
    counts = Counts.from_reports(survey, reports)
    return best_guess(reconstruction(survey), counts)


def simplex(values):
    """The nearest point of the simplex, by bisection."""
    low, high = values.min() - 1, values.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(values - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(values - low, 0)


def independence(survey, reports, oracle):
    singles = []
    for name in survey.schema.names:
        shares = np.maximum(simplex(oracle.support(survey, reports, name)), 1 / len(reports))
        singles.append(shares / shares.sum())
    return reduce(np.kron, singles)


def steps_of_em(matrix, observed, table, steps):
    """Return the table after each step."""
    seen = observed > 0
    tables = [table]
    for _ in range(steps):
        ratio = np.divide(observed, matrix @ table, out=np.zeros_like(observed), where=seen)
        table = table * (matrix.T @ ratio)
        tables.append(table)
    return tables


@pytest.mark.parametrize("count", [40, 3_000, 100_000])
def test_the_estimate_is_a_number_of_em_steps_from_independence(
    make_survey, make_reports, oracle, kind, count
):
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, count, seed=120, concentration=0.3)
    found = guessed(survey, reports)
    _, observed = oracle.known(survey, reports, "abc")
    matrix = oracle.matrix(survey, "abc")
    tables = steps_of_em(matrix, observed, independence(survey, reports, oracle), found.steps)
    np.testing.assert_allclose(found.table.ravel(), tables[-1], atol=1e-9)
    assert found.table.shape == SHAPE
    assert found.table.sum() == pytest.approx(1)


def test_the_estimate_does_not_depend_on_the_order_of_reports(make_survey, make_reports, kind):
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 500, seed=121)
    first, second = guessed(survey, reports), guessed(survey, reports[::-1])
    assert first.steps == second.steps
    np.testing.assert_array_equal(first.table, second.table)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_estimate_of_a_few_reports_is_a_table_of_shares(make_survey, make_reports, kind, count):
    survey = make_survey(kind, SHAPE)
    found = guessed(survey, make_reports(survey, count, seed=122))
    assert found.table.min() >= 0
    assert found.table.sum() == pytest.approx(1)


def population(dependent, rng):
    """Shares of five yes/no answers, strongly dependent or independent."""
    single = [np.array([1 - share, share]) for share in rng.uniform(0.2, 0.5, 5)]
    table = reduce(np.multiply.outer, single)
    if not dependent:
        return table
    alike = np.zeros_like(table)
    alike[0, 0, 0, 0, 0], alike[1, 1, 1, 1, 1] = 0.6, 0.4
    return 0.2 * table + 0.8 * alike


@pytest.mark.parametrize("dependent", [False, True])
def test_the_estimate_is_close_to_the_better_of_independence_and_maximum_likelihood(
    make_schema, oracle, dependent
):
    schema = make_schema((2,) * 5)
    mechanism = RandomizedResponse(dict.fromkeys(schema.names, "0.7"))
    survey = Survey("test", "Test", schema, mechanism)
    matrix = oracle.matrix(survey, schema.names)
    squares = {"guess": [], "independence": [], "most likely": []}
    steps = []
    for seed in range(20):
        rng = np.random.default_rng([123, seed])
        truth = population(dependent, rng)
        cells = rng.choice(truth.size, 3_000, p=truth.ravel())
        records = np.stack(np.unravel_index(cells, truth.shape), axis=1)
        reports = mechanism.bind(schema).reports(records, rng)
        found = guessed(survey, reports)
        steps.append(found.steps)
        _, observed = oracle.known(survey, reports, schema.names)
        tables = steps_of_em(matrix, observed, independence(survey, reports, oracle), 2_000)
        for name, table in [
            ("guess", found.table.ravel()),
            ("independence", tables[0]),
            ("most likely", tables[-1]),
        ]:
            squares[name].append(((table - truth.ravel()) ** 2).sum())
    errors = {name: np.sqrt(np.mean(values)) for name, values in squares.items()}
    better = min(errors["independence"], errors["most likely"])
    assert errors["guess"] < 1.1 * better, (errors, steps)
    if dependent:
        assert errors["guess"] < 0.2 * errors["independence"], (errors, steps)


@pytest.mark.parametrize("kind", ["split", "gamma-diagonal", "kept"])
def test_a_best_guess_of_named_questions_equals_that_of_all_if_these_are_all(kind, monkeypatch):
    """By the parts of the reports about these questions, and by all symbols of all views."""
    schema = Schema([Attribute(f"q{j}", ("a", "b", "c")[: 2 + j % 2]) for j in range(4)])
    mechanism = {
        "split": SplitQuestionnaire.designed(schema, 9, (), {2: 1.0, 4: 1.0}),
        "gamma-diagonal": GammaDiagonal(9),
        "kept": RandomizedResponse(dict.fromkeys(schema.names, "0.7")),
    }[kind]
    rng = np.random.default_rng(3)
    people = rng.integers(0, 2, (6_000, 1)) ^ (rng.random((6_000, 4)) < 0.2)
    whole = estimator_of(Survey("s", "S", schema, mechanism), people, rng)
    expected = whole.best_guess.table(schema.names), whole.best_guess.typical_error(schema.names)
    monkeypatch.setattr("halftruth_collector.estimation.likelihood.CONSTRAINED_CELLS", 2)
    monkeypatch.setattr(WholeTable, "estimate", property(lambda self: self._best_guess.table))
    part = Estimator(whole.survey, whole.counts)
    found = part.best_guess.table(schema.names), part.best_guess.typical_error(schema.names)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-12)
    assert found[1].error == pytest.approx(expected[1].error)
    assert found[1].learned == expected[1].learned


def test_a_best_guess_of_a_pair_among_many_questions_is_near_the_truth(monkeypatch):
    monkeypatch.setattr("halftruth_collector.estimation.likelihood.CONSTRAINED_CELLS", 8)
    schema = Schema([Attribute(f"q{j}", ("a", "b")) for j in range(6)])
    pairs = SplitQuestionnaire.for_amplification(schema, 9, max_length=2)
    rng = np.random.default_rng(4)
    people = (rng.integers(0, 2, (20_000, 1)) ^ (rng.random((20_000, 6)) < 0.1)).astype(int)
    some = estimator_of(Survey("s", "S", schema, pairs), people, rng)
    table = some.best_guess.table(["q0", "q1"])
    # Both answers agree in 0.9² + 0.1² of all people.
    assert table.trace() == pytest.approx(0.82, abs=0.08)
    assert some.best_guess.table(["q4"]).sum() == pytest.approx(1)
