"""Reference implementations: dense linear algebra, definitions of measures, tables."""

import math
from fractions import Fraction
from functools import reduce
from itertools import combinations, product

import numpy as np
from halftruth_collector.estimation.table import Table
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Schema,
    Survey,
)
from scipy.optimize import brentq
from scipy.special import xlogy

#: Half-width of normal intervals of confidence 0.95, in standard errors.
Z = 1.959963984540054
TARGETS = ("population", "respondents")
PAIR = [[0, 0], [0, 1], [1, 0], [1, 1]]
#: A randomized gamma-diagonal mechanism reconstructs like a gamma-diagonal one. Split
#: questionnaires, whose reports are no records, have their own reference: weights_of_views.
KINDS = ("gamma-diagonal", "randomized-response", "distortion-matrices")
GAMMA = 19
KEEP = ("4/5", "3/4", "9/10", "7/10")


class GivenTable(Table):
    """A table with a given covariance, also under null hypotheses."""

    value = None

    def __init__(self, value, covariance, reports=2_000):
        self.value, self.spread, self.reports = value, covariance, reports
        self.axes = tuple("abcdefgh"[: value.ndim])

    @property
    def effective_reports(self):
        return np.full(self.value.shape, float(self.reports))

    def _variance(self, target):
        return np.diag(self.spread).reshape(self.value.shape)

    def _covariance(self, target):
        return self.spread.copy()

    def _expected_covariance(self, forms, shares):
        return forms @ self.spread @ forms.T


def schema_of(shape, items=None, public=()):
    """Return attributes a, b, …; `items` maps positions to the codes that are items."""
    items = items or {}
    return Schema(
        [
            Attribute(
                chr(ord("a") + j) if j < 26 else f"a{j}",
                [f"c{code}" for code in range(size)],
                items=[f"c{code}" for code in items[j]] if j in items else None,
                sensitive=j not in public,
            )
            for j, size in enumerate(shape)
        ]
    )


def survey_of(mechanism, shape, public=""):
    """Return a survey of attributes a, b, …; those in `public` are not sensitive."""
    schema = schema_of(shape, public=["abcdefgh".index(name) for name in public])
    return Survey("s", "S", schema, mechanism)


def uneven_matrix(size):
    """A column-stochastic matrix without any symmetry, row v reported, column u true."""
    columns = []
    for u in range(size):
        stay = Fraction(7 + u % 2, 10)
        weights = [0 if v == u else 1 + (u + 2 * v) % 3 for v in range(size)]
        column = [(1 - stay) * weight / sum(weights) for weight in weights]
        column[u] = stay
        columns.append(column)
    return [[columns[u][v] for u in range(size)] for v in range(size)]


def mechanism_of(kind, schema, matrix=uneven_matrix):
    """Return a mechanism that leaves only public answers unperturbed."""
    if kind == "gamma-diagonal":
        return GammaDiagonal(GAMMA)
    if kind == "randomized-gamma-diagonal":
        return RandomizedGammaDiagonal(GAMMA, "1/20")
    if kind == "randomized-response":
        return RandomizedResponse(
            {a.name: KEEP[j % 4] if a.sensitive else 1 for j, a in enumerate(schema.attributes)}
        )
    return DistortionMatrices({a.name: matrix(len(a.categories)) for a in schema.attributes})


def counted(attribute):
    """The answers that count in itemsets: those named, yes of yes and no, or all."""
    if attribute.items is not None:
        return set(attribute.items)
    answers = set(attribute.categories) - set(attribute.missing)
    return {"yes"} if answers == {"no", "yes"} else answers


