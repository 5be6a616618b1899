"""Means, deviations, percentiles and cumulative shares, against pandas on unperturbed records."""

import numpy as np
import pandas as pd
import pytest
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.charts.rendering import to_svg
from halftruth_collector.estimation import Estimator
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.number import NumberRange
from respondents import answers, codes_of, estimators
from scipy.optimize import approx_fprime
from sources import counts_of, source_of

DISTRIBUTION = ANALYSES["distribution"]


def schema_of(*, sensitive):
    hours = NumberRange(0, 59, 10)
    sexes = ("female", "male", "not said")
    return Schema(
        (
            Attribute("hours", number=hours, optional=True, sensitive=sensitive, label="Hours"),
            Attribute("sex", sexes, missing=("not said",), sensitive=sensitive),
            Attribute("content", ("low", "middling", "high"), ordered=True, sensitive=sensitive),
        )
    )


SCHEMA = schema_of(sensitive=True)
OPEN = schema_of(sensitive=False)
UNPERTURBED = Survey("s", "S", OPEN, RandomizedResponse(dict.fromkeys(OPEN.names, "1")))
SURVEYS = {
    mechanism.kind: Survey("s", "S", SCHEMA, mechanism)
    for mechanism in (
        SplitQuestionnaire.designed(SCHEMA, "19", (), {1: 1.0, 2: 1.0}),
        RandomizedResponse({"hours": "0.8", "sex": "0.9", "content": "0.8"}),
        GammaDiagonal("19"),
    )
}
EDGES = np.array([-0.5, 9.5, 19.5, 29.5, 39.5, 49.5, 59.5])
PERCENTILES = [25, 50, 75]


