"""Likelihood-ratio tests of reports by dense matrices, a reference for the power of results.

The likelihood of the reports is maximized numerically over all distributions of the answers, with
and without the effect, independently of the code under test.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from dense import gamma_diagonal, kronecker, randomized_response
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.estimation import Counts
from halftruth_shared import GammaDiagonal, RandomizedResponse, Survey
from scipy.optimize import minimize
from scipy.special import expit, softmax
from scipy.stats import chi2
from weights_of_views import Definition
from worlds import ALPHA, World, compute, keep, split, whole

Array = np.ndarray


def channel(survey: Survey) -> Array:
    """Return P(report | record); rows are reports."""
    mechanism, shape = survey.mechanism, survey.schema.shape
    if isinstance(mechanism, GammaDiagonal):
        return np.array(gamma_diagonal(int(np.prod(shape)), mechanism.gamma), dtype=float)
    if isinstance(mechanism, RandomizedResponse):
        kept = [mechanism.keep[name] for name in survey.schema.names]
        pairs = zip(shape, kept, strict=True)
        return np.array(kronecker([randomized_response(*pair) for pair in pairs]), dtype=float)
    found = Definition(survey).channel
    return found.reshape(-1, int(np.prod(shape)))


def number_of_reports(counts: Counts) -> Array:
    """Return the number of reports of each kind, in the order of :func:`channel`."""
    return counts.marginal(range(len(counts.shape))).ravel().astype(float)


def maximum(of: Callable[[Array], Array], size: int, matrix: Array, numbers: Array) -> float:
    """Return the maximum log-likelihood of the reports over tables with `size` parameters."""
    seen = numbers > 0
    share, rows = numbers[seen] / numbers.sum(), matrix[seen]

    def loss(parameters: Array) -> float:
        return -float(share @ np.log(rows @ of(parameters)))

    found = minimize(loss, np.zeros(size), method="BFGS", options={"gtol": 1e-6})
    return float(-found.fun * numbers.sum())


def ratio_test(
    tables: tuple[Callable[[Array], Array], Callable[[Array], Array]],
    sizes: tuple[int, int],
    matrix: Array,
    numbers: Array,
) -> float:
    """Return the p-value of the likelihood-ratio test of the second model within the first."""
    free, bound = (maximum(of, n, matrix, numbers) for of, n in zip(tables, sizes, strict=True))
    return float(chi2.sf(2 * (free - bound), sizes[0] - sizes[1]))


def _shares(parameters: Array) -> Array:
    return softmax(np.append(parameters, 0.0))


def association(shape: tuple[int, ...]) -> tuple[Any, tuple[int, int]]:
    """Return models in which the first two answers are associated, and independent."""
    first, second, rest = shape[0], shape[1], int(np.prod(shape[2:]))

    def with_rest(pair: Array, parameters: Array) -> Array:
        given = parameters.reshape(first * second, rest - 1)
        given = softmax(np.column_stack([given, np.zeros(len(given))]), axis=1)
        return (pair.reshape(-1, 1) * given).ravel()

    def free(p: Array) -> Array:
        return with_rest(_shares(p[: first * second - 1]), p[first * second - 1 :])

    def bound(p: Array) -> Array:
        rows, columns = _shares(p[: first - 1]), _shares(p[first - 1 : first + second - 2])
        return with_rest(np.outer(rows, columns), p[first + second - 2 :])

    further = first * second * (rest - 1)
    return (free, bound), (first * second - 1 + further, first + second - 2 + further)


def logistic(shape: tuple[int, ...]) -> tuple[Any, tuple[int, int]]:
    """Return logistic models of the first of three questions, with and without the second."""

    def table(p: Array) -> Array:
        second, third = np.indices((2, 2))
        yes = expit(p[3] + p[4] * third + p[5] * second)
        return (np.stack([1 - yes, yes]) * _shares(p[:3]).reshape(2, 2)).ravel()

    return (table, lambda p: table(np.append(p, 0.0))), (6, 5)


class Setting(NamedTuple):
    """An effect, its world and query, and the two models that differ by it.

    The p-value is that of the first row of the quantity, or of the table if none is named.
    """

    effect: str
    world: World
    query: dict[str, Any]
    quantity: str | None
    models: Callable[[tuple[int, ...]], tuple[Any, tuple[int, int]]]


_PAIR = {"attributes": ["q0", "q1"]}
_GROUPS = {"answer": {"q1": "1"}, "groups": "q0", "reference": "0"}
_ON_TWO = {"outcome": "q0", "predictors": ["q1", "q2"], "present": {"q0": "1"}}
_LINEAR = {**_ON_TWO, "model": "linear", "present": {}, "scores": {"q0": "ranks"}}

#: Effects that a likelihood-ratio test detects with a power of about 50 %.
SETTINGS = tuple(
    Setting(effect, World(name, shape, mechanism, reports, strength), query, quantity, models)
    for effect, query, quantity, models, shape in (
        ("crosstab", _PAIR, None, association, (2, 3)),
        ("crosstab", _PAIR, None, association, (3, 4)),
        ("comparison", _GROUPS, "difference", association, (2, 2, 2)),
        ("regression", _ON_TWO, "coefficient", logistic, (2, 2, 2)),
        ("regression", _LINEAR, "coefficient", logistic, (2, 2, 2)),
    )
    for name, mechanism, reports, strength in (
        ("kept with 0.8", keep("0.8"), 1_000, 0.3),
        ("gamma-diagonal", whole, 1_000, 0.3),
        ("split, pairs", split(2), 2_000, 0.3),
    )
)


def power(setting: Setting, surveys: int) -> tuple[Any, ...]:
    """Return the power in percent: from true records, from reports, by the likelihood ratio."""
    world, found = setting.world, np.zeros((surveys, 3))
    (tables, sizes), matrix = setting.models(world.shape), channel(world.surveys[0])
    query = ANALYSES[setting.effect].query(**setting.query)
    for seed in range(surveys):
        rng = np.random.default_rng([seed, 53])
        people = world.people(rng)
        reports = world.reported(people, rng)
        p_values = [
            *(
                _p_value(compute(of, query), setting.quantity)
                for of in (world.answered(people), reports)
            ),
            ratio_test(tables, sizes, matrix, number_of_reports(reports.counts)),
        ]
        found[seed] = [p < ALPHA for p in p_values]
    truly, ours, theirs = 100 * found.mean(axis=0)
    shape = "×".join(map(str, world.shape))
    return (
        *(setting.effect, f"{shape}, {world.name}, {world.reports}"),
        *(f"{truly:.0f}", f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}"),
    )


def _p_value(result: Any, quantity: str | None) -> float:
    found = result.tests[0].p_value if quantity is None else result.find(quantity).p_value
    return 1.0 if found is None else found
