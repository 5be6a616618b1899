"""Association measures against the formulas written out again, and against simulation."""

import math

import numpy as np
import pytest
from halftruth_collector.estimate import Counts, Estimator
from halftruth_shared import (
    Attribute,
    DomainTooLarge,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SchemaError,
    Survey,
)
from scipy.stats import chi2_contingency

N = 5_000.0


def log_terms(x, y):
    return x * np.log(x / y)


def pair_formulas(t):
    """Measures of a 2×2 table, from the definitions, also for complex numbers; 1 is presence."""
    (p00, p01), (p10, p11) = t
    r0, r1, c0, c1 = p00 + p01, p10 + p11, p00 + p10, p01 + p11
    e00, e11 = r0 * c0, r1 * c1
    agree, chance = p11 + p00, e11 + e00
    return {
        "phi": (p11 * p00 - p01 * p10) / np.sqrt(r1 * c1 * r0 * c0),
        "odds_ratio": p11 * p00 / (p10 * p01),
        "jaccard": p11 / (r1 + c1 - p11),
        "cosine": p11 / np.sqrt(r1 * c1),
        "interest": p11 / (r1 * c1),
        "piatetsky_shapiro": p11 - r1 * c1,
        "conviction": r1 * c0 / p10,
        "j_measure": log_terms(p11, r1 * c1) + log_terms(p10, r1 * c0),
        "certainty": (p11 / r1 - c1) / (1 - c1),
        "standardized_residual": np.sqrt(N) * (p11 - e11) / np.sqrt(e11),
        "added_value": p11 / r1 - c1,
        "risk_difference": p00 / c0 - p01 / c1,
        "laplace": (N * p11 + 1) / (N * r1 + 2),
        "kappa": (agree - chance) / (1 - chance),
        "collective_strength": agree / chance * (1 - chance) / (1 - agree),
        **category_formulas(t),
    }


def category_formulas(t):
    """Measures of a table of any two attributes, from the definitions."""
    rows, columns = t.sum(axis=1), t.sum(axis=0)
    cells = [(i, j) for i in range(t.shape[0]) for j in range(t.shape[1])]
    information = sum(log_terms(t[i, j], rows[i] * columns[j]) for i, j in cells)
    return {
        "chi_squared": N
        * sum((t[i, j] - rows[i] * columns[j]) ** 2 / (rows[i] * columns[j]) for i, j in cells),
        "g_squared": 2 * N * information,
        "mutual_information": information / -sum(r * np.log(r) for r in rows),
        "uncertainty_coefficient": information / -sum(c * np.log(c) for c in columns),
        "concentration": (sum(t[i, j] ** 2 / rows[i] for i, j in cells) - sum(columns**2))
        / (1 - sum(columns**2)),
    }


def slopes(formulas, table):
    """Gradient of each formula by complex steps, which lose nothing to differences."""
    step, gradients = 1e-30, {}
    for cell in range(table.size):
        moved = table.astype(complex)
        moved.flat[cell] += 1j * step
        for name, value in formulas(moved).items():
            gradients.setdefault(name, []).append(value.imag / step)
    return {name: np.array(gradient) for name, gradient in gradients.items()}


def survey_of(*sizes, keep="0.9", items=None):
    schema = Schema(
        [
            Attribute(f"a{j}", [f"c{code}" for code in range(size)], items=items)
            for j, size in enumerate(sizes)
        ]
    )
    return Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(schema.names, keep)))


def counts_of(survey, shares):
    """Counts whose reconstruction is near these shares."""
    channel = survey.mechanism.channel(survey.schema, survey.schema.names)
    counts = np.rint(channel.forward(shares) * N).astype(int)
    counts.flat[0] += int(N) - counts.sum()
    cells = np.stack(np.indices(shares.shape), axis=-1).reshape(-1, shares.ndim)
    return Counts.from_cells(survey.schema, cells, counts.ravel())


def by_name(measures):
    return {measure.name: measure for measure in measures}


