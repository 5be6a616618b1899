"""Tables of collapsed answers, in detail and in groups, against a matrix built from its definition.

`dense_split.matrix` has the probability of every report for every record as fractions.
"""

from fractions import Fraction

import numpy as np
import pytest
from dense_split import matrix
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.groups import (
    in_groups,
    records_of_cells,
    survey_in_groups,
)
from halftruth_collector.estimation.model.fit import feasible, fit_model, schema_of
from halftruth_collector.estimation.planning.expected_models import expected_model
from halftruth_collector.estimation.reconstruction import of_perturbation
from halftruth_collector.estimation.report_model import report_probabilities
from halftruth_shared import Attribute, ParameterError, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms import ViewClass

GAMMA, PRIME = Fraction(7, 2), 3
SHAPE = (5, 2, 3)
NAMES = ("income", "drugs", "town")
GROUPS = {0: [0, 0, 1, 2, 2]}
SUMS = np.eye(3)[:, GROUPS[0]]
#: Views as (groups of positions, number of each, weight); those of four cells and more are
#: geometries if `direct` is 3.
CLASSES = [
    ([[0]], [1], 2),
    ([[1]], [1], 1),
    ([[0], [1]], [1, 1], 3),
    ([[0], [2]], [1, 1], 2),
    ([[0], [1], [2]], [1, 1, 1], 1),
]
#: Public attributes, and views without them.
OF_PUBLIC = [([[0]], [1], 2), ([[1]], [1], 1), ([[0], [1]], [1, 1], 3)]

DIRECT = {"k-ary": 20, "geometry": 3}


def survey_of(direct=20, public=()):
    schema = Schema(
        [
            Attribute(
                "income",
                ["1", "2", "3", "4", "5"],
                collapsed={"low": ["1", "2"], "middle": ["3"], "high": ["4", "5"]},
            ),
            Attribute("drugs", ["no", "yes"]),
            Attribute("town", ["a", "b", "c"], sensitive="town" not in public),
        ]
    )
    classes = [
        ViewClass(
            attributes=tuple(tuple(NAMES[j] for j in group) for group in groups),
            choose=tuple(choose),
            weight=weight,
        )
        for groups, choose, weight in (OF_PUBLIC if public else CLASSES)
    ]
    mechanism = SplitQuestionnaire(GAMMA, classes, public, prime=PRIME, direct=direct)
    return Survey("s", "S", schema, mechanism)


def dense(direct=20, public=()):
    """Return P(report | record), and the reports."""
    positions = [NAMES.index(name) for name in public]
    classes = OF_PUBLIC if public else CLASSES
    rows = matrix(SHAPE, positions, GAMMA, PRIME, direct, classes, GROUPS)
    return np.array([[float(p) for p in row] for row in rows.values()]), list(rows)


def population():
    weights = np.arange(1, 31, dtype=float).reshape(SHAPE) ** 1.5
    weights[1, 1] *= 4
    return weights / weights.sum()


def expected_counts(survey, truth, direct=20, public=(), reports=10**13):
    chances, cells = dense(direct, public)
    return Counts.from_cells(
        survey, cells, np.rint(reports * (chances @ truth.ravel())).astype(np.int64)
    )


def sums_along(table, axis):
    return np.moveaxis(np.tensordot(SUMS, table, axes=(1, axis)), 0, axis)


def margin(truth, names):
    positions = [NAMES.index(name) for name in names]
    others = tuple(j for j in range(3) if j not in positions)
    return truth.sum(axis=others).transpose(np.argsort(np.argsort(positions)))


@pytest.mark.parametrize("direct", DIRECT.values(), ids=DIRECT)
def test_tables_of_expected_counts_equal_the_truth(direct):
    survey, truth = survey_of(direct), population()
    counts = expected_counts(survey, truth, direct)
    detail = of_perturbation(survey.perturbation)
    for name in NAMES:
        found = detail.table(counts, [name]).value
        np.testing.assert_allclose(found, margin(truth, [name]), atol=1e-9)
    groups = of_perturbation(in_groups(survey.perturbation))
    for names in (["income"], ["income", "drugs"], ["town", "income"], [*NAMES]):
        found = groups.table(counts, names).value
        wanted = sums_along(margin(truth, names), names.index("income"))
        np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_a_public_question_is_combined_with_answers_in_detail():
    survey, truth = survey_of(public=("town",)), population()
    counts = expected_counts(survey, truth, public=("town",))
    detail = of_perturbation(survey.perturbation)
    for names in (["income", "town"], ["town", "income"]):
        found = detail.table(counts, names)
        np.testing.assert_allclose(found.value, margin(truth, names), atol=1e-9)
    # Its margin is the question alone.
    alone = detail.table(counts, ["income"]).value
    np.testing.assert_allclose(found.value.sum(axis=0), alone, atol=1e-12)


