"""Whether shares of answers explain the reports: the test, its level, and the closest shares."""

import numpy as np
import pytest
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.design_fit import (
    LEVEL,
    contradictions,
    fit_of,
    likelihood_of,
)
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
    ViewClass,
)
from scipy.optimize import minimize
from scipy.stats import binom, chi2

from .definitions import survey_of, uneven_matrix

FORCED = {"design": "forced-response", "yes": "1/6", "no": "1/6"}
MANGAT = {"design": "mangat", "p": "49/50", "not_sensitive": "no"}


def of_design(*designs):
    names = "abcd"[: len(designs)]
    schema = Schema([Attribute(name, ["no", "yes"]) for name in names])
    matrices = dict(zip(names, designs, strict=True))
    return Survey("s", "S", schema, DistortionMatrices({}, matrices))


def counts_of(survey, counts):
    counts = np.asarray(counts)
    cells = np.stack(np.indices(counts.shape), axis=-1).reshape(-1, counts.ndim)
    return Counts.from_cells(survey, cells, counts.ravel())


def found(survey, counts, together=True):
    return contradictions(survey, counts, survey.schema.names, together)


@pytest.mark.parametrize(
    ("shape", "mechanism"),
    [
        ((3,), DistortionMatrices({"a": uneven_matrix(3)})),
        ((2, 3), RandomizedResponse({"a": "3/5", "b": "7/10"})),
        ((2, 3), GammaDiagonal("19/10")),
    ],
    ids=["matrix", "randomized-response", "gamma-diagonal"],
)
def test_the_closest_shares_maximize_the_likelihood(shape, mechanism):
    """Against a general optimizer on the simplex, with reports that no shares explain."""
    survey = survey_of(mechanism, shape)
    channel = mechanism.bind(survey.schema).channel(survey.schema.names)
    counts = np.zeros(shape, int)
    counts.flat[:3] = 60, 5, 1
    likelihood = likelihood_of(survey, counts_of(survey, counts), survey.schema.names)
    [shares], [statistic] = likelihood.maximum([counts[None].astype(float)])

    def loss(logits):
        chances = channel.forward((np.exp(logits) / np.exp(logits).sum()).reshape(shape))
        there = counts > 0
        return -2 * (counts[there] * np.log(chances[there] * 66 / counts[there])).sum()

    best = min(
        minimize(loss, start, method="BFGS").fun
        for start in np.random.default_rng(1).normal(size=(5, counts.size))
    )
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    assert statistic == pytest.approx(best, abs=1e-3)
    assert loss(np.log(np.maximum(shares.ravel(), 1e-300))) == pytest.approx(statistic, abs=1e-6)


def test_fewer_yes_than_are_forced_contradict_the_design():
    survey = of_design(FORCED, FORCED)
    # The design forces 333 of 2 000 to say yes to the first question, but 220 do.
    counts = counts_of(survey, [[890, 890], [110, 110]])
    [one] = found(survey, counts)
    assert (one.attributes, one.p_value <= LEVEL / 3) == (["a"], True)
    assert found(survey, counts_of(survey, [[860, 800], [180, 160]])) == []


@pytest.mark.parametrize("questions", [1, 2, 40, 41, 60, 200])
@pytest.mark.parametrize("design", [FORCED, {**FORCED, "yes": "1/4"}], ids=["sixth", "quarter"])
def test_a_contradiction_is_found_among_any_number_of_questions(questions, design):
    """60 of 1 000 say yes to one question, of which the dice force 167 or 250 to say yes."""
    schema = Schema([Attribute(f"q{j}", ["no", "yes"]) for j in range(questions)])
    survey = Survey("s", "S", schema, DistortionMatrices({}, dict.fromkeys(schema.names, design)))
    rng = np.random.default_rng(4)
    reports = (rng.random((1_000, questions)) < 0.4).astype(int)
    reports[:, -1] = np.arange(1_000) < 60
    [one] = found(survey, Counts.from_reports(survey, reports), together=False)
    assert one.attributes == [schema.names[-1]]
    assert one.p_value <= LEVEL / questions


