"""Regressions of records randomized in the field, with unperturbed covariates."""

import csv

import numpy as np
import pytest
from field_data import NIGERIA, published
from halftruth_collector import regress_records
from halftruth_shared import Attribute, ParameterError, RandomizedResponse, Schema, Survey
from scipy.optimize import minimize
from scipy.special import expit
from sources import coefficients, estimator_of
from witnesses import witness

from .test_regression_by_model import hessian, method, numbers


def forced_response():
    """A die: 1 and 6 force an answer, other numbers ask for the truth."""
    schema = Schema([Attribute("armed", ["no", "yes"])])
    return Survey("n", "N", schema, RandomizedResponse({"armed": "5/6"}))


@pytest.fixture(scope="module")
def nigeria():
    with NIGERIA.open() as file:
        rows = list(csv.DictReader(file))
    names = ("age", "assets", "married", "education", "female")
    columns = {name: np.array([float(row[name]) for row in rows]) for name in names}
    columns["age/10"] = columns["age"] / 10
    columns["its square"] = columns["age/10"] ** 2
    return {**columns, "armed": ["no" if row["armed"] == "0" else "yes" for row in rows]}


@published
def test_coefficients_of_forced_response_are_the_published_ones(nigeria):
    """Contact with armed groups in Nigeria (Blair, Imai & Zhou 2015), coefficients and errors."""
    row = witness("Blair, Imai & Zhou 2015", "Logistic regressions")
    found = []
    for predictors in (
        ["female"],
        ["married", "female"],
        ["assets", "married", "education", "female"],
    ):
        result = regress_records(forced_response(), nigeria, "armed", predictors)
        # The source of the second has the coefficient of "married" alone.
        for name in predictors if len(predictors) != 2 else predictors[:1]:
            each = result.find("coefficient", term={name: "each unit"})
            found += [each.value, each.standard_error]
    row.assert_own(found)


@published
def test_the_prevalence_is_the_published_one(nigeria):
    answers = np.array([[int(answer == "yes")] for answer in nigeria["armed"]])
    table = estimator_of(forced_response(), answers).table(["armed"])
    row = witness("Blair, Imai & Zhou 2015", "Prevalence")
    row.assert_own(table.value[1], np.sqrt(table.variance())[1])


@published
def test_the_model_of_six_covariates_maximizes_the_likelihood(nigeria):
    """Against a general minimizer."""
    predictors = ["age/10", "its square", "assets", "married", "education", "female"]
    result = regress_records(forced_response(), nigeria, "armed", predictors)
    design = np.column_stack([np.ones(2_423), *(nigeria[name] for name in predictors)])
    yes = np.array(nigeria["armed"]) == "yes"

    def loss(beta):
        chance = 1 / 6 + 4 / 6 * expit(design @ beta)
        return -np.log(np.where(yes, chance, 1 - chance)).sum()

    best = minimize(loss, numbers(result)[0] * 0.9, method="Nelder-Mead", options={"maxiter": 1})
    values, errors = numbers(result)
    assert loss(values) < best.fun
    slope = [(loss(values + h) - loss(values - h)) / 2e-5 for h in 1e-5 * np.eye(7)]
    assert np.abs(slope * errors).max() < 1e-3
    np.testing.assert_allclose(
        errors, np.sqrt(np.diag(np.linalg.inv(hessian(loss, values)))), rtol=1e-2
    )


def test_texts_are_categories_and_records_may_be_a_dict_of_columns():
    rng = np.random.default_rng(2)
    town = rng.choice(["north", "south"], 3_000)
    weight = rng.normal(size=3_000)
    true = rng.random(3_000) < expit(-0.5 + 1.0 * (town == "south") + 0.5 * weight)
    told = np.where(rng.random(3_000) < 5 / 6, true, ~true)
    records = {"armed": np.where(told, "yes", "no"), "town": town, "weight": weight}
    result = regress_records(forced_response(), records, "armed", ["town", "weight"])
    terms = [each["term"] for each in coefficients(result)]
    assert terms == [None, {"town": "south"}, {"weight": "each unit"}]
    truth = [-0.5, 1.0, 0.5]
    values, errors = numbers(result)
    assert (np.abs(values - truth) < 3 * errors).all()
    south = regress_records(
        forced_response(), records, "armed", ["town", "weight"], reference={"town": "south"}
    )
    assert coefficients(south)[1].value == pytest.approx(-values[1], abs=1e-6)
    assert method(result) == "outcome"
    assert result.headline.startswith("armed=yes is more likely with ")


@pytest.mark.parametrize("surveys", [30, pytest.param(1_000, marks=pytest.mark.nightly)])
def test_intervals_and_tests_have_their_nominal_rates(surveys):
    """With 1 000 surveys, an interval's rate is off by 2 points once in 270 times by chance."""
    rng, truth = np.random.default_rng(64), np.array([-1.0, 0.5, 0.0])
    covered, rejected = [], []
    for _ in range(surveys):
        weight, height = rng.normal(size=1_500), rng.normal(size=1_500)
        chance = 1 / 6 + 4 / 6 * expit(truth[0] + truth[1] * weight)
        armed = np.where(rng.random(1_500) < chance, "yes", "no")
        records = {"armed": armed, "weight": weight, "height": height}
        result = regress_records(forced_response(), records, "armed", ["weight", "height"])
        values, errors = numbers(result)
        covered.append(np.abs(values - truth) < 1.96 * errors)
        rejected.append(coefficients(result)[2].p_value < 0.05)
    print(np.mean(covered, axis=0), np.mean(rejected))
    lowest, highest = (0.93, 0.97) if surveys > 100 else (0.8, 1)
    assert ((np.mean(covered, axis=0) >= lowest) & (np.mean(covered, axis=0) <= highest)).all()
    assert np.mean(rejected) <= 1 - lowest


@pytest.mark.parametrize(
    ("changed", "asked", "said"),
    [
        ({}, {"predictors": ["height"]}, r"^records: expected a column 'height'"),
        ({"armed": ["no", "maybe"]}, {}, r"^records: 'armed' has other values than its cat"),
        ({"weight": [1.0, np.nan]}, {}, r"^records: 'weight' has missing numbers"),
        ({"weight": np.array([1, None])}, {}, r"^records: 'weight' has values of several kinds"),
        ({"weight": ["a", "b"]}, {"reference": {"weight": "c"}}, r"^reference: 'c' of 'weight'"),
    ],
)
def test_invalid_records_are_refused(changed, asked, said):
    records = {"armed": ["no", "yes"], "weight": [1.0, 2.0], **changed}
    with pytest.raises(ParameterError, match=said):
        regress_records(forced_response(), records, "armed", **{"predictors": ["weight"], **asked})
