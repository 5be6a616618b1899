"""Surveys whose respondents randomized their answers themselves, with nonresponse."""

import math
from fractions import Fraction

import numpy as np
import pytest
from halftruth_client import SurveyRefused
from halftruth_client.policy import PrivacyPolicy
from halftruth_collector import operations, regress_records
from halftruth_collector.analyses.regression import compute
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.disclosure.posterior import answer_posteriors
from halftruth_collector.disclosure.statement import statement
from halftruth_collector.dry_run import check_survey
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.ops.settings import FormLimits
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    ParameterError,
    Protection,
    Schema,
    Survey,
)
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.mechanisms.designs import DESIGNS
from sources import coefficients, source_of

DICE = {"design": "forced-response", "yes": "1/6", "no": "1/12"}
#: P(report | answer) of the die, rows and columns no, yes, refused: who refuses does not roll it.
CHANNEL = np.array([[10, 1, 0], [2, 11, 0], [0, 0, 12]]) / 12
EYE = [[1, 0], [0, 1]]


def survey_of(missing=("refused",), design=DICE, by="respondent", **more):
    armed = Attribute("armed", ("no", "yes"), missing=missing, **more)
    schema = Schema([Attribute("town", ("south", "north"), sensitive=False), armed])
    return Survey("f", "F", schema, DistortionMatrices({"town": EYE}, {"armed": design}, by))


def test_a_missing_answer_is_reported_unchanged():
    survey = survey_of()
    armed = survey.schema.attributes[1]
    matrix = survey.mechanism.matrix(armed)
    np.testing.assert_allclose(np.array(matrix, dtype=float), CHANNEL, atol=1e-15)
    assert all(sum(column) == 1 for column in zip(*matrix, strict=True))
    reversed_ = survey_of(design=DICE | {"answer": "no"}).mechanism.matrix(armed)
    assert [row[:2] for row in reversed_[:2]] == [
        (Fraction(11, 12), Fraction(1, 6)),
        (Fraction(1, 12), Fraction(5, 6)),
    ]


def test_shares_of_expected_reports_equal_the_shares_of_answers_and_nonresponse():
    """Expected numbers of reports of 1 200 people in each twelfth of the table."""
    truth = np.array([[3, 2, 1], [1, 4, 1]])
    expected = np.einsum("vu,tu->tv", CHANNEL, truth * 1_200).round().astype(int)
    assert (expected == np.einsum("vu,tu->tv", CHANNEL * 12, truth * 100)).all()
    reports = np.repeat(np.argwhere(expected >= 0), expected.ravel(), axis=0)
    estimator = Estimator(survey_of(), Counts.from_reports(survey_of(), reports))
    np.testing.assert_allclose(estimator.table(["town", "armed"]).value, truth / 12, atol=1e-12)
    alone = estimator.table(["armed"])
    np.testing.assert_allclose(alone.value, [4 / 12, 6 / 12, 2 / 12], atol=1e-12)
    # The share of the unchanged answer has only sampling error.
    assert np.sqrt(alone.variance())[2] == pytest.approx(math.sqrt(1 / 6 * 5 / 6 / 14_399))


def answers():
    """Reports, a fifth of which are refusals, more often in one town."""
    rng = np.random.default_rng(5)
    town = rng.integers(0, 2, 6_000)
    armed = (rng.random(6_000) < 0.2 + 0.3 * town).astype(int)
    reported = (rng.random(6_000) >= CHANNEL[0, armed]).astype(int)
    refused = rng.random(6_000) < 0.1 + 0.2 * town
    return town, np.where(refused, 2, reported)


def regression(survey, town, reported):
    yes = {"armed": "yes"}
    query = RegressionQuery(outcome="armed", predictors=["town"], present=yes, estimate="model")
    result = compute(source_of(survey, np.stack([town, reported], axis=1)), query)
    missing = bool(survey.schema.attributes[1].missing)
    said = {each.code: each.values for each in result.caveats}
    assert said["regression"]["method"] == "outcome"
    assert ("left out of regression" in said) == missing
    return np.array([(each.value, each.standard_error) for each in coefficients(result)])


def test_a_regression_uses_only_those_who_answered():
    town, reported = answers()
    told = reported < 2
    with_them = regression(survey_of(), town, reported)
    without = regression(survey_of(()), town[told], reported[told])
    np.testing.assert_allclose(with_them, without, rtol=1e-6)
    # True coefficients: logit 0.2 and the step to logit 0.5; refusal depends only on the town.
    for (value, error), true in zip(with_them, [math.log(0.25), math.log(4)], strict=True):
        assert abs(value - true) < 3 * error
    names = np.array(["no", "yes", "refused"])
    records = {"armed": names[reported], "town": town}
    result = regress_records(survey_of(), records, "armed", ["town"], present={"armed": "yes"})
    assert result.reports == told.sum()
    found = [(each.value, each.standard_error) for each in coefficients(result)]
    np.testing.assert_allclose(found, with_them, rtol=1e-6)


