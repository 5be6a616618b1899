"""What reports show without the parameters: published values, closed forms, and exact tables."""

import csv
import importlib
import math
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from halftruth_studies.unknown_parameters import (
    any_matrices,
    concentration,
    fit_loglinear,
    gini_after_split,
    growth,
    is_preserved,
    keeping,
    laplace,
    likely_matrices,
    log_odds_ratio,
    measures,
    partial_correlation,
    perturb,
    posteriors,
    random_tables,
    rejections,
    reported,
    reversals,
)
from reference import ROOT, reference_file
from scipy.stats import chi2, chi2_contingency, ncx2
from witnesses import witness

from ..collector.estimation.definitions import category_measures, pair_measures

STUDIES = ROOT / "docs" / "studies"
DRAWS, REPORTS = 10_000, 1_000

ANY_BINARY = {"phi", "risk_difference", "column_risk_difference", "piatetsky_shapiro"}
CATEGORIES = {
    "chi_squared",
    "g_squared",
    "mutual_information",
    "uncertainty_coefficient",
    "concentration",
}
LIKELY = {
    "certainty",
    "added_value",
    "kappa",
    "odds_ratio",
    "interest",
    "conviction",
    "collective_strength",
    "j_measure",
    "standardized_residual",
}
FROM_ONE = {"odds_ratio", "interest", "conviction", "collective_strength"}

# Row v is reported, column u is true.
KEPT = np.array([[0.8, 0.2], [0.2, 0.8]])
ASYMMETRIC = np.array([[0.9, 0.3], [0.1, 0.7]])
#: Presence is reported more often where it is not true.
LYING = np.array([[0.1, 0.6], [0.9, 0.4]])

COIL = {"A": (18, 4), "B": (37, 4), "C": (42, 4), "D": (43, 3), "E": (44, 0)}
COIL |= {"F": (47, 0), "G": (59, 0), "H": (65, 0), "I": (68, 0), "J": (86, 0)}


@pytest.fixture(scope="module")
def script():
    """Return the script of the page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(STUDIES)
        yield importlib.import_module("unknown_parameters")


@pytest.fixture(scope="module")
def items(script):
    return script.Items()


def defined(tables):
    """Return the measures of tables (…, rows, columns) by their definitions."""
    if tables.shape[-2:] != (2, 2):
        return category_measures(tables, REPORTS)
    found = pair_measures(tables, REPORTS)
    found["support"] = tables[..., 1, 1]
    found["confidence"] = tables[..., 1, 1] / tables[..., 1, :].sum(-1)
    return found


def distance(name, value):
    return abs(value - 1 if name in FROM_ONE else value)


def drawn(shape, seed):
    """Return random tables, shape (tables, rows, columns)."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(rng.choice([0.3, 1, 5], (DRAWS, 1)), size=(DRAWS, math.prod(shape)))
    tables = weights.reshape(DRAWS, *shape) + 1e-4
    return tables / tables.sum((1, 2), keepdims=True)


def drawn_matrices(size, seed, *, likely=False):
    """Return random matrices, shape (matrices, reports, answers)."""
    rng = np.random.default_rng(seed)
    matrices = rng.dirichlet(np.ones(size), (DRAWS, size)).swapaxes(1, 2)
    if likely:
        matrices = np.where(
            (np.linalg.det(matrices) < 0)[:, None, None], matrices[:, ::-1], matrices
        )
    return matrices


def perturbed(tables, first, second):
    """Return first · table · secondᵀ of every table."""
    return first @ tables @ np.swapaxes(second, -1, -2)


def assert_none_grows(names, tables, seen):
    before, after = defined(tables), defined(seen)
    for name in names:
        sizes = distance(name, before[name]), distance(name, after[name])
        assert (sizes[1] <= sizes[0] * (1 + 1e-9) + 1e-9).all(), name


def assert_order_is_kept(names, tables, seen):
    """Assert that no couple of tables changes its order; a confidence is compared as it is."""
    before, after = defined(tables), defined(seen)
    half = DRAWS // 2
    for name in names:
        one, other = (
            np.subtract(*np.split(v if name in ("laplace", "confidence") else np.abs(v), [half]))
            for v in (before[name], after[name])
        )
        assert (one * other >= -1e-15 * (1 + one**2)).all(), name


