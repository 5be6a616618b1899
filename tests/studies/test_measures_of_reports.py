"""What distortion cannot do to measures of two attributes that are each distorted by themselves.

The statements of Guo ch. 4, as docs/studies/README.md has them, on random tables.
"""

import math

import numpy as np
import pytest

from ..collector.estimation.definitions import category_measures, pair_measures

DRAWS, REPORTS, ROUNDING = 10_000, 1_000, 1e-9

# Row v is reported, column u true.
TRUE = np.eye(2)
ASYMMETRIC = np.array([[0.9, 0.3], [0.1, 0.7]])
#: Presence is reported more often of those it is not true of.
LYING = np.array([[0.1, 0.6], [0.9, 0.4]])
#: Categories 1 and 2 nearly become one.
MERGING = np.array([[1, 0, 0], [0, 0.95, 0.90], [0, 0.05, 0.10]])


def response(size, keep):
    """Randomized response, where every wrong category is equally likely."""
    wrong = (1 - keep) / (size - 1)
    return wrong + (keep - wrong) * np.eye(size)


DIVERGENCES = {"chi_squared", "g_squared"}
#: By which attribute each is normalized.
NORMALIZED = {"mutual_information": 0, "uncertainty_coefficient": 1, "concentration": 1}
ANY_BINARY = {"phi", "risk_difference", "column_risk_difference", "piatetsky_shapiro"}
MOSTLY_TRUE = {"certainty", "added_value", "kappa", "odds_ratio", "interest", "conviction"}
MOSTLY_TRUE |= {"collective_strength", "j_measure"}
FROM_ONE = {"odds_ratio", "interest", "conviction", "collective_strength"}
CATEGORIES = DIVERGENCES | NORMALIZED.keys()
BINARY = CATEGORIES | ANY_BINARY | MOSTLY_TRUE
PS = {"piatetsky_shapiro"}

#: The matrices of both attributes, what never grows (Results 4, 5 and 8), and the measures that
#: order pairs of attributes as the answers do (Results 6 and 7).
CASES = {
    "both by response": (response(2, 0.9), response(2, 0.6), BINARY, PS),
    "both asymmetric": (ASYMMETRIC, ASYMMETRIC, BINARY, PS),
    "first": (response(2, 0.8), TRUE, BINARY, PS | {"column_risk_difference"}),
    "second": (TRUE, ASYMMETRIC, BINARY, PS | {"added_value", "risk_difference"}),
    # Laplace is linear in the confidence under Warner's model alone.
    "second by response": (TRUE, response(2, 0.8), BINARY, PS | {"added_value", "laplace"}),
    "first lying": (LYING, TRUE, CATEGORIES | ANY_BINARY, PS | {"column_risk_difference"}),
    "second lying": (TRUE, LYING, CATEGORIES | ANY_BINARY, PS | {"added_value"}),
    "categories by response": (response(3, 0.4), response(4, 0.3), CATEGORIES, set()),
    "merging first": (MERGING, TRUE, CATEGORIES - {"mutual_information"}, set()),
    "merging second": (TRUE, MERGING, DIVERGENCES | {"mutual_information"}, set()),
}


def random_tables(rng, shape):
    """Sparse and even tables, a quarter of them nearly independent; shares far above rounding."""
    weights = rng.gamma(rng.choice([0.2, 1, 5], (DRAWS, 1)), size=(DRAWS, math.prod(shape)))
    t = (weights / weights.sum(1, keepdims=True) + 1e-5).reshape(DRAWS, *shape)
    t /= t.sum((1, 2), keepdims=True)
    near = t[: DRAWS // 4]
    chance = near.sum(2, keepdims=True) * near.sum(1, keepdims=True)
    near += (1 - 10 ** rng.uniform(-4, 0, (len(near), 1, 1))) * (chance - near)
    return t


def measures_of(t):
    pair = pair_measures(t, REPORTS) if t.shape[1:] == (2, 2) else {}
    return pair | category_measures(t, REPORTS)


def reported(t, first, second):
    return first @ t @ second.T


def distance(name, values):
    """Distance of a measure from that of independent attributes."""
    return np.abs(values - 1 if name in FROM_ONE else values)


@pytest.mark.parametrize("case", CASES)
def test_measures_of_reports_shrink_and_keep_their_order_as_the_manual_says(case):
    first, second, shrinking, ordered = CASES[case]
    rng = np.random.default_rng(2)
    pairs = [random_tables(rng, (len(first), len(second))) for _ in range(2)]
    before = [measures_of(t) for t in pairs]
    after = [measures_of(reported(t, first, second)) for t in pairs]
    for name in shrinking:
        for true, seen in zip(before, after, strict=True):
            sizes = distance(name, true[name]), distance(name, seen[name])
            assert (sizes[1] <= sizes[0] * (1 + ROUNDING) + 1e-9).all(), name
    for name in ordered:
        # Laplace's estimate of a share has no sign.
        one, other = (
            np.subtract(*(m[name] if name == "laplace" else np.abs(m[name]) for m in measures))
            for measures in (before, after)
        )
        assert (one * other >= -1e-15 * (1 + one**2)).all(), name


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (response(2, 0.9), response(2, 0.6), ["jaccard", "cosine"]),
        (response(2, 0.1), TRUE, ["standardized_residual"]),
        (LYING, TRUE, ["added_value", "kappa", "odds_ratio"]),
        (MERGING, TRUE, ["mutual_information"]),
        (TRUE, MERGING, ["uncertainty_coefficient", "concentration"]),
    ],
)
def test_measures_that_the_manual_says_nothing_of_do_grow(first, second, names):
    t = random_tables(np.random.default_rng(2), (len(first), len(second)))
    before, after = measures_of(t), measures_of(reported(t, first, second))
    for name in names:
        assert (distance(name, after[name]) > 1.01 * distance(name, before[name])).any(), name


def test_a_matrix_that_merges_categories_raises_the_uncertainty_coefficient():
    t = np.array([[[8.0, 1, 1], [2, 4, 4]]]) / 20
    before, after = category_measures(t, REPORTS), category_measures(t @ MERGING.T, REPORTS)
    name = "uncertainty_coefficient"
    assert (before[name].round(3), after[name].round(3)) == (0.185, 0.233)


@pytest.mark.parametrize(("condition", "never"), [(TRUE, True), (response(2, 0.9), False)])
def test_a_correlation_given_others_never_grows_while_these_are_true(condition, never):
    rng = np.random.default_rng(7)
    weights = rng.gamma(rng.choice([0.5, 1, 5], (DRAWS, 1)), size=(DRAWS, 8)) + 1e-3
    true = weights / weights.sum(1, keepdims=True)
    channel = np.kron(np.kron(response(2, 0.8), LYING), condition)
    before, after = (np.abs(partial_correlation(t)) for t in (true, true @ channel.T))
    assert (after <= before * (1 + ROUNDING) + 1e-9).all() == never


def partial_correlation(shares):
    """Of the first two of three attributes given the third, from the inverse covariance."""
    signs = np.indices((2, 2, 2)).reshape(3, -1).astype(float)
    mean, second = shares @ signs.T, np.einsum("nc,ic,jc->nij", shares, signs, signs)
    inverse = np.linalg.inv(second - mean[:, :, None] * mean[:, None, :])
    return -inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])