def test_the_protection_states_that_answering_is_not_randomized():
    protection = Protection.of(survey_of())
    assert protection.record.gamma == 10
    assert protection.unperturbed == ("town",)
    said = " ".join(protection.sentences())
    assert "Whether someone answered is not randomized" in said
    assert "Asked directly, without protection: town." in said
    assert "not randomized" not in " ".join(Protection.of(survey_of(())).sentences())


def test_the_posteriors_of_an_audit_leave_out_nonresponse():
    def posteriors(survey, people=None):
        return [
            (each.category, each.prior, each.joint, each.known, each.bound)
            for each in answer_posteriors(survey, people)
        ]

    assert posteriors(survey_of()) == posteriors(survey_of(()))
    pilot = np.array([[3, 2, 1], [1, 4, 1]])

    def people_of(table):
        return lambda names: table.sum(axis=0) if list(names) == ["armed"] else table

    with_them = posteriors(survey_of(), people_of(pilot))
    assert [each[0] for each in with_them] == ["no", "yes"]
    for one, other in zip(
        with_them, posteriors(survey_of(()), people_of(pilot[:, :2])), strict=True
    ):
        assert one[:2] == other[:2]
        assert one[3:] == other[3:]
        # The table of all records includes the refusals.
        assert one[2].most == pytest.approx(other[2].most)
        assert one[2].mean == pytest.approx(other[2].mean)
    assert posteriors(survey_of(), people_of(pilot * [0, 0, 1])) == []


@pytest.mark.parametrize("name", DESIGNS)
def test_reports_of_designs_used_by_respondents_mention_no_device(name):
    design = {"design": name} | {
        p: f"1/{n}" for n, p in enumerate(DESIGNS[name].parameters, start=4)
    }
    if name in ("triangular", "mangat"):
        design["not_sensitive"] = "no"
    survey = survey_of(design=design)
    report = survey_report(source_of(survey, np.stack(answers(), axis=1)))
    said = [
        str(Protection.of(survey)),
        str(check_survey(survey, FormLimits())),
        str(report.methods),
    ]
    said.append(str(statement(audit(survey, respondents=1_000))))
    for text in said:
        assert "device" not in text
        assert "browser" not in text
    assert "respondent" in said[0]
    assert "device" in str(Protection.of(survey_of((), design=design, by="device")))


@pytest.mark.parametrize(
    ("survey", "said"),
    [
        (lambda: survey_of(by="device"), "designs.armed: expected a question with two"),
        (lambda: survey_of(by="dice"), 'randomized_by: expected "device" or "respondent"'),
        (lambda: survey_of(ask_if={"town": ["north"]}), "expected a question with two answers"),
        (lambda: survey_of(design=DICE | {"answer": "refused"}), "is not one of its categories"),
    ],
)  # fmt: skip
def test_invalid_designs_with_nonresponse_are_refused(survey, said):
    with pytest.raises(ParameterError, match=said):
        survey()


def test_a_matrix_may_include_missing_answers():
    armed = Attribute("armed", ("no", "yes"), missing=("refused",))
    matrix = [["5/6", "1/12", 0], ["1/6", "11/12", 0], [0, 0, 1]]
    survey = Survey(
        "f", "F", Schema([armed]), DistortionMatrices({"armed": matrix}, randomized_by="respondent")
    )
    assert Protection.of(survey).record.gamma == 10
    with pytest.raises(ParameterError, match="would reveal a sensitive answer"):
        Survey("f", "F", Schema([armed]), DistortionMatrices({"armed": matrix}))
    told = [["1", "1/12", 0], [0, "11/12", 0], [0, 0, 1]]
    with pytest.raises(ParameterError, match="would reveal a sensitive answer"):
        Survey("f", "F", Schema([armed]), DistortionMatrices({"armed": told}, None, "respondent"))


def test_surveys_randomized_by_respondents_are_not_published_for_answering(store):
    survey = survey_of()
    assert Survey.from_json(survey.canonical_json) == survey
    assert b'"randomized_by":"respondent"' in survey.canonical_json
    assert b"randomized_by" not in survey_of((), by="device").canonical_json
    with pytest.raises(SurveyRefused, match="respondents randomized their answers themselves"):
        PrivacyPolicy("100", ["town"], [survey.digest]).check(survey)
    with pytest.raises(ParameterError, match="'halftruth reports read', which publishes it as cl"):
        operations.publish_survey(store, survey)
    assert "respondents randomized" in check_survey(survey, FormLimits("100")).refused_by_form
    operations.count_rows(store, survey, [([b"0" * 16], [b"\0\1"])])
    stored = store.surveys.get("f")
    assert (stored.status, stored.closed_at is None) == ("closed", False)
    assert operations.count_rows(store, survey, [([b"1" * 16], [b"\0\2"])]).counted == 1