# Two attributes


def test_measures_are_those_of_their_definitions():
    for shape in ((2, 2), (3, 4)):
        tables = random_tables(np.random.default_rng(1), shape, 1_000)
        assert tables.shape == (*shape, 1_000)
        np.testing.assert_allclose(tables.sum((0, 1)), 1)
        expected = defined(np.moveaxis(tables, -1, 0))
        found = measures(tables, REPORTS)
        assert found.keys() == expected.keys()
        for name, values in found.items():
            np.testing.assert_allclose(values, expected[name], atol=1e-9, err_msg=name)


def test_tables_of_reports_are_products_of_matrices():
    rng = np.random.default_rng(2)
    tables = random_tables(rng, (2, 3), 50)
    first, second = any_matrices(rng, 2, 50), any_matrices(rng, 3, 50)
    found = perturb(tables, first, second)
    for i in range(50):
        expected = first[..., i] @ tables[..., i] @ second[..., i].T
        np.testing.assert_allclose(found[..., i], expected, atol=1e-12)
        np.testing.assert_allclose(
            reported(tables[..., i], first[..., i], second[..., i]), expected, atol=1e-12
        )
    np.testing.assert_array_equal(perturb(tables, None, None), tables)
    assert (likely_matrices(rng, 2, 100)[1, 1] >= 0).all()
    matrices = likely_matrices(rng, 2, 100)
    assert (matrices[1, 1] >= matrices[1, 0]).all()
    assert (np.linalg.det(np.moveaxis(any_matrices(rng, 2, 100), -1, 0)) < 0).any()


def test_growth_and_reversals_are_shares_of_tables_and_couples():
    tables, seen = drawn((2, 2), 3)[:400], drawn((2, 2), 4)[:400]
    before, after = defined(tables), defined(seen)
    found = growth(before, after)
    couples = [{name: v[part] for name, v in m.items()} for m in (before, after) for part in HALVES]
    reversed_ = reversals(couples[:2], couples[2:])
    for name in before:
        was, now = ([distance(name, value) for value in m[name].tolist()] for m in (before, after))
        assert found[name] == np.mean([b > a + 1e-6 for a, b in zip(was, now, strict=True)])
        changes = [(was[i] > was[i + 200]) != (now[i] > now[i + 200]) for i in range(200)]
        assert reversed_[name] == np.mean(changes), name


HALVES = (slice(0, 200), slice(200, 400))


def test_measures_that_never_grow_in_reports_of_any_matrices():
    witness("Guo", "Result 4")
    tables = drawn((2, 2), 5)
    anyhow = perturbed(tables, drawn_matrices(2, 6), drawn_matrices(2, 7))
    for seen in (anyhow, perturbed(tables, LYING, np.eye(2)), perturbed(tables, ASYMMETRIC, LYING)):
        assert_none_grows(ANY_BINARY | CATEGORIES, tables, seen)
    # All others do, in some tables.
    before, after = defined(tables), defined(anyhow)
    for name in before.keys() - ANY_BINARY - CATEGORIES:
        grown = distance(name, after[name]) > 1.01 * distance(name, before[name])
        assert grown.any(), name


def test_measures_that_never_grow_if_answers_are_mostly_kept():
    witness("Guo", "Result 5")
    tables = drawn((2, 2), 8)
    for first, second in (
        (drawn_matrices(2, 9, likely=True), drawn_matrices(2, 10, likely=True)),
        (KEPT, np.eye(2)),
        (KEPT, ASYMMETRIC),
    ):
        seen = perturbed(tables, first, second)
        assert_none_grows(ANY_BINARY | CATEGORIES | LIKELY, tables, seen)
    before, after = defined(tables), defined(perturbed(tables, KEPT, KEPT))
    for name in ("support", "confidence", "cosine", "jaccard", "laplace"):
        assert (after[name] > 1.01 * before[name]).any(), name
        assert (after[name] < 0.99 * before[name]).any(), name


