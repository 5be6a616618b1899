"""How many false reports would undo a decision: counted by adding them."""

from dataclasses import replace
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.estimates import Estimates
from halftruth_collector.estimation.false_reports import moved_by, to_undo
from halftruth_collector.estimation.model import fit_model
from halftruth_collector.estimation.model.tables import shares
from halftruth_collector.estimation.planning.margins import UNDONE, Expectation
from halftruth_collector.estimation.planning.planner import plan
from halftruth_collector.estimation.reconstruction import of_table
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.results import QUANTITIES
from halftruth_shared.survey import Reporting
from sources import source_of

SCHEMA = Schema(
    [
        Attribute("harassed", ["no", "yes"]),
        Attribute("sex", ["man", "woman"]),
        Attribute("age", ["young", "middle", "old"], ordered=True),
    ]
)
MATRIX = [["3/4", "1/8"], ["1/4", "7/8"]]
MECHANISMS = {
    "gamma-diagonal": GammaDiagonal("19"),
    "randomized response": RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.8")),
    "matrices": DistortionMatrices({"harassed": MATRIX, "sex": MATRIX}),
    "split questionnaire": SplitQuestionnaire.designed(SCHEMA, Fraction(19), (), {1: 1.0, 2: 1.0}),
}

#: Number of reports of simulated surveys, level of their tests, and number of false reports by
#: which the most harmful ones are found.
REPORTS, LEVEL, FEW = 4_000, 0.05, 5


def surveyed(mechanism, reports, seed, strong=0.55, weak=0.15):
    """Return a survey with the reports of people of whom women were harassed more often."""
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(0, 2, reports), rng.integers(0, 3, reports)
    harassed = rng.random(reports) < np.where(sex == 1, strong, weak)
    schema = SCHEMA
    if isinstance(mechanism, DistortionMatrices):
        schema = Schema(SCHEMA.attributes[:2])
    survey = Survey("work", "Work", schema, mechanism)
    people = np.stack([harassed, sex, age][: len(schema.names)], axis=1).astype(int)
    return survey, survey.perturbation.reports(people, rng)


def possible_reports(survey):
    """Return every report that can be sent."""
    shape = survey.report_space.shape
    return np.indices(shape).reshape(len(shape), -1).T


def with_added(rows, report, number):
    return np.vstack([rows, np.tile(report, (number, 1))])


def difference(people):
    """The share of those who were harassed among women, less that among men."""
    return people[1, 1:] / people[:, 1:].sum(axis=0) - people[1, :1] / people[:, :1].sum(axis=0)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_largest_fall_is_that_of_the_worst_of_all_reports(name):
    survey, rows = surveyed(MECHANISMS[name], 3_000, 4)

    def estimate(rows):
        table = Estimator(survey, Counts.from_reports(survey, rows)).table(["harassed", "sex"])
        found = Estimates.contrast(table, difference, QUANTITIES["difference"])
        return table, found

    table, found = estimate(rows)
    [before] = found.value
    after = [
        estimate(with_added(rows, report, 1))[1].value[0] for report in possible_reports(survey)
    ]
    for sign in (1, -1):
        [fall] = table.largest_falls(sign * found.gradient)
        assert fall == pytest.approx(max(sign * (before - each) for each in after), rel=0.03)


