"""What measures of a randomized table say of the true one: every published claim, and its limits.

Tables are true shares, the last axes being the attributes; 1 is presence in a binary attribute.
"""

from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from . import definitions
from .definitions import hierarchical_models, random_shares, random_tables

DRAWS = 12_000
REPORTS = 1_000
ROUNDING = 1e-9
RESULT_4 = ("chi2", "G2", "M", "tau", "U", "phi", "D", "RD", "PS")
RESULT_5 = ("F", "AV", "kappa", "alpha-1", "I-1", "V-1", "S-1")
RESULT_8 = ("chi2", "G2", "M", "tau", "U")
UNTOUCHED = np.eye(2)


#: The source's symbols, those of measures whose neutral value is 1 as the distance to it.
SYMBOLS = {
    "chi2": "chi_squared", "G2": "g_squared", "M": "mutual_information",
    "U": "uncertainty_coefficient", "tau": "concentration", "phi": "phi",
    "D": "column_risk_difference", "RD": "risk_difference", "PS": "piatetsky_shapiro",
    "F": "certainty", "AV": "added_value", "kappa": "kappa", "alpha-1": "odds_ratio",
    "I-1": "interest", "V-1": "conviction", "S-1": "collective_strength", "J": "j_measure",
    "e11": "standardized_residual", "L": "laplace", "cosine": "cosine", "jaccard": "jaccard",
}  # fmt: skip


def by_symbol(found):
    """Measures by the source's symbols; χ² and G² per report."""
    values = {s: found[n] - s.endswith("-1") for s, n in SYMBOLS.items() if n in found}
    return values | {name: values[name] / REPORTS for name in ("chi2", "G2")}


def category_measures(t):
    """Measures of any two attributes."""
    return by_symbol(definitions.category_measures(t, REPORTS))


def pair_measures(t):
    """Measures of two binary attributes."""
    found = by_symbol(definitions.pair_measures(t, REPORTS))
    return found | {"support": t[..., 1, 1], "confidence": t[..., 1, 1] / t[..., 1, :].sum(-1)}


def random_keep(rng, draws, low=0.0, high=1.0):
    """Probabilities over the whole range and, as often, very near its ends."""
    edge = 10 ** rng.uniform(-5, -1, draws) * (high - low)
    kind = rng.integers(4, size=draws)
    return np.choose(kind, [low + edge, high - edge, *[rng.uniform(low, high, draws)] * 2])


def keep_or_other(p, size=2):
    """Keep with p, else every other category equally likely; Warner's model for two categories."""
    p = np.asarray(p)[..., None, None]
    return p * np.eye(size) + (1 - p) / (size - 1) * (1 - np.eye(size))


def random_warner(rng, draws, low=0.0, high=1.0, size=2):
    return keep_or_other(random_keep(rng, draws, low, high), size)


def random_matrices(rng, draws, size=2):
    """Column-stochastic matrices of every kind: nearly deterministic, even, nearly harmless."""
    weights = rng.gamma(rng.choice([0.1, 0.3, 1, 5], (draws, 1, 1)), size=(draws, size, size))
    weights += rng.choice([0, 1, 5], (draws, 1, 1)) * np.eye(size) + 1e-12
    shares = weights / weights.sum(1, keepdims=True)
    return (shares + 1e-4) / (1 + size * 1e-4)


def more_truth_than_lie(matrices):
    """The same matrices, their rows swapped where the determinant was negative."""
    lies = np.linalg.det(matrices) < 0
    return np.where(lies[:, None, None], matrices[:, ::-1], matrices)


def distort(t, *matrices):
    """Every attribute distorted by its own matrix, independently of the others."""
    for back, matrix in enumerate(reversed(matrices), start=1):
        moved = np.moveaxis(t, -back, -1)[..., None]
        matrix = matrix.reshape(*matrix.shape[:-2], *[1] * (len(matrices) - 1), *matrix.shape[-2:])
        t = np.moveaxis((matrix @ moved)[..., 0], -1, -back)
    return t


def gamma_diagonal(t, p, attributes=2):
    """The whole record kept with p, otherwise replaced by a uniform one."""
    cells = prod(t.shape[-attributes:])
    return np.asarray(p)[(...,) + (None,) * attributes] * (t - 1 / cells) + 1 / cells


def assert_never_grows(true, randomized, names):
    for name in names:
        before, after = np.abs(true[name]), np.abs(randomized[name])
        assert before.size >= 10_000
        excess = after - before * (1 + ROUNDING)
        assert excess.max() <= 1e-11, (name, before[excess.argmax()], after[excess.argmax()])


def assert_order_kept(first, second, randomized_first, randomized_second):
    gap, randomized_gap = first - second, randomized_first - randomized_second
    assert gap.size >= 10_000
    assert (gap * randomized_gap >= -1e-15).all()


def twentieths(*cells):
    """A 2×2 table from counts of 20 in the order 00, 01, 10, 11."""
    return np.array(cells).reshape(2, 2) / 20


