"""Means, deviations, percentiles and cumulative shares, against pandas on unperturbed records."""

import numpy as np
import pandas as pd
import pytest
from halftruth_collector.analyses import ANALYSES, answer
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
from sources import coefficients, counts_of, source_of

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
    """Hours of `count` people, and their answers; men work longer, and a tenth do not answer."""
    rng = np.random.default_rng(1)
    sex = np.minimum((rng.random(count) < 0.4) * 1 + 2 * (rng.random(count) < 0.02), 2)
    hours = np.clip(np.rint(rng.gamma(4, 6, count) + 6 * sex), 0, 59).astype(int)
    bins = np.where(rng.random(count) < 0.1, 6, hours // 10)
    content = (rng.random(count) < 0.7 - 0.008 * hours) * 1 + (rng.random(count) < 0.3)
    return pd.Series(hours), answers(np.stack([bins, sex, content], axis=1), SCHEMA)


def asked_of(survey, reports, **query):
    return answer(DISTRIBUTION, source_of(survey, reports), DistributionQuery(**query))


def found_of(result, quantity, **keys):
    """Return the rows of a quantity with these keys, and their values."""
    rows = [result.rows[place] for place in result.places(quantity, **keys)]
    return rows, [row.value for row in rows]


def caveat(result, code):
    return next((each.values for each in result.caveats if each.code == code), None)


def unperturbed(asked, **query):
    return asked_of(UNPERTURBED, codes_of(asked, OPEN), **query)


def groups_of(hours, asked):
    """Yield the hours and bin midpoints of all who answered, and of women and men among them."""
    said = asked["hours"] != "no answer"
    for mask in (said, said & (asked["sex"] == "female"), said & (asked["sex"] == "male")):
        bins = pd.cut(hours[mask], EDGES)
        yield hours[mask], bins.map(lambda one: one.mid).astype(float)


def truths(hours, asked):
    """Means, deviations and interpolated percentiles of bins, and percentiles of hours."""
    shares = np.array(PERCENTILES) / 100
    for raw, middles in groups_of(hours, asked):
        counts, _ = np.histogram(raw, EDGES)
        upto = np.concatenate([[0.0], counts.cumsum() / counts.sum()])
        inside = np.interp(shares, upto, EDGES)
        of_hours = raw.quantile(shares, interpolation="lower")
        yield [middles.mean(), middles.std(ddof=0), *inside], of_hours.to_numpy()


def test_estimates_without_perturbation_equal_those_of_the_records():
    hours, asked = people()
    result = unperturbed(asked, attribute="hours", groups="sex")
    groups = [None, "female", "male"]
    assert [row["group"] for row in found_of(result, "mean")[0]] == groups
    every = zip(groups, groups_of(hours, asked), truths(hours, asked), strict=True)
    for group, (raw, middles), (expected, of_hours) in every:
        mean, deviation, *inside = expected
        assert result.find("people", group=group).value == pytest.approx(len(raw))
        found = result.find("mean", group=group)
        assert found.value == pytest.approx(mean)
        # As in pandas, up to the divisor of the variance.
        assert found.standard_error == pytest.approx(middles.sem(), rel=1e-3)
        assert result.find("deviation", group=group).value == pytest.approx(deviation, rel=1e-3)
        values = found_of(result, "percentile", group=group)[1]
        assert values == pytest.approx(inside)
        # A percentile lies in the same bin as that of the hours, wherever hours lie within bins.
        assert np.digitize(values, EDGES).tolist() == np.digitize(of_hours, EDGES).tolist()
        counts, _ = np.histogram(raw, EDGES)
        assert found_of(result, "share", group=group)[1] == pytest.approx(counts / len(raw))
        upto = counts.cumsum() / len(raw)
        cumulative, values = found_of(result, "cumulative_share", group=group)
        assert values == pytest.approx(upto)
        errors = [row.standard_error for row in cumulative]
        assert errors == pytest.approx(np.sqrt(upto * (1 - upto) / len(raw)), rel=1e-2, abs=1e-9)


def test_ordered_answers_are_scored_by_rank_or_by_given_scores():
    _, asked = people()
    ranks = asked["content"].cat.codes + 1
    found = unperturbed(asked, attribute="content")
    assert found.find("mean").value == pytest.approx(ranks.mean())
    median = found.find("percentile", percentile="50")
    assert median.value == ranks.median()
    assert DISTRIBUTION.headline(found).endswith(", median middling (all people).")
    [table] = [
        part.grid for part in DISTRIBUTION.present(found).parts if part.title == "Percentiles"
    ]
    assert [str(cell) for cell in table.rows[1]] == ["50", "middling", "middling"]
    scored = unperturbed(asked, attribute="content", scores={"content": "0,10,50"})
    assert caveat(scored, "scores")["scores"] == {"low": 0, "middling": 10, "high": 50}
    scores = ranks.map({1: 0.0, 2: 10.0, 3: 50.0})
    assert scored.find("mean").value == pytest.approx(scores.mean())
    assert scored.find("deviation").value == pytest.approx(scores.std(ddof=0), rel=1e-3)
    # Ranks of numbers, on request.
    ranked = unperturbed(asked, attribute="hours", scores={"hours": "ranks"})
    assert caveat(ranked, "scores")["kind"] == "rank"
    assert caveat(ranked, "bin error") is None


@pytest.mark.nightly
@pytest.mark.parametrize("kind", SURVEYS)
def test_intervals_cover_the_truth_in_95_percent_of_simulated_surveys(kind):
    # With 400 surveys, a correct coverage is below 92.5 or above 97.3 % once in 50 times; the mean
    # of the coverages, which is closer to 95 %, is tested more strictly.
    hours, asked = people()
    survey = SURVEYS[kind]
    expected = [np.array(values) for values, _ in truths(hours, asked)]
    of_hours = [values for _, values in truths(hours, asked)]
    errors, holds, bins_hold, contradicted = [], [], [], 0
    for estimator in estimators(survey, asked):
        result = asked_of(survey, estimator.counts, attribute="hours", groups="sex")
        if result.contradictions:
            # No intervals. The test of contradictions has a level of 1 %.
            contradicted += 1
            continue
        numbers = [
            [*(result.find(name, group=g) for name in ("mean", "deviation")),
             *found_of(result, "percentile", group=g)[0]]
            for g in (None, "female", "male")
        ]  # fmt: skip
        values = np.array([[one.value for one in row] for row in numbers])
        ends = np.array([[one.interval for one in row] for row in numbers])
        errors.append(values - expected)
        holds.append((ends[..., 0] <= expected) & (np.array(expected) <= ends[..., 1]))
        bins_hold.append([
            [EDGES[q.interval[0] >= EDGES][-1] <= h <= EDGES[q.interval[1] <= EDGES][0]
             for q, h in zip(quantiles, truth, strict=True)]
            for (_, _, *quantiles), truth in zip(numbers, of_hours, strict=True)
        ])  # fmt: skip
    assert contradicted <= 10
    errors = np.array(errors)
    # Means have only the bias of ratios. The bias of percentiles is small beside their errors.
    bias = np.abs(errors.mean(axis=0)) / errors.std(axis=0)
    assert (bias < 0.2).all(), bias
    covered = np.mean(holds, axis=0)
    assert ((covered > 0.92) & (covered < 0.98)).all(), covered
    assert (np.abs(covered.mean(axis=0) - 0.95) < 0.02).all(), covered
    # Percentiles of the hours themselves, wherever these lie within their bins.
    assert (np.mean(bins_hold, axis=0) > 0.93).all()


@pytest.mark.parametrize("whole", [True, False])
def test_the_error_due_to_bins_is_at_most_the_stated_bound(whole):
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
        mean, error = result.find("mean").value, caveat(result, "bin error")["error"]
        assert error == (4.5 if whole else 1.25)
        assert abs(mean - numbers.mean()) <= error
        assert abs(result.find("deviation").value - numbers.std()) <= error + 0.1
        if place == 1.0:
            assert numbers.mean() - mean > 0.99 * error
        assert any(f"by at most {error:g}" in said for said in DISTRIBUTION.present(result).notes)


def test_estimates_of_a_group_that_may_be_empty_are_undefined_with_a_reason():
    _, asked = people(60)
    survey = SURVEYS["gamma-diagonal"]
    [estimator] = estimators(survey, asked, surveys=1)
    result = asked_of(survey, estimator.counts, attribute="hours", groups="content")
    lacking = [row for row in found_of(result, "mean")[0] if row.undefined]
    assert lacking
    for mean in lacking:
        assert mean.value is mean.standard_error is mean.interval is None
        assert mean.reliability == "not usable"
        assert set(found_of(result, "percentile", group=mean["group"])[1]) == {None}
        assert not len(result.places("share", group=mean["group"]))
        reason = "the share of the group is less than five standard errors above zero"
        assert mean.undefined == reason
        assert reason in [str(row[2]) for row in DISTRIBUTION.present(result).grid.rows]
        assert any(
            f"Undefined, because {reason}: " in said
            for said in DISTRIBUTION.present(result).warnings
        )
    assert "undefined: " in to_svg(DISTRIBUTION.chart(result))


def test_estimates_from_one_report_have_no_interval():
    found = asked_of(UNPERTURBED, np.array([[2, 0, 1]]), attribute="hours")
    mean, median = found.find("mean"), found.find("percentile", percentile="50")
    assert (mean.value, mean.interval, mean.reliability) == (24.5, None, "not usable")
    assert (median.value, median.interval) == (24.5, None)
    assert {row.interval for row in found.rows} == {None}


def test_negative_shares_give_valid_intervals_and_increasing_percentiles():
    _, asked = people(300)
    survey = SURVEYS["gamma-diagonal"]
    falls = 0
    for estimator in estimators(survey, asked, surveys=20):
        result = asked_of(
            survey, estimator.counts, attribute="hours", percentiles=[*range(5, 100, 5)]
        )
        quantiles, values = found_of(result, "percentile")
        assert values == sorted(values)
        for quantile in quantiles:
            assert EDGES[0] <= quantile.interval[0] <= quantile.value
            assert quantile.value <= quantile.interval[1] <= EDGES[-1]
        fell = min(found_of(result, "share")[1]) < 0
        assert (caveat(result, "falling") is not None) == fell
        falls += fell
    assert falls > 5


def test_answers_without_a_declared_order_cause_a_warning():
    schema = Schema([Attribute("vote", ("left", "right", "none"))])
    survey = Survey("s", "S", schema, GammaDiagonal("19"))
    result = asked_of(survey, np.array([[0], [1], [1], [2]] * 50), attribute="vote")
    [said, *_] = DISTRIBUTION.present(result).warnings
    assert said.startswith("The survey does not declare the answers to vote as ordered")
    scale = Schema([Attribute("content", ("1", "2", "3", "4"), kind="scale")])
    survey = Survey("s", "S", scale, GammaDiagonal("19"))
    result = asked_of(survey, np.array([[0], [1], [1], [3]] * 50), attribute="content")
    assert result.caveats == []
    assert result.find("percentile", percentile="75").value in (1, 2, 3, 4)


def test_a_linear_regression_of_numbers_uses_midpoints_of_those_who_answered():
    hours, asked = people()
    query = RegressionQuery(outcome="hours", predictors=["sex"], model="linear")
    counted = source_of(UNPERTURBED, codes_of(asked, OPEN))
    result = answer(ANALYSES["regression"], counted, query)
    _, (_, women), (_, men) = groups_of(hours, asked)
    assert [found.value for found in coefficients(result)] == pytest.approx(
        [women.mean(), men.mean() - women.mean()]
    )
    error = np.hypot(women.sem(), men.sem())
    assert coefficients(result)[1].standard_error == pytest.approx(error, rel=1e-3)
    # A number as a predictor has one coefficient, or one for each bin if a reference bin is given.
    for reference, terms in (({}, 2), ({"hours": "0 to 9"}, 6)):
        query = RegressionQuery(
            outcome="sex", predictors=["hours"], present={"sex": "male"}, reference=reference
        )
        found = coefficients(answer(ANALYSES["regression"], counted, query))
        assert len(found) == terms


def test_differences_of_group_means_equal_those_of_pandas_without_perturbation():
    _, asked = people()
    found = unperturbed(asked, attribute="content", groups="sex", reference="male")
    [female] = found_of(found, "mean_difference")[0]
    assert (female["group"], female["against"]) == ("female", "male")
    said = asked["content"].cat.codes + 1.0
    of = [said[asked["sex"] == sex] for sex in ("female", "male")]
    assert female.value == pytest.approx(of[0].mean() - of[1].mean())
    error = np.sqrt(sum(each.var() / len(each) for each in of))
    assert female.standard_error == pytest.approx(error, rel=5e-3)


@pytest.mark.parametrize("kind", SURVEYS)
def test_standard_errors_of_differences_follow_the_delta_method(kind):
    survey, (_, asked) = SURVEYS[kind], people()
    counts = counts_of(survey, codes_of(asked, SCHEMA), np.random.default_rng(4))
    found = asked_of(survey, counts, attribute="content", groups="sex", confidence=0.9)
    difference = found.find("mean_difference", group="male", against="female")
    table = Estimator(survey, counts).table(["sex", "content"])

    def statistic(cells):
        shares = cells.reshape(3, 3)[:2]
        female, male = shares @ [1.0, 2.0, 3.0] / shares.sum(axis=1)
        return male - female

    support = table.value.ravel()
    slopes = approx_fprime(support, statistic, 1e-7)
    error = np.sqrt(slopes @ table.covariance() @ slopes)
    assert difference.value == pytest.approx(statistic(support))
    assert difference.standard_error == pytest.approx(error, rel=1e-4)
    ends = np.array(difference.interval)
    np.testing.assert_allclose(
        ends, difference.value + 1.6449 * error * np.array([-1, 1]), rtol=1e-3
    )


def test_a_reference_that_is_not_a_group_is_refused():
    _, asked = people()
    with pytest.raises(ParameterError, match="reference: 'nobody' is none of the groups; expected"):
        unperturbed(asked, attribute="content", groups="sex", reference="nobody")