def test_the_largest_fall_by_tickets_is_the_mean_of_the_worst_report_of_each_view():
    plain, rows = surveyed(MECHANISMS["split questionnaire"], 3_000, 4)
    survey = replace(plain, reporting=Reporting(tickets="required"))

    def estimate(rows):
        table = Estimator(survey, Counts.from_reports(survey, rows)).table(["harassed", "sex"])
        return table, Estimates.contrast(table, difference, QUANTITIES["difference"])

    def table_of(rows):
        return shares(fit_model(survey, Counts.from_reports(survey, rows)), ["harassed", "sex"])

    view_of = np.array([survey.perturbation.view_number(each) for each in rows.tolist()])
    chances = np.bincount(view_of, minlength=len(survey.perturbation.views)) / len(rows)
    possible = possible_reports(survey)
    views = np.array([survey.perturbation.view_number(each) for each in possible.tolist()])

    def mean_of_worst(sign, before, after):
        falls = sign * (before - np.array(after))
        return sum(p * max(falls[views == v].max(), 0) for v, p in enumerate(chances))

    table, found = estimate(rows)
    [before] = found.value
    after = [estimate(with_added(rows, each, 1))[1].value[0] for each in possible]
    for sign in (1, -1):
        [fall] = table.largest_falls(sign * found.gradient)
        assert fall == pytest.approx(mean_of_worst(sign, before, after), rel=0.05)
        # Whoever chooses the view moves more.
        whole = Estimator(plain, Counts.from_reports(plain, rows)).table(["harassed", "sex"])
        assert whole.largest_falls(sign * found.gradient)[0] > 1.5 * fall
    modelled = table_of(rows)
    by_model = Estimates.contrast(modelled, difference, QUANTITIES["difference"])
    after = [difference(table_of(with_added(rows, each, 1)).value)[0] for each in possible]
    [fall] = modelled.largest_falls(by_model.gradient)
    assert fall == pytest.approx(mean_of_worst(1, by_model.value[0], after), rel=0.05)


def test_the_weight_of_a_ticket_is_that_of_the_formula():
    # Fourteen questions of two to five answers, and a pair of four answers each.
    sizes = [2, 4, 3, 2, 5, 2, 3, 2, 4, 2, 3, 2, 2, 2]
    names = [f"q{j}" for j in range(14)]
    schema = Schema(
        [Attribute(name, [f"a{i}" for i in range(d)]) for name, d in zip(names, sizes, strict=True)]
    )
    mechanism = SplitQuestionnaire.designed(schema, Fraction(19), (), {1: 1.0, 2: 1.0})
    chosen = Survey("s", "S", schema, mechanism)
    by_ticket = replace(chosen, reporting=Reporting(tickets="required"))
    weights = [
        of_table(each, ["q1", "q8"]).largest_weight(["q1", "q8"]) for each in (chosen, by_ticket)
    ]
    assert weights[0] > 50
    # Σ π_v max (w_y − θ) from the weights of every report, one by one.
    even = np.full((4, 4), 1 / 16)
    table = of_table(chosen, ["q1", "q8"]).expected_table(["q1", "q8"], even, 10**6)
    total = sum(each.reports for each in table.report_distributions(even))
    falls = sum(
        each.reports / total * np.max(each.weights - each.chances @ each.weights, axis=0)
        for each in table.report_distributions(even)
    )
    assert 1.6 < weights[1] < 1.9
    assert weights[1] == pytest.approx(10**6 * falls.max() * total / 10**6, rel=0.02)


def test_the_largest_fall_of_a_model_is_that_of_the_worst_of_all_reports():
    survey, rows = surveyed(MECHANISMS["split questionnaire"], 3_000, 4)

    def table_of(rows):
        model = fit_model(survey, Counts.from_reports(survey, rows))
        return shares(model, ["harassed", "sex"])

    table = table_of(rows)
    [before], gradient = difference(table.value), None
    found = Estimates.contrast(table, difference, QUANTITIES["difference"])
    gradient = found.gradient
    after = [
        difference(table_of(with_added(rows, each, 1)).value)[0]
        for each in possible_reports(survey)
    ]
    [fall] = table.largest_falls(gradient)
    assert fall == pytest.approx(max(before - each for each in after), rel=0.03)


QUERIES = {
    "comparison": {"answer": {"harassed": "yes"}, "groups": "sex", "estimate": "moment"},
    "crosstab": {"attributes": ["sex", "harassed"]},
    "regression": {"outcome": "harassed", "predictors": ["sex"], "estimate": "moment"},
    "measures": {"attributes": None},
}


def significant(result):
    """Return the number of false reports that would undo the first decision, and its p-value."""
    table = result.estimates
    rows = np.flatnonzero(np.isfinite(table.numbers("p_value")))
    if result.query.__class__.__name__ == "MeasuresQuery":
        pairs = [{row["row"], row["column"]} == {"harassed", "sex"} for row in result.rows]
        rows = np.flatnonzero(pairs)
    adjusted = table.numbers("adjusted_p_value")
    p_value = np.where(np.isnan(adjusted), table.numbers("p_value"), adjusted)[rows[-1]]
    return table.numbers("undone_by")[rows[-1]], p_value