SCOPES = {
    "both": lambda rng: (random_warner(rng, DRAWS), random_warner(rng, DRAWS)),
    "row": lambda rng: (random_warner(rng, DRAWS), UNTOUCHED),
    "column": lambda rng: (UNTOUCHED, random_warner(rng, DRAWS)),
    "both, any matrix": lambda rng: (random_matrices(rng, DRAWS), random_matrices(rng, DRAWS)),
    "row, any matrix": lambda rng: (random_matrices(rng, DRAWS), UNTOUCHED),
    "column, any matrix": lambda rng: (UNTOUCHED, random_matrices(rng, DRAWS)),
}


# Result 4


def truthful(rng, draws):
    """Matrices of determinants of at least zero: the others' rows are swapped."""
    return more_truth_than_lie(random_matrices(rng, draws))


def half(rng, draws):
    """Warner's with p of at least one half."""
    return random_warner(rng, draws, low=0.5)


def lying(rng, draws):
    """Warner's with p of at most one half."""
    return random_warner(rng, draws, high=0.5)


NEVER_GROWS = {
    # Negative association is no exception of Result 5.
    "Result 5": (5, half, half, RESULT_5),
    "any matrices that mostly tell the truth": (51, truthful, truthful, (*RESULT_5, "J")),
    "lying of both, where a double swap is ignored": (52, lying, lying,
                                                      ("kappa", "alpha-1", "S-1")),
    "added value, whatever is done to the consequent": (53, truthful, random_matrices, ("AV",)),
}  # fmt: skip


@pytest.mark.parametrize("scope", SCOPES)
def test_distorting_binary_attributes_in_any_way_never_increases_result_4_measures(scope):
    rng = np.random.default_rng(4)
    t = random_tables(rng, DRAWS, (2, 2))
    distorted = distort(t, *SCOPES[scope](rng))
    assert_never_grows(pair_measures(t), pair_measures(distorted), RESULT_4)


@pytest.mark.parametrize("claim", NEVER_GROWS)
def test_measures_never_grow_by_honest_distortion(claim):
    seed, row, column, measures = NEVER_GROWS[claim]
    rng = np.random.default_rng(seed)
    t = random_tables(rng, 3 * DRAWS, (2, 2))
    true = pair_measures(t)
    assert (true["PS"] < 0).sum() > 10_000
    distorted = distort(t, row(rng, 3 * DRAWS), column(rng, 3 * DRAWS))
    assert_never_grows(true, pair_measures(distorted), measures)


# Result 5


#: Counts of 20 in the order 00, 01, 10, 11, how the attributes are kept, and the measure of the
#: answers and of the reports.
MOVES = [
    # Result 5 needs p of at least one half.
    ("F", (1, 1, 1, 17), (0.3, 1), 0.4444, -0.4706),
    ("F", (17, 1, 1, 1), (1, 0.3), 0.4444, -0.4706),
    ("F", (1, 1, 17, 1), (0.3, 0.3), -0.0494, -0.0554),
    ("AV", (1, 1, 17, 1), (0.3, 1), -0.0444, 0.0471),
    ("kappa", (1, 16, 2, 1), (0.1, 1), -0.2081, 0.4079),
    ("kappa", (1, 2, 16, 1), (1, 0.1), -0.2081, 0.4079),
    ("alpha-1", (1, 9, 9, 1), (0.3, 1), -0.9877, 2.7682),
    ("alpha-1", (1, 9, 9, 1), (1, 0.3), -0.9877, 2.7682),
    ("I-1", (1, 1, 17, 1), (0.3, 1), -0.4444, 0.4706),
    ("I-1", (1, 17, 1, 1), (1, 0.3), -0.4444, 0.4706),
    ("I-1", (1, 1, 1, 17), (0.3, 0.3), 0.0494, 0.0554),
    ("V-1", (1, 7, 11, 1), (0.3, 1), -0.3455, 0.3800),
    ("V-1", (1, 7, 11, 1), (1, 0.3), -0.3455, 0.3800),
    ("V-1", (1, 1, 17, 1), (0.3, 0.3), -0.0471, -0.0525),
    ("S-1", (1, 9, 9, 1), (0.3, 1), -0.8889, 0.9412),
    ("S-1", (1, 9, 9, 1), (1, 0.3), -0.8889, 0.9412),
    # These move either way even where the truth is mostly told.
    ("support", (1, 9, 9, 1), (0.9, 0.9), 0.05, 0.122),
    ("support", (1, 1, 1, 17), (0.9, 0.9), 0.85, 0.698),
    ("confidence", (1, 16, 2, 1), (0.9, 0.9), 0.3333, 0.5545),
    ("confidence", (16, 1, 1, 2), (0.9, 0.9), 0.6667, 0.4455),
    ("cosine", (1, 16, 2, 1), (0.9, 0.9), 0.1400, 0.2945),
    ("cosine", (16, 1, 1, 2), (0.9, 0.9), 0.6667, 0.4455),
    ("jaccard", (1, 9, 9, 1), (0.9, 0.9), 0.0526, 0.1390),
    ("jaccard", (14, 1, 1, 4), (0.9, 0.9), 0.6667, 0.4218),
    ("L", (1, 16, 2, 1), (0.9, 0.9), 0.3355, 0.5541),
    ("L", (16, 1, 1, 2), (0.9, 0.9), 0.6645, 0.4459),
]


