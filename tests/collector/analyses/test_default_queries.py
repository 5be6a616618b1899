"""Default queries about two simulated populations: without, and with strong associations."""

import re
from collections import defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer, identified
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_shared import Attribute, RandomizedResponse, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.mechanisms.split_questionnaire import WantedTables
from scipy.stats import binom
from sources import source_of

ALPHA = 0.05

#: Probability that one of the counts of a correct program exceeds its bound.
CHANCE = 1e-3


def split(schema):
    return SplitQuestionnaire.designed(schema, 19, (), {1: 1.0, 2: 1.0})


def tables(schema):
    """Return views for tables of two questions by two others, which no report asks together."""
    *_, one, other = schema.names
    wanted = WantedTables(of=schema.names[:2], by=(one, other))
    return SplitQuestionnaire.designed(schema, 19, (), [wanted])


def tables_of_three(schema):
    """Return views for a table of the first three questions, and one of the first and the last."""
    first, second, third, *_, last = schema.names
    wanted = WantedTables(of=(first,), by=((second, third), last))
    return SplitQuestionnaire.designed(schema, 19, (), [wanted])


def tables_of_public(schema):
    """Return views for tables of two questions by an unperturbed one and by another."""
    *_, one, public = schema.names
    wanted = WantedTables(of=schema.names[:2], by=(one, public))
    return SplitQuestionnaire.designed(schema, 19, (public,), [wanted])


def kept(schema):
    return RandomizedResponse(dict.fromkeys(schema.names, "0.8"))


def most(trials, rate=ALPHA, chance=CHANCE):
    """Return the number that is exceeded with this probability among trials at a rate."""
    return binom.isf(chance, trials, rate)


# -- no associations -------------------------------------------------------------------------------

NULL = Schema([Attribute(f"q{j}", [str(code) for code in range(5)]) for j in range(8)])

#: The same with a question that is not sensitive.
NULL_PUBLIC = Schema((*NULL.attributes[:-1], replace(NULL.attributes[-1], sensitive=False)))

#: Surveys with each mechanism, by day and at night.
SURVEYS = [2, pytest.param(4, marks=pytest.mark.nightly)]

#: Claims that some questions depend on each other.
ASSOCIATED = {"associated", "different", "effect", "changed"}


def false_statements(counted):
    """Yield what default pages state, and whether it is false.

    All answers have a share of 20 %, all pairs of answers one of 4 %, and no question depends on
    another.
    """
    for analysis in identified(counted.survey):
        if analysis.name in ("counts", "risk", "microdata"):
            continue
        result = answer(analysis, counted, analysis.start(counted.survey))
        name = analysis.name
        if name not in ("overview", "itemsets", "rules", "table", "weighted"):
            yield f"{name}: claims", any(each.kind in ASSOCIATED for each in result.claims)
        adjusted = result.estimates.numbers("adjusted_p_value")
        if name == "itemsets":
            pairs = result.key("itemset").values.sizes > 1
            yield f"{name}: frequent", bool((adjusted[pairs] <= ALPHA).any())
        elif np.isfinite(adjusted).any():
            yield f"{name}: marks", bool((adjusted <= ALPHA).any())
        least = [each.bound for each in result.claims if each.kind == "at least"]
        if name in ("itemsets", "rules"):
            true = 0.04 if name == "itemsets" else 0.2
            yield f"{name}: at least", any(bound > true for bound in least)
        if name == "table":
            yield f"{name}: largest", any(each.kind == "largest" for each in result.claims)
        if name == "weighted":
            [claim] = result.claims
            ends = [each.interval for each in claim.sets]
            yield f"{name}: named share", any(not a <= 0.2 <= b for a, b in ends)
            said = analysis.headline(result)
            assert ends or re.search(r"with about [\d\s]+ reports such a share", said), said
    yield "report", survey_report(counted).claim.rate > 0


@pytest.mark.parametrize(
    ("schema", "mechanism", "reports"),
    [
        (NULL, split, 5_000),
        (NULL, kept, 5_000),
        (NULL, tables, 5_000),
        (NULL, tables_of_three, 40_000),
        (NULL_PUBLIC, tables_of_public, 5_000),
    ],
)
@pytest.mark.parametrize("surveys", SURVEYS)
def test_default_pages_state_no_association_where_there_is_none(
    schema, mechanism, reports, surveys
):
    """Eight questions of five answers: 28 pairs, 700 cells, and 740 itemsets."""
    survey = Survey("s", "S", schema, mechanism(schema))
    rng, false = np.random.default_rng(20), defaultdict(list)
    for _ in range(surveys):
        counted = source_of(survey, rng.integers(0, 5, (reports, 8)), rng)
        for name, is_false in false_statements(counted):
            false[name].append(is_false)
    assert len(false) >= 15
    for name, outcomes in false.items():
        assert len(outcomes) == surveys
        assert sum(outcomes) <= most(surveys, chance=CHANCE / len(false)), name
    together = np.concatenate([*false.values()])
    assert together.sum() <= most(len(together)), dict(false)