class Oracle:
    """Reconstruction by dense inverses of the formulas, with a weight for each report."""

    def matrix(self, survey, names):
        """Return A for some attributes, from the definition of the mechanism."""
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

    def contributions(self, survey, names):
        """Return the contribution of each distinct report to each cell, shape (cells, reports)."""
        return np.linalg.inv(self.matrix(survey, names))

    def cells(self, survey, records, names):
        """Return the row-major cell of each record in the table of some attributes."""
        positions = [survey.schema.names.index(name) for name in names]
        shape = [survey.schema.shape[j] for j in positions]
        return np.ravel_multi_index(tuple(records[:, positions].T), shape)

    def known(self, survey, reports, names):
        """Return contributions to each cell, and the share of the reports with each of them."""
        contributions = self.contributions(survey, list(names))
        which = self.cells(survey, reports, names)
        return contributions, np.bincount(which, minlength=contributions.shape[1]) / len(reports)

    def support(self, survey, reports, names):
        contributions, observed = self.known(survey, reports, names)
        return contributions @ observed

    def covariance(self, survey, reports, names, target):
        """Guo Result 1: covariance of the mean contribution, or due to randomization alone."""
        contributions, observed = self.known(survey, reports, names)
        support = contributions @ observed
        second = (contributions * observed) @ contributions.T
        taken = np.outer(support, support) if target == "population" else np.diag(support)
        return (second - taken) / (len(reports) - 1)

    def variance(self, survey, reports, names, target):
        """Return variances; NaN where the documentation calls them undefined."""
        contributions, observed = self.known(survey, reports, names)
        if len(reports) < 2:
            return np.full(len(contributions), np.nan)
        second, support = contributions**2 @ observed, contributions @ observed
        result = second - (support**2 if target == "population" else support)
        defined = result > (1e-11 if target == "population" else -1e-11) * second
        return np.where(defined, np.maximum(result, 0), np.nan) / (len(reports) - 1)

    def itemsets(self, survey, reports, target):
        """Return {((position, code), …): (support, variance)} of every itemset."""
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
                        schema.attributes[j].categories[code] in counted(schema.attributes[j])
                        for j, code in zip(positions, codes, strict=True)
                    )
                    if allowed:
                        itemset = tuple(zip(positions, codes, strict=True))
                        found[itemset] = (supports[cell], variances[cell])
        return found


def category_measures(t, n):
    """Measures of tables (…, rows, columns) of two attributes with n reports; complex allowed."""
    rows, columns = t.sum(-1, keepdims=True), t.sum(-2, keepdims=True)
    information = xlogy(t, t / (rows * columns)).sum((-1, -2))
    squares = (columns**2).sum((-1, -2))
    return {
        "chi_squared": n * ((t - rows * columns) ** 2 / (rows * columns)).sum((-1, -2)),
        "g_squared": 2 * n * information,
        "mutual_information": information / -xlogy(rows, rows).sum((-1, -2)),
        "uncertainty_coefficient": information / -xlogy(columns, columns).sum((-1, -2)),
        "concentration": ((t**2 / rows).sum((-1, -2)) - squares) / (1 - squares),
    }


def pair_measures(t, n):
    """Measures of tables (…, 2, 2) of absence (0) and presence (1); complex allowed."""
    p00, p01, p10, p11 = t[..., 0, 0], t[..., 0, 1], t[..., 1, 0], t[..., 1, 1]
    r0, r1, c0, c1 = p00 + p01, p10 + p11, p00 + p10, p01 + p11
    agree, chance = p11 + p00, r1 * c1 + r0 * c0
    return {
        "phi": (p11 * p00 - p01 * p10) / np.sqrt(r1 * c1 * r0 * c0),
        "odds_ratio": p11 * p00 / (p10 * p01),
        "jaccard": p11 / (p11 + p10 + p01),
        "cosine": p11 / np.sqrt(r1 * c1),
        "interest": p11 / (r1 * c1),
        "piatetsky_shapiro": p11 - r1 * c1,
        "conviction": r1 * c0 / p10,
        "j_measure": xlogy(p11, p11 / (r1 * c1)) + xlogy(p10, p10 / (r1 * c0)),
        "certainty": (p11 / r1 - c1) / c0,
        "standardized_residual": np.sqrt(n) * (p11 - r1 * c1) / np.sqrt(r1 * c1),
        "added_value": p11 / r1 - c1,
        # Along the rule; D in the source is that of the transposed table.
        "risk_difference": p11 / r1 - p01 / r0,
        "column_risk_difference": p00 / c0 - p01 / c1,
        "laplace": (n * p11 + 1) / (n * r1 + 2),
        "kappa": (agree - chance) / (1 - chance),
        "collective_strength": agree / chance * (1 - chance) / (p10 + p01),
        **category_measures(t, n),
    }


