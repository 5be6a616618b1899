"""Departures of itemsets from independence, and which answers count in itemsets."""

import math

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.independence import Departures
from halftruth_collector.estimation.itemset_departures import itemset_departures
from halftruth_collector.estimation.itemsets import count_candidates
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.rules import RulesQuery
from sources import source_of

SHARES = {"a": 0.3, "b": 0.2, "c": 0.4, "d": 0.15, "e": 0.3}
ORDINARY = Attribute("f", ["low", "middle", "high"])
SCHEMA = Schema((*(Attribute(name, ["no", "yes"]) for name in SHARES), ORDINARY))
MECHANISMS = {
    "kept": RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.8")),
    "split": SplitQuestionnaire.designed(SCHEMA, "19", (), {1: 1.0, 2: 1.0}),
    "gamma-diagonal": GammaDiagonal("400"),
}


def people(rng, count, strength=0.0):
    """Answers that are independent, or of which b and c depend on a."""
    yes = {name: rng.random(count) < share for name, share in SHARES.items()}
    for name in ("b", "c"):
        yes[name] = np.where(rng.random(count) < strength, yes["a"], yes[name])
    return np.stack([*yes.values(), rng.integers(0, 3, count)], axis=1).astype(int)


def found_of(mechanism, records, rng, **asked):
    survey = Survey("s", "S", SCHEMA, mechanism)
    query = ItemsetsQuery(min_support=0.05, max_length=2, sort="departure", **asked)
    return answer(ANALYSES["itemsets"], source_of(survey, records, rng), query)


@pytest.mark.parametrize("name", MECHANISMS)
def test_scores_of_two_answers_are_the_adjusted_residuals_of_their_table(name):
    rng = np.random.default_rng(1)
    survey = Survey("s", "S", SCHEMA, MECHANISMS[name])
    reports = survey.perturbation.reports(people(rng, 4_000, 0.3), rng)
    estimator = Estimator(survey, Counts.from_reports(survey, reports))
    departures = Departures(estimator.table(["a", "f"]))
    codes = np.full((6, 6), -1)
    codes[:, 0], codes[:, 5] = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    found = itemset_departures(estimator, codes)
    table = departures.table
    assert found.value == pytest.approx((table.value - departures.expected).ravel())
    assert found.statistic == pytest.approx(departures.scores.ravel(), rel=1e-6)
    through = departures._through(departures._through(table.covariance()).T)
    assert found.standard_error == pytest.approx(np.sqrt(np.diag(through)))