@pytest.mark.parametrize(("measure", "cells", "keep", "before", "after"), MOVES)
def test_measures_grow_when_lies_outnumber_truth_and_some_move_either_way(
    measure, cells, keep, before, after
):
    t = twentieths(*cells)
    randomized = distort(t, *map(keep_or_other, keep))
    assert pair_measures(t)[measure] == pytest.approx(before, abs=6e-5)
    assert pair_measures(randomized)[measure] == pytest.approx(after, abs=6e-5)
    if measure in RESULT_5:
        assert abs(after) > abs(before)
    else:
        assert {b < a for m, _, _, b, a in MOVES if m == measure} == {False, True}


# Results 4 and 5 again, by looking for the worst case instead of drawing blindly


def worst_growth(measure, honest, starts=600, rounds=60):
    """The largest |ran|/|ori| a hill climb finds, over asymmetric matrices well off the identity.

    Honest matrices have determinants of at least zero.
    """
    rng = np.random.default_rng(54)

    def growth(point):
        logs, entries = point[:, :4], 0.02 + 0.96 / (1 + np.exp(-point[:, 4:]))
        weights = np.exp(np.clip(logs, -8, 8)).reshape(-1, 2, 2)
        t = weights / weights.sum((1, 2), keepdims=True)
        present, absent = entries[:, :2], entries[:, 2:] * (entries[:, :2] if honest else 1)
        matrices = np.array([[1 - absent, 1 - present], [absent, present]])
        x, y = np.moveaxis(matrices, (2, 3), (1, 0))
        before, after = (np.abs(pair_measures(m)[measure]) for m in (t, distort(t, x, y)))
        return np.where(before > 1e-4, after / np.maximum(before, 1e-4), 0)

    point = rng.normal(size=(starts, 8)) * 2
    best = growth(point)
    for _ in range(rounds):
        step = point + rng.normal(size=point.shape) * 10 ** rng.uniform(-2, 0.3, (starts, 1))
        reached = growth(step)
        better = reached > best
        point[better], best[better] = step[better], reached[better]
    return best.max()


@pytest.mark.parametrize("measure", RESULT_4)
def test_a_hill_climb_finds_no_growth_of_a_result_4_measure(measure):
    assert 0.8 < worst_growth(measure, honest=False) <= 1


@pytest.mark.parametrize("measure", RESULT_5)
def test_a_hill_climb_lets_result_5_measures_grow_only_by_negative_determinants(measure):
    assert worst_growth(measure, honest=True) <= 1
    assert worst_growth(measure, honest=False) > 2


# Result 8


def polychotomous(seed, row_matrices, column_matrices):
    """True and randomized measures of tables of 2 to 5 categories a side."""
    rng = np.random.default_rng(seed)
    true, randomized = [], []
    for shape in product(range(2, 6), repeat=2):
        t = random_tables(rng, 750, shape)
        p, q = row_matrices(rng, 750, size=shape[0]), column_matrices(rng, 750, size=shape[1])
        true.append(category_measures(t))
        randomized.append(category_measures(distort(t, p, q)))
    return [
        {name: np.concatenate([part[name] for part in parts]) for name in RESULT_8}
        for parts in (true, randomized)
    ]


@pytest.mark.parametrize(
    ("rows", "columns", "measures"),
    [
        (random_warner, random_warner, RESULT_8),
        (random_matrices, random_matrices, ("chi2", "G2")),
        # a normalized measure survives when the attribute it divides by is not made more certain
        (random_warner, random_matrices, ("M",)),
        (random_matrices, random_warner, ("U", "tau")),
    ],
)
def test_result_8_measures_of_polychotomous_attributes_never_grow(rows, columns, measures):
    assert_never_grows(*polychotomous(8, rows, columns), measures)


def test_nearly_merging_two_categories_increases_normalized_measures():
    t = np.array([[8, 1, 1], [2, 4, 4]]) / 20
    # categories 1 and 2 say the same of the row, so that merging them costs no information
    merge = np.array([[1, 0, 0], [0, 0.95, 0.9], [0, 0.05, 0.1]])
    true, randomized = category_measures(t), category_measures(distort(t, UNTOUCHED, merge))
    assert (true["chi2"], randomized["chi2"]) == pytest.approx((0.36, 0.36))
    assert (true["U"], randomized["U"]) == pytest.approx((0.1854, 0.2333), abs=6e-5)
    assert (true["tau"], randomized["tau"]) == pytest.approx((0.2160, 0.3133), abs=6e-5)
    transposed = category_measures(t.T), category_measures(distort(t.T, merge, UNTOUCHED))
    assert [m["M"] for m in transposed] == pytest.approx([0.1854, 0.2333], abs=6e-5)


# Results 6 and 7


def two_pairs(seed, matrices):
    """True and randomized measures of two pairs under the same matrices."""
    rng = np.random.default_rng(seed)
    t, other = (random_tables(rng, DRAWS, (2, 2)) for _ in range(2))
    x, y = matrices(rng)
    return [pair_measures(table) for table in (t, other, distort(t, x, y), distort(other, x, y))]


