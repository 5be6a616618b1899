"""Expected errors of the model of all answers, against simulated surveys."""

from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation.model import fit_model, shares
from halftruth_collector.estimation.planning.expected_models import expected_model
from halftruth_shared import GammaDiagonal, RandomizedResponse, SplitQuestionnaire, Survey
from sources import counts_of

from .definitions import schema_of


def split(gamma, max_length):
    return lambda schema: SplitQuestionnaire.for_amplification(schema, gamma, (), max_length)


#: Sizes of attributes, mechanism by schema, and number of respondents.
DESIGNS = {
    "pairs of yes and no": ((2,) * 5, split("19", 2), 3_000),
    "triples": ((4, 3, 2), split("19", 3), 8_000),
    "pairs of several answers": ((2, 3, 4, 2), split("9", 2), 10_000),
    "whole records": ((2, 3, 2), lambda _: GammaDiagonal("19"), 5_000),
    "single answers": (
        (2, 2, 3),
        lambda _: RandomizedResponse({"a": "0.8", "b": "0.85", "c": "0.75"}),
        4_000,
    ),
    "low amplification": ((2,) * 4, split("5", 2), 6_000),
}


def tables(model, length):
    return [shares(model, names) for names in combinations(model.schema.names, length)]


def mean_variances(model):
    """Mean variance of the cells of all tables of one, two and three attributes."""
    found = ([table.variance().ravel() for table in tables(model, n)] for n in (1, 2, 3))
    return [np.concatenate(variances).mean() for variances in found]


def mean_squares(model):
    """Mean squared error of the same cells under uniform answers."""
    found = ([(t.value - 1 / t.value.size).ravel() for t in tables(model, n)] for n in (1, 2, 3))
    return [np.mean(np.concatenate(errors) ** 2) for errors in found]


@pytest.mark.parametrize("surveys", [8, pytest.param(600, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", DESIGNS)
def test_planned_errors_are_those_of_fitted_models(name, surveys):
    """With 600 surveys and two free cells or more, a root mean square has an error below 2 %."""
    shape, mechanism, respondents = DESIGNS[name]
    schema, rng = schema_of(shape), np.random.default_rng(7)
    survey = Survey("s", "S", schema, mechanism(schema))
    estimated, real = [], []
    for _ in range(surveys):
        people = np.stack([rng.integers(0, size, respondents) for size in shape], axis=1)
        model = fit_model(survey, counts_of(survey, people, rng))
        estimated.append(mean_variances(model))
        real.append(mean_squares(model))
    planned = np.sqrt(mean_variances(expected_model(schema, survey.mechanism, respondents)))
    np.testing.assert_allclose(np.sqrt(np.mean(estimated, axis=0)), planned, rtol=0.05)
    if surveys == 600:
        np.testing.assert_allclose(np.sqrt(np.mean(real, axis=0)), planned, rtol=0.05)


def test_reports_that_do_not_identify_pairs_have_no_model_of_them():
    schema = schema_of((4, 3, 4, 3))
    mechanism, pairs = split("19", 1)(schema), [*combinations(schema.names, 2)]
    assert expected_model(schema, mechanism, 1_000, terms=pairs) is None
    # By default, a model has the interactions of the pairs that are asked together.
    views = Survey("s", "S", schema, mechanism).perturbation.views
    assert [each.positions for each in views] == [(0,), (2,), (1, 3)]
    alone = [(name,) for name in schema.names]
    assert expected_model(schema, mechanism, 1_000).terms == [*alone, ("b", "d")]
