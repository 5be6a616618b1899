"""Surveys of every mechanism, and their dense reference estimates."""

import numpy as np
import pytest
from halftruth_shared import RandomizedResponse, Survey

from .definitions import KINDS, Oracle, mechanism_of, schema_of


@pytest.fixture(scope="session")
def oracle():
    return Oracle()


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="session")
def make_schema():
    return schema_of


@pytest.fixture(scope="session")
def make_survey():
    """A function that makes a survey of a kind, with attributes a, b, …; `items` by position."""

    def make(kind, shape, items=None):
        schema = schema_of(shape, items)
        return Survey("test", "Test", schema, mechanism_of(kind, schema))

    return make


@pytest.fixture(scope="session")
def public_survey():
    """A function that makes a survey without perturbation."""

    def make(shape, items=None):
        schema = schema_of(shape, items, public=range(len(shape)))
        mechanism = RandomizedResponse(dict.fromkeys(schema.names, 1))
        return Survey("public", "Public", schema, mechanism)

    return make


@pytest.fixture(scope="session")
def make_reports():
    """A function that perturbs records from a random population, with a seed."""

    def make(survey, count, seed, concentration=1.0):
        rng = np.random.default_rng(seed)
        shape = survey.schema.shape
        cells = int(np.prod(shape))
        shares = rng.dirichlet(np.full(cells, concentration))
        records = np.stack(np.unravel_index(rng.choice(cells, count, p=shares), shape), axis=1)
        return survey.perturbation.reports(records, rng)

    return make


@pytest.fixture
def reports(request, kind, make_survey, make_reports):
    """A survey of each kind with the shape of the module, and reports of it."""
    survey = make_survey(kind, request.module.SHAPE)
    return survey, make_reports(survey, 30_000, 5, concentration=8.0)