#: Measures with a minimum of 0 at independence, and those among them with logarithms of cells.
FROM_ZERO = (
    "chi_squared",
    "g_squared",
    "mutual_information",
    "uncertainty_coefficient",
    "concentration",
    "j_measure",
)
LOGARITHMS = ("g_squared", "mutual_information", "uncertainty_coefficient", "j_measure")


def pair_factors(t):
    """Numerators and denominators of ratios of tables (…, 2, 2); complex allowed."""
    p00, p01, p10, p11 = t[..., 0, 0], t[..., 0, 1], t[..., 1, 0], t[..., 1, 1]
    r0, r1, c0, c1 = p00 + p01, p10 + p11, p00 + p10, p01 + p11
    chance = r1 * c1 + r0 * c0
    return {
        "odds_ratio": ([p11, p00], [p10, p01]),
        "interest": ([p11], [r1, c1]),
        "conviction": ([r1, c0], [p10]),
        "collective_strength": ([p11 + p00, 1 - chance], [chance, p10 + p01]),
    }


def differences(of, values, step=1e-6):
    """Derivatives of results (rows) by values (columns), by central differences."""
    ways = step * np.eye(values.size).reshape(values.size, *values.shape)
    return np.stack([(of(values + way) - of(values - way)) / (2 * step) for way in ways], axis=1)


def gradient_of(formula, table):
    """Gradient of a formula at a table, by complex steps."""
    steps = 1e-30j * np.eye(table.size).reshape(table.size, *table.shape)
    return formula(table + steps).imag / 1e-30


def first_order_error(formula, table, covariance):
    """Standard error by the delta method; NaN if the variance is negative."""
    gradient = gradient_of(formula, table)
    variance = gradient @ covariance @ gradient
    return math.sqrt(variance) if variance >= 0 else math.nan


def curvature_of(formula, table, step=1e-6):
    """Second derivatives of a formula at a table, by differences of complex-step gradients."""
    ways = step * np.eye(table.size).reshape(table.size, *table.shape)
    return np.array(
        [
            (gradient_of(formula, table + way) - gradient_of(formula, table - way)) / (2 * step)
            for way in ways
        ]
    )


def from_zero(formula, table, covariance):
    """Return value, standard error and interval of a measure that is 0 at independence.

    The interval has every θ ≥ 0 within Z standard errors, √(½ tr((HV)²) + κθ), of the estimate
    g − b, found by bisection.
    """
    plain = float(formula(table))
    change = curvature_of(formula, table) @ covariance
    value = max(plain - np.trace(change) / 2, 0.0)
    least = np.trace(change @ change) / 2
    growth = first_order_error(formula, table, covariance) ** 2 / plain

    def away(truth):
        return abs(value - truth) - Z * math.sqrt(least + growth * truth)

    upper = value + 1
    while away(upper) < 0:
        upper = 2 * upper
    lower = 0.0 if away(0.0) <= 0 else brentq(away, 0.0, value, xtol=1e-15, rtol=1e-13)
    ends = lower, brentq(away, value, upper, xtol=1e-15, rtol=1e-13)
    return value, math.sqrt(least + growth * value), ends


def ratio_of(factors, table, covariance):
    """Return value, standard error of the logarithm, and interval of a ratio, maybe open."""
    over, under = factors(table)
    if min(*over, *under) <= 0:
        return math.nan, math.nan, (math.nan, math.nan)
    value = math.prod(over) / math.prod(under)

    def side(which, place):
        return lambda t: factors(t)[which][place]

    def logarithm(t):
        return np.log(math.prod(factors(t)[0]) / math.prod(factors(t)[1]))

    error = first_order_error(logarithm, table, covariance)
    clear = [
        all(
            value > Z * first_order_error(side(which, k), table, covariance)
            for k, value in enumerate(values)
        )
        for which, values in enumerate((over, under))
    ]
    lower, upper = (value * math.exp(way * Z * error) for way in (-1, 1))
    opened = lower if clear[0] else 0.0, upper if clear[1] else math.inf
    return value, error, opened if error == error else (math.nan, math.nan)


def slopes(formulas, table):
    """Gradient of each formula at a table by complex steps, without cancellation."""
    moved = table + 1e-30j * np.eye(table.size).reshape(table.size, *table.shape)
    return {name: value.imag / 1e-30 for name, value in formulas(moved).items()}