def people(count=4_000):
    """Hours of so many people, and their answers; men work longer, and a tenth do not say."""
    rng = np.random.default_rng(1)
    sex = np.minimum((rng.random(count) < 0.4) * 1 + 2 * (rng.random(count) < 0.02), 2)
    hours = np.clip(np.rint(rng.gamma(4, 6, count) + 6 * sex), 0, 59).astype(int)
    bins = np.where(rng.random(count) < 0.1, 6, hours // 10)
    content = (rng.random(count) < 0.7 - 0.008 * hours) * 1 + (rng.random(count) < 0.3)
    return pd.Series(hours), answers(np.stack([bins, sex, content], axis=1), SCHEMA)


def asked_of(survey, reports, **query):
    return DISTRIBUTION.compute(source_of(survey, reports), DistributionQuery(**query))


def unperturbed(asked, **query):
    return asked_of(UNPERTURBED, codes_of(asked, OPEN), **query)


def groups_of(hours, asked):
    """Of everybody, and of each group, the hours and answers of those who answered."""
    said = asked["hours"] != "no answer"
    for mask in (said, said & (asked["sex"] == "female"), said & (asked["sex"] == "male")):
        bins = pd.cut(hours[mask], EDGES)
        yield hours[mask], bins.map(lambda one: one.mid).astype(float)


def truths(hours, asked):
    """Means, deviations and interpolated percentiles of bins; and percentiles of hours."""
    shares = np.array(PERCENTILES) / 100
    for raw, middles in groups_of(hours, asked):
        counts, _ = np.histogram(raw, EDGES)
        upto = np.concatenate([[0.0], counts.cumsum() / counts.sum()])
        inside = np.interp(shares, upto, EDGES)
        of_hours = raw.quantile(shares, interpolation="lower")
        yield [middles.mean(), middles.std(ddof=0), *inside], of_hours.to_numpy()


def test_without_perturbation_all_is_that_of_the_records():
    hours, asked = people()
    result = unperturbed(asked, attribute="hours", groups="sex")
    assert [found.group for found in result.groups] == [None, "female", "male"]
    every = zip(result.groups, groups_of(hours, asked), truths(hours, asked), strict=True)
    for found, (raw, middles), (expected, of_hours) in every:
        mean, deviation, *inside = expected
        assert found.base == pytest.approx(len(raw))
        assert found.mean.value == pytest.approx(mean)
        # As pandas has it, but for the reports that are counted less one.
        assert found.mean.standard_error == pytest.approx(middles.sem(), rel=1e-3)
        assert found.deviation.value == pytest.approx(deviation, rel=1e-3)
        assert [q.value for q in found.quantiles] == pytest.approx(inside)
        assert [q.answer for q in found.quantiles] == [f"{h // 10}0 to {h // 10}9".replace(
            "00 to 09", "0 to 9") for h in of_hours]  # fmt: skip
        counts, _ = np.histogram(raw, EDGES)
        assert [a.value for a in found.answers] == pytest.approx(counts / len(raw))
        upto = counts.cumsum() / len(raw)
        assert [a.cumulative.value for a in found.answers] == pytest.approx(upto)
        errors = [a.cumulative.standard_error for a in found.answers]
        assert errors == pytest.approx(np.sqrt(upto * (1 - upto) / len(raw)), rel=1e-2, abs=1e-9)


def test_ordered_answers_count_as_ranks_or_scores():
    _, asked = people()
    ranks = asked["content"].cat.codes + 1
    [found] = unperturbed(asked, attribute="content").groups
    assert found.mean.value == pytest.approx(ranks.mean())
    median = found.quantiles[1]
    assert (median.answer, median.value) == ("middling", ranks.median())
    scored = unperturbed(asked, attribute="content", scores={"content": "0,10,50"})
    assert scored.counted_as == "scores"
    scores = ranks.map({1: 0.0, 2: 10.0, 3: 50.0})
    assert scored.groups[0].mean.value == pytest.approx(scores.mean())
    assert scored.groups[0].deviation.value == pytest.approx(scores.std(ddof=0), rel=1e-3)
    # Ranks of numbers, where one wants them.
    ranked = unperturbed(asked, attribute="hours", scores={"hours": "ranks"})
    assert (ranked.counted_as, ranked.bin_error, ranked.values[:2]) == ("ranks", None, [1, 2])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", SURVEYS)
def test_intervals_hold_the_truth_as_often_as_they_say(kind):
    # 400 surveys: a right interval holds it in fewer than 92.5 or more than 97.3 % once in 50
    # times, and that is tried for the mean of these, which is nearer to 95 %.
    hours, asked = people()
    survey = SURVEYS[kind]
    expected = [np.array(values) for values, _ in truths(hours, asked)]
    of_hours = [values for _, values in truths(hours, asked)]
    errors, holds, bins_hold, contradicted = [], [], [], 0
    for estimator in estimators(survey, asked):
        result = asked_of(survey, estimator.counts, attribute="hours", groups="sex")
        if result.contradictions:
            # There are no intervals. That test has a level of 1 %.
            contradicted += 1
            continue
        numbers = [[g.mean, g.deviation, *g.quantiles] for g in result.groups]
        values = np.array([[one.value for one in row] for row in numbers])
        ends = np.array([[one.interval for one in row] for row in numbers])
        errors.append(values - expected)
        holds.append((ends[..., 0] <= expected) & (np.array(expected) <= ends[..., 1]))
        bins_hold.append([
            [float(q.answers[0].split()[0]) <= h <= float(q.answers[1].split()[-1])
             for q, h in zip(g.quantiles, truth, strict=True)]
            for g, truth in zip(result.groups, of_hours, strict=True)
        ])  # fmt: skip
    assert contradicted <= 10
    errors = np.array(errors)
    # Bias of a mean: none but that of ratios. Those of percentiles are small beside their errors.
    bias = np.abs(errors.mean(axis=0)) / errors.std(axis=0)
    assert (bias < 0.2).all(), bias
    covered = np.mean(holds, axis=0)
    assert ((covered > 0.92) & (covered < 0.98)).all(), covered
    assert (np.abs(covered.mean(axis=0) - 0.95) < 0.02).all(), covered
    # Whatever the hours are within their bins.
    assert (np.mean(bins_hold, axis=0) > 0.93).all()


@pytest.mark.parametrize("whole", [True, False])
def test_bins_cost_no_more_than_is_said(whole):
    step = 10 if whole else 2.5
    ages = NumberRange(0, 39 if whole else 10, str(step), whole)
    schema = Schema([Attribute("age", number=ages, sensitive=False)])
    survey = Survey("s", "S", schema, RandomizedResponse({"age": "1"}))
    rng = np.random.default_rng(5)
    lowest = np.array([float(edge) for edge in ages.edges[:-1]]) + (0.5 if whole else 0)
    for place in (0.0, 0.3, 1.0):
        codes = rng.integers(0, len(lowest), 200)
        within = rng.random(200) < 0.5 if place == 0.3 else np.full(200, place)
        numbers = lowest[codes] + within * (step - 1 if whole else step * 0.999)
        result = asked_of(survey, codes[:, None], attribute="age")
        [found] = result.groups
        assert result.bin_error == (4.5 if whole else 1.25)
        assert abs(found.mean.value - numbers.mean()) <= result.bin_error
        assert abs(found.deviation.value - numbers.std()) <= result.bin_error + 0.1
        if place == 1.0:
            assert numbers.mean() - found.mean.value > 0.99 * result.bin_error
        assert f"by at most {result.bin_error:g}" in " ".join(DISTRIBUTION.interpretation(result))


def test_a_group_that_may_be_empty_has_no_numbers_and_says_so():
    _, asked = people(60)
    survey = SURVEYS["gamma-diagonal"]
    [estimator] = estimators(survey, asked, surveys=1)
    result = asked_of(survey, estimator.counts, attribute="hours", groups="content")
    lacking = [found for found in result.groups if found.undefined]
    assert lacking
    for found in lacking:
        assert found.mean.value is found.quantiles[0].value is None
        assert found.answers == []
        assert found.mean.reliability == "not usable"
    reasons = {row[3] for row in DISTRIBUTION.grid(result).rows}
    assert {found.undefined for found in lacking} <= reasons
    assert "Undefined, as" in " ".join(DISTRIBUTION.warnings(result))
    assert "undefined: " in to_svg(DISTRIBUTION.chart(result))
    rows = [row for row in result.rows() if row[0] == "mean" and row[1] == lacking[-1].group]
    assert rows[0][3:5] == (None, None)


def test_one_report_shows_no_error():
    [found] = asked_of(UNPERTURBED, np.array([[2, 0, 1]]), attribute="hours").groups
    assert (found.mean.value, found.mean.interval) == (24.5, None)
    assert (found.quantiles[1].answer, found.quantiles[1].interval) == ("20 to 29", None)
    assert found.mean.reliability == "not usable"


def test_shares_below_zero_make_intervals_wider_and_no_percentile_fall():
    _, asked = people(300)
    survey = SURVEYS["gamma-diagonal"]
    falls = 0
    for estimator in estimators(survey, asked, surveys=20):
        result = asked_of(
            survey, estimator.counts, attribute="hours", percentiles=[*range(5, 100, 5)]
        )
        [found] = result.groups
        values = [q.value for q in found.quantiles]
        assert values == sorted(values)
        for quantile in found.quantiles:
            assert EDGES[0] <= quantile.interval[0] <= quantile.value
            assert quantile.value <= quantile.interval[1] <= EDGES[-1]
        falls += any(answer.value < 0 for answer in found.answers)
    assert falls > 5


def test_answers_without_an_order_are_named():
    schema = Schema([Attribute("vote", ("left", "right", "none"))])
    survey = Survey("s", "S", schema, GammaDiagonal("19"))
    result = asked_of(survey, np.array([[0], [1], [1], [2]] * 50), attribute="vote")
    assert "does not say that the answers to “vote” are in an order" in " ".join(
        DISTRIBUTION.warnings(result)
    )
    scale = Schema([Attribute("content", ("1", "2", "3", "4"), kind="scale")])
    survey = Survey("s", "S", scale, GammaDiagonal("19"))
    result = asked_of(survey, np.array([[0], [1], [1], [3]] * 50), attribute="content")
    assert (result.counted_as, result.ordered, result.values) == ("numbers", True, [1, 2, 3, 4])
    assert not any("order" in said for said in DISTRIBUTION.warnings(result))


def test_a_regression_of_numbers_is_of_the_middles_of_those_who_answered():
    hours, asked = people()
    query = RegressionQuery(outcome="hours", predictors=["sex"], model="linear")
    counted = source_of(UNPERTURBED, codes_of(asked, OPEN))
    result = ANALYSES["regression"].compute(counted, query)
    _, (_, women), (_, men) = groups_of(hours, asked)
    assert [found.value for found in result.coefficients] == pytest.approx(
        [women.mean(), men.mean() - women.mean()]
    )
    error = np.hypot(women.sem(), men.sem())
    assert result.coefficients[1].standard_error == pytest.approx(error, rel=1e-3)
    # As a predictor a number has one coefficient, unless its bins are compared with one of them.
    for reference, terms in (({}, 2), ({"hours": "0 to 9"}, 6)):
        query = RegressionQuery(
            outcome="sex", predictors=["hours"], present={"sex": "male"}, reference=reference
        )
        found = ANALYSES["regression"].compute(counted, query).coefficients
        assert len(found) == terms


def test_means_of_groups_differ_as_in_pandas_without_perturbation():
    _, asked = people()
    found = unperturbed(asked, attribute="content", groups="sex", reference="male")
    everybody, female, male = found.groups
    assert found.reference == "male"
    assert everybody.difference is male.difference is None
    said = asked["content"].cat.codes + 1.0
    of = [said[asked["sex"] == sex] for sex in ("female", "male")]
    assert female.difference.value == pytest.approx(of[0].mean() - of[1].mean())
    error = np.sqrt(sum(each.var() / len(each) for each in of))
    assert female.difference.standard_error == pytest.approx(error, rel=5e-3)
    rows = [keys for keys, *_ in found.estimates() if keys[0] == "mean_difference"]
    assert rows == [("mean_difference", "female", "male")]


@pytest.mark.parametrize("kind", SURVEYS)
def test_errors_of_differences_are_those_of_the_delta_method(kind):
    survey, (_, asked) = SURVEYS[kind], people()
    counts = counts_of(survey, codes_of(asked, SCHEMA), np.random.default_rng(4))
    found = asked_of(survey, counts, attribute="content", groups="sex", confidence=0.9)
    assert found.reference == "female"
    difference = found.groups[2].difference
    table = Estimator(survey, counts).table(["sex", "content"])

    def statistic(cells):
        shares = cells.reshape(3, 3)[:2]
        female, male = shares @ [1.0, 2.0, 3.0] / shares.sum(axis=1)
        return male - female

    support = table.support.ravel()
    slopes = approx_fprime(support, statistic, 1e-7)
    error = np.sqrt(slopes @ table.covariance("population") @ slopes)
    assert difference.value == pytest.approx(statistic(support))
    assert difference.standard_error == pytest.approx(error, rel=1e-4)
    ends = np.array(difference.interval)
    np.testing.assert_allclose(
        ends, difference.value + 1.6449 * error * np.array([-1, 1]), rtol=1e-3
    )


def test_a_group_to_compare_with_is_one_of_the_groups():
    _, asked = people()
    with pytest.raises(ParameterError, match="reference: 'nobody' is none of the groups; expected"):
        unperturbed(asked, attribute="content", groups="sex", reference="nobody")
