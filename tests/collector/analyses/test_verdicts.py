"""Unreliable estimates are marked in every presentation."""

import math
import re

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.analyses.weighted import WeightedQuery
from sources import source_of

SCHEMA = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs", "tired")])
PAIR = ["smoker", "coughs"]


def counted(mechanism, records, seed=1):
    survey = Survey("s", "S", SCHEMA, mechanism)
    return source_of(survey, np.array(records), np.random.default_rng(seed))


@pytest.fixture
def two_reports():
    """Gamma-diagonal at 1.05, so that estimated supports exceed 100 %."""
    return counted(GammaDiagonal("1.05"), [[0, 0, 0], [1, 1, 1]])


@pytest.fixture
def many_reports():
    records = np.repeat([[0, 0, 0], [0, 1, 1], [1, 1, 1], [1, 1, 0]], 5_000, axis=0)
    return counted(RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.9")), records)


def shown(analysis, result):
    """Return the warnings, notes and table rows that pages and commands show."""
    parts = analysis.present(result)
    return parts.warnings, parts.notes, [" | ".join(map(str, row)) for row in parts.grid.rows]


def percentages(text):
    for digits in re.findall(r"(−?[\d\u202f.]+)\u202f%", text):
        yield float(digits.replace("\u202f", "").replace("−", "-"))


QUESTIONS = {
    "itemsets": ItemsetsQuery(min_support=0.05),
    "rules": RulesQuery(min_support=0.01, max_length=3, min_confidence=0.0, include_uncertain=True),
    "table": TableQuery(attributes=PAIR),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_shares_outside_0_to_100_percent_are_shown_as_an_end_that_is_not_usable(two_reports, name):
    analysis = ANALYSES[name]
    result = answer(analysis, two_reports, QUESTIONS[name])
    notices, _, rows = shown(analysis, result)
    assert rows
    assert any(sentence.lower().count("not usable") for sentence in notices)
    assert all(0 <= p <= 100 for row in rows for p in percentages(row))
    cells = [cell for row in analysis.present(result).grid.rows for cell in row if cell.detail]
    assert cells
    for cell in cells:
        [unbiased] = percentages(cell.detail)
        end = "100" if unbiased > 100 else "0"
        assert str(cell).startswith(f"not usable ({end}\u202f%")
        assert not 0 <= unbiased <= 100


@pytest.mark.parametrize("attributes", [PAIR, None])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_measures_from_two_reports_are_not_usable_in_any_presentation(attributes, seed):
    few = counted(GammaDiagonal("1.05"), [[0, 0, 0], [1, 1, 1]], seed)
    analysis = ANALYSES["measures"]
    result = answer(analysis, few, MeasuresQuery(attributes=attributes))
    notices, _, _ = shown(analysis, result)
    parts = analysis.present(result).parts
    rows = [" | ".join(map(str, row)) for part in parts for row in part.grid.rows]
    assert rows
    for row in rows:
        # Undefined with a reason, or too imprecise.
        assert re.search(
            r"not usable \(|no positive|negative estimate|is 0|above zero",
            row,
        )
    values = any("not usable (" in row for row in rows)
    if attributes:
        assert any(sentence.startswith("Not usable") for sentence in notices) == values
    assert set(notices) <= set(analysis.chart(result).notes)


def test_usable_estimates_are_stated_without_warnings(many_reports):
    for name in ("table", "itemsets"):
        analysis = ANALYSES[name]
        result = answer(analysis, many_reports, QUESTIONS[name])
        notices, reading, rows = shown(analysis, result)
        assert notices == []
        assert any("usable: " in sentence.lower() for sentence in reading)
        assert not any("not usable" in row for row in rows)


def test_omitted_rules_are_counted(two_reports):
    analysis = ANALYSES["rules"]
    query = RulesQuery(min_support=0.01, max_length=3, min_confidence=0.0, measures=["lift"])
    result = answer(analysis, two_reports, query)
    assert len(result.rows) == 0
    [left_out] = [c.values["count"] for c in result.caveats if c.code == "left out"]
    assert left_out > 0
    notices, reading, _ = shown(analysis, result)
    assert f"Left out: {left_out} rules" in notices[0]
    assert any("is present if all of its items hold" in sentence for sentence in reading)


def test_the_headline_of_rules_names_the_largest_lower_bound(many_reports):
    analysis = ANALYSES["rules"]
    result = answer(analysis, many_reports, QUESTIONS["rules"])
    assert [claim.kind for claim in result.claims] == ["counted", "at least"]
    [surest] = [result.rows[place] for place in result.claims[1].rows]
    # The bound holds for the best of all candidates, so that it is below the rule's own interval.
    assert result.claims[1].bound < surest.interval[0]
    said = analysis.headline(result)
    assert f"{len(result.places('confidence'))} rules, " in said
    [(question, given)] = surest["consequent"].items()
    assert f"→ {question}={given} has the largest lower bound of a confidence: at least " in said


def test_the_headline_of_rules_states_how_many_are_listed(many_reports):
    """Pages and commands list all rules, unless a limit is given."""
    analysis = ANALYSES["rules"]
    assert analysis.start(many_reports.survey).limit is None
    every = answer(analysis, many_reports, QUESTIONS["rules"])
    some = answer(analysis, many_reports, msgspec.structs.replace(QUESTIONS["rules"], limit=2))
    count = len(every.places("confidence"))
    assert analysis.headline(every).startswith(f"{count} rules, ")
    assert analysis.headline(some).startswith(f"{count} rules; of the first 2, ")


#: Measures without a scale from −1 to 1.
RATIOS = {
    "odds_ratio", "interest", "lift", "conviction", "standardized_residual", "collective_strength",
    "chi_squared", "g_squared",
}  # fmt: skip


def expected_reliability(row, result):
    """Return the reliability by the documented thresholds of the interval."""
    if row.interval is None:
        return "not usable"
    lower, upper = (
        math.inf if end is None else end
        for end in (row.interval if row.set == "interval" else (-math.inf, math.inf))
    )
    if not upper >= lower:
        return "not usable"
    name, query = getattr(row, "name", getattr(row, "quantity", "")), result.query
    lift = any(row is pair.lift for pair in getattr(result, "pairs", ()))
    ratio = name in RATIOS or lift
    ratio |= name in ("risk_ratio", "odds", "odds_ratio")
    span = 1.0
    if row is getattr(result, "mean", None):
        span = len(result.options)
    if isinstance(query, DistributionQuery) and not name.endswith("share"):
        # Range of the ages 20, 45 and 70.
        span = 50
    if name in ("intercept", "coefficient") and query.model == "logistic":
        ratio, lower, upper = True, math.exp(lower), math.exp(upper)
    elif name in ("intercept", "coefficient"):
        span = 50
    if ratio:
        low, high = sorted((abs(lower), abs(upper)))
        margin, limits = math.sqrt(high / low) if lower * upper > 0 else math.inf, (1.5, 2)
    else:
        margin, limits = (upper - lower) / 2 / span, (0.05, 0.1)
    if name == "confidence":
        [support] = result.places("support")
        low, high = result.rows[support].interval
        margin = max(margin, (high - low) / 2)
    return ("usable", "barely usable", "not usable")[sum(margin > limit for limit in limits)]


def judged_rows(result):
    """Yield every estimate of a result that has its own reliability."""
    # Risks are bounds, which have no margin.
    if result.estimates.set is not None:
        others = ("people", "design_effect")
        yield from (row for row in result.rows if row.quantity not in others)


FURTHER = {
    # Intervals in lists are widened; the reliability is that of the same rule by name.
    "rules": [RulesQuery(antecedent={"smoker": "yes"}, consequent={"coughs": "yes"})],
    "comparison": [
        ComparisonQuery(answer={"smoker": "yes"}, groups="age", effect=effect, trend=True)
        for effect in ("difference", "risk_ratio", "odds_ratio")
    ],
    "regression": [
        RegressionQuery(outcome="smoker", predictors=["age"]),
        RegressionQuery(
            outcome="age", predictors=["smoker"], model="linear", scores={"age": "20,45,70"}
        ),
    ],
    "crosstab": [CrosstabQuery(attributes=["smoker", "age"], percentages="row")],
    "distribution": [DistributionQuery(attribute="age", groups="smoker")],
    "weighted": [WeightedQuery(margins={"smoker": {"no": 0.5, "yes": 0.5}})],
}


@pytest.mark.parametrize("keep", ["0.6", "0.9"])
@pytest.mark.parametrize("name", ANALYSES)
def test_the_reliability_of_a_row_follows_from_its_own_margin(name, keep):
    schema = Schema([*SCHEMA.attributes, Attribute("age", ["20", "45", "70"], ordered=True)])
    mechanism = RandomizedResponse(dict.fromkeys(schema.names, keep))
    survey, rng = Survey("s", "S", schema, mechanism), np.random.default_rng(3)
    ill, age = rng.random(1_500) < 0.4, rng.integers(0, 3, 1_500)
    often = rng.random((3, 1_500)) < 0.2 + 0.5 * ill
    records = np.stack([*often, np.where(ill, np.maximum(age, 1), age)], axis=1).astype(int)
    there = source_of(survey, records, rng)
    analysis = ANALYSES[name]
    for query in FURTHER.get(name, [analysis.start(survey)]):
        result = answer(analysis, there, query)
        for row in judged_rows(result):
            assert row.reliability == expected_reliability(row, result), row


@pytest.mark.parametrize(
    "query",
    [
        ComparisonQuery(answer={"coughs": "yes"}, groups="smoker"),
        RegressionQuery(outcome="coughs", predictors=["smoker"]),
    ],
)
def test_a_headline_says_how_many_reports_would_make_its_effect_barely_usable(query):
    analysis = next(each for each in ANALYSES.values() if each.query is type(query))
    effect = {"comparison": "difference", "regression": "odds_ratio"}[analysis.name]
    mechanism = RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.8"))

    def headline(people):
        records = np.tile([[0, 0, 0], [0, 1, 1], [1, 1, 1], [1, 0, 0], [1, 1, 0]], (people // 5, 1))
        result = answer(analysis, counted(mechanism, records), query)
        [grade] = {row.reliability for row in result.rows if row.quantity == effect}
        return grade, analysis.headline(result).replace("\u202f", "")

    grade, said = headline(400)
    assert grade == "not usable"
    [needed] = re.findall(r"too imprecise to use \(about (\d+) reports would do\)", said)
    assert 400 < int(needed) < 20_000
    # Intervals of other reports are a little wider or narrower.
    grade, said = headline(int(1.1 * int(needed)))
    assert grade == "barely usable"
    assert "reports would do" not in said
