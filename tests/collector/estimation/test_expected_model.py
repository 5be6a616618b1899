"""Expected errors of the model of all answers, against those of simulated surveys."""

from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation.model import fit_model, shares
from halftruth_collector.estimation.planning.expected_model import (
    expected_model,
    variance_of_tables,
)
from halftruth_shared import (
    GammaDiagonal,
    RandomizedResponse,
    SplitQuestionnaire,
    Survey,
)
from sources import counts_of

from .definitions import schema_of

#: Sizes of attributes, mechanism by schema, and number of respondents.
DESIGNS = {
    "pairs of yes and no": ((2,) * 5, lambda s: split(s, "19", 2), 3_000),
    "triples": ((4, 3, 2), lambda s: split(s, "19", 3), 8_000),
    "pairs of several answers": ((2, 3, 4, 2), lambda s: split(s, "9", 2), 10_000),
    "whole records": ((2, 3, 2), lambda s: GammaDiagonal("19"), 5_000),
    "answers by themselves": (
        (2, 2, 3),
        lambda s: RandomizedResponse({"a": "0.8", "b": "0.85", "c": "0.75"}),
        4_000,
    ),
    "low amplification": ((2,) * 4, lambda s: split(s, "5", 2), 6_000),
}


def split(schema, gamma, max_length):
    return SplitQuestionnaire.for_amplification(schema, gamma, (), max_length)


def planned(survey, respondents):
    """Planned standard errors of the survey's own design, by length."""
    model, names = expected_model(survey.schema, survey.mechanism, respondents), survey.schema.names
    sets = [list(combinations(range(len(names)), length)) for length in (1, 2, 3)]
    return [np.sqrt(variance_of_tables(model, of)) for of in sets]


def simulated(survey, respondents, surveys):
    """Root mean squares of what fitted models say of their errors, and of their true errors."""
    rng, schema = np.random.default_rng(7), survey.schema
    said, real = [], []
    for _ in range(surveys):
        people = np.stack([rng.integers(0, size, respondents) for size in schema.shape], axis=1)
        model = fit_model(survey, counts_of(survey, people, rng))
        variances, squares = [], []
        for length in (1, 2, 3):
            tables = [shares(model, names) for names in combinations(schema.names, length)]
            variances.append(np.mean(np.concatenate([t.variance().ravel() for t in tables])))
            off = [(t.value - 1 / t.value.size).ravel() for t in tables]
            squares.append(np.mean(np.concatenate(off) ** 2))
        said.append(variances)
        real.append(squares)
    return np.sqrt(np.mean(said, axis=0)), np.sqrt(np.mean(real, axis=0))


def survey_of_design(name):
    shape, mechanism, respondents = DESIGNS[name]
    schema = schema_of(shape)
    return Survey("s", "S", schema, mechanism(schema)), respondents


@pytest.mark.parametrize("name", DESIGNS)
def test_planned_errors_are_those_that_fitted_models_say(name):
    survey, respondents = survey_of_design(name)
    said, _ = simulated(survey, respondents, 8)
    np.testing.assert_allclose(said, planned(survey, respondents), rtol=0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("name", DESIGNS)
def test_planned_errors_are_those_of_fitted_models(name):
    """A root mean square of 600 surveys of two free cells or more has an error below 2 %."""
    survey, respondents = survey_of_design(name)
    said, real = simulated(survey, respondents, 600)
    np.testing.assert_allclose(said, planned(survey, respondents), rtol=0.05)
    np.testing.assert_allclose(real, planned(survey, respondents), rtol=0.05)


def test_reports_that_tell_of_no_pairs_have_no_model():
    schema = schema_of((4, 3, 4, 3))
    assert expected_model(schema, split(schema, "19", 1), 1_000) is None
