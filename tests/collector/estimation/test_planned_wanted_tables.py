"""What a plan states of wanted tables and groups of answers, against simulated surveys.

Twelve questions as a questionnaire has them: four yes/no outcomes are wanted by sex, age and
degree, and the six ages and five degrees are collapsed to three groups. Outcomes are even, or given
by 15 % of the people, who are then the pilot of the plan.
"""

import math
from functools import cache

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.planning.planner import plan
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.mechanisms import WantedTables
from scipy.stats import norm
from sources import NOW

RESPONDENTS = 8_000

SIZES = {
    "sex": 2,
    "age": 6,
    "degree": 5,
    "drugs": 2,
    "income": 5,
    "theft": 2,
    "marital": 3,
    "cheated": 2,
    "region": 4,
    "depressed": 2,
    "work": 3,
    "insured": 2,
}
OUTCOMES, GROUPS = ("drugs", "theft", "cheated", "depressed"), ("sex", "age", "degree")
CLASSES = {
    "age": {"young": ["a0", "a1"], "middle": ["a2", "a3"], "old": ["a4", "a5"]},
    "degree": {"low": ["a0", "a1"], "medium": ["a2", "a3"], "high": ["a4"]},
}

#: The groups that differ: the first two of three of equal size, or the second and the smallest.
COMPARED = {"sex": ("a0", "a1"), "age": ("middle", "old"), "degree": ("medium", "high")}


@cache
def survey():
    attributes = [
        Attribute(name, [f"a{k}" for k in range(size)], collapsed=CLASSES.get(name))
        for name, size in SIZES.items()
    ]
    schema = Schema(attributes)
    tables = [WantedTables(of=OUTCOMES, by=GROUPS)]
    return Survey("s", "S", schema, SplitQuestionnaire.for_tables(schema, 19, (), tables))


def people(share):
    """Return the shares of people by some questions, which are independent."""

    def shares(names):
        table = np.ones(())
        for name in names:
            even = np.full(SIZES[name], 1 / SIZES[name])
            margin = np.array([1 - share, share]) if name in OUTCOMES else even
            table = np.multiply.outer(table, margin)
        return table

    return shares


@cache
def planned(share):
    """Return the planned margins by kind and names, and the detectable differences by pair."""
    query = {"respondents": RESPONDENTS, "alone": True}
    pilot = None if share == 0.5 else people(share)
    found = {}
    for outcome in OUTCOMES[:1]:
        for group in GROUPS:
            asked = PlanQuery(**query, groups=[group], questions=[outcome])
            for margin in plan(survey(), asked, people=pilot).margins:
                found[margin.quantity, group] = margin.median
    return found


def counted(share, rng, differences=()):
    """Return reports of people, of whom some outcomes differ by a group."""
    columns = {name: rng.integers(size, size=RESPONDENTS) for name, size in SIZES.items()}
    chances = dict.fromkeys(OUTCOMES, np.full(RESPONDENTS, share))
    for outcome, group, difference in differences:
        classes = CLASSES.get(group, {f"a{k}": [f"a{k}"] for k in range(SIZES[group])})
        own = [int(each[1:]) for each in classes[COMPARED[group][0]]]
        chances[outcome] = share + difference * np.isin(columns[group], own)
    for outcome, chance in chances.items():
        columns[outcome] = rng.random(RESPONDENTS) < chance
    records = np.stack(list(columns.values()), axis=1).astype(np.int64)
    counts = Counts.from_reports(survey(), survey().perturbation.reports(records, rng))
    return AnalysisContext(survey(), counts, NOW, min_reports=1)


def ask(reports, query):
    [analysis] = [each for each in ANALYSES.values() if each.query is type(query)]
    return answer(analysis, reports, query)


def half_widths(result, quantity):
    rows = result.places(quantity)
    lower, upper = (result.estimates.numbers(end)[rows] for end in ("lower", "upper"))
    return np.nan_to_num((upper - lower) / 2, nan=np.inf)


def compare(reports, outcome, group):
    first, second = COMPARED[group]
    query = ComparisonQuery(
        answer={outcome: "a1"}, groups=group, among=[second, first], reference=second
    )
    return ask(reports, query)


@pytest.mark.parametrize("surveys", [1, pytest.param(40, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("share", [0.5, 0.15])
def test_margins_of_wanted_tables_are_within_a_tenth_of_those_of_surveys(share, surveys):
    rng, found = np.random.default_rng(11), {}
    for _ in range(surveys):
        reports = counted(share, rng)
        overview = ask(reports, OverviewQuery(attributes=list(OUTCOMES)))
        found.setdefault(("share", "sex"), []).extend(half_widths(overview, "share"))
        for outcome in OUTCOMES:
            for group in GROUPS:
                rows = ask(reports, CrosstabQuery(attributes=[group, outcome], percentages="row"))
                margin = np.median(half_widths(rows, "share"))
                found.setdefault(("share_within", group), []).append(margin)
                margin = half_widths(compare(reports, outcome, group), "difference")[0]
                found.setdefault(("difference", group), []).append(margin)
    for key, margins in found.items():
        stated = planned(share)[key]
        print(f"| {share} | {key} | {stated:.4f} | {np.median(margins):.4f} |")
        assert np.median(margins) == pytest.approx(stated, rel=0.1), key


@pytest.mark.nightly
@pytest.mark.parametrize("share", [0.5, 0.15])
def test_detectable_differences_are_within_a_tenth_of_those_of_surveys(share):
    """A difference is detected with 80 % if the mean of its z-value is that of both quantiles.

    The mean of 40 surveys of four outcomes has a standard error of 0.08, or 3 % of 2.8.
    """
    rng, surveys = np.random.default_rng(12), 40
    pairs = [*zip(OUTCOMES, GROUPS, strict=False), (OUTCOMES[3], "age")]
    differences = [
        (outcome, group, planned(share)["detectable_difference", group]) for outcome, group in pairs
    ]
    quantiles, found, detected = norm.isf(0.025) + norm.isf(0.2), [], 0
    for _ in range(surveys):
        reports = counted(share, rng, differences)
        for outcome, group in pairs:
            [row] = [
                each
                for each in compare(reports, outcome, group).rows
                if each.quantity == "difference"
            ]
            found.append(math.copysign(norm.isf(row.p_value / 2), row.value))
            detected += row.p_value < 0.05
    ratio, power = quantiles / np.mean(found), detected / len(found)
    print(f"| {share} | obtained over stated: {ratio:.3f} | power {power:.3f} |")
    assert ratio == pytest.approx(1, abs=0.1)
    assert power == pytest.approx(0.8, abs=3 * math.sqrt(0.16 / len(found)))
