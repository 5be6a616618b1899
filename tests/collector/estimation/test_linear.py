"""Linear regression from tables of pairs, against least squares of records and by simulation."""

from datetime import UTC, datetime

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext
from halftruth_collector.analyses.regression import compute
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.bounds import normal_quantile
from halftruth_collector.estimation.equation import equation
from halftruth_collector.estimation.intervals import EVERYTHING, INTERVAL
from halftruth_collector.estimation.linear import fit_linear_pairs, fit_linear_table
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.regression import RegressionQuery

SIZES = (2, 3, 3, 4)
SCORES = np.array([0.0, 1, 3, 10])


def schema_of(sizes, public=()):
    return Schema(
        [
            Attribute(name, [f"c{code}" for code in range(size)], sensitive=name not in public)
            for name, size in zip("abcdefg", sizes, strict=False)
        ]
    )


def randomized(**keep):
    public = [name for name, kept in keep.items() if kept == "1"]
    return Survey("s", "S", schema_of(SIZES, public), RandomizedResponse(keep))


def split(length, public=()):
    schema = schema_of(SIZES, public)
    mechanism = SplitQuestionnaire.designed(
        schema, 19, public, dict.fromkeys(range(1, length + 1), 1.0)
    )
    return Survey("s", "S", schema, mechanism)


SURVEYS = {
    "randomized response": randomized(a="1", b="0.8", c="0.7", d="0.9"),
    "gamma-diagonal": Survey("s", "S", schema_of(SIZES), GammaDiagonal(19)),
    "split questionnaire": split(4),
    "split, public": split(3, ("a",)),
}


def people(count, rng):
    records = rng.integers(0, SIZES, (count, 4))
    follows = rng.random(count) < 0.4
    records[:, 3] = np.where(follows, records[:, 1] + records[:, 0], records[:, 3])
    return records


def counted(survey, records, rng):
    return Counts.from_reports(survey, survey.perturbation.reports(records, rng))


def fitted(survey, counts, pairs=True, **asked):
    where = asked.get("where")
    scores = {"d": "0,1,3,10"}
    query = RegressionQuery(**{"outcome": "d", "model": "linear", "scores": scores} | asked)
    estimator = Estimator(survey, counts, where, target=query.target)
    model = equation(estimator.schema, query)
    if pairs:
        return fit_linear_pairs(estimator, model)
    table = estimator.table(model.names)
    kept = np.ones(table.value.shape, dtype=bool)
    return fit_linear_table(table, model, kept)


@pytest.mark.parametrize("pairs", [True, False])
def test_unperturbed_scores_give_least_squares(pairs):
    survey = randomized(a="1", b="1", c="1", d="1")
    records = np.random.default_rng(8).integers(0, SIZES, (500, 4))
    counts = Counts.from_reports(survey, records)
    asked = {"predictors": ["a", "b"], "scores": {"d": "0,1,3,10", "b": "ranks"}}
    found = fitted(survey, counts, pairs, **asked)
    x = np.stack([np.ones(500), records[:, 0], records[:, 1] + 1], axis=1)
    y = SCORES[records[:, 3]]
    least, *_ = np.linalg.lstsq(x, y)
    assert found.coefficients.value == pytest.approx(least, abs=1e-9)
    # White's variance over records, divided by N − 1 as everywhere here.
    bread, rest = np.linalg.inv(x.T @ x), y - x @ least
    white = bread @ ((x.T * rest**2) @ x) @ bread * 500 / 499
    assert found.coefficients.covariance == pytest.approx(white, rel=1e-9)
    # The score test of Boos (1992), at 0 and at both ends of the interval.
    sets = found.coefficients.sets(1.96)
    for j in range(3):
        others = np.delete(x, j, axis=1)
        own = x[:, j] - others @ np.linalg.lstsq(others, x[:, j])[0]
        for value, z in (
            (0.0, found.coefficients.statistic[j]),
            (sets.lower[j], 1.96),
            (sets.upper[j], -1.96),
        ):
            left = y - value * x[:, j]
            scores = own * (left - others @ np.linalg.lstsq(others, left)[0])
            assert scores.sum() / np.sqrt(500 * np.var(scores, ddof=1)) == pytest.approx(z)


ASKED = [
    {"predictors": ["a", "b", "c"]},
    {"predictors": ["a", "b"], "interactions": [["a", "b"]]},
    {"predictors": ["b", "a"], "where": {"c": ["c0", "c2"]}},
]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", SURVEYS)
def test_tables_of_pairs_give_the_coefficients_of_the_whole_table(name, asked):
    survey, rng = SURVEYS[name], np.random.default_rng(5)
    counts = counted(survey, people(20_000, rng), rng)
    pairs, table = fitted(survey, counts, **asked), fitted(survey, counts, pairs=False, **asked)
    assert pairs.coefficients.value == pytest.approx(table.coefficients.value, abs=1e-9)
    # For views, the table uses a closed-form variance and the pairs that of the reports.
    near = 0.05 if name.startswith("split") else 1e-9
    assert pairs.coefficients.standard_error == pytest.approx(
        table.coefficients.standard_error, rel=near
    )


def test_reports_about_pairs_of_questions_are_sufficient():
    survey, rng = split(2), np.random.default_rng(6)
    records = people(5_000, rng)
    errors = []
    x = np.stack([np.ones(5_000), records[:, 0], records[:, 1] == 1, records[:, 1] == 2], axis=1)
    true, *_ = np.linalg.lstsq(x, SCORES[records[:, 3]])
    for _ in range(30):
        found = fitted(survey, counted(survey, records, rng), predictors=["a", "b", "c"])
        errors.append((found.coefficients.value[:4] - true) / found.coefficients.standard_error[:4])
    assert np.abs(np.mean(errors)) < 3 / np.sqrt(120)
    assert 0.8 < np.std(errors) < 1.2


