"""Errors for a finite population, against an enumeration of all samples and reports."""

from datetime import UTC, datetime
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_shared import Attribute, ParameterError, RandomizedResponse, Schema, Survey
from sources import aim

SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in ("armed", "old")])
SURVEY = Survey("s", "S", SCHEMA, RandomizedResponse({"armed": "3/4", "old": "4/5"}))
KEEP = Fraction(3, 4)


def counted(armed, old=0):
    cells, numbers = np.unique(
        np.array([*zip(armed, [old] * len(armed), strict=True)]), axis=0, return_counts=True
    )
    return Counts.from_cells(SURVEY, cells, numbers)


def test_the_variance_is_unbiased_over_all_samples_and_reports():
    """Exact over samples of 3 of 5 people, two of whom are armed, and over all their reports."""
    people, size = (1, 1, 0, 0, 0), 3
    samples = list(combinations(people, size))
    mean = square = estimated = Fraction(0)
    for sample in samples:
        for report in product((0, 1), repeat=size):
            chance = Fraction(1, len(samples))
            for truth, told in zip(sample, report, strict=True):
                chance *= KEEP if truth == told else 1 - KEEP
            share = (Fraction(sum(report), size) - (1 - KEEP)) / (2 * KEEP - 1)
            mean += chance * share
            square += chance * share**2
            table = Estimator(SURVEY, counted(report), population=len(people)).table(["armed"])
            estimated += chance * Fraction(float(table.covariance()[1, 1]))
    assert mean == Fraction(2, 5)
    # For the respondents alone it is too large by n/(n − 1); for a large population unbiased.
    perturbation = KEEP * (1 - KEEP) / (2 * KEEP - 1) ** 2 / size
    excess = Fraction(size, len(people)) * perturbation / (size - 1)
    assert float(estimated) == pytest.approx(float(square - mean**2 + excess), rel=1e-9)


def test_the_error_lies_between_those_of_a_large_population_and_of_the_respondents():
    counts = counted([1] * 300 + [0] * 700)
    large = Estimator(SURVEY, counts).table(["armed"])

    def error(people):
        table = Estimator(SURVEY, counts, population=people).table(["armed"])
        return np.sqrt(table.variance())[1]

    assert error(1000) == pytest.approx(np.sqrt(large.alone.variance())[1])
    assert error(10**9) == pytest.approx(np.sqrt(large.variance())[1])
    # Warner's estimate 0.1 from 1 000 of 4 000 people: 3/4 of 0.1 · 0.9, and all of 3/16 · 4.
    assert error(4000) ** 2 == pytest.approx((0.75 * 0.09 + 0.75) / 999)


def test_shares_within_a_group_have_the_finite_population_variance():
    rng = np.random.default_rng(61)
    cells = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    counts = Counts.from_cells(SURVEY, cells, rng.multinomial(8000, [0.3, 0.3, 0.2, 0.2]))
    variances = [
        aim(
            Estimator(SURVEY, counts, where, population=people).table(["armed"]), target
        ).variance()[1]
        for where in ({"old": "yes"}, {"old": ["no", "yes"]})
        for people, target in ((16_000, "population"), (None, "population"), (None, "respondents"))
    ]
    for half, large, alone in (variances[:3], variances[3:]):
        assert half == pytest.approx((large + alone) / 2)


@pytest.mark.parametrize(
    ("people", "model", "message"),
    [(999, None, "population: 1000 reports have been counted"), (2000, object(), "a large one")],
)
def test_invalid_populations_are_refused(people, model, message):
    with pytest.raises(ParameterError, match=message):
        Estimator(SURVEY, counted([1] * 1000), model=model, population=people)


