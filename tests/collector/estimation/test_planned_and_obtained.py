"""Planned margins and power against the analyses of simulated surveys of the same people."""

from typing import NamedTuple

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.planning.margins import Expectation
from halftruth_shared import (
    DistortionMatrices,
    GammaDiagonal,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.regression import RegressionQuery
from sources import NOW

from .definitions import schema_of, uneven_matrix


class Asked(NamedTuple):
    """A survey and its respondents.

    `rare` is the share of the last answer to each question; None means uniform answers.
    """

    survey: Survey
    respondents: int
    rare: float | None = None

    @property
    def people(self):
        """True share of every record."""
        shape = self.survey.schema.shape
        margins = [even(size) if self.rare is None else rare(size, self.rare) for size in shape]
        table = np.ones(())
        for margin in margins:
            table = np.multiply.outer(table, margin)
        return table

    def shares(self, names):
        """True table of some attributes, which are independent."""
        positions = self.survey.schema.positions(names)
        others = tuple(j for j in range(self.people.ndim) if j not in positions)
        order = [sorted(positions).index(j) for j in positions]
        return self.people.sum(axis=others).transpose(order)

    @property
    def expectation(self):
        people = None if self.rare is None else self.shares
        return Expectation(self.survey.perturbation, self.respondents, people=people)

    def counted(self, people, rng):
        """Counts of the reports of respondents drawn from people with these shares."""
        drawn = rng.multinomial(self.respondents, people.ravel())
        records = np.indices(people.shape).reshape(people.ndim, -1).T
        reports = self.survey.perturbation.reports(np.repeat(records, drawn, axis=0), rng)
        counts = Counts.from_reports(self.survey, reports)
        return AnalysisContext(self.survey, counts, NOW, min_reports=1)


def even(size):
    return np.full(size, 1 / size)


def rare(size, share):
    return np.append(np.full(size - 1, (1 - share) / (size - 1)), share)


def asked(shape, mechanism, respondents, share=None, public=""):
    schema = schema_of(shape, public=["abcdefgh".index(name) for name in public])
    return Asked(Survey("s", "S", schema, mechanism(schema)), respondents, share)


def matrices(schema):
    return DistortionMatrices({a.name: uneven_matrix(len(a.categories)) for a in schema.attributes})


def split(length, public=""):
    return lambda schema: SplitQuestionnaire.for_amplification(schema, 19, list(public), length)


#: One survey for each mechanism, of 1 000 to 40 000 people.
SURVEYS = {
    "gamma-diagonal": asked((2, 3, 2), lambda _: GammaDiagonal(19), 10_000),
    "randomized gamma-diagonal": asked(
        (3, 2), lambda _: RandomizedGammaDiagonal(19, "1/20"), 2_000, 0.3
    ),
    "randomized response": asked(
        (3, 4, 2), lambda s: RandomizedResponse(dict.fromkeys(s.names, "4/5")), 1_000, 0.2
    ),
    "distortion matrices": asked((2, 3, 3), matrices, 3_000, 0.25),
    "split questionnaire": asked((3, 4, 2, 5, 2, 3), split(2), 40_000, 0.15),
    "split questionnaire, one public": asked((4, 3, 2, 2), split(2, "a"), 3_000, public="a"),
}


def ask(counted, query):
    """Return the result of the analysis that has this type of query."""
    [analysis] = [each for each in ANALYSES.values() if each.query is type(query)]
    return answer(analysis, counted, query)


def widths(result, quantity):
    """Half-widths of the intervals of a quantity; infinite without an interval."""
    rows = result.places(quantity)
    lower, upper = (result.estimates.numbers(end)[rows] for end in ("lower", "upper"))
    return np.nan_to_num((upper - lower) / 2, nan=np.inf)


def obtained(asked, counted, kind):
    """Return one kind of margin in one survey, of `b` and in groups of `a`."""
    group, name = "a", "b"
    if kind == "share":
        return np.median(widths(ask(counted, OverviewQuery(attributes=[name])), "share"))
    if kind == "share_within":
        query = CrosstabQuery(attributes=[group, name], percentages="row")
        return np.median(widths(ask(counted, query), "share"))
    if kind == "mean":
        size = asked.survey.schema.shape[1]
        return widths(ask(counted, DistributionQuery(attribute=name)), "mean")[0] / (size - 1)
    if kind == "odds_ratio":
        result = ask(counted, regression(asked))
        rows = result.places("odds_ratio")
        lower, upper = (result.estimates.numbers(end)[rows] for end in ("lower", "upper"))
        return np.exp(np.median(np.log(upper / lower) / 2))
    query = comparison(asked)
    return widths(ask(counted, query), "difference")[0]


def answers(asked):
    """Return two groups and an answer from the middle of their categories."""
    shape = asked.survey.schema.shape
    place = (shape[0] - 1) // 2
    return (f"c{place}", f"c{place + 1}"), f"c{shape[1] // 2}"


def comparison(asked):
    (other, reference), answer = answers(asked)
    return ComparisonQuery(
        answer={"b": answer}, groups="a", among=[reference, other], reference=reference
    )


def regression(asked, predictors=("a",)):
    _, answer = answers(asked)
    return RegressionQuery(outcome="b", predictors=list(predictors), present={"b": answer})


KINDS = ("share", "share_within", "mean", "difference", "odds_ratio")


def planned(asked, kind):
    names = ["b"] if kind in ("share", "mean") else ["a", "b"]
    return getattr(asked.expectation, kind)(*names)


@pytest.mark.parametrize("surveys", [10, pytest.param(200, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", SURVEYS)
def test_obtained_margins_are_within_a_tenth_of_planned_ones(name, surveys):
    survey, rng = SURVEYS[name], np.random.default_rng(3)
    found = {kind: [] for kind in KINDS}
    for _ in range(surveys):
        counted = survey.counted(survey.people, rng)
        for kind, margins in found.items():
            margins.append(obtained(survey, counted, kind))
    for kind, margins in found.items():
        foretold, median = planned(survey, kind), np.median(margins)
        print(f"| {name} | {survey.respondents} | {kind} | {foretold:.4f} | {median:.4f} |")
        if kind == "odds_ratio":
            foretold, median = np.log([foretold, median])
        assert median == pytest.approx(foretold, rel=0.1), kind


@pytest.mark.parametrize("surveys", [10, pytest.param(100, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "name", ["gamma-diagonal", "split questionnaire", "split questionnaire, one public"]
)
def test_a_regression_on_all_others_is_as_precise_as_planned(name, surveys):
    survey, rng = SURVEYS[name], np.random.default_rng(4)
    predictors = [each for each in survey.survey.schema.names if each != "b"]
    margins = []
    for _ in range(surveys):
        result = ask(survey.counted(survey.people, rng), regression(survey, predictors))
        rows = result.places("odds_ratio")
        lower, upper = (result.estimates.numbers(end)[rows] for end in ("lower", "upper"))
        margins.append(np.median(np.log(upper / lower) / 2))
    foretold = np.log(survey.expectation.odds_ratio(*predictors, "b"))
    print(f"| {name} | all others | {np.exp(foretold):.4f} | {np.exp(np.median(margins)):.4f} |")
    assert np.median(margins) == pytest.approx(foretold, rel=0.1)


class Associated(Asked):
    """People whose answers to `b` depend strongly on `a`: from 3 to 45 % say yes."""

    @property
    def people(self):
        groups, yes = np.array([0.25, 0.3, 0.25, 0.2]), np.array([0.03, 0.2, 0.4, 0.45])
        third = np.array([[0.8, 0.5, 0.3, 0.6], [0.2, 0.5, 0.7, 0.4]])
        pairs = np.stack([groups * (1 - yes), groups * yes], axis=1)
        return np.einsum("ab,ca->abc", pairs, third)

    @property
    def expectation(self):
        return Expectation(self.survey.perturbation, self.respondents, people=self.shares)


def associated_survey(mechanism, respondents):
    schema = schema_of((4, 2, 2))
    return Associated(Survey("s", "S", schema, mechanism(schema)), respondents)


ASSOCIATED = {
    "gamma-diagonal": associated_survey(lambda _: GammaDiagonal(19), 20_000),
    "randomized response": associated_survey(
        lambda s: RandomizedResponse(dict.fromkeys(s.names, "4/5")), 20_000
    ),
    "split questionnaire": associated_survey(split(2), 20_000),
}


@pytest.mark.parametrize("surveys", [20, pytest.param(300, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("predictors", [("a",), ("a", "c")])
@pytest.mark.parametrize("name", ASSOCIATED)
def test_planned_odds_ratios_have_the_association_of_a_pilot(name, predictors, surveys):
    """Margins vary by a third from survey to survey."""
    survey, rng, margins = ASSOCIATED[name], np.random.default_rng(8), []
    for _ in range(surveys):
        query = RegressionQuery(outcome="b", predictors=list(predictors), present={"b": "c1"})
        result = ask(survey.counted(survey.people, rng), query)
        rows = result.places("odds_ratio")
        lower, upper = (result.estimates.numbers(end)[rows] for end in ("lower", "upper"))
        margins.append(np.median(np.log(upper / lower) / 2))
    foretold, median = np.log(survey.expectation.odds_ratio(*predictors, "b")), np.median(margins)
    print(f"| {name} | {predictors} | {np.exp(foretold):.3f} | {np.exp(median):.3f} |")
    assert median == pytest.approx(foretold, rel=0.07 if surveys == 300 else 0.25)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SURVEYS)
def test_detectable_effects_are_found_in_four_of_five_surveys(name):
    """Expected in 800 ± 13 of 1 000 surveys."""
    survey, rng, surveys = SURVEYS[name], np.random.default_rng(5), 1_000
    expected, pair = survey.expectation, survey.shares(["a", "b"])
    others = survey.people / pair.reshape(like(pair, survey.people))
    difference, v = (
        expected.detectable_difference("a", "b"),
        expected.detectable_association("a", "b"),
    )
    (first, _), answer = answers(survey)
    moved = raised(pair, int(first[1:]), int(answer[1:]), difference)
    found = {"difference": 0, "association": 0}
    for _ in range(surveys):
        table = associated(pair, v, rng)
        one, other = (each.reshape(like(pair, others)) * others for each in (moved, table))
        result = ask(survey.counted(one, rng), comparison(survey))
        p_value = result.estimates.numbers("p_value")[result.places("difference")[0]]
        found["difference"] += bool(p_value <= 0.05)
        result = ask(survey.counted(other, rng), CrosstabQuery(attributes=["a", "b"]))
        found["association"] += result.tests[0].p_value <= 0.05
    print(f"| {name} | {difference:.4f} | {v:.4f} | {found} |")
    for kind, count in found.items():
        assert 0.75 <= count / surveys <= 0.85, kind


@pytest.mark.parametrize("surveys", [40, pytest.param(1_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", ["randomized gamma-diagonal", "split questionnaire"])
def test_a_detectable_share_is_significantly_above_0_in_four_of_five_surveys(name, surveys):
    survey, rng, found = SURVEYS[name], np.random.default_rng(6), 0
    single = survey.shares(["b"])
    share = survey.expectation.detectable_share("b")
    rest = np.full(len(single) - 1, (1 - share) / (len(single) - 1))
    factor = np.append(share, rest) / single
    people = survey.people * factor.reshape(1, -1, *[1] * (survey.people.ndim - 2))
    for _ in range(surveys):
        result = ask(survey.counted(people, rng), OverviewQuery(attributes=["b"]))
        found += result.estimates.numbers("lower")[result.places("share")[0]] > 0
    print(f"| {name} | {share:.4f} | {found} |")
    # With few surveys, allow another four standard errors.
    allowed = 0.05 if surveys == 1_000 else 0.05 + 4 * (0.16 / surveys) ** 0.5
    assert found / surveys == pytest.approx(0.8, abs=allowed)


def like(table, people):
    """Return the shape of a table of the first attributes for broadcasting over all."""
    return table.shape + (1,) * (people.ndim - table.ndim)


def raised(pair, group, answer, difference):
    """Return the table with a higher share of one answer in one group."""
    moved = pair.copy()
    shares = pair[group] / pair[group].sum()
    higher = shares[answer] + difference
    shares *= (1 - higher) / (1 - shares[answer])
    shares[answer] = higher
    moved[group] = shares * pair[group].sum()
    return moved


def associated(independent, v, rng):
    """Return a table with these margins and this V, in a random direction."""
    while True:
        drawn = rng.standard_normal(independent.shape)
        units = np.sqrt(independent)
        for axis in (0, 1):
            root = np.sqrt(independent.sum(axis=axis, keepdims=True))
            drawn -= root * (root * drawn).sum(axis=1 - axis, keepdims=True)
        drawn *= v * np.sqrt(min(independent.shape) - 1) / np.sqrt((drawn**2).sum())
        table = independent + units * drawn
        if table.min() >= 0:
            return table
