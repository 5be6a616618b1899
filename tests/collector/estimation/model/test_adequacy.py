"""Tests of omitted interactions, against Pearson's χ², dense matrices and simulated surveys."""

import numpy as np
import pytest
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.model import adequacy, fit_model
from halftruth_collector.estimation.model.design import Design
from halftruth_shared import SplitQuestionnaire, Survey
from sources import counts_of
from weights_of_views import DESIGNS
from weights_of_views import survey_of as split_survey

from ..definitions import schema_of
from .dense import DenseModel, blocks_of, codes_of

SHAPE = (2, 3, 2)


def simulated(survey, truth, reports, seed):
    rng = np.random.default_rng(seed)
    cells = rng.choice(truth.size, reports, p=truth.ravel())
    records = np.stack(np.unravel_index(cells, truth.shape), axis=1)
    return counts_of(survey, records, rng)


def split_of_triples(shape):
    schema = schema_of(shape)
    mechanism = SplitQuestionnaire.designed(schema, 19, (), {1: 1.0, 2: 1.0, 3: 1.0})
    return Survey("s", "S", schema, mechanism)


def world(triple):
    """Shares with pairwise interactions, and a three-way interaction of this size."""
    u = np.stack(np.indices((2, 2, 2, 2))) * 2 - 1
    log = 0.3 * u[0] + 0.4 * u[0] * u[1] - 0.3 * u[1] * u[2] + 0.2 * u[2] * u[3]
    weights = np.exp(log + triple * u[0] * u[1] * u[2])
    return weights / weights.sum()


def test_the_test_of_independence_without_perturbation_is_pearsons(public_survey):
    survey = public_survey((3, 4))
    table = np.random.default_rng(0).integers(20, 60, (3, 4))
    cells = np.stack(np.indices((3, 4)), axis=-1).reshape(-1, 2)
    counts = Counts.from_cells(survey, cells, table.ravel())
    model = fit_model(survey, counts, [["a"], ["b"]], variances=(np.inf, np.inf))
    [found] = adequacy(survey, counts, model)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    assert found.statistic == pytest.approx(((table - expected) ** 2 / expected).sum(), rel=1e-6)
    assert found.degrees_of_freedom == 6
    assert found.term == ("a", "b")


@pytest.mark.parametrize("kind", ["randomized-response", "gamma-diagonal", "direct"])
def test_the_statistic_is_that_of_dense_matrices(make_survey, kind):
    survey = split_survey(DESIGNS[kind]) if kind in DESIGNS else make_survey(kind, SHAPE)
    truth = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(SHAPE)
    counts = simulated(survey, truth, 1_000, 0)
    model = fit_model(survey, counts)
    dense = DenseModel(SHAPE, [(0, 1, 2)], blocks_of(survey, counts))
    own = np.array([np.count_nonzero(code) == 3 for code in codes_of(SHAPE, [(0, 1, 2)])])
    theta = np.zeros(len(own))
    theta[~own] = model.design.corner @ model.coefficients
    # In sum-to-zero coding, where the penalty is diagonal.
    recode = Design(SHAPE, [(0, 1, 2)]).corner
    score, information = recode.T @ dense.score(theta), recode.T @ dense.expected(theta) @ recode
    information[np.flatnonzero(~own), np.flatnonzero(~own)] += model.penalty
    across = information[np.ix_(~own, own)]
    taken = np.linalg.solve(information[np.ix_(~own, ~own)], across)
    spread = information[np.ix_(own, own)] - across.T @ taken
    [found] = adequacy(survey, counts, model)
    expected = score[own] @ np.linalg.solve(spread, score[own])
    assert found.statistic == pytest.approx(expected, rel=1e-6)
    assert found.degrees_of_freedom == 2


def test_a_three_way_interaction_is_found_and_named():
    survey = split_of_triples((2, 2, 2, 2))
    counts = simulated(survey, world(0.4), 20_000, 0)
    first, *_ = adequacy(survey, counts, fit_model(survey, counts))
    assert first.term == ("a", "b", "c")
    assert first.p_value == 1 / 200
    assert first.adjusted_p_value == 1 / 200
    larger = fit_model(survey, counts, ["abc", "ad", "bd", "cd"])
    assert ("a", "b", "c") not in [test.term for test in adequacy(survey, counts, larger)]


@pytest.mark.nightly
def test_true_models_are_rejected_at_the_nominal_rate():
    """Of 160 tests at 5 %, 8 are expected; more than 20 occur by chance once in 10 000 times."""
    survey = split_of_triples((2, 2, 2, 2))
    p_values = [
        test.p_value
        for seed in range(40)
        for counts in [simulated(survey, world(0.0), 1_500, seed)]
        for test in adequacy(survey, counts, fit_model(survey, counts))
    ]
    assert len(p_values) == 160
    assert 0 < np.count_nonzero(np.array(p_values) <= 0.05) <= 20
    assert 0.35 < np.mean(p_values) < 0.65


def test_interactions_without_reports_about_them_are_not_tested(make_survey):
    schema = schema_of((2, 2, 2, 2))
    mechanism = SplitQuestionnaire.designed(schema, 19, (), {1: 1.0, 2: 1.0})
    survey = Survey("s", "S", schema, mechanism)
    pairs = {len(view.positions) for view in mechanism.bind(schema).views}
    counts = simulated(survey, world(0.0), 500, 0)
    model = fit_model(survey, counts)
    assert bool(adequacy(survey, counts, model)) == (max(pairs) > 2)