@pytest.mark.parametrize("level", [1e-2, 1e-3, 1e-4])
def test_the_decision_is_that_of_the_exact_distribution_at_every_level(level):
    """Yes/no questions, whose statistic has an exact distribution at the boundary (binomial)."""
    survey, forced, reports = of_design(FORCED), 1 / 6, 600
    numbers = np.arange(40, 101, 3)
    exact = binom.cdf(numbers, reports, forced)
    rejected = [
        fit_of(likelihood_of(survey, counts_of(survey, [reports - n, n]), ["a"]), level)
        for n in numbers.tolist()
    ]
    decided = np.array([fit.p_value <= level for fit in rejected])
    # Between these a simulated p-value may fall on either side of the level.
    assert decided[exact < level / 4].all()
    assert not decided[exact > 4 * level].any()
    assert any(fit.simulated for fit in rejected)
    assert any(not fit.simulated for fit in rejected)


def test_the_bound_by_the_chi_squared_distribution_is_never_below_the_simulated_p_value():
    survey = survey_of(DistortionMatrices({"a": uneven_matrix(4)}), (4,))
    rng = np.random.default_rng(12)
    checked = 0
    for reports in (100, 1_000):
        for shares in ([1.0, 0, 0, 0], [0, 0.5, 0.5, 0], [0.4, 0.3, 0.3, 0]):
            chances = survey.perturbation.channel(survey.schema.names).forward(shares)
            for _ in range(2):
                counts = counts_of(survey, rng.multinomial(reports, chances))
                likelihood = likelihood_of(survey, counts, ["a"])
                [part] = likelihood.parts
                [closest], [statistic] = likelihood.maximum([part.counts[None]])
                if statistic < 0.1:
                    continue
                fitted = survey.perturbation.channel(["a"]).forward(closest)
                drawn = rng.multinomial(reports, fitted, size=300).astype(float)
                _, at_random = likelihood.maximum([drawn])
                simulated = (at_random >= statistic).mean()
                bound = chi2.sf(statistic, 3)
                assert simulated <= bound + 4 * np.sqrt(bound / 300)
                checked += 1
    assert checked > 5


def test_a_joint_table_can_contradict_the_design_if_no_single_question_does():
    """All respondents report the same to two questions that are randomized independently."""
    survey = of_design(FORCED, FORCED)
    counts = counts_of(survey, [[250, 0], [0, 250]])
    assert [each.attributes for each in found(survey, counts)] == [["a", "b"]]
    assert found(survey, counts, together=False) == []


def test_reports_about_views_are_tested():
    view = ViewClass(attributes=(("a", "b"),), choose=(2,), weight=1)
    survey = survey_of(SplitQuestionnaire("3", [view]), (2, 2))
    symbol = np.zeros((1, len(survey.report_space.names)), int)
    counts = Counts.from_reports(survey, np.repeat(symbol, 400, axis=0))
    # All respondents send a symbol that at most half of them should send.
    assert [each.attributes for each in found(survey, counts)] == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("survey", "shares", "reports"),
    [
        (of_design(FORCED), [1.0, 0.0], 50),
        (of_design(MANGAT), [1.0, 0.0], 200),
        (survey_of(DistortionMatrices({"a": uneven_matrix(3)}), (3,)), [0.0, 0.0, 1.0], 100),
        (of_design(FORCED, FORCED), [[0.5, 0.5], [0.0, 0.0]], 300),
    ],
    ids=["forced", "mangat", "three answers", "two questions"],
)
@pytest.mark.parametrize("surveys", [300, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_reports_that_follow_the_design_are_rarely_said_to_contradict_it(
    survey, shares, reports, surveys
):
    """True shares on the boundary, where estimates fall outside the possible range most often."""
    rng = np.random.default_rng(35)
    chances = survey.perturbation.channel(survey.schema.names).forward(shares)
    drawn = rng.multinomial(reports, chances.ravel(), size=surveys).reshape(-1, *chances.shape)
    rate = np.mean([bool(found(survey, counts_of(survey, each))) for each in drawn])
    assert rate <= LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / surveys)