def mostly_true_consequents(rng):
    return UNTOUCHED, random_warner(rng, DRAWS, low=0.5)


ORDERS_KEPT = [
    *(("PS", scope) for scope in SCOPES),
    *(("D", scope) for scope in ("row", "row, any matrix")),
    *((measure, scope) for measure in ("AV", "RD") for scope in ("column", "column, any matrix")),
]


@pytest.mark.parametrize(("measure", "scope"), ORDERS_KEPT)
def test_equal_distortion_of_two_pairs_keeps_the_order_of_some_measures(measure, scope):
    assert_order_kept(*(np.abs(m[measure]) for m in two_pairs(6, SCOPES[scope])))


def test_equal_distortion_only_means_equal_products_of_determinants():
    rng = np.random.default_rng(61)
    t = random_tables(rng, DRAWS, (2, 2))
    x, y = (random_matrices(rng, DRAWS) for _ in range(2))
    factor = np.linalg.det(x) * np.linalg.det(y)
    before, after = pair_measures(t)["PS"], pair_measures(distort(t, x, y))["PS"]
    np.testing.assert_allclose(after, factor * before, rtol=0, atol=1e-14)


@pytest.mark.parametrize("measure", ["L", "confidence"])
def test_laplace_and_confidence_keep_their_order_too_when_only_consequents_are_distorted(measure):
    assert_order_kept(*(m[measure] for m in two_pairs(72, mostly_true_consequents)))


def test_distorting_the_consequent_by_warner_changes_laplace_linearly():
    rng = np.random.default_rng(73)
    t, p = random_tables(rng, DRAWS, (2, 2)), random_keep(rng, DRAWS)
    before, after = (pair_measures(m) for m in (t, distort(t, UNTOUCHED, keep_or_other(p))))
    for measure in ("L", "confidence"):
        expected = (2 * p - 1) * before[measure] + 1 - p
        np.testing.assert_allclose(after[measure], expected, rtol=ROUNDING)


INVERSIONS = [
    # which attributes keep their value with 0.8 only, two tables of positive association, measures
    (
        (0.8, 0.8),
        ((17, 1, 1, 1), (14, 1, 3, 2)),
        "chi2 M U tau phi F AV kappa alpha-1 I-1 V-1 S-1 J e11 L confidence",
    ),
    ((0.8, 0.8), ((10, 2, 5, 3), (17, 1, 1, 1)), "G2 D jaccard cosine"),
    ((0.8, 0.8), ((3, 11, 1, 5), (9, 3, 2, 6)), "support"),
    # The differences along the rule: those of D, transposed.
    ((0.8, 0.8), ((10, 5, 2, 3), (17, 1, 1, 1)), "RD"),
    ((0.8, 1), ((2, 3, 2, 13), (1, 1, 2, 16)), "RD"),
    (
        (0.8, 1),
        ((17, 1, 1, 1), (14, 1, 3, 2)),
        "chi2 M U tau phi F AV kappa alpha-1 V-1 S-1 J e11 L confidence",
    ),
    ((0.8, 1), ((10, 7, 1, 2), (7, 1, 9, 3)), "G2 I-1 jaccard cosine support"),
    (
        (1, 0.8),
        ((2, 2, 3, 13), (1, 2, 1, 16)),
        "chi2 G2 M U tau phi D F kappa alpha-1 V-1 J",
    ),
    ((1, 0.8), ((11, 1, 6, 2), (9, 7, 1, 3)), "I-1 e11 jaccard support"),
    ((1, 0.8), ((17, 1, 1, 1), (9, 7, 1, 3)), "S-1 cosine"),
]


@pytest.mark.parametrize(("keep", "tables", "measures"), INVERSIONS)
def test_every_other_measure_has_two_pairs_that_change_their_order(keep, tables, measures):
    pairs = [twentieths(*cells) for cells in tables]
    first, second = map(pair_measures, pairs)
    matrices = [keep_or_other(p) for p in keep]
    ran_first, ran_second = (pair_measures(distort(t, *matrices)) for t in pairs)
    assert min(first["PS"], second["PS"]) > 0  # so the order of distances is the signed order
    for name in measures.split():
        gaps = first[name] - second[name], ran_first[name] - ran_second[name]
        size = abs(first[name]) + abs(second[name]), abs(ran_first[name]) + abs(ran_second[name])
        assert gaps[0] * gaps[1] < 0, name
        assert min(abs(gaps[0]) / size[0], abs(gaps[1]) / size[1]) > 0.01, name


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ((0.8, 0.8), {"PS"}),
        ((0.8, 1), {"PS", "D"}),
        ((1, 0.8), {"PS", "AV", "RD", "L", "confidence"}),
    ],
)
def test_the_order_changes_cover_every_measure_but_those_said_to_keep_it(keep, kept):
    changing = {name for k, _, names in INVERSIONS if k == keep for name in names.split()}
    assert changing | kept == set(pair_measures(twentieths(5, 5, 5, 5)))
    assert not changing & kept


# Result 9