def test_models_that_pairs_cannot_estimate_are_refused_or_undefined():
    survey = Survey(
        "s",
        "S",
        Schema([Attribute(n, ["x", "y", "none"], missing=("none",)) for n in "abd"]),
        GammaDiagonal(19),
    )
    counts = Counts.from_reports(survey, [[0, 0, 0], [1, 1, 1]])
    with pytest.raises(ParameterError, match=r"^predictors: 'a' can be missing"):
        fitted(survey, counts, predictors=["a"], scores={"d": "0,1"})
    survey = randomized(a="1", b="1", c="1", d="1")
    records = np.random.default_rng(1).integers(0, SIZES, (300, 4))
    records[:, 0] = records[:, 1] == 1
    found = fitted(survey, Counts.from_reports(survey, records), predictors=["a", "b"])
    assert "some predictors follow from others" in found.undefined
    assert found.least_known == (1, 2)
    one = fitted(survey, Counts.from_reports(survey, records[:1]), predictors=["a", "b"])
    assert one.undefined == "one report shows no error"


# --- An answer of 1 % among the predictors.


def world(sizes, effect, rng, count=20_000):
    """Records where d depends only on b, and a has its last answer in 1 % of them."""
    shares = np.full(sizes[0], 0.99 / (sizes[0] - 1))
    shares[-1] = 0.01
    records = np.stack(
        [rng.choice(sizes[0], count, p=shares), *(rng.integers(0, d, count) for d in sizes[1:])], 1
    )
    follows = (rng.random(count) < effect) & (records[:, 1] == 1)
    records[:, 3] = np.where(follows, sizes[3] - 1, records[:, 3])
    return records


def rejected(sizes, effect, surveys):
    """Rates of surveys whose interval of each slope excludes 0, and of bounded intervals."""
    survey = Survey("g", "G", schema_of(sizes), GammaDiagonal(19))
    left_out, bounded = [], []
    for seed in range(surveys):
        rng = np.random.default_rng(seed)
        counts = counted(survey, world(sizes, effect, rng), rng)
        asked = {"predictors": ["a", "b", "c"], "scores": {"d": "ranks"}}
        found = fitted(survey, counts, **asked)
        sets = found.coefficients.sets(normal_quantile(0.05))
        inside = (sets.lower <= 0) & (sets.upper >= 0)
        left_out.append(np.where(sets.kind == INTERVAL, ~inside, inside & (sets.kind < EVERYTHING)))
        # Score test and interval agree.
        assert (
            left_out[-1] == (np.abs(found.coefficients.statistic) > normal_quantile(0.05))
        ).all()
        bounded.append(sets.kind == INTERVAL)
    return np.mean(left_out, axis=0)[1:], np.mean(bounded, axis=0)[1:]


def test_a_rare_predictor_causes_no_false_effects_and_hides_no_true_one():
    """With 25 surveys each; the model of all answers rejects 8 % here, and 24 % below."""
    null, _ = rejected((3, 3, 2, 4), 0.0, 25)
    assert null.mean() <= 0.05 + 2 * np.sqrt(0.0475 / 125)
    strong, bounded = rejected((3, 3, 2, 4), 0.3, 25)
    assert strong[2] > 0.8
    assert bounded[2] > 0.8


@pytest.mark.nightly
@pytest.mark.parametrize("sizes", [(3, 2, 2, 2), (3, 3, 2, 4), (3, 6, 6, 4)])
def test_tests_of_coefficients_keep_their_level_with_a_rare_predictor(sizes):
    """With 400 surveys, and up to 432 combinations of answers."""
    surveys = 400
    null, _ = rejected(sizes, 0.0, surveys)
    strong, bounded = rejected(sizes, 0.3, surveys)
    print(f"{sizes}: without effects {null.round(3)}; b=c1 has one {strong.round(3)}, bounded")
    print(bounded.round(3))
    assert null.mean() <= 0.05 + 2 * np.sqrt(0.0475 / surveys)
    assert null.max() <= 0.05 + 3 * np.sqrt(0.0475 / surveys)
    assert strong[sizes[0] - 1] > 0.95 or sizes[1] == 6


@pytest.mark.nightly
@pytest.mark.parametrize("sizes", [(3, 3, 2, 4), (3, 6, 6, 4)])
def test_headlines_rarely_name_a_predictor_without_an_effect(sizes):
    """The model of all answers names a false one in 56 % of surveys with 432 combinations."""
    survey, analysis = Survey("g", "G", schema_of(sizes), GammaDiagonal(19)), ANALYSES["regression"]
    asked = {"outcome": "d", "predictors": ["a", "b", "c"], "scores": {"d": "ranks"}}
    false = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        counts = counted(survey, world(sizes, 0.0, rng), rng)
        there = AnalysisContext(survey, counts, datetime(2026, 5, 9, tzinfo=UTC), min_reports=1)
        result = compute(there, RegressionQuery(**asked, model="linear"))
        _, claims = analysis.decide(result, lambda _, result=result: result)
        false += any(claim.kind == "effect" and not claim.by_rate for claim in claims)
    print(f"{sizes}: a false headline in {false / 200:.1%} of surveys")
    assert false <= 200 * 0.05 + 2 * np.sqrt(200 * 0.0475)