def test_perturbation_multiplies_the_covariance_and_so_keeps_its_order():
    witness("Guo", "Result 6")
    table = exact([[3, 1], [2, 5]])
    matrices = np.array(
        [[[Fraction(9, 10), Fraction(3, 10)], [Fraction(1, 10), Fraction(7, 10)]], FOUR_FIFTHS]
    )
    seen = reported(table, *matrices)
    factor = Fraction(6, 10) * Fraction(3, 5)
    assert covariance(seen) == factor * covariance(table)
    tables = drawn((2, 2), 11)
    for first, second in ((KEPT, KEPT), (ASYMMETRIC, LYING), (KEPT, np.eye(2))):
        assert_order_is_kept(["piatetsky_shapiro"], tables, perturbed(tables, first, second))


def covariance(table):
    """Return P(both) − P(first)·P(second)."""
    return table[1][1] - (table[1][0] + table[1][1]) * (table[0][1] + table[1][1])


def exact(counts):
    """Return shares as fractions."""
    total = sum(map(sum, counts))
    return np.array([[Fraction(count, total) for count in row] for row in counts])


FOUR_FIFTHS = [[Fraction(4, 5), Fraction(1, 5)], [Fraction(1, 5), Fraction(4, 5)]]


def by_hand(table, first, second):
    """Return the table of reports by a sum over all answers, as nested lists."""
    rows, columns = range(len(table)), range(len(table[0]))
    return [
        [
            sum(first[v][t] * second[w][u] * table[t][u] for t in rows for u in columns)
            for w in columns
        ]
        for v in rows
    ]


NONE = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]


def written(value):
    return f"{value} = {float(value):.4f}"


def test_orders_of_added_value_and_risk_difference_need_one_certain_attribute(script):
    witness("Guo", "Result 7")
    tables = drawn((2, 2), 12)
    first = perturbed(tables, ASYMMETRIC, np.eye(2))
    second = perturbed(tables, np.eye(2), ASYMMETRIC)
    assert_order_is_kept(["column_risk_difference"], tables, first)
    assert_order_is_kept(["added_value", "risk_difference", "confidence"], tables, second)
    kept = perturbed(tables, np.eye(2), KEPT)
    assert_order_is_kept(["added_value", "risk_difference", "confidence", "laplace"], tables, kept)
    # The exact counterexamples of the page: with the other attribute perturbed, orders reverse.
    rows = {label: values for label, *values in script.counterexamples()}

    def column_difference(t):
        return abs(t[0][0] / (t[0][0] + t[1][0]) - t[0][1] / (t[0][1] + t[1][1]))

    def added(t):
        return abs(t[1][1] / (t[1][0] + t[1][1]) - (t[0][1] + t[1][1]))

    for name, of, matrices, couple in (
        ("D", column_difference, (NONE, FOUR_FIFTHS), ("1 1 / 1 7", "1 2 / 5 2")),
        ("AV", added, (FOUR_FIFTHS, NONE), ("1 7 / 1 1", "1 3 / 5 1")),
    ):
        found = []
        for counts in couple:
            table = exact([[int(n) for n in row.split()] for row in counts.split(" / ")])
            values = of(table), of(by_hand(table, *matrices))
            assert rows[f"{name} of {counts}"] == [written(value) for value in values]
            found.append(values)
        (larger, now_smaller), (smaller, now_larger) = found
        assert larger > smaller
        assert now_smaller < now_larger


def test_laplace_is_a_linear_function_of_itself_if_the_second_attribute_is_perturbed(script):
    rows = {label: values for label, *values in script.counterexamples()}
    p = Fraction(4, 5)
    for counts in ([[1, 7], [1, 1]], [[1, 3], [5, 1]], [[2, 3], [4, 5]]):
        table = exact(counts)
        before = Fraction(10 * table[1][1] + 1, 10 * (table[1][0] + table[1][1]) + 2)
        seen = by_hand(table, NONE, FOUR_FIFTHS)
        after = Fraction(10 * seen[1][1] + 1, 10 * (seen[1][0] + seen[1][1]) + 2)
        assert after == (2 * p - 1) * before + 1 - p
        assert laplace(table, 10) == before
        assert laplace(np.array(seen), 10) == after
        label = f"Laplace of {' / '.join(' '.join(map(str, row)) for row in counts)}"
        assert rows.get(label, [written(before), written(after)]) == [
            written(before),
            written(after),
        ]