def independent_tables(rng, draws, *sizes):
    t = np.ones((draws, *[1] * len(sizes)))
    for axis, size in enumerate(sizes, start=1):
        margin = random_shares(rng, draws, (size,))
        t = t * margin.reshape(draws, *[size if a == axis else 1 for a in range(1, len(sizes) + 1)])
    return t


def rejection_rate(rng, shares, reports, repetitions=20_000, level=0.05):
    """How often Pearson's test calls the attributes of simulated reports dependent."""
    counts = rng.multinomial(reports, shares.ravel(), repetitions).reshape(-1, *shares.shape)
    statistic = reports * category_measures((counts + 1e-9) / reports)["chi2"]
    return (statistic > chi2.isf(level, prod(size - 1 for size in shares.shape))).mean()


# less power in the limit is Result 8: the noncentrality is the number of reports times χ²


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (2, 3, 2)])
def test_independent_attributes_stay_independent(sizes):
    rng = np.random.default_rng(9)
    t = independent_tables(rng, DRAWS, *sizes)
    randomized = distort(t, *(random_matrices(rng, DRAWS, size) for size in sizes))
    axes = range(1, len(sizes) + 1)
    chance = np.ones(())
    for axis in axes:
        others = tuple(a for a in axes if a != axis)
        chance = chance * randomized.sum(others, keepdims=True)
    np.testing.assert_allclose(randomized, chance, rtol=ROUNDING)


def test_the_independence_test_is_as_level_but_less_powerful_on_randomized_data():
    # 20 000 repetitions: the rate's standard error is 0.0015, so a correct test leaves
    # 0.05 ± 0.01 with a probability below 1e-9; the seed is fixed anyway
    rng = np.random.default_rng(91)
    matrices = keep_or_other(0.8), keep_or_other(0.7, 3)
    independent = np.outer([0.3, 0.7], [0.2, 0.3, 0.5])
    related = independent + 0.03 * np.array([[1, 0, -1], [-1, 0, 1]])
    assert abs(rejection_rate(rng, distort(independent, *matrices), 1_000) - 0.05) < 0.01
    power = [rejection_rate(rng, t, 1_000) for t in (related, distort(related, *matrices))]
    limit = [
        ncx2.sf(chi2.isf(0.05, 2), 2, 1_000 * category_measures(t)["chi2"])
        for t in (related, distort(related, *matrices))
    ]
    assert power == pytest.approx(limit, abs=0.02)
    assert power == pytest.approx([0.99, 0.30], abs=0.03)


# Results 10 and 11


def phi(t):
    return pair_measures(t)["phi"]


def partial_correlation(t):
    """Of the first two attributes, given the third."""
    ab, ag, bg = phi(t.sum(-1)), phi(t.sum(-2)), phi(t.sum(-3))
    return (ab - ag * bg) / np.sqrt((1 - ag**2) * (1 - bg**2))


def conditionally_independent(rng, draws, a, b, g):
    """Tables of A, B, G with A and B independent given G."""
    given = random_shares(rng, draws * g, (a,)), random_shares(rng, draws * g, (b,))
    pa, pb = (table.reshape(draws, g, -1) for table in given)
    return np.einsum("nga,ngb,ng->nabg", pa, pb, random_shares(rng, draws, (g,)))


def conditional_dependence(t):
    """The largest departure from P(a,b|g) = P(a|g)P(b|g)."""
    within = t / t.sum((-3, -2), keepdims=True)
    chance = within.sum(-2, keepdims=True) * within.sum(-3, keepdims=True)
    return np.abs(within - chance).max((-3, -2, -1))


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 4)])
def test_conditional_independence_survives_unless_the_condition_is_distorted(sizes):
    rng = np.random.default_rng(10)
    t = conditionally_independent(rng, DRAWS, *sizes)
    a, b, g = (random_matrices(rng, DRAWS, size) for size in sizes)
    truth = np.eye(sizes[2])
    assert conditional_dependence(distort(t, a, b, truth)).max() < 1e-12
    assert (conditional_dependence(distort(t, a, b, g)) > 1e-6).mean() > 0.5


def test_distorting_the_condition_makes_independent_attributes_look_dependent():
    t = np.empty((2, 2, 2))
    for g, chance in enumerate((0.2, 0.8)):
        t[..., g] = np.outer([1 - chance, chance], [1 - chance, chance]) / 2
    randomized = distort(t, UNTOUCHED, UNTOUCHED, keep_or_other(0.8))
    assert conditional_dependence(t) < 1e-15
    assert conditional_dependence(randomized) == pytest.approx(0.0576)
    assert partial_correlation(t) == pytest.approx(0, abs=1e-15)
    assert partial_correlation(randomized) == pytest.approx(0.2647, abs=6e-5)


@pytest.mark.parametrize("kind", [random_warner, random_matrices])
def test_partial_correlation_never_grows_while_the_condition_is_true(kind):
    rng = np.random.default_rng(11)
    t = random_shares(rng, DRAWS, (2, 2, 2))
    for matrices in (
        (kind(rng, DRAWS), kind(rng, DRAWS), UNTOUCHED),
        (kind(rng, DRAWS), UNTOUCHED, UNTOUCHED),
    ):
        before, after = partial_correlation(t), partial_correlation(distort(t, *matrices))
        assert_never_grows({"r": before}, {"r": after}, "r")


