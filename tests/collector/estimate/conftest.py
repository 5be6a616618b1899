"""Surveys of every mechanism, and what dense linear algebra says of their reports."""

from fractions import Fraction
from functools import reduce
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Schema,
    Survey,
)

KINDS = (
    "gamma-diagonal",
    "randomized-gamma-diagonal",
    "randomized-response",
    "distortion-matrices",
)
GAMMA = 19
KEEP = ("4/5", "3/4", "9/10", "7/10")


def _uneven_matrix(size):
    """A column-stochastic matrix without any symmetry, row v reported, column u true."""
    columns = []
    for u in range(size):
        stay = Fraction(7 + u % 2, 10)
        weights = [0 if v == u else 1 + (u + 2 * v) % 3 for v in range(size)]
        column = [(1 - stay) * weight / sum(weights) for weight in weights]
        column[u] = stay
        columns.append(column)
    return [[columns[u][v] for u in range(size)] for v in range(size)]


def _mechanism(kind, schema):
    if kind == "gamma-diagonal":
        return GammaDiagonal(GAMMA)
    if kind == "randomized-gamma-diagonal":
        return RandomizedGammaDiagonal(GAMMA, "1/4")
    if kind == "randomized-response":
        return RandomizedResponse(
            {name: KEEP[j % len(KEEP)] for j, name in enumerate(schema.names)}
        )
    return DistortionMatrices(
        {name: _uneven_matrix(size) for name, size in zip(schema.names, schema.shape, strict=True)}
    )


def _schema(shape, items=None, sensitive=True):
    items = items or {}
    return Schema(
        [
            Attribute(
                chr(ord("a") + j) if j < 26 else f"a{j}",
                [f"c{code}" for code in range(size)],
                items=None if j not in items else [f"c{code}" for code in items[j]],
                sensitive=sensitive,
            )
            for j, size in enumerate(shape)
        ]
    )


class Oracle:
    """Reconstruction by dense inverses written out from the formulas, one weight per report."""

    def matrix(self, survey, names):
        """A of some attributes, from the definition of the mechanism."""
        schema, mechanism = survey.schema, survey.mechanism
        sizes = {a.name: len(a.categories) for a in schema.attributes}
        if isinstance(mechanism, GammaDiagonal):
            gamma = float(mechanism.gamma)
            whole = np.prod(list(sizes.values()), dtype=float)
            cells = int(np.prod([sizes[name] for name in names]))
            keep = (gamma - 1) / (gamma + whole - 1)
            return keep * np.eye(cells) + (1 - keep) / cells
        factors = []
        for name in names:
            size = sizes[name]
            if isinstance(mechanism, RandomizedResponse):
                p = float(mechanism.keep[name])
                q = (1 - p) / (size - 1)
                factors.append(np.full((size, size), q) + (p - q) * np.eye(size))
            else:
                factors.append(np.array(mechanism.matrices[name], dtype=float))
        return reduce(np.kron, factors)

    def cells(self, survey, reports, names):
        """Row-major cell of each report in the table of some attributes."""
        index = np.zeros(len(reports), dtype=int)
        for name in names:
            j = survey.schema.names.index(name)
            index = index * survey.schema.shape[j] + reports[:, j]
        return index

    def weights(self, survey, reports, names):
        """What each report contributes to each cell, shape (N, cells)."""
        inverse = np.linalg.inv(self.matrix(survey, names))
        return inverse[:, self.cells(survey, reports, names)].T

    def support(self, survey, reports, names):
        return self.weights(survey, reports, names).mean(axis=0)

    def covariance(self, survey, reports, names, target):
        """Of the sample mean of the weights, or of the randomization of an estimated table."""
        weights = self.weights(survey, reports, names)
        count = len(reports)
        if target == "population":
            return np.atleast_2d(np.cov(weights, rowvar=False, ddof=1)) / count
        matrix = self.matrix(survey, names)
        inverse = np.linalg.inv(matrix)
        supports = weights.mean(axis=0)
        noise = sum(
            share * (np.diag(column) - np.outer(column, column))
            for share, column in zip(supports, matrix.T, strict=True)
        )
        return inverse @ noise @ inverse.T / (count - 1)

    def variance(self, survey, reports, names, target):
        """Diagonal of the covariance, NaN where the documentation calls it undefined."""
        if len(reports) < 2:
            return np.full(self.matrix(survey, names).shape[1], np.nan)
        result = np.diag(self.covariance(survey, reports, names, target)).copy()
        scale = (self.weights(survey, reports, names) ** 2).mean(axis=0) / (len(reports) - 1)
        if target == "population":
            result[result <= 1e-11 * scale] = np.nan
        else:
            result[result < -1e-11 * scale] = np.nan
        return result

    def itemsets(self, survey, reports, target):
        """Support and variance of every itemset, as {((position, code), …): (…, …)}."""
        schema = survey.schema
        found = {}
        for length in range(1, len(schema.shape) + 1):
            for positions in combinations(range(len(schema.shape)), length):
                names = [schema.names[j] for j in positions]
                supports = self.support(survey, reports, names)
                variances = self.variance(survey, reports, names, target)
                every = product(*(range(schema.shape[j]) for j in positions))
                for cell, codes in enumerate(every):
                    allowed = all(
                        schema.attributes[j].items is None
                        or schema.attributes[j].categories[code] in schema.attributes[j].items
                        for j, code in zip(positions, codes, strict=True)
                    )
                    if allowed:
                        itemset = tuple(zip(positions, codes, strict=True))
                        found[itemset] = (supports[cell], variances[cell])
        return found


@pytest.fixture(scope="session")
def oracle():
    return Oracle()


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="session")
def make_schema():
    return _schema


@pytest.fixture(scope="session")
def make_survey():
    """A survey of a kind, with attributes a, b, … of a shape; `items` by position."""

    def make(kind, shape, items=None):
        schema = _schema(shape, items)
        return Survey("test", "Test", schema, _mechanism(kind, schema))

    return make


@pytest.fixture(scope="session")
def public_survey():
    """A survey that sends every answer as it is."""

    def make(shape, items=None):
        schema = _schema(shape, items, sensitive=False)
        mechanism = RandomizedResponse(dict.fromkeys(schema.names, 1))
        return Survey("public", "Public", schema, mechanism)

    return make


@pytest.fixture(scope="session")
def make_reports():
    """Perturbed reports of records drawn from an uneven population, from a seed."""

    def make(survey, count, seed, concentration=1.0):
        rng = np.random.default_rng(seed)
        shape = survey.schema.shape
        cells = int(np.prod(shape))
        shares = rng.dirichlet(np.full(cells, concentration))
        records = np.stack(np.unravel_index(rng.choice(cells, count, p=shares), shape), axis=1)
        return survey.mechanism.perturb_many(survey.schema, records, rng)

    return make


@pytest.fixture(scope="session")
def reference_data():
    """The folder of reference data beside the repository."""
    folder = Path(__file__).resolve().parents[3].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the reference data is not beside this repository (../shared/data)")
    return folder
