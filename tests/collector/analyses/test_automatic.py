"""The default estimate depends on the design of the reports, not on their content."""

from datetime import UTC, datetime

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.analyses.table import TableQuery

ASSUMED = "Assuming no interaction of three or more questions: "


def counted(mechanism, size, people, rare=0.5, seed=0):
    """Reports of yes/no questions with a share `rare` of yes."""
    names = [f"q{j}" for j in range(size)]
    schema = Schema([Attribute(name, ["no", "yes"]) for name in names])
    survey = Survey("s", "S", schema, mechanism(schema))
    rng = np.random.default_rng(seed)
    records = (rng.random((people, size)) < rare).astype(np.int64)
    counts = Counts.from_reports(survey, survey.perturbation.reports(records, rng))
    return AnalysisContext(survey, counts, datetime(2026, 5, 9, tzinfo=UTC), min_reports=1)


def split(longest):
    return lambda schema: SplitQuestionnaire.for_amplification(schema, 19, max_length=longest)


def keep(schema):
    return RandomizedResponse(dict.fromkeys(schema.names, "0.6"))


def keep_most(schema):
    return RandomizedResponse(dict.fromkeys(schema.names, "0.9"))


def gamma_diagonal(_):
    return GammaDiagonal(19)


@pytest.mark.parametrize(
    ("mechanism", "size", "length", "estimate"),
    [
        (gamma_diagonal, 5, 2, "moment"),
        (gamma_diagonal, 5, 3, "moment"),
        (keep, 5, 2, "moment"),
        (keep, 5, 3, "model"),
        (split(2), 5, 2, "moment"),
        (split(2), 5, 3, "moment"),
        (split(3), 6, 3, "moment"),
    ],
)
def test_tables_use_the_model_if_moment_margins_are_more_than_twice_as_wide(
    mechanism, size, length, estimate
):
    names = [f"q{j}" for j in range(length)]
    for rare, seed in ((0.5, 0), (0.05, 1)):
        of = counted(mechanism, size, 4_000, rare, seed)
        result = answer(ANALYSES["table"], of, TableQuery(attributes=names))
        assert result.query.estimate == estimate
        assert ANALYSES["table"].headline(result).startswith(ASSUMED) == (estimate == "model")
    # Compare the spread of both estimates over other surveys with uniform answers.
    spread = {}
    surveys = [counted(mechanism, size, 4_000, seed=seed) for seed in range(100, 112)]
    for method in ("moment", "model"):
        try:
            supports = [
                Estimator(s.survey, s.counts, model=s.model() if method == "model" else None)
                .table(names)
                .value
                for s in surveys
            ]
        except ValueError:
            spread[method] = np.inf
        else:
            spread[method] = np.std(supports, axis=0).mean()
    assert (spread["moment"] > 2 * spread["model"]) == (estimate == "model")


def test_domains_and_named_interactions_affect_the_choice():
    of = counted(keep, 5, 8_000)
    alone = ComparisonQuery(answer={"q0": "yes"}, groups="q1")
    within = ComparisonQuery(answer={"q0": "yes"}, groups="q1", where={"q2": "no"})
    named = TableQuery(attributes=["q0", "q1"], interactions=[["q0", "q1", "q2"]])
    sampled = TableQuery(attributes=["q0", "q1", "q2"], population=100_000)
    chosen = [
        answer(ANALYSES[name], of, query).query.estimate
        for name, query in (
            ("comparison", alone),
            ("comparison", within),
            ("table", named),
            ("table", sampled),
        )
    ]
    assert chosen == ["moment", "model", "model", "moment"]


@pytest.mark.parametrize(
    ("mechanism", "reports", "method"),
    [(split(2), 15_000, "model"), (keep_most, 100_000, "moment")],
)
@pytest.mark.parametrize("rare", [0.5, 0.04])
def test_regressions_on_two_predictors_have_coefficients_by_default(
    mechanism, reports, method, rare
):
    """The estimator follows from the design, whatever the shares of the answers are."""
    for seed in range(2):
        of = counted(mechanism, 5, reports, rare, seed)
        query = RegressionQuery(outcome="q0", predictors=["q1", "q2"])
        result = answer(ANALYSES["regression"], of, query)
        [said] = [each.values for each in result.caveats if each.code == "regression"]
        assert said["method"] == method
        assert np.isfinite(result.estimates.value[result.places("coefficient")]).all()


def test_a_regression_whose_interaction_nobody_reported_has_the_model_of_pairs():
    """The design has views of three questions, and no report about these three has come."""
    asked = {"q0", "q1", "q2"}
    schema = Schema([Attribute(f"q{j}", ["no", "yes"]) for j in range(6)])
    survey = Survey("s", "S", schema, split(3)(schema))
    rng = np.random.default_rng(1)
    reports = survey.perturbation.reports(rng.integers(0, 2, (4_000, 6)), rng)
    others = [row for row in reports if not asked <= set(survey.perturbation.reported(row))]
    for rows, own in ((reports, True), (np.array(others), False)):
        counts = Counts.from_reports(survey, rows)
        of = AnalysisContext(survey, counts, datetime(2026, 5, 9, tzinfo=UTC), min_reports=1)
        query = RegressionQuery(outcome="q0", predictors=["q1", "q2"])
        result = answer(ANALYSES["regression"], of, query)
        assert np.isfinite(result.estimates.value[result.places("coefficient")]).all()
        assert (result.model_fit is None) == own