@pytest.mark.parametrize("seed", range(5))
def test_every_measure_of_two_binary_attributes_is_its_formula(seed):
    survey = survey_of(2, 2)
    shares = np.random.default_rng(seed).dirichlet(np.full(4, 4.0)).reshape(2, 2)
    estimator = Estimator(survey, counts_of(survey, 0.1 + 0.6 * shares))
    table = estimator.table(["a0", "a1"])
    measures = by_name(estimator.measures(["a0", "a1"]))
    expected, gradients = pair_formulas(table.support), slopes(pair_formulas, table.support)
    assert set(measures) == set(expected)
    for name, measure in measures.items():
        assert measure.value == pytest.approx(expected[name], rel=1e-9), name
        variance = gradients[name] @ table.covariance() @ gradients[name]
        assert measure.standard_error == pytest.approx(math.sqrt(variance), rel=1e-7), name
        half = 1.959963984540054 * measure.standard_error
        assert measure.interval == pytest.approx((measure.value - half, measure.value + half))
        half = measure.standard_error / math.sqrt(0.05)
        assert measure.chebyshev_interval == pytest.approx(
            (measure.value - half, measure.value + half)
        )


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_measures_of_categories_are_their_formulas(target):
    survey = survey_of(3, 4)
    shares = np.random.default_rng(9).dirichlet(np.full(12, 9.0)).reshape(3, 4)
    estimator = Estimator(survey, counts_of(survey, shares))
    table = estimator.table(["a0", "a1"])
    measures = by_name(estimator.measures(["a0", "a1"], target=target))
    expected, gradients = category_formulas(table.support), slopes(category_formulas, table.support)
    assert set(measures) == set(expected)
    for name, measure in measures.items():
        assert measure.value == pytest.approx(expected[name], rel=1e-9), name
        variance = gradients[name] @ table.covariance(target) @ gradients[name]
        assert measure.standard_error == pytest.approx(math.sqrt(variance), rel=1e-7), name


def test_statistics_of_a_nearly_unperturbed_survey_are_those_of_the_plain_table():
    survey = survey_of(2, 3, keep="0.999999999999")
    shares = np.array([[0.2, 0.1, 0.15], [0.1, 0.25, 0.2]])
    measures = by_name(Estimator(survey, counts_of(survey, shares)).measures(["a0", "a1"]))
    plain = chi2_contingency(shares * N, correction=False)
    g = chi2_contingency(shares * N, correction=False, lambda_="log-likelihood")
    assert measures["chi_squared"].value == pytest.approx(plain.statistic, rel=1e-6)
    assert measures["g_squared"].value == pytest.approx(g.statistic, rel=1e-6)


def test_the_risk_difference_of_a_nearly_unperturbed_survey_is_that_of_the_plain_table():
    survey = survey_of(2, 2, keep="0.999999999999")
    counts = np.array([[1_500, 500], [1_000, 2_000]])
    measures = by_name(Estimator(survey, counts_of(survey, counts / N)).measures(["a0", "a1"]))
    # Absence of the first attribute, among absence and presence of the second.
    assert measures["risk_difference"].value == pytest.approx(1_500 / 2_500 - 500 / 2_500)


def test_one_category_stands_against_the_rest():
    survey = survey_of(3, 4)
    shares = np.random.default_rng(2).dirichlet(np.full(12, 9.0)).reshape(3, 4)
    estimator = Estimator(survey, counts_of(survey, shares))
    table = estimator.table(["a0", "a1"])
    support = table.support
    p11 = support[2, 1]
    pair = np.array(
        [
            [1 - support[2].sum() - support[:, 1].sum() + p11, support[:, 1].sum() - p11],
            [support[2].sum() - p11, p11],
        ]
    )
    measures = by_name(estimator.measures(["a0", "a1"], {"a0": "c2", "a1": "c1"}))

    def of_whole(whole):
        (cell, row, column) = whole[2, 1], whole[2].sum(), whole[:, 1].sum()
        rest = whole.sum() - row - column + cell
        return pair_formulas(np.array([[rest, column - cell], [row - cell, cell]]))

    assert measures["phi"].value == pytest.approx(pair_formulas(pair)["phi"])
    gradient = slopes(of_whole, support)["phi"]
    variance = gradient @ table.covariance() @ gradient
    assert measures["phi"].standard_error == pytest.approx(math.sqrt(variance))
    # The categories as they are, not collapsed.
    assert measures["chi_squared"].value == pytest.approx(category_formulas(support)["chi_squared"])