def test_a_distorted_attribute_scales_all_its_correlations_alike_and_never_up():
    rng = np.random.default_rng(111)
    t, a = random_shares(rng, DRAWS, (2, 2, 2)), random_matrices(rng, DRAWS)
    randomized = distort(t, a, UNTOUCHED, UNTOUCHED)
    share, randomized_share = (m.sum((-2, -1))[:, 1] for m in (t, randomized))
    spread = np.sqrt(share * (1 - share) / (randomized_share * (1 - randomized_share)))
    scale = np.linalg.det(a) * spread
    assert (np.abs(scale) <= 1 + ROUNDING).all()
    for axis in (-1, -2):
        expected = scale * phi(t.sum(axis))
        np.testing.assert_allclose(phi(randomized.sum(axis)), expected, rtol=0, atol=1e-9)


def test_partial_correlation_given_two_true_attributes_never_grows():
    rng = np.random.default_rng(112)
    weights = rng.gamma(rng.choice([0.5, 1, 5], (DRAWS, 1)), size=(DRAWS, 16)) + 1e-3
    t = (weights / weights.sum(1, keepdims=True)).reshape(-1, 2, 2, 2, 2)
    a, b = random_matrices(rng, DRAWS), random_matrices(rng, DRAWS)

    def given_both(t):
        correlations = np.empty((len(t), 4, 4))
        for i, j in combinations(range(4), 2):
            others = tuple(-4 + k for k in range(4) if k not in (i, j))
            correlations[:, i, j] = correlations[:, j, i] = phi(t.sum(others))
        correlations[:, range(4), range(4)] = 1
        inverse = np.linalg.inv(correlations)
        return -inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])

    after = given_both(distort(t, a, b, UNTOUCHED, UNTOUCHED))
    assert_never_grows({"r": given_both(t)}, {"r": after}, "r")


# Theorem 2: loglinear models


def interaction(values, subset):
    """The part of values (draws, then one axis per attribute) due to the subset alone."""
    for axis in range(1, values.ndim):
        mean = values.mean(axis, keepdims=True)
        values = values - mean if axis - 1 in subset else mean
    return values


def terms(model):
    """Every term of a hierarchical model, given by its highest-order terms."""
    return {
        subset
        for highest in model
        for size in range(len(highest) + 1)
        for subset in combinations(sorted(highest), size)
    }


def model_tables(rng, draws, model, sizes):
    logs = np.zeros((draws, *sizes))
    for subset in terms(model):
        logs += interaction(rng.normal(size=(draws, *sizes)), subset) * 1.5
    weights = np.exp(logs)
    return weights / weights.sum(tuple(range(1, weights.ndim)), keepdims=True)


def misfit(t, model):
    """The largest interaction a model excludes: zero exactly for the tables that satisfy it."""
    attributes = range(t.ndim - 1)
    every = {s for size in range(1, t.ndim) for s in combinations(attributes, size)}
    excluded = [np.abs(interaction(np.log(t), s)) for s in every - terms(model)]
    return np.max([e.reshape(len(t), -1).max(1) for e in excluded] or np.zeros((1, len(t))), 0)


def is_preserved(model, distorted):
    return all(sum(j in highest for highest in model) == 1 for j in distorted)


@pytest.mark.parametrize(("attributes", "count", "draws"), [(3, 9, 1_000), (4, 114, 60)])
def test_every_model_is_preserved_exactly_when_korn_says(attributes, count, draws):
    rng = np.random.default_rng(21)
    models = list(hierarchical_models(attributes))
    assert len(models) == count
    sizes = [3, *[2] * (attributes - 1)]
    surviving = broken = 0
    for model in models:
        t = model_tables(rng, draws, model, sizes)
        assert misfit(t, model).max() < 1e-11
        # uneven matrices far from permutations and from complete randomization
        matrices = [0.5 * np.eye(size) + 0.5 * random_matrices(rng, draws, size) for size in sizes]
        for size in range(1, attributes + 1):
            for distorted in combinations(range(attributes), size):
                chosen = [m if j in distorted else np.eye(sizes[j]) for j, m in enumerate(matrices)]
                error = misfit(distort(t, *chosen), model)
                if is_preserved(model, distorted):
                    assert error.max() < ROUNDING, (model, distorted)
                    surviving += draws
                else:
                    assert np.median(error) > 1e-3, (model, distorted)
                    broken += draws
    assert min(surviving, broken) >= 10_000


def test_complete_randomization_and_renaming_are_exceptions_to_only_if():
    rng = np.random.default_rng(22)
    model = list(combinations(range(3), 2))
    t = model_tables(rng, DRAWS, model, (2, 2, 2))
    for harmless in (np.full((2, 2), 0.5), UNTOUCHED[::-1]):
        assert misfit(distort(t, harmless, UNTOUCHED, UNTOUCHED), model).max() < ROUNDING
    others = misfit(distort(t, keep_or_other(0.8), UNTOUCHED, UNTOUCHED), model)
    assert np.median(others) > 1e-2