def test_a_matrix_that_merges_categories_makes_measures_grow(script):
    witness("Guo", "Result 8")
    even = [
        (1 - k) / (d - 1) + (k - (1 - k) / (d - 1)) * np.eye(d) for k, d in ((0.4, 3), (0.3, 4))
    ]
    tables = drawn((3, 4), 13)
    assert_none_grows(CATEGORIES, tables, perturbed(tables, *even))
    divergences = ["chi_squared", "g_squared"]
    seen = perturbed(tables, drawn_matrices(3, 14), drawn_matrices(4, 15))
    assert_none_grows(divergences, tables, seen)
    # The exact counterexample of the page.
    merging = [
        [Fraction(1), Fraction(0), Fraction(0)],
        [Fraction(0), Fraction(95, 100), Fraction(90, 100)],
        [Fraction(0), Fraction(5, 100), Fraction(10, 100)],
    ]
    answers = exact([[8, 1, 1], [2, 4, 4]])
    reports = [[sum(merging[v][u] * row[u] for u in range(3)) for v in range(3)] for row in answers]

    def tau(t):
        columns = sum(sum(column) ** 2 for column in zip(*t, strict=True))
        return (sum(cell**2 / sum(row) for row in t for cell in row) - columns) / (1 - columns)

    values = tau(answers), tau(reports)
    assert values == (Fraction(27, 125), Fraction(13401, 42775))
    assert values == (concentration(answers), concentration(np.array(reports)))
    [label] = [row for row in script.counterexamples() if row[0] == "τ of 8 1 1 / 2 4 4"]
    assert label[1:] == [written(value) for value in values]
    assert [round(uncertainty(t), 3) for t in (answers, reports)] == [
        Decimal("0.185"),
        Decimal("0.233"),
    ]


def uncertainty(table):
    """Return U, in decimals of 28 digits."""

    def decimal(fraction):
        return Decimal(fraction.numerator) / Decimal(fraction.denominator)

    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    information = sum(
        decimal(cell) * decimal(cell / (r * c)).ln()
        for row, r in zip(table, rows, strict=True)
        for cell, c in zip(row, columns, strict=True)
    )
    return information / -sum(decimal(c) * decimal(c).ln() for c in columns)


def test_the_test_of_independence_keeps_its_level_and_loses_power(items):
    """A simulated share of 4 000 surveys is off by 0.015 in fewer than one of 1 000 runs."""
    witness("Guo", "Result 9")
    # Exactly independent answers give exactly independent reports.
    answers = exact([[2 * 3, 2 * 5], [7 * 3, 7 * 5]])
    seen = by_hand(answers, FOUR_FIFTHS, [[Fraction(3, 10), 1], [Fraction(7, 10), 0]])
    assert covariance(seen) == covariance(answers) == 0
    rng = np.random.default_rng(16)
    independent = np.array(seen, dtype=float)
    assert rejections(independent, 500, 4_000, rng) == pytest.approx(0.05, abs=0.015)
    # Of associated answers it rejects as often as a noncentral χ² distribution says, ever less.
    shares = items["AD"] / items["AD"].sum()
    found = []
    for p in (1, 0.8, 0.7, 0.6):
        seen = perturbed(shares, *[np.array([[p, 1 - p], [1 - p, p]])] * 2)
        phi = pair_measures(seen, 1)["phi"]
        expected = ncx2.sf(chi2.isf(0.05, 1), 1, 500 * phi**2)
        found.append(rejections(seen, 500, 4_000, rng))
        assert found[-1] == pytest.approx(expected, abs=0.03)
    assert found == sorted(found, reverse=True)