def moved(survey, counts, names, view, symbols, amount):
    """Return the change of a table if reports of one view have one symbol instead of another."""
    cells = counts.cells.copy()
    numbers = counts.counts.copy()
    first, second = (np.flatnonzero(cells[:, -1] == view.first + s)[0] for s in symbols)
    numbers[first] -= amount
    numbers[second] += amount
    other = Counts.from_cells(survey, cells, numbers)
    source = of_perturbation(survey.perturbation)
    return source.table(other, names).value - source.table(counts, names).value


def test_the_covariance_is_that_of_the_weights_of_reports():
    """Weights by moving reports between symbols; their variance by the probabilities of reports."""
    survey, truth, reports = survey_of(), population(), 10**9
    counts = expected_counts(survey, truth, reports=reports)
    table = of_perturbation(survey.perturbation).table(counts, ["income"])
    chances, cells = dense()
    of_report = dict(zip([cell[-1] for cell in cells], chances @ truth.ravel(), strict=True))
    covariance = np.zeros((5, 5))
    for view in survey.perturbation.views:
        count = view.channel.reports
        p = np.array([of_report[view.first + s] for s in range(count)])
        number, p = reports * p.sum(), p / p.sum()
        weights = np.zeros((count, 5))
        for symbol in range(1, count):
            weights[symbol] = moved(survey, counts, ["income"], view, (0, symbol), 10**6) / 10**6
        mean = p @ weights
        covariance += number * (
            np.einsum("s,si,sj->ij", p, weights, weights) - np.outer(mean, mean)
        )
    np.testing.assert_allclose(table.covariance(), covariance, rtol=1e-5, atol=1e-16)
    at_truth = table.covariance(np.eye(5), margin(truth, ["income"]))
    np.testing.assert_allclose(at_truth, covariance, rtol=1e-5, atol=1e-16)
    np.testing.assert_allclose(table.variance(), np.diag(covariance), rtol=1e-5)
    # Of exactly these respondents, the sampling variance is missing.
    share = margin(truth, ["income"])
    sampling = (np.diag(share) - np.outer(share, share)) / reports
    alone = table.sampled(1.0).covariance()
    np.testing.assert_allclose(alone, covariance - sampling, rtol=1e-5, atol=1e-16)