# Results 13 and 14


def gini_gain(t):
    """How much knowing the row attribute lowers the Gini impurity of the class in the columns."""
    impurity = 1 - (t.sum(-2) ** 2).sum(-1)
    return impurity - (1 - (t**2 / t.sum(-1, keepdims=True)).sum((-1, -2)))


def naive_bayes(t):
    """P(class 1 | both attributes present) were they independent given the class."""
    joint = t.sum(-2)[..., 1, :] * t.sum(-3)[..., 1, :] / t.sum((-3, -2))
    return joint[..., 1] / joint.sum(-1)


def fortieths(*cells):
    """A table of A, B and the class from counts of 40."""
    return np.array(cells).reshape(2, 2, 2) / 40


@pytest.mark.parametrize(
    ("cells", "keep", "before", "after"),
    [
        ((5, 7, 1, 21, 2, 1, 2, 1), (0.8, 0.8, 0.8), (0.0613, 0.0563), (0.0049, 0.0070)),
        ((8, 4, 21, 1, 1, 3, 1, 1), (0.8, 0.8, 1), (0.0688, 0.0602), (0.0153, 0.0211)),
        ((1, 1, 1, 18, 13, 1, 4, 1), (0.8, 1, 1), (0.3188, 0.2133), (0.1146, 0.2133)),
    ],
)
def test_distorted_attributes_change_which_split_has_the_better_gini(cells, keep, before, after):
    t = fortieths(*cells)
    randomized = distort(t, *map(keep_or_other, keep))
    for table, expected in ((t, before), (randomized, after)):
        gains = gini_gain(table.sum(-2)), gini_gain(table.sum(-3))
        assert gains == pytest.approx(expected, abs=6e-5)
    assert (before[0] - before[1]) * (after[0] - after[1]) < 0


@pytest.mark.parametrize("classes", [2, 4])
def test_the_gini_order_survives_when_only_the_class_is_distorted(classes):
    rng = np.random.default_rng(13)
    t = random_shares(rng, DRAWS, (2, 3, classes))
    randomized = distort(t, UNTOUCHED, np.eye(3), random_warner(rng, DRAWS, size=classes))
    gains = [gini_gain(m.sum(axis)) for m in (t, randomized) for axis in (-2, -3)]
    assert_order_kept(*gains)


@pytest.mark.parametrize(
    ("cells", "keep", "before", "after"),
    [
        ((29, 1, 1, 1, 4, 1, 2, 1), (0.8, 0.8, 0.8), 0.6667, 0.3462),
        ((29, 1, 4, 1, 2, 1, 1, 1), (0.8, 0.8, 1), 0.7059, 0.2817),
        ((17, 1, 11, 1, 1, 7, 1, 1), (0.8, 1, 1), 0.6667, 0.3208),
        ((2, 4, 5, 2, 1, 23, 2, 1), (1, 1, 0.8), 0.5333, 0.4758),
    ],
)
def test_any_distortion_can_change_the_class_naive_bayes_predicts(cells, keep, before, after):
    t = fortieths(*cells)
    randomized = distort(t, *map(keep_or_other, keep))
    assert naive_bayes(t) == pytest.approx(before, abs=6e-5)
    assert naive_bayes(randomized) == pytest.approx(after, abs=6e-5)
    assert after < 0.5 < before


# The gamma-diagonal mechanism distorts whole records, not attributes

RARE = np.outer([0.9, 0.1], [0.9, 0.1])
GAMMA_19 = np.array(18 / 22)  # the share of two binary attributes kept at γ = 19


def test_gamma_diagonal_adds_a_covariance_of_its_own():
    rng = np.random.default_rng(3)
    t, p = random_tables(rng, DRAWS, (2, 2)), random_keep(rng, DRAWS)
    x, y = t.sum(2)[:, 1], t.sum(1)[:, 1]
    expected = p * pair_measures(t)["PS"] + p * (1 - p) * (x - 0.5) * (y - 0.5)
    after = pair_measures(gamma_diagonal(t, p))["PS"]
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-14)


def test_gamma_diagonal_makes_independent_rare_items_look_associated():
    before, after = pair_measures(RARE), pair_measures(gamma_diagonal(RARE, GAMMA_19))
    for name in RESULT_4 + RESULT_5:
        assert before[name] == pytest.approx(0, abs=1e-14)
        assert abs(after[name]) > 0.02, name
    assert [after[k] for k in ("PS", "phi", "chi2")] == pytest.approx(
        [0.0238, 0.1666, 0.0277], abs=6e-5
    )


def test_gamma_diagonal_never_feigns_a_correlation_above_one_half():
    rng = np.random.default_rng(31)
    t, p = independent_tables(rng, DRAWS, 2, 2), random_keep(rng, DRAWS)
    feigned = np.abs(phi(gamma_diagonal(t, p)))
    assert (feigned <= p / (1 + p) + ROUNDING).all()
    hardly_any = np.outer([1 - 1e-9, 1e-9], [1 - 1e-9, 1e-9])
    assert phi(gamma_diagonal(hardly_any, GAMMA_19)) == pytest.approx(0.45, abs=1e-6)