def test_a_survey_is_rejected_by_pearsons_statistic():
    table = np.array([[0.2, 0.1], [0.3, 0.4]])
    rng, again = np.random.default_rng(17), np.random.default_rng(17)
    surveys = again.multinomial(100, table.ravel(), 300).reshape(300, 2, 2)
    pvalues = [chi2_contingency(survey, correction=False).pvalue for survey in surveys]
    assert rejections(table, 100, 300, rng) == np.mean(np.array(pvalues) < 0.05)


def test_independent_answers_are_called_associated_under_the_gamma_diagonal_matrix():
    """A share of 20 000 surveys is off by 0.01 in fewer than one of 1 000 runs; the page: 78 %."""
    keep = (19 - 1) / (19 + 4 - 1)
    shares = keep * np.outer([0.9, 0.1], [0.9, 0.1]) + (1 - keep) / 4
    assert rejections(shares, 300, 20_000, np.random.default_rng(18)) == pytest.approx(
        0.78, abs=0.01
    )


# Loglinear models

PAIRS = ((0, 1), (1, 2), (0, 2))


def design(terms, shape):
    """Dummy-coded columns of every interaction in every term, one row for each cell."""
    subsets = {s for term in terms for k in range(len(term) + 1) for s in combinations(term, k)}
    cells = np.array(list(product(*map(range, shape))))
    columns = [
        np.prod([cells[:, axis] == code for axis, code in zip(s, codes, strict=True)], axis=0)
        for s in subsets
        for codes in product(*(range(1, shape[axis]) for axis in s))
    ]
    return np.stack(np.broadcast_arrays(*columns), axis=1).astype(float)


def poisson_fit(counts, terms):
    """Newton's method for a Poisson model with a logarithmic link."""
    matrix, seen = design(terms, counts.shape), counts.ravel()
    mean = seen + 0.5
    for _ in range(50):
        working = np.log(mean) + (seen - mean) / mean
        weighted = matrix * mean[:, None]
        slopes = np.linalg.lstsq(weighted.T @ matrix, weighted.T @ working, rcond=None)[0]
        mean = np.exp(matrix @ slopes)
    return mean.reshape(counts.shape)


def random_counts(seed, shape):
    """Counts of every size, none of them 0."""
    rng = np.random.default_rng(seed)
    return 1.0 + rng.poisson(20 * rng.gamma(2, 0.5, size=shape))


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 4, 2)])
def test_decomposable_models_have_their_closed_form(shape):
    n = random_counts(20, shape)
    total = n.sum()
    a, b, g = (n.sum(axis=axes, keepdims=True) for axes in ((1, 2), (0, 2), (0, 1)))
    ab, bg = n.sum(axis=2, keepdims=True), n.sum(axis=0, keepdims=True)
    for terms, expected in (
        ([(0,), (1,), (2,)], a * b * g / total**2),
        ([(0, 1), (2,)], ab * g / total),
        ([(0, 1), (1, 2)], ab * bg / b),
    ):
        fit = fit_loglinear(n, terms)
        np.testing.assert_allclose(fit.fitted, expected, rtol=1e-9)
        assert fit.chi_squared == pytest.approx(((n - expected) ** 2 / expected).sum())


@pytest.mark.parametrize(
    ("terms", "shape"),
    [(PAIRS, (2, 2, 2)), (PAIRS, (3, 2, 4)), (((0, 1), (1, 2), (2, 3), (3, 0)), (2, 3, 2, 2))],
)
def test_other_models_are_those_of_a_poisson_regression(terms, shape):
    n = random_counts(21, shape)
    fit, expected = fit_loglinear(n, terms), poisson_fit(n, terms)
    np.testing.assert_allclose(fit.fitted, expected, rtol=1e-8)
    assert fit.degrees_of_freedom == n.size - np.linalg.matrix_rank(design(terms, shape))