def test_for_even_answers_no_other_combination_is_more_precise():
    """Best linear unbiased: generalized least squares of both tables (Aitken 1936)."""
    survey, even = survey_of(), np.full(SHAPE, 1 / 30)
    source = of_perturbation(survey.perturbation)
    found = source.expected_table(["income"], np.full(5, 1 / 5), 10**9).covariance() * 10**9

    def contrasts(cells, answered, weight):
        """k-ary response about even cells: the covariance of one report of the survey."""
        p, q = GAMMA / (GAMMA + answered - 1), 1 / (GAMMA + answered - 1)
        return float(1 / ((p - q) ** 2 * cells * Fraction(weight, 9)))

    detail = contrasts(5, 5, 2) * (np.eye(5) - 1 / 5)
    # Groups of unequal size are reported with unequal probabilities; three kinds of views.
    chances, cells = dense()
    total = np.zeros((3, 3))
    weights = []
    for view in survey.perturbation.views:
        if 0 not in view.positions or len(view.positions) == 1:
            continue
        k = view.channel.reports
        p, q = (float(x / (GAMMA + k - 1)) for x in (GAMMA, Fraction(1)))
        rows = [i for i, cell in enumerate(cells) if view.first <= cell[-1] < view.first + k]
        of = (chances @ even.ravel())[rows]
        number, of = of.sum(), of / of.sum()
        # Cells are in row-major order, the group first.
        group = np.repeat(np.eye(3), k // 3, axis=0)
        own = (group - q * k / 3) / (p - q)
        mean = of @ own
        spread = np.einsum("s,si,sj->ij", of, own, own) - np.outer(mean, mean)
        information = float(view.channel.information) / k
        weights.append((number * information, spread / number))
    whole = sum(weight for weight, _ in weights)
    total = sum((weight / whole) ** 2 * spread for weight, spread in weights)
    gain = detail @ SUMS.T @ np.linalg.pinv(SUMS @ detail @ SUMS.T + total)
    best = detail - gain @ SUMS @ detail
    np.testing.assert_allclose(found, best, rtol=1e-6, atol=1e-9)
    assert np.trace(found) < np.trace(detail)


@pytest.mark.parametrize("direct", DIRECT.values(), ids=DIRECT)
def test_probabilities_of_reports_are_those_of_the_matrix(direct):
    survey, truth = survey_of(direct), population()
    chances, _ = dense(direct)
    np.testing.assert_allclose(
        report_probabilities(survey.perturbation, truth).ravel(), chances @ truth.ravel()
    )
    # The others are even.
    some = margin(truth, ["income"])
    even = np.broadcast_to(some[:, None, None] / 6, SHAPE)
    np.testing.assert_allclose(
        report_probabilities(survey.perturbation, some, ["income"]).ravel(),
        chances @ even.ravel(),
    )


def test_forecasts_are_those_of_expected_tables():
    survey = survey_of()
    source = of_perturbation(survey.perturbation)
    for target, fraction in (("population", 0.0), ("respondents", 1.0)):
        unit = source.unit_variance(["income"], target)
        expected = source.expected_table(["income"], np.full(5, 1 / 5), 10**6).sampled(fraction)
        np.testing.assert_allclose(unit.at(1 / 5) / 10**6, expected.variance(), rtol=1e-5)
    weight = source.largest_weight(["income"])
    assert weight > of_perturbation(in_groups(survey.perturbation)).largest_weight(["income"]) > 1


def test_contributions_of_reports_give_the_variance():
    survey, truth = survey_of(), population()
    counts = expected_counts(survey, truth, reports=10**7)
    source = of_perturbation(survey.perturbation)
    forms = {("income",): np.eye(5)[:, :2]}
    second = np.zeros((2, 2))
    for numbers, values in source.contributions(counts, forms):
        second += (values * numbers[:, None]).T @ values
    wanted = source.table(counts, ["income"]).covariance()[:2, :2]
    np.testing.assert_allclose(second / counts.reports**2, wanted, rtol=1e-3)


def test_a_survey_of_single_questions_has_no_groups():
    schema = survey_of().schema
    views = [ViewClass(attributes=((name,),), weight=1) for name in schema.names]
    survey = Survey("s", "S", schema, SplitQuestionnaire(GAMMA, views))
    detail = of_perturbation(survey.perturbation)
    table = detail.expected_table(["income"], np.full(5, 1 / 5), 1_000)
    np.testing.assert_allclose(table.value, 1 / 5)
    assert (detail.unit_variance(["income"], "population").at(1 / 5) > 0).all()
    grouped = of_perturbation(in_groups(survey.perturbation))
    assert not grouped.identified(["income"])
    assert grouped.identified(["drugs"])


def test_detail_is_refused_in_tables_with_others():
    survey = survey_of()
    estimator = Estimator(survey, expected_counts(survey, population(), reports=10**5))
    with pytest.raises(ParameterError, match="no report is about 'income' and 'drugs' together"):
        estimator.table(["income", "drugs"])
    grouped = survey_in_groups(survey)
    assert grouped.digest == survey.digest
    assert grouped.schema.attributes[0].categories == ("low", "middle", "high")
    assert survey_in_groups(grouped) is grouped
    assert in_groups(survey.perturbation) is grouped.perturbation


@pytest.mark.nightly
def test_intervals_of_answers_in_detail_cover_them():
    survey, truth = survey_of(), population()
    shares, rng = margin(truth, ["income"]), np.random.default_rng(5)
    chances, cells = dense()
    chances = chances @ truth.ravel()
    source = of_perturbation(survey.perturbation)
    covered = []
    for _ in range(400):
        counts = Counts.from_cells(survey, cells, rng.multinomial(2_000, chances / chances.sum()))
        table = source.table(counts, ["income"])
        covered.append(np.abs(table.value - shares) < 1.96 * np.sqrt(table.variance()))
    rates = np.mean(covered, axis=0)
    assert (np.abs(rates - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)).all(), rates


def test_the_variance_of_an_estimate_far_below_zero_is_above_zero():
    survey, rng = survey_of(), np.random.default_rng(8)
    source, lowest = of_perturbation(survey.perturbation), 0.0
    nobody = np.zeros((40, 3), dtype=np.int64)
    for _ in range(200):
        counts = Counts.from_reports(survey, survey.perturbation.reports(nobody, rng))
        table = source.table(counts, ["income"])
        lowest = min(lowest, table.value.min())
        assert (table.variance() > 0).all()
        assert np.linalg.eigvalsh(table.covariance()).min() > -1e-12
    assert lowest < -0.5


def test_groups_are_read_from_every_form_of_the_table():
    """The sum over groups of the expected table in detail is consistent with all reports."""
    survey = survey_of()
    table = of_perturbation(survey.perturbation).expected_table(
        ["income"], margin(population(), ["income"]), 10**6
    )
    np.testing.assert_allclose(table.value.sum(), 1.0)
    forms = np.vstack([SUMS, np.ones(5)])
    spread = table.covariance(forms)
    np.testing.assert_allclose(spread[-1], 0.0, atol=1e-18)
    alone = table.unit_variance()
    np.testing.assert_allclose(alone.at(0.2).shape, (5,))


#: Questions with conditions on some answers of a group: records are codes of work, hours and staff.
WORK = ("full", "part", "none", "retired")
WORK_GROUPS = {"working": WORK[:2], "not": WORK[2:]}


def of_conditions():
    """Return a survey that asks about hours if work is part, and about staff if it is full."""
    schema = Schema(
        [
            Attribute("work", WORK, collapsed=WORK_GROUPS),
            Attribute("hours", ["few", "some", "many"], ask_if={"work": ["part"]}),
            Attribute("staff", ["no", "yes"], ask_if={"work": ["full"]}),
        ]
    )
    views = [
        ViewClass(attributes=(tuple(schema.names),), choose=(size,), weight=size)
        for size in (1, 2, 3)
    ]
    return Survey("s", "S", schema, SplitQuestionnaire(GAMMA, views, prime=PRIME, direct=100))


def records_of_conditions():
    """Enumerate the records that the conditions allow."""
    for work in range(4):
        for hours in range(3) if work == 1 else [3]:
            for staff in range(2) if work == 0 else [2]:
                yield work, hours, staff


def test_a_planned_model_of_groups_is_that_of_the_expected_counts():
    """Reports about the question in detail alone do not count in it."""
    survey, truth = survey_of(), population()
    grouped = survey_in_groups(survey)
    counts = expected_counts(grouped, truth, reports=10**9)
    fitted = fit_model(grouped, counts)
    people = sums_along(truth, 0)
    planned = expected_model(grouped.schema, survey.mechanism, 10**9, people=people)
    np.testing.assert_allclose(
        np.diag(planned.covariance), np.diag(fitted.covariance), rtol=1e-2, atol=1e-16
    )


def test_some_of_a_group_can_be_asked_and_others_not():
    survey = of_conditions()
    grouped = survey_in_groups(survey)
    records = list(records_of_conditions())
    number = np.zeros((2, 4, 3))
    for work, *others in records:
        number[(work // 2, *others)] += 1
    np.testing.assert_array_equal(records_of_cells(grouped.schema), number)
    np.testing.assert_array_equal(feasible(grouped.schema), number > 0)
    for names, axes in ((["hours", "work"], 2), (["work", "staff"], 1)):
        of_two = feasible(schema_of(grouped.schema, names))
        np.testing.assert_array_equal(of_two, number.sum(axis=axes) > 0)

    # The model of expected counts is the truth, by the probability of each report.
    truth, rng = np.zeros((4, 4, 3)), np.random.default_rng(3)
    truth[tuple(zip(*records, strict=True))] = rng.dirichlet(np.full(len(records), 5.0))
    classes = [([[0, 1, 2]], [size], size) for size in (1, 2, 3)]
    rows = matrix(truth.shape, [], GAMMA, PRIME, 100, classes, {0: [0, 0, 1, 1]})
    chances = np.array([[float(p) for p in row] for row in rows.values()])
    expected = np.rint(10**12 * (chances @ truth.ravel())).astype(np.int64)
    counts = Counts.from_cells(grouped, list(rows), expected)
    model = fit_model(grouped, counts, [grouped.schema.names])
    in_groups_true = truth.reshape(2, 2, 4, 3).sum(axis=1)
    assert in_groups_true[0, 3].sum() > 0.1  # working, and not asked about hours
    np.testing.assert_allclose(model.table, in_groups_true, atol=1e-4)


def test_a_group_of_a_missing_answer_has_the_name_of_the_answer():
    """Otherwise a condition would add the missing category a second time."""
    collapsed = {"low": ["1", "2"], "high": ["3"], "skipped": ["not asked"]}
    schema = Schema(
        [
            Attribute("work", WORK, collapsed=WORK_GROUPS),
            Attribute("pay", ["1", "2", "3"], ask_if={"work": ["part"]}, collapsed=collapsed),
        ]
    )
    pairs = [ViewClass(attributes=(("work", "pay"),), choose=(2,), weight=1)]
    survey = Survey("s", "S", schema, SplitQuestionnaire(GAMMA, pairs))
    grouped = survey_in_groups(survey).schema
    assert grouped.shape == (2, 3)
    assert grouped.attributes[1].categories == ("low", "high", "not asked")
    assert grouped.attributes[1].missing == ("not asked",)
    np.testing.assert_array_equal(records_of_cells(grouped), [[2, 1, 1], [0, 0, 2]])