# -- strong associations ---------------------------------------------------------------------------

STRONG = Schema(
    [
        Attribute("rich", ["no", "yes"]),
        Attribute("school", ["a", "b", "c", "d"]),
        Attribute("age", ["young", "middle", "old"]),
        Attribute("sex", ["f", "m"]),
    ]
)

#: Log odds of being rich by school and age, and of the third school for old men: a three-way term.
BY_SCHOOL, BY_AGE = np.array([0.0, 1.0, 1.5, 3.0]), np.array([0.0, 1.6, 2.2])
TERM = 1.0


@cache
def shares():
    """Shares of all people: 5 to 25 % of the people of most groups are rich."""
    school, age = np.array([0.35, 0.35, 0.2, 0.1]), np.array([0.3, 0.4, 0.3])
    log = -4.4 + BY_SCHOOL[:, None, None] + BY_AGE[None, :, None] + np.array([0.0, 0.7])
    log[2, 2, 1] += TERM
    people = school[:, None, None] * age[None, :, None] * np.array([0.5, 0.5])
    # Older people went to other schools.
    people = people * np.exp(0.5 * np.outer(np.arange(4), np.arange(3) - 1))[:, :, None]
    people = people / people.sum()
    rich = 1 / (1 + np.exp(-log))
    return np.stack([people * (1 - rich), people * rich])


def truth(quantity, keys):
    """Return the true value of a row; None of those that are not judged."""
    table, names = shares(), STRONG.names

    def share(answers):
        place = [slice(None)] * 4
        for name, given in answers.items():
            axis = names.index(name)
            place[axis] = STRONG.attributes[axis].categories.index(given)
        return float(table[tuple(place)].sum())

    def within(group):
        return share({**group, "rich": "yes"}) / share(group)

    if quantity == "coefficient":
        odds = [within(keys[side]) / (1 - within(keys[side])) for side in ("term", "against")]
        return float(np.log(odds[0] / odds[1]))
    if quantity in ("share", "support") and "question" in keys:
        return share({keys["question"]: keys["answer"]})
    if quantity == "difference":
        return within({"school": keys["group"]}) - within({"school": keys["against"]})
    if quantity == "share" and "group" in keys:
        return within({"school": keys["group"]})
    if quantity == "support":
        return share(keys)
    return None


#: Default queries but for the named questions.
STRONG_QUERIES = {
    "school": RegressionQuery(outcome="rich", predictors=["school"], present={"rich": "yes"}),
    "age": RegressionQuery(outcome="rich", predictors=["age"], present={"rich": "yes"}),
    "comparison": ComparisonQuery(
        answer={"rich": "yes"}, groups="school", reference=STRONG.attributes[1].categories[0]
    ),
    "crosstab": CrosstabQuery(attributes=["rich", "age"]),
    "table": TableQuery(attributes=["rich", "school", "age"]),
    "overview": OverviewQuery(),
}


@pytest.mark.parametrize(
    ("mechanism", "reports"), [(split, 10_000), (kept, 5_000), (tables_of_three, 5_000)]
)
def test_strong_associations_are_found_and_covered_by_default(mechanism, reports):
    """Undefined coefficients are counted as not found."""
    survey = Survey("s", "S", STRONG, mechanism(STRONG))
    cells = np.stack(np.indices(STRONG.shape), axis=-1).reshape(-1, 4)
    rng, surveys = np.random.default_rng(4), 10
    found, missed = defaultdict(list), defaultdict(list)
    for _ in range(surveys):
        people = cells[rng.choice(len(cells), reports, p=shares().ravel())]
        counted = source_of(survey, people, rng)
        for name, query in STRONG_QUERIES.items():
            analysis = next(each for each in ANALYSES.values() if each.query is type(query))
            result = answer(analysis, counted, query)
            if name in ("school", "age"):
                values = result.estimates.value[result.places("coefficient")]
                found[f"{name}: defined"].append(np.isfinite(values).all())
            if name not in ("table", "overview"):
                adjusted = result.estimates.numbers("adjusted_p_value")
                found[f"{name}: found"].append(bool((adjusted <= ALPHA).any()))
            outcomes = []
            for row in result.rows:
                true = truth(row.quantity, row.keys) if name != "crosstab" else None
                if true is not None and row.interval is not None:
                    lower, upper = (
                        -np.inf if end is None else sign * end
                        for end, sign in zip(row.interval, (1, -1), strict=True)
                    )
                    outcomes.append(not (lower <= true <= -upper))
            if outcomes:
                missed[name].append(np.mean(outcomes))
    # At a power of 95 %, fewer would be found once in a thousand such tests.
    for name, outcomes in found.items():
        assert sum(outcomes) >= surveys - most(surveys, chance=CHANCE / len(found)), name
    for name, rates in missed.items():
        # Intervals of one survey depend on each other.
        error = max(np.std(rates, ddof=1), np.sqrt(ALPHA * (1 - ALPHA) / 4)) / np.sqrt(surveys)
        assert np.mean(rates) <= 0.07 + 3 * error, (name, rates)