@pytest.mark.parametrize("analysis", QUERIES)
@pytest.mark.parametrize("mechanism", ["gamma-diagonal", "split questionnaire"])
def test_a_decision_falls_with_the_stated_number_of_false_reports(analysis, mechanism):
    survey, rows = surveyed(MECHANISMS[mechanism], 4_000, 8)
    query = ANALYSES[analysis].query(**QUERIES[analysis])

    def decided(report, number):
        source = source_of(survey, with_added(rows, report, number))
        return significant(answer(ANALYSES[analysis], source, query))

    every = possible_reports(survey)
    needed, before = decided(every[0], 0)
    assert before < 0.05
    # The worst report is the one of which some change the p-value most.
    p_values = [decided(each, max(1, int(needed / 4)))[1] for each in every]
    worst = every[int(np.argmax(p_values))]
    assert decided(worst, int(0.8 * needed))[1] <= 0.05
    assert decided(worst, int(np.ceil(1.25 * needed)))[1] > 0.05


def test_the_finding_of_a_headline_falls_with_its_own_number():
    """A headline tests by Bonferroni's correction, so fewer reports undo it than its row's mark."""
    survey, rows = surveyed(MECHANISMS["split questionnaire"], 4_000, 8)
    analysis = ANALYSES["measures"]

    def asked(report, number):
        source = source_of(survey, with_added(rows, report, number))
        return answer(analysis, source, analysis.query())

    def p_value(result):
        [test, *_] = result.tests
        return test.p_value

    every = possible_reports(survey)
    before = asked(every[0], 0)
    [note] = [each for each in before.caveats if each.code == "false reports"]
    needed = note.values["finding"]
    [claim, *_] = before.claims
    assert needed <= before.rows[claim.rows[0]].undone_by
    worst = max(every, key=lambda each: p_value(asked(each, max(1, needed // 4))))
    assert p_value(asked(worst, int(0.8 * needed))) <= 0.05
    assert p_value(asked(worst, int(np.ceil(1.25 * needed)))) > 0.05


def test_the_number_follows_from_the_distance_to_the_critical_value():
    needed = to_undo(np.array([5.0, 5.0, 2.0]), 2.0, np.array([0.1, 0.01, 0.1]), 100)
    # Without others, z falls by 0.1 with the first report and less with each further one.
    falls = [5 - 0.1 * k * 100 / (100 + k) for k in range(60)]
    assert needed[0] == next(k for k, z in enumerate(falls) if z <= 2.0)
    # What no report moves cannot be undone, and what is at the critical value with one report.
    assert np.isnan(needed[1])
    assert needed[2] == 1


def test_estimates_without_a_statistic_are_not_moved():
    survey, rows = surveyed(MECHANISMS["gamma-diagonal"], 500, 2)
    table = Estimator(survey, Counts.from_reports(survey, rows)).table(["harassed"])
    forms = np.array([[0.0, 1.0], [np.nan, 1.0]])
    moved = moved_by(table, forms, np.array([0.5, 0.5]), np.array([np.nan, 3.0]))
    assert np.isnan(moved).all()


def test_frequent_itemsets_fall_with_the_stated_number_of_false_reports():
    survey, rows = surveyed(MECHANISMS["gamma-diagonal"], 20_000, 5)
    query = ANALYSES["itemsets"].query(min_support=0.2, max_length=1)

    def decided(report, number):
        result = answer(
            ANALYSES["itemsets"], source_of(survey, with_added(rows, report, number)), query
        )
        return {
            tuple(row["itemset"].items()): row.undone_by
            for row in result.rows
            if row.adjusted_p_value <= 0.05
        }

    item = (("age", "old"),)
    needed = decided([0, 0, 0], 0)[item]
    # Any report that says "young" counts against "old".
    assert item in decided([0, 0, 0], int(0.9 * needed))
    assert item not in decided([0, 0, 0], int(1.1 * needed))


def test_what_is_not_significant_cannot_be_undone():
    survey, rows = surveyed(MECHANISMS["split questionnaire"], 4_000, 8)
    for name, query in QUERIES.items():
        result = answer(ANALYSES[name], source_of(survey, rows), ANALYSES[name].query(**query))
        table = result.estimates
        adjusted = table.numbers("adjusted_p_value")
        decided = np.where(np.isnan(adjusted), table.numbers("p_value"), adjusted) <= 0.05
        stated = np.isfinite(table.numbers("undone_by"))
        if name == "regression":
            decided &= ~np.array([row.quantity in ("intercept", "odds") for row in result.rows])
        assert (stated == decided).all()
        [note] = [each for each in result.caveats if each.code == "false reports"]
        assert note.values["weakest"] == table.numbers("undone_by")[stated].min()
        assert "false reports would undo" in note.sentence


@pytest.mark.parametrize("tickets", ["none", "required"])
def test_a_plan_names_the_number_of_false_reports_of_a_typical_survey(tickets):
    reports, effect, rng = 4_000, 0.35, np.random.default_rng(12)
    survey = Survey("work", "Work", SCHEMA, MECHANISMS["split questionnaire"])
    survey = replace(survey, reporting=Reporting(tickets=tickets))
    planned = Expectation(survey.perturbation, reports).undone_difference("sex", "harassed", effect)
    query = ANALYSES["comparison"].query(**QUERIES["comparison"])
    found = []
    for _ in range(40):
        sex, age = rng.integers(0, 2, reports), rng.integers(0, 3, reports)
        harassed = rng.random(reports) < 0.5 + effect * (sex == 0)
        people = np.stack([harassed, sex, age], axis=1).astype(int)
        source = source_of(survey, survey.perturbation.reports(people, rng))
        needed, _ = significant(answer(ANALYSES["comparison"], source, query))
        found.append(np.nan_to_num(needed))
    assert planned == pytest.approx(np.median(found), rel=0.15)


@pytest.mark.parametrize("mechanism", ["gamma-diagonal", "split questionnaire"])
def test_just_detectable_effects_of_two_answers_each_are_undone_by_about_as_many(mechanism):
    survey = Survey("work", "Work", SCHEMA, MECHANISMS[mechanism])
    expected = Expectation(survey.perturbation, 4_000)
    first, *others = (expected.undone_by(each, ["sex", "harassed"]) for each in UNDONE)
    assert first > 5
    assert others == pytest.approx([first] * len(others), rel=0.25)


def test_a_plan_counts_tickets_for_each_design_and_none_for_what_is_not_detected():
    plain = Survey("work", "Work", SCHEMA, MECHANISMS["split questionnaire"])
    query = PlanQuery(
        respondents=4_000,
        detect=["harassed by sex: 15 points", "harassed by sex: 1 point"],
        alone=True,
    )
    chosen, drawn = (
        plan(replace(plain, reporting=Reporting(tickets=each)), query)
        for each in ("none", "required")
    )
    for fewer, more in zip(chosen.designs, drawn.designs, strict=True):
        assert fewer.undone_by[0] < more.undone_by[0]
        assert fewer.undone_by[1] is more.undone_by[1] is None
    for fewer, more in zip(chosen.margins, drawn.margins, strict=True):
        assert (fewer.undone_by is None) == (fewer.quantity not in UNDONE)
        assert fewer.undone_by is None or fewer.undone_by < more.undone_by


def decided(survey, rows, direction):
    """Return the number of false reports that would undo the difference, and its p-value.

    The p-value is 1 if the difference has the other direction.
    """
    query = ANALYSES["comparison"].query(**QUERIES["comparison"])
    result = answer(ANALYSES["comparison"], source_of(survey, rows), query)
    needed, p_value = significant(result)
    [difference] = result.estimates.value[np.isfinite(result.estimates.numbers("p_value"))]
    return needed, p_value if (difference > 0) == (direction == "positive") else 1.0


def simulated(mechanism, tickets, direction, seed):
    """Return a survey with its reports, and reports of as many drawn tickets."""
    shares = (0.5, 0.15) if direction == "positive" else (0.15, 0.5)
    survey, rows = surveyed(MECHANISMS[mechanism], 2 * REPORTS, seed, *shares)
    survey = replace(survey, reporting=Reporting(tickets=tickets))
    return survey, rows[:REPORTS], rows[REPORTS:]


def most_harmful(survey, rows, direction):
    """Return the report of each view that moves the difference most, and its p-value then."""
    found = {}
    for report in possible_reports(survey):
        view = survey.perturbation.view_number(report.tolist())
        _, p_value = decided(survey, np.vstack([rows, np.tile(report, (FEW, 1))]), direction)
        if view not in found or p_value > found[view][1]:
            found[view] = report, p_value
    return found


def undoing(survey, rows, false, most, direction):
    """Return the smallest number of these false reports with which the difference falls."""
    low, high = 0, min(most, len(false))
    if decided(survey, np.vstack([rows, false[:high]]), direction)[1] <= LEVEL:
        return np.nan
    while high - low > 1:
        middle = (low + high) // 2
        _, p_value = decided(survey, np.vstack([rows, false[:middle]]), direction)
        low, high = (low, middle) if p_value > LEVEL else (middle, high)
    return high


def ratios(mechanism, tickets, direction, surveys):
    """Return the numbers that undid differences over those stated, and those stated.

    Without tickets the most harmful report is sent every time, and else that of the drawn view.
    """
    harmful, found, said = None, [], []
    for seed in range(surveys):
        survey, rows, drawn = simulated(mechanism, tickets, direction, 100 + seed)
        stated, p_value = decided(survey, rows, direction)
        if p_value > LEVEL:
            continue
        if harmful is None:
            harmful = most_harmful(survey, rows, direction)
        if tickets == "required":
            views = [survey.perturbation.view_number(each) for each in drawn.tolist()]
            false = np.stack([harmful[view][0] for view in views])
        else:
            worst, _ = max(harmful.values(), key=lambda each: each[1])
            false = np.tile(worst, (len(drawn), 1))
        needed = undoing(survey, rows, false, int(4 * stated) + 8, direction)
        found.append(needed / stated)
        said.append(stated)
    return np.array(found), np.array(said)


def named(survey, rows, answer_, attributes=("harassed",)):
    """Return the number that would undo that an answer is the largest, and how far its interval
    is above that of the next one, from the result at the level of the selection.
    """
    analysis, source = ANALYSES["table"], source_of(survey, rows)
    query = analysis.query(attributes=list(attributes), estimate="moment")
    result = answer(analysis, source, query)
    cells = len(result.estimates)
    further = replace_confidence(query, 1 - LEVEL / cells)
    table = answer(analysis, source, further).estimates
    lower, upper = table.numbers("lower"), table.numbers("upper")
    place = next(i for i, row in enumerate(result.rows) if row.keys == answer_)
    distance = lower[place] - np.delete(upper, place).max()
    is_named = any(c.kind == "largest" and c.rows == [place] for c in result.claims)
    assert is_named == (distance > 0)
    stated = result.estimates.numbers("undone_by")
    assert np.isfinite(stated[place]) == is_named
    assert np.isnan(np.delete(stated, place)).all() or not is_named
    return stated[place], distance


def replace_confidence(query, confidence):
    return msgspec.structs.replace(query, confidence=confidence)


def lead_ratios(mechanism, tickets, direction, surveys):
    """Return the numbers of false reports that undid a largest answer over those stated.

    Without tickets the most harmful report is sent every time, and else that of the drawn view.
    """
    shares = (0.62, 0.58) if direction == "yes" else (0.42, 0.38)
    answer_ = {"harassed": direction}
    harmful, found, said = None, [], []
    for seed in range(surveys):
        survey, rows = surveyed(MECHANISMS[mechanism], 2 * REPORTS, 100 + seed, *shares)
        survey = replace(survey, reporting=Reporting(tickets=tickets))
        rows, drawn = rows[:REPORTS], rows[REPORTS:]
        stated, distance = named(survey, rows, answer_)
        if not distance > 0:
            continue
        if harmful is None:
            harmful = {}
            for report in possible_reports(survey):
                view = survey.perturbation.view_number(report.tolist())
                _, after = named(survey, with_added(rows, report, FEW), answer_)
                if view not in harmful or after < harmful[view][1]:
                    harmful[view] = report, after
        if tickets == "required":
            views = [survey.perturbation.view_number(each) for each in drawn.tolist()]
            false = np.stack([harmful[view][0] for view in views])
        else:
            worst, _ = min(harmful.values(), key=lambda each: each[1])
            false = np.tile(worst, (len(drawn), 1))
        low, high = 0, min(int(4 * stated) + 8, len(false))
        assert named(survey, np.vstack([rows, false[:high]]), answer_)[1] <= 0
        while high - low > 1:
            middle = (low + high) // 2
            is_undone = named(survey, np.vstack([rows, false[:middle]]), answer_)[1] <= 0
            low, high = (low, middle) if is_undone else (middle, high)
        found.append(high / stated)
        said.append(stated)
    return np.array(found), np.array(said)


CASES = [
    ("gamma-diagonal", "none", "positive"),
    ("gamma-diagonal", "none", "negative"),
    ("split questionnaire", "none", "positive"),
    ("split questionnaire", "none", "negative"),
    ("split questionnaire", "required", "positive"),
    ("split questionnaire", "required", "negative"),
]


LEADS = [
    (mechanism, tickets, {"positive": "yes", "negative": "no"}[direction])
    for mechanism, tickets, direction in CASES
]


@pytest.mark.parametrize("case", LEADS[-2:], ids="-".join)
def test_the_stated_number_undoes_that_an_answer_is_the_largest(case):
    found, said = lead_ratios(*case, 4)
    assert len(found) >= 3
    assert np.median(said) > 20
    assert 0.6 < np.median(found) < 1.5


@pytest.mark.parametrize("name", ["gamma-diagonal", "split questionnaire"])
def test_the_number_of_a_largest_cell_is_the_smallest_over_the_others(name):
    """The others of the table are pushed up one by one, each by the report that does so most."""
    survey, rows = surveyed(MECHANISMS[name], 6_000, 9, 0.2, 0.15)
    about = ["harassed", "sex"]
    cells = [{"harassed": a, "sex": b} for a in ("no", "yes") for b in ("man", "woman")]
    # People are men more often, so that the largest cell has no equal.
    men = survey.perturbation.reports(np.tile([0, 0, 1], (1_500, 1)), np.random.default_rng(1))
    rows = np.vstack([rows, men])
    stated, distance = named(survey, rows, cells[0], about)
    assert distance > 0
    every = possible_reports(survey)

    def is_undone(report, number):
        return named(survey, with_added(rows, report, number), cells[0], about)[1] <= 0

    # Whichever other cell the interval reaches first.
    distances = [named(survey, with_added(rows, each, FEW), cells[0], about)[1] for each in every]
    worst = every[int(np.argmin(distances))]
    assert not is_undone(worst, int(0.85 * stated))
    assert is_undone(worst, int(np.ceil(1.2 * stated)))


@pytest.mark.nightly
@pytest.mark.parametrize("case", LEADS, ids="-".join)
def test_the_number_of_a_largest_answer_is_the_median_of_two_hundred_surveys(case):
    found, said = lead_ratios(*case, 200)
    low, median, high = np.quantile(found, [0.05, 0.5, 0.95])
    print(case, len(found), *(f"{each:.2f}" for each in (np.median(said), low, median, high)))
    assert 0.85 < median < 1.15
    assert 0.6 < low < high < 1.6


@pytest.mark.parametrize("case", CASES[-2:], ids="-".join)
def test_the_stated_number_undoes_differences_of_either_sign(case):
    found, said = ratios(*case, 4)
    assert len(found) == 4
    assert np.median(said) > 20
    assert 0.6 < np.median(found) < 1.5


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_the_stated_number_is_the_median_of_two_hundred_surveys(case):
    found, said = ratios(*case, 200)
    low, median, high = np.quantile(found, [0.05, 0.5, 0.95])
    print(case, len(found), *(f"{each:.2f}" for each in (np.median(said), low, median, high)))
    assert not np.isnan(found).any()
    assert 0.85 < median < 1.15
    assert 0.6 < low < high < 1.6
