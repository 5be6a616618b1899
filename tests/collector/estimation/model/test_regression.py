"""Regressions read from a model, and those of a perturbed answer, against other computations."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.model import (
    fit_model,
    perturbed_outcome_regression,
    regression,
)
from halftruth_collector.estimation.model.information import Fitted
from halftruth_shared import (
    Attribute,
    EstimateError,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SchemaError,
    Survey,
)
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from ..definitions import Z, schema_of

SHAPE = (3, 2, 4, 2)
#: A published survey that the project does not ship, beside the repository.
FIELD = Path(__file__).resolve().parents[4].parent / "shared" / "field-data" / "nigeria.csv"


def simulated(survey, count, seed=0):
    rng = np.random.default_rng(seed)
    a, c = rng.integers(0, 3, count), rng.integers(0, 4, count)
    b = rng.random(count) < expit(-0.5 + 0.8 * a - 0.3 * c)
    d = rng.random(count) < expit(0.2 + 0.5 * b - 0.5 * a)
    records = np.stack([a, b, c, d], axis=1).astype(int)
    return Counts.from_reports(survey, survey.mechanism.perturb_many(survey.schema, records, rng))


@pytest.fixture(scope="module")
def model():
    schema = schema_of(SHAPE)
    survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys("abcd", "0.8")))
    return fit_model(survey, simulated(survey, 4_000))


def test_coefficients_on_all_others_are_parameters_of_the_model(model):
    """Exactly, with their covariance: the logit of b given all others is linear in these."""
    found = regression(model, "b", ["a", "c", "d"])
    corner = model.design.corner @ model.coefficients
    covariance = model.design.corner @ model.covariance @ model.design.corner.T
    codes = [
        [0, 1, 0, 0],
        *([u, 1, 0, 0] for u in (1, 2)),
        *([0, 1, u, 0] for u in (1, 2, 3)),
        [0, 1, 0, 1],
    ]
    rows = [np.flatnonzero((model.design.codes == code).all(axis=1))[0] for code in codes]
    np.testing.assert_allclose(found.coefficients[0], corner[rows], atol=1e-8)
    np.testing.assert_allclose(found.covariance, covariance[np.ix_(rows, rows)], atol=1e-8)
    assert [(t.attribute, t.category, t.reference) for t in found.terms][:3] == [
        (None, None, None),
        ("a", "c1", "c0"),
        ("a", "c2", "c0"),
    ]


def test_coefficients_on_some_others_are_those_of_the_table_of_the_model(model):
    """Of four answers with another reference, on a number and on categories; by differences."""
    scores, reference = {"a": [1.0, 2.0, 4.0]}, {"c": "c2", "b": "c1"}
    found = regression(model, "c", ["b", "a"], reference, scores)
    assert found.answers == ("c0", "c1", "c3")
    assert found.reference == "c2"

    def fitted(table):
        joint = table.sum(axis=3).transpose(1, 0, 2).reshape(6, 4)
        design = np.array([[1, b == 0, x] for b in (0, 1) for x in scores["a"]], dtype=float)

        def loss(flat):
            logits = np.insert(design @ flat.reshape(3, 3).T, 2, 0, axis=1)
            logs = logits - logsumexp(logits, axis=1, keepdims=True)
            slope = (joint - joint.sum(axis=1, keepdims=True) * np.exp(logs))[:, [0, 1, 3]]
            return -(joint * logs).sum(), -(slope.T @ design).ravel()

        options = {"gtol": 1e-13, "maxiter": 2_000}
        return minimize(loss, np.zeros(9), jac=True, method="BFGS", options=options).x

    np.testing.assert_allclose(found.coefficients.ravel(), fitted(model.table), atol=1e-5)
    theta, steps = model.coefficients, 1e-3 * np.linalg.cholesky(model.covariance).T
    corner = model.design.corner
    slopes = [
        (
            fitted(Fitted(model.design, corner @ (theta + step)).table)
            - fitted(Fitted(model.design, corner @ (theta - step)).table)
        )
        / 2e-3
        for step in steps
    ]
    covariance = np.transpose(slopes) @ slopes
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    np.testing.assert_allclose(found.covariance / scale, covariance / scale, atol=5e-3)
    lower, upper = found.interval(0.95)
    np.testing.assert_allclose((lower + upper) / 2, found.coefficients)
    np.testing.assert_allclose((upper - lower) / 2, Z * found.standard_error())


def test_regressions_within_a_domain_are_of_its_people(model):
    found = regression(model, "b", ["c"], where={"a": "c1"})
    table = model.table[1].sum(axis=2)
    logits = np.log(table[1] / table[0])
    expected = [logits[0], *(logits[1:] - logits[0])]
    np.testing.assert_allclose(found.coefficients[0], expected, atol=1e-8)


def test_what_no_regression_can_be_of_is_refused(model):
    with pytest.raises(ParameterError, match=r"^predictors: expected others than the outcome"):
        regression(model, "a", ["a"])
    with pytest.raises(SchemaError, match=r"'x'"):
        regression(model, "a", ["x"])
    with pytest.raises(ParameterError, match=r"^scores: expected a number for each of the 3"):
        regression(model, "b", ["a"], scores={"a": [1.0, 2.0]})
    with pytest.raises(ParameterError, match=r"^reference: 'a' has no category 'c9'"):
        regression(model, "b", ["a"], reference={"a": "c9"})


def outcome_survey(keep):
    schema = schema_of(SHAPE, public=(0, 2, 3))
    return Survey("s", "S", schema, RandomizedResponse(dict(zip("abcd", keep, strict=True))))


def test_a_perturbed_outcome_is_regressed_by_maximum_likelihood():
    """Of an answer kept with 4/5, on all combinations of the others, by a general minimizer."""
    survey = outcome_survey(("1", "0.8", "1", "1"))
    counts = simulated(survey, 3_000)
    found = perturbed_outcome_regression(survey, counts, "b", ["a", "d"], {"a": "c1"})
    a, b, _, d = counts.cells.T
    design = np.stack([np.ones(len(a)), a == 0, a == 2, d == 1], axis=1).astype(float)

    def loss(beta):
        yes = 0.2 + 0.6 * expit(design @ beta)
        return -counts.counts @ np.log(np.where(b == 1, yes, 1 - yes))

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-6}).x
    np.testing.assert_allclose(found.coefficients[0], best, atol=1e-4)
    moves = 1e-3 * np.eye(4)
    hessian = [
        [
            (loss(best + i + j) - loss(best + i - j) - loss(best - i + j) + loss(best - i - j))
            / 4e-6
            for j in moves
        ]
        for i in moves
    ]
    np.testing.assert_allclose(found.covariance, np.linalg.inv(hessian), rtol=2e-3, atol=1e-5)


def test_an_unperturbed_outcome_has_the_log_odds_of_its_table():
    survey = Survey(
        "s", "S", schema_of(SHAPE, public=range(4)), RandomizedResponse(dict.fromkeys("abcd", "1"))
    )
    counts = simulated(survey, 2_000)
    table = counts.marginal([2, 1])
    found = perturbed_outcome_regression(survey, counts, "c", ["b"])
    logits = np.log(table[1:] / table[0])
    np.testing.assert_allclose(found.coefficients[:, 0], logits[:, 0], atol=1e-6)
    np.testing.assert_allclose(found.coefficients[:, 1], logits[:, 1] - logits[:, 0], atol=1e-6)
    errors = np.sqrt(1 / table[1:, 0] + 1 / table[0, 0])
    np.testing.assert_allclose(found.standard_error()[:, 0], errors, rtol=1e-5)


def test_predictors_that_are_perturbed_or_determined_are_refused():
    survey = outcome_survey(("1", "0.8", "1", "1"))
    counts = simulated(survey, 500)
    with pytest.raises(ParameterError, match=r"^predictors: 'b' is perturbed; expected"):
        perturbed_outcome_regression(survey, counts, "a", ["b"])
    twins = Schema(
        [Attribute("x", ["n", "y"])]
        + [Attribute(name, ["n", "y"], sensitive=False) for name in ("u", "v")]
    )
    survey = Survey("t", "T", twins, RandomizedResponse({"x": "0.8", "u": "1", "v": "1"}))
    same = Counts.from_cells(survey, [[0, 0, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]], [40, 30, 20, 60])
    with pytest.raises(EstimateError, match=r"^predictors: the reports do not determine the coeff"):
        perturbed_outcome_regression(survey, same, "x", ["u", "v"])
    survey = Survey("g", "G", schema_of(SHAPE), GammaDiagonal(19))
    with pytest.raises(ParameterError, match=r"^outcome: the mechanism does not perturb each"):
        perturbed_outcome_regression(survey, simulated(survey, 100), "a", ["b"])


@pytest.mark.skipif(not FIELD.exists(), reason="the field data are not part of the project")
@pytest.mark.parametrize(
    ("predictors", "expected"),
    [
        (["female"], {"female": (-0.64215, 0.15991)}),
        (
            ["married", "female"],
            {"married": (-0.34828, 0.15361)},
        ),
        (
            ["assets", "married", "education", "female"],
            {
                "assets": (0.07943, 0.04051),
                "married": (-0.34498, 0.15430),
                "education": (-0.01755, 0.04394),
                "female": (-0.58563, 0.16077),
            },
        ),
    ],
)
def test_forced_response_in_the_field(predictors, expected):
    """Contact with armed groups in Nigeria (Blair, Imai & Zhou 2015), coefficients and errors."""
    survey, counts, numbers = nigeria()
    found = perturbed_outcome_regression(survey, counts, "armed", predictors, scores=numbers)
    names = [term.attribute for term in found.terms]
    for name, (coefficient, error) in expected.items():
        place = names.index(name)
        assert found.coefficients[0, place] == pytest.approx(coefficient, abs=5.1e-6)
        assert found.standard_error()[0, place] == pytest.approx(error, abs=5.1e-6)


@pytest.mark.skipif(not FIELD.exists(), reason="the field data are not part of the project")
def test_prevalence_in_the_field():
    survey, counts, _ = nigeria()
    found = perturbed_outcome_regression(survey, counts, "armed")
    share = 1 / (1 + math.exp(-found.coefficients[0, 0]))
    assert share == pytest.approx(0.26135, abs=5.1e-6)
    error = found.standard_error()[0, 0] * share * (1 - share)
    assert error == pytest.approx(0.014445, abs=5.1e-7)


def nigeria():
    with FIELD.open() as file:
        rows = list(csv.DictReader(file))
    names = ("armed", "assets", "married", "education", "female")
    values = {name: sorted({int(row[name]) for row in rows}) for name in names}
    schema = Schema(
        [
            Attribute(name, [str(value) for value in values[name]], sensitive=name == "armed")
            for name in names
        ]
    )
    keep = {name: "5/6" if name == "armed" else "1" for name in names}
    survey = Survey("n", "N", schema, RandomizedResponse(keep))
    reports = [[values[name].index(int(row[name])) for name in names] for row in rows]
    numbers = {name: [float(v) for v in values[name]] for name in ("assets", "education")}
    return survey, Counts.from_reports(survey, reports), numbers