@pytest.mark.nightly
def test_intervals_for_a_finite_population_have_their_nominal_coverage():
    """1 500 of 2 000 people, kept with 0.95; intervals for a large population cover more."""
    survey = Survey("s", "S", Schema([SCHEMA.attributes[0]]), RandomizedResponse({"armed": "0.95"}))
    rng, people = np.random.default_rng(62), np.repeat([0, 1], [1400, 600])
    held = []
    for _ in range(2000):
        sample = rng.choice(people, 1500, replace=False)
        reports = np.where(rng.random(1500) < 0.95, sample, 1 - sample)
        counts = Counts.from_cells(survey, [[0], [1]], np.bincount(reports, minlength=2))
        row = []
        for population in (2000, None):
            table = Estimator(survey, counts, population=population).table(["armed"])
            lower, upper = table_intervals(table)
            row.append(lower[1] <= 0.3 <= upper[1])
        held.append(row)
    finite, large = np.mean(held, axis=0)
    # The tolerance is three standard errors.
    assert finite == pytest.approx(0.95, abs=0.015)
    assert large > 0.975


def asked(name, counts, survey=SURVEY, **fields):
    analysis = ANALYSES[name]
    query = analysis.query(**fields)
    return answer(
        analysis, AnalysisContext(survey, counts, datetime.now(UTC), query, min_reports=1), query
    )


def regressed(counts, survey=SURVEY, **fields):
    query = {"outcome": "armed", "predictors": ["old"], "estimate": "moment", **fields}
    return asked("regression", counts, survey, **query).rows


def test_a_regression_has_the_finite_population_variance():
    """Coefficients are the same for each target; variances are the weighted mean."""
    rng = np.random.default_rng(63)
    cells = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    counts = Counts.from_cells(SURVEY, cells, rng.multinomial(8000, [0.3, 0.2, 0.2, 0.3]))
    large, alone = regressed(counts), regressed(counts, target="respondents")
    quarter = regressed(counts, population=32_000)
    for one, two, found in zip(large, alone, quarter, strict=True):
        assert found.value == one.value == two.value
        errors = [each.standard_error or each.standard_error_log for each in (one, two, found)]
        assert errors[2] ** 2 == pytest.approx(0.75 * errors[0] ** 2 + 0.25 * errors[1] ** 2)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("regression", {"estimate": "model"}, "population: without a table of all these answers"),
        ("weighted", {"method": "raking"}, "population: raked respondents are no simple random"),
    ],
)
def test_analyses_without_a_simple_random_sample_refuse_a_population(name, fields, message):
    of = {
        "regression": {"outcome": "armed", "predictors": ["old"]},
        "weighted": {"margins": {"old": {"no": 0.5, "yes": 0.5}}},
    }[name]
    with pytest.raises(ParameterError, match=message):
        asked(name, counted([1] * 300 + [0] * 700), population=2000, **of, **fields)


@pytest.mark.parametrize("surveys", [60, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_regressions_and_calibrated_shares_cover_the_truth_of_a_finite_population(surveys):
    """1 500 of 2 000 people with little perturbation, against coefficients and shares of all."""
    schema = Schema([SCHEMA.attributes[0], Attribute("old", ["no", "yes"], sensitive=False)])
    survey = Survey("s", "S", schema, RandomizedResponse({"armed": "0.95", "old": "1"}))
    people = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [900, 500, 200, 400], axis=0)
    truth = [np.log(200 / 900), np.log(400 / 500) - np.log(200 / 900)]
    margins = {"old": {"no": 1100, "yes": 900}}
    rng, held = np.random.default_rng(64), []
    for _ in range(surveys):
        sample = rng.permutation(people)[:1500]
        told = np.where(rng.random(1500) < 0.95, sample[:, 0], 1 - sample[:, 0])
        counts = Counts.from_reports(survey, np.column_stack([told, sample[:, 1]]))
        row = []
        for population in (2000, None):
            found = regressed(counts, survey=survey, population=population)
            row += [found[place].interval for place in (0, 2)]
            weighted = asked(
                "weighted",
                counts,
                survey,
                attributes=["armed"],
                margins=margins,
                method="calibration",
                population=population,
            )
            answers = [weighted.rows[place] for place in weighted.places("share")]
            row.append(answers[1].interval)
        held.append(
            [low <= t <= high for (low, high), t in zip(row, [*truth, 0.3] * 2, strict=True)]
        )
    finite, large = np.mean(held, axis=0).reshape(2, 3)
    print(finite, large)
    if surveys > 100:
        assert finite == pytest.approx(0.95, abs=0.015)
        assert (large > 0.97).all()
    assert (finite > 0.85).all()