def test_gamma_diagonal_can_reverse_the_sign_of_an_association():
    t = RARE + 0.005 * np.array([[-1, 1], [1, -1]])
    assert pair_measures(t)["PS"] == pytest.approx(-0.005)
    assert pair_measures(gamma_diagonal(t, GAMMA_19))["PS"] == pytest.approx(0.0197, abs=6e-5)


@pytest.mark.parametrize(("reports", "expected"), [(100, 0.41), (300, 0.78), (1_000, 1.00)])
def test_the_independence_test_rejects_far_too_often_under_gamma_diagonal(reports, expected):
    # 20 000 repetitions: standard error of the rate at most 0.0035
    rng = np.random.default_rng(32)
    randomized = gamma_diagonal(RARE, GAMMA_19)
    rate = rejection_rate(rng, randomized, reports)
    assert rejection_rate(rng, RARE, reports) < 0.06
    assert rate == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (4, 5)])
def test_gamma_diagonal_is_harmless_when_one_attribute_is_uniform(sizes):
    # then the uniform replacement leaves that attribute's share of every other cell alone
    rng = np.random.default_rng(33)
    t = random_tables(rng, DRAWS, sizes)
    t /= t.sum(2, keepdims=True) * sizes[0]
    p = random_keep(rng, DRAWS)
    per_attribute = p[:, None, None] * np.eye(sizes[1]) + (1 - p)[:, None, None] / sizes[1]
    randomized = gamma_diagonal(t, p)
    np.testing.assert_allclose(randomized, distort(t, np.eye(sizes[0]), per_attribute))
    assert_never_grows(category_measures(t), category_measures(randomized), RESULT_8)
    if sizes == (2, 2):
        assert_never_grows(pair_measures(t), pair_measures(randomized), RESULT_4 + RESULT_5)


def test_gamma_diagonal_changes_the_order_of_piatetsky_shapiro():
    balanced = np.full((2, 2), 0.25) + 0.01 * np.array([[1, -1], [-1, 1]])
    strengths = [pair_measures(t)["PS"] for t in (RARE, balanced)]
    randomized = [pair_measures(gamma_diagonal(t, GAMMA_19))["PS"] for t in (RARE, balanced)]
    assert strengths == pytest.approx([0, 0.01])
    assert randomized == pytest.approx([0.0238, 0.0082], abs=6e-5)


def test_gamma_diagonal_keeps_the_order_of_supports_but_per_attribute_distortion_does_not():
    rng = np.random.default_rng(34)
    t, other = (random_tables(rng, DRAWS, (2, 3)) for _ in range(2))
    p = random_keep(rng, DRAWS)
    cells = [m.reshape(DRAWS, -1) for m in (t, other, *(gamma_diagonal(m, p) for m in (t, other)))]
    assert_order_kept(*cells)
    pairs = twentieths(3, 11, 1, 5), twentieths(9, 3, 2, 6)
    randomized = [distort(m, keep_or_other(0.8), keep_or_other(0.8)) for m in pairs]
    assert pairs[0][1, 1] < pairs[1][1, 1]
    assert randomized[0][1, 1] > randomized[1][1, 1]


def test_gamma_diagonal_preserves_neither_conditional_independence_nor_partial_correlation():
    t = RARE[..., None] * np.array([0.9, 0.1])
    randomized = gamma_diagonal(t, GAMMA_19, attributes=3)
    assert conditional_dependence(t) < 1e-15
    assert partial_correlation(t) == pytest.approx(0, abs=1e-14)
    assert conditional_dependence(randomized) == pytest.approx(0.0399, abs=6e-5)
    assert partial_correlation(randomized) == pytest.approx(0.1428, abs=6e-5)


def test_gamma_diagonal_preserves_no_model_but_the_saturated_one():
    rng = np.random.default_rng(35)
    for attributes in (3, 4):
        for model in hierarchical_models(attributes):
            t = model_tables(rng, 200, model, [2] * attributes)
            error = misfit(gamma_diagonal(t, np.full(200, 0.8), attributes), model)
            if len(model) == 1:
                assert error.max() < ROUNDING
            else:
                assert np.median(error) > 1e-3, model


def test_gamma_diagonal_preserves_neither_the_gini_order_nor_naive_bayes():
    t = fortieths(1, 1, 4, 13, 1, 3, 1, 16)
    before, after = (
        (gini_gain(m.sum(-2)), gini_gain(m.sum(-3)))
        for m in (t, gamma_diagonal(t, GAMMA_19, attributes=3))
    )
    assert before == pytest.approx((0.0141, 0.0088), abs=6e-5)
    assert after == pytest.approx((0.0101, 0.0157), abs=6e-5)
    t = fortieths(1, 12, 1, 6, 13, 4, 1, 2)
    assert naive_bayes(t) == pytest.approx(0.5333, abs=6e-5)
    assert naive_bayes(gamma_diagonal(t, GAMMA_19, attributes=3)) == pytest.approx(0.4686, abs=6e-5)