def test_a_model_of_independent_attributes_is_the_contingency_test():
    n = random_counts(22, (3, 4))
    fit, expected = fit_loglinear(n, [{0}, {1}]), chi2_contingency(n, correction=False)
    assert (fit.chi_squared, fit.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert fit.degrees_of_freedom == expected.dof


def test_a_fit_that_does_not_converge_is_refused():
    # The maximum is at the edge: two empty cells, and no empty margin (Haberman's example).
    n = np.array([[[0.0, 20], [30, 40]], [[50, 60], [70, 0]]])
    with pytest.raises(ArithmeticError, match="did not converge"):
        fit_loglinear(n, PAIRS)


def hierarchical_models(attributes):
    """Every model that has all the attributes, by its highest-order terms."""
    larger = [s for size in range(2, attributes + 1) for s in combinations(range(attributes), size)]
    for chosen in product((False, True), repeat=len(larger)):
        model = [s for s, use in zip(larger, chosen, strict=True) if use]
        if not any(set(a) < set(b) for a in model for b in model):
            alone = set(range(attributes)).difference(*model)
            yield model + [(j,) for j in sorted(alone)]


def test_a_model_is_preserved_exactly_if_reports_keep_it():
    witness("Guo", "Theorem 2")
    models = list(hierarchical_models(3))
    assert len(models) == 9
    rng = np.random.default_rng(14)
    two, three = [[9, 3], [1, 7]], [[7, 2, 1], [1, 6, 2], [2, 2, 7]]
    uneven = [np.array(matrix) / 10 for matrix in (two, three, two)]
    for are_perturbed in product((False, True), repeat=3):
        matrices = [m if d else np.eye(len(m)) for m, d in zip(uneven, are_perturbed, strict=True)]
        for model in models:
            matrix = design(model, (2, 3, 2))
            true = np.exp(matrix @ rng.normal(size=matrix.shape[1]))
            seen = reduce(np.kron, matrices) @ (true / true.sum())
            misfit = fit_loglinear(1e6 * seen.reshape(2, 3, 2), model).chi_squared
            preserved = is_preserved(model, [j for j in range(3) if are_perturbed[j]])
            assert preserved == (misfit < 1e-6), (model, are_perturbed, misfit)


def test_the_models_of_the_insurance_items_have_the_published_statistics(script, items):
    counts = items["ADG"]
    independent, alone, p_value = [], [], None
    for keep in script.KEPT:
        matrices = [np.array([[p, 1 - p], [1 - p, p]]) for p in keep]
        n = (reduce(np.kron, matrices) @ counts.ravel()).reshape(2, 2, 2)
        a, d, g = (n.sum(axis=axes, keepdims=True) for axes in ((1, 2), (0, 2), (0, 1)))
        for found, expected in (
            (independent, a * d * g / n.sum() ** 2),
            (alone, n.sum(axis=2, keepdims=True) * g / n.sum()),
        ):
            found.append(((n - expected) ** 2 / expected).sum())
        p_value = chi2.sf(alone[0], 3)
    row = witness("Guo", "Table 4.4")
    row.assert_own(independent, alone, p_value)
    shown = {line[0]: line for line in script.models(items)}
    for model, values in (("(A,D,G)", independent), ("(AD,G)", alone)):
        assert [cell.partition(" ")[0] for cell in shown[model][2:-1]] == [
            f"{value:.2f}" for value in values
        ]
    assert [line[-1] for line in shown.values()] == ["yes"] * 4 + ["no"] * 4


# Associations given others


def test_independence_given_others_needs_these_unperturbed():
    witness("Guo", "Result 10")
    layers = [exact([[2 * 3, 2 * 5], [7 * 3, 7 * 5]]), exact([[4 * 1, 4 * 6], [1 * 1, 1 * 6]])]
    seen = [by_hand(layer, FOUR_FIFTHS, FOUR_FIFTHS) for layer in layers]
    assert [covariance(layer) for layer in seen] == [0, 0]
    # With the third attribute perturbed a layer of reports is a mixture of both layers.
    mixture = [
        [Fraction(4, 5) * one + Fraction(1, 5) * other for one, other in zip(*rows, strict=True)]
        for rows in zip(*layers, strict=True)
    ]
    assert covariance(mixture) != 0
    table = np.stack([np.array(layer, dtype=float) for layer in layers], axis=-1) * 1_000
    for matrices, preserved in (((KEPT, LYING, None), True), ((None, None, KEPT), False)):
        fit = fit_loglinear(reported(table, *matrices), [(0, 2), (1, 2)])
        assert (fit.chi_squared < 1e-9) == preserved
        assert is_preserved([(0, 2), (1, 2)], [2]) is False
        assert is_preserved([(0, 2), (1, 2)], [0, 1]) is True


def test_a_partial_correlation_never_grows_if_the_others_are_unperturbed():
    witness("Guo", "Result 11")
    rng = np.random.default_rng(7)
    weights = rng.gamma(rng.choice([0.5, 1, 5], (DRAWS, 1)), size=(DRAWS, 8)) + 1e-3
    true = weights / weights.sum(1, keepdims=True)
    for condition, never in ((np.eye(2), True), (KEPT, False)):
        channel = np.kron(np.kron(KEPT, LYING), condition)
        before, after = (np.abs(from_inverse(t)) for t in (true, true @ channel.T))
        assert (after <= before * (1 + 1e-9) + 1e-9).all() == never
    for table, expected in zip(true[:50], from_inverse(true[:50]), strict=True):
        assert partial_correlation(table.reshape(2, 2, 2)) == pytest.approx(expected)


def from_inverse(shares):
    """Return the partial correlation of the first two of three, from the inverse covariance."""
    signs = np.indices((2, 2, 2)).reshape(3, -1).astype(float)
    mean, second = shares @ signs.T, np.einsum("nc,ic,jc->nij", shares, signs, signs)
    inverse = np.linalg.inv(second - mean[:, :, None] * mean[:, None, :])
    return -inverse[:, 0, 1] / np.sqrt(inverse[:, 0, 0] * inverse[:, 1, 1])


def test_a_perturbed_condition_makes_a_partial_correlation_of_9_34():
    yes = {0: Fraction(1, 5), 1: Fraction(4, 5)}
    kept = {True: Fraction(4, 5), False: Fraction(1, 5)}
    table = np.zeros((2, 2, 2), dtype=object)
    seen = np.zeros((2, 2, 2), dtype=object)
    for a, d, c in product((0, 1), repeat=3):
        share = Fraction(1, 2) * (yes[c] if a else 1 - yes[c]) * (yes[c] if d else 1 - yes[c])
        table[a, d, c] += share
        for report in (0, 1):
            seen[a, d, report] += kept[report == c] * share
    for shares, expected in ((table, Fraction(0)), (seen, Fraction(9, 34))):
        # Every item is yes for half of the people, so that correlations are rational.
        pairs = {}
        for one, other in combinations(range(3), 2):
            [left_out] = {0, 1, 2} - {one, other}
            assert shares.sum(axis=(other, left_out))[1] == Fraction(1, 2)
            pairs[one, other] = 4 * shares.sum(axis=left_out)[1, 1] - 1
        numerator = pairs[0, 1] - pairs[0, 2] * pairs[1, 2]
        # Both roots are of the same number, by symmetry.
        assert pairs[0, 2] == pairs[1, 2]
        assert numerator / (1 - pairs[0, 2] ** 2) == expected
        assert partial_correlation(shares.astype(float)) == pytest.approx(float(expected))


def test_coefficients_are_those_of_a_regression_and_zero_if_independent(items):
    witness("Guo", "Result 12")
    for table in (items["ADC"], reported(items["ADC"], KEPT, KEPT, None)):
        fitted = poisson_fit(table, PAIRS)
        layer = fitted[..., 1]
        expected = math.log(layer[0, 0] * layer[1, 1] / (layer[0, 1] * layer[1, 0]))
        assert log_odds_ratio(table) == pytest.approx(expected)
    answers, reports = (log_odds_ratio(t) for t in (items["ADC"], reported(items["ADC"], KEPT)))
    assert abs(answers - reports) > 0.1
    layers = [np.outer([0.2, 0.3], [0.6, 0.4]), np.outer([0.4, 0.1], [0.3, 0.7])]
    independent = 1_000 * np.stack(layers, axis=-1)
    for matrices in ((None, None, None), (KEPT, LYING, None)):
        assert log_odds_ratio(reported(independent, *matrices)) == pytest.approx(0, abs=1e-9)
    assert abs(log_odds_ratio(reported(independent, None, None, KEPT))) > 0.01


# Classifiers


def people_of(table):
    """Return one (answer, class) for each person of a table of counts."""
    return [cell for cell in np.ndindex(*table.shape) for _ in range(round(float(table[cell])))]


def test_the_items_of_example_5_are_split_in_the_published_order(script, items):
    found = []
    for is_reported in (False, True):
        for item, p in (("A", Fraction(3, 5)), ("B", Fraction(4, 5))):
            table = items[f"{item}C"].astype(int)
            if is_reported:
                # 25 times as many people, so that expected counts are whole.
                matrix = [[p, 1 - p], [1 - p, p]]
                table = np.array(by_hand((25 * table).tolist(), matrix, NONE))
            people = people_of(table)
            impurity = 0
            for answer in (0, 1):
                classes = [c for a, c in people if a == answer]
                share = sum(classes) / len(classes)
                impurity += len(classes) / len(people) * (1 - share**2 - (1 - share) ** 2)
            assert gini_after_split(table.astype(float)) == pytest.approx(impurity)
            found.append(impurity)
    witness("Guo", "Example 5").assert_own(found)
    by_a, by_b = script.classifiers(items)[:2]
    assert [by_a[1], by_b[1], by_a[2], by_b[2]] == [f"{value:.2f}" for value in found]


def test_no_other_items_have_the_answers_of_example_5():
    values = np.loadtxt(reference_file("data/ticdata2000.txt"), dtype=int)
    has = {item: values[:, column - 1] > bound for item, (column, bound) in COIL.items()}

    def impurity(split, of):
        groups = [of[split], of[~split]]
        return sum(len(group) * 2 * group.mean() * (1 - group.mean()) for group in groups) / len(of)

    found = []
    for of, classes in has.items():
        by = {item: round(impurity(split, classes), 2) for item, split in has.items() if item != of}
        found += [(of, x, y) for x in by for y in by if (by[x], by[y]) == (0.30, 0.33)]
    assert found == [("C", "A", "B")]


def test_the_more_likely_class_changes_in_reports(script, items):
    row = witness("Guo", "Example 6")
    found = []
    for p in (Fraction(1), Fraction(3, 5)):
        people = [
            people_of(np.array(by_hand((5 * items[pair].astype(int)).tolist(), kept(p), NONE)))
            for pair in ("CH", "GH")
        ]
        likelihoods = []
        for answer in (0, 1):
            likelihood = np.mean([h == answer for _, h in people[0]])
            for each in people:
                likelihood *= np.mean([x for x, h in each if h == answer])
            likelihoods.append(likelihood)
        found += [likelihood / sum(likelihoods) for likelihood in likelihoods]
        tables = [reported(items[pair], keeping(float(p))) for pair in ("CH", "GH")]
        assert posteriors(tables, (1, 1)) == pytest.approx(found[-2:])
    row.assert_own(found)
    shown = script.classifiers(items)[2:]
    assert [line[1] for line in shown] + [line[2] for line in shown] == [
        f"{value:.2f}" for value in found
    ]


def kept(p):
    return [[p, 1 - p], [1 - p, p]]


# The page


def test_the_items_are_those_of_the_insurers_customers():
    values = np.loadtxt(reference_file("data/ticdata2000.txt"), dtype=int)
    with (STUDIES / "data" / "coil.csv").open(encoding="ascii", newline="") as file:
        (*names, _), *rows = csv.reader(file)
    expected = {}
    for customer in values:
        answers = tuple(
            "yes" if customer[COIL[name][0] - 1] > COIL[name][1] else "no" for name in names
        )
        expected[answers] = expected.get(answers, 0) + 1
    assert {tuple(row[:-1]): int(row[-1]) for row in rows} == expected
    assert sum(expected.values()) == 5_822


def test_the_page_is_what_its_script_computes(script, monkeypatch):
    monkeypatch.syspath_prepend(STUDIES)
    module = importlib.import_module("page")
    monkeypatch.setattr(module, "render", lambda chart, file: Path(file))
    page = module.Page("unknown-parameters")
    committed = page.text
    script.study(page)
    assert page.text == committed