def test_departures_of_three_answers_by_hand():
    """Without noise: of 1 000 people, 100 say yes to three questions of 30, 20 and 40 %."""
    schema = Schema([Attribute(name, ["no", "yes"]) for name in "abc"])
    survey = Survey("s", "S", schema, GammaDiagonal(10**9))
    cells = [[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    counts = Counts.from_cells(survey, cells, [100, 200, 100, 300, 300])
    found = itemset_departures(Estimator(survey, counts), np.array([[1, 1, 1]]))
    assert found.value[0] == pytest.approx(0.1 - 0.3 * 0.2 * 0.4, abs=1e-6)
    # The influence of a person with these answers.
    influence = {
        cell: math.prod(cell) - 0.08 * cell[0] - 0.12 * cell[1] - 0.06 * cell[2]
        for cell in np.ndindex(2, 2, 2)
    }
    chance = {
        cell: math.prod(p if v else 1 - p for v, p in zip(cell, (0.3, 0.2, 0.4), strict=True))
        for cell in influence
    }
    mean = sum(chance[c] * influence[c] for c in chance)
    variance = sum(chance[c] * (influence[c] - mean) ** 2 for c in chance) / 999
    third = sum(chance[c] * (influence[c] - mean) ** 3 for c in chance) / 1000**2
    z, g = found.value[0] / math.sqrt(variance), third / variance**1.5
    expected = 6 / g * (math.cbrt(g * z / 2 + 1) - 1) + g / 6
    assert found.statistic[0] == pytest.approx(expected, rel=1e-3)


def test_the_ranking_lists_supports_and_departures_by_the_absolute_score():
    rng = np.random.default_rng(2)
    found = found_of(MECHANISMS["kept"], people(rng, 8_000, 0.5), rng)
    pairs = found.places("departure")
    names = [found.rows[int(i)]["itemset"] for i in pairs]
    assert names == [found.rows[int(i)]["itemset"] for i in found.places("support")]
    assert all(len(each) == 2 for each in names)
    statistics = np.abs(found.estimates.numbers("statistic")[pairs])
    assert (np.diff(np.nan_to_num(statistics, nan=-1)) <= 0).all()
    assert {frozenset(each) for each in names[:2]} == {frozenset("ab"), frozenset("ac")}
    first = found.rows[int(pairs[0])]
    assert first.decision == "significant"
    assert first.threshold == 0
    assert found.rows[int(found.places("support")[0])].threshold == 0.05
    family = reconstruction(Survey("s", "S", SCHEMA, MECHANISMS["kept"])).identified_sets
    every = count_candidates(SCHEMA, family, 2) - count_candidates(SCHEMA, family, 1)
    assert (found.selection.candidates, found.selection.listed) == (every, len(names))
    said = ANALYSES["itemsets"].present(found)
    assert "itemsets of two answers or more depart" in said.headline
    assert said.grid.header[1] == "departure from independence in points"
    assert "false reports" not in {each.code for each in found.caveats}


@pytest.mark.parametrize(
    ("name", "surveys"),
    [
        ("kept", 12),
        ("split", 2),
        ("gamma-diagonal", 12),
        pytest.param("kept", 400, marks=pytest.mark.nightly),
        pytest.param("split", 100, marks=pytest.mark.nightly),
        pytest.param("gamma-diagonal", 400, marks=pytest.mark.nightly),
    ],
)
def test_in_a_world_without_associations_few_rankings_claim_any(name, surveys):
    """All claims are false, so the false discovery rate is the share of surveys with a claim."""
    rng = np.random.default_rng(3)
    claimed = missed = listed = 0
    for _ in range(surveys):
        found = found_of(MECHANISMS[name], people(rng, 3_000), rng, all_answers=True)
        pairs = found.places("departure")
        claimed += any(found.rows[int(i)].decision == "significant" for i in pairs)
        lower, upper = (found.estimates.numbers(end)[pairs] for end in ("lower", "upper"))
        listed += len(pairs)
        missed += int(((lower > 0) | (upper < 0)).sum())
    # With four standard errors of the simulation.
    assert claimed <= 0.05 * surveys + 4 * math.sqrt(0.05 * 0.95 * surveys)
    assert missed <= 0.05 * listed + 4 * math.sqrt(0.05 * 0.95 * listed)


def test_only_unbiased_estimates_can_be_ranked():
    rng = np.random.default_rng(4)
    with pytest.raises(ParameterError, match="sort: departures"):
        found_of(MECHANISMS["kept"], people(rng, 200), rng, estimate="likelihood")


@pytest.mark.parametrize(
    ("categories", "items"),
    [
        (["no", "yes"], ["yes"]),
        (["Yes", "No"], ["Yes"]),
        (["no", "yes", "unsure"], ["yes"]),
        (["nein", "ja"], ["nein", "ja"]),
        (["no", "yes", "perhaps"], ["no", "yes", "perhaps"]),
    ],
)
def test_of_a_question_of_yes_and_no_only_yes_counts(categories, items):
    missing = tuple(each for each in categories if each == "unsure")
    made = Attribute("a", categories, missing=missing)
    assert [c for c, counts in zip(categories, made.is_item, strict=True) if counts] == items
    named = Attribute("a", categories, missing=missing, items=categories)
    assert all(named.is_item)


@pytest.mark.parametrize("all_answers", [False, True])
def test_all_answers_count_if_asked_for(all_answers):
    rng = np.random.default_rng(5)
    survey = Survey("s", "S", SCHEMA, MECHANISMS["kept"])
    source = source_of(survey, people(rng, 5_000, 0.5), rng)
    asked = ItemsetsQuery(min_support=0.02, max_length=2, all_answers=all_answers)
    itemsets = [row["itemset"] for row in answer(ANALYSES["itemsets"], source, asked).rows]
    of_yes_no = {value for each in itemsets for name, value in each.items() if name != "f"}
    assert of_yes_no == ({"no", "yes"} if all_answers else {"yes"})
    assert {each["f"] for each in itemsets if "f" in each} == {"low", "middle", "high"}
    rules = answer(
        ANALYSES["rules"], source, RulesQuery(min_confidence=0.1, all_answers=all_answers)
    )
    sides = {
        value
        for row in rules.rows
        for side in ("antecedent", "consequent")
        for name, value in row[side].items()
        if name != "f"
    }
    assert sides == ({"no", "yes"} if all_answers else {"yes"})