def test_the_order_of_the_attributes_transposes_the_table():
    survey = survey_of(2, 2)
    shares = np.array([[0.35, 0.1], [0.2, 0.35]])
    estimator = Estimator(survey, counts_of(survey, shares))
    one, other = (by_name(estimator.measures(names)) for names in (["a0", "a1"], ["a1", "a0"]))
    for name in ("phi", "jaccard", "kappa", "chi_squared"):
        assert one[name].value == pytest.approx(other[name].value)
    assert one["mutual_information"].value == pytest.approx(other["uncertainty_coefficient"].value)
    assert one["added_value"].value != pytest.approx(other["added_value"].value)


def test_measures_that_extend_to_more_attributes_are_their_definitions():
    survey = survey_of(2, 2, 2)
    shares = np.random.default_rng(3).dirichlet(np.full(8, 9.0)).reshape(2, 2, 2)
    estimator = Estimator(survey, counts_of(survey, shares))
    table = estimator.table(["a0", "a1", "a2"])
    measures = by_name(estimator.measures(["a0", "a1", "a2"]))

    def formulas(t):
        margins = [t.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
        expected = np.einsum("i,j,k->ijk", *margins)
        return {
            "jaccard": t[1, 1, 1] / (t.sum() - t[0, 0, 0]),
            "cosine": t[1, 1, 1] / np.sqrt(expected[1, 1, 1]),
            "interest": t[1, 1, 1] / expected[1, 1, 1],
            "piatetsky_shapiro": t[1, 1, 1] - expected[1, 1, 1],
            "chi_squared": N * ((t - expected) ** 2 / expected).sum(),
            "g_squared": 2 * N * log_terms(t, expected).sum(),
        }

    expected, gradients = formulas(table.support), slopes(formulas, table.support)
    assert set(measures) == set(expected)
    for name, measure in measures.items():
        assert measure.value == pytest.approx(expected[name], rel=1e-9), name
        variance = gradients[name] @ table.covariance() @ gradients[name]
        assert measure.standard_error == pytest.approx(math.sqrt(variance), rel=1e-7), name


def test_the_only_item_is_presence():
    survey = survey_of(3, 3, items=["c0"])
    shares = np.random.default_rng(4).dirichlet(np.full(9, 9.0)).reshape(3, 3)
    estimator = Estimator(survey, counts_of(survey, shares))
    by_item = by_name(estimator.measures(["a0", "a1"]))
    named = by_name(estimator.measures(["a0", "a1"], {"a0": "c0", "a1": "c0"}))
    assert by_item["phi"] == named["phi"]


def test_standard_errors_and_intervals_are_those_of_simulation():
    """2 000 surveys: errors within 10 %, normal intervals near 95 %, Chebyshev's above.

    The error of a simulated standard deviation is 1.6 %, that of a coverage 0.5 %.
    """
    survey = survey_of(2, 2)
    truth = np.array([[0.4, 0.1], [0.15, 0.35]])
    channel = survey.mechanism.channel(survey.schema, survey.schema.names)
    rng = np.random.default_rng(20)
    cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    values, errors, normal, chebyshev = {}, {}, {}, {}
    expected = pair_formulas(truth)
    for counts in rng.multinomial(int(N), channel.forward(truth).ravel(), size=2_000):
        estimator = Estimator(survey, Counts.from_cells(survey.schema, cells, counts))
        for measure in estimator.measures(["a0", "a1"]):
            values.setdefault(measure.name, []).append(measure.value)
            errors.setdefault(measure.name, []).append(measure.standard_error)
            for kept, interval in (
                (normal, measure.interval),
                (chebyshev, measure.chebyshev_interval),
            ):
                holds = interval[0] <= expected[measure.name] <= interval[1]
                kept.setdefault(measure.name, []).append(holds)
    for name in expected:
        assert np.mean(errors[name]) == pytest.approx(np.std(values[name]), rel=0.1), name
        assert 0.93 <= np.mean(normal[name]) <= 0.97, name
        assert np.mean(chebyshev[name]) >= 0.99, name


@pytest.mark.parametrize(
    ("counts", "names", "reason"),
    [
        ([900, 100, 100, 20], ["odds_ratio", "g_squared"], "outside the simplex"),
        ([950, 50, 40, 0], ["phi", "interest", "laplace"], "no positive estimated share"),
    ],
)
def test_a_measure_that_is_undefined_says_why(counts, names, reason):
    survey = survey_of(2, 2)
    cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    estimator = Estimator(survey, Counts.from_cells(survey.schema, cells, counts))
    measures = by_name(estimator.measures(["a0", "a1"]))
    assert (estimator.table(["a0", "a1"]).support < 0).any()
    for measure in (measures[name] for name in names):
        assert measure.value is None
        assert measure.standard_error is None
        assert reason in measure.undefined
    for measure in measures.values():
        assert (measure.value is None) == (measure.undefined is not None)


def test_one_report_has_values_without_errors():
    survey = survey_of(2, 2)
    measures = Estimator(survey, Counts.from_reports(survey.schema, [[1, 1]])).measures(
        ["a0", "a1"]
    )
    assert all(measure.standard_error is None for measure in measures)
    assert all(measure.interval is None for measure in measures)


def test_bad_questions_get_one_clear_line():
    survey = survey_of(2, 3)
    estimator = Estimator(survey, counts_of(survey, np.full((2, 3), 1 / 6)))
    for attributes, options, kind, said in (
        (["a0"], {}, ParameterError, "attributes: expected two or more"),
        (["a0", "x"], {}, SchemaError, "unknown attribute 'x'"),
        (["a0", "a0"], {}, SchemaError, "is named twice"),
        (["a0", "a1"], {"present": {"a1": "x"}}, ParameterError, "'a1' has no category 'x'"),
        (["a0", "a1"], {"present": {"x": "c0"}}, ParameterError, "none of the attributes"),
        (["a0", "a1"], {"confidence": 1.0}, ParameterError, "confidence: expected"),
        (["a0", "a1"], {"target": "all"}, ParameterError, "target: expected"),
    ):
        with pytest.raises(kind, match=said) as caught:
            estimator.measures(attributes, **options)
        assert "\n" not in str(caught.value)


def test_a_table_too_large_for_its_covariance_is_refused():
    schema = Schema([Attribute(name, [f"c{i}" for i in range(80)]) for name in ("a0", "a1")])
    survey = Survey("s", "S", schema, GammaDiagonal("19"))
    estimator = Estimator(survey, Counts.from_reports(schema, [[0, 0], [1, 1]]))
    with pytest.raises(DomainTooLarge, match="covariance of 6400 cells"):
        estimator.measures(["a0", "a1"])


def test_associations_are_the_concentration_of_every_ordered_pair():
    survey = survey_of(2, 3, 2)
    shares = np.random.default_rng(5).dirichlet(np.full(12, 6.0)).reshape(2, 3, 2)
    estimator = Estimator(survey, counts_of(survey, shares))
    found = {(a.row, a.column): a.estimate for a in estimator.associations()}
    assert len(found) == 6
    for (row, column), estimate in found.items():
        t = estimator.table([row, column]).support
        rows, columns = t.sum(axis=1), t.sum(axis=0)
        expected = ((t**2 / rows[:, None]).sum() - (columns**2).sum()) / (1 - (columns**2).sum())
        assert estimate.value == pytest.approx(expected)


def test_associations_of_too_many_attributes_are_refused():
    schema = Schema([Attribute(f"a{j}", ["no", "yes"]) for j in range(33)])
    survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(schema.names, "0.9")))
    estimator = Estimator(survey, Counts.from_cells(schema, [[0] * 33, [1] * 33], [5, 5]))
    with pytest.raises(DomainTooLarge, match="33 of them; expected at most 32"):
        estimator.associations()
