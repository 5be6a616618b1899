"""Tables of questions that are perturbed as one set, against enumeration and simulation."""

import itertools
from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.groups import records_of_cells, survey_in_groups
from halftruth_collector.estimation.intervals import intervals_at
from halftruth_collector.estimation.model import fit_model
from halftruth_collector.estimation.model.fit import feasible
from halftruth_collector.estimation.model.tables import shares
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_collector.estimation.report_model import ReportKinds, report_probabilities
from halftruth_shared import (
    Attribute,
    EstimateError,
    ParameterError,
    RecordError,
    Schema,
    SplitQuestionnaire,
    Survey,
    ViewClass,
)
from halftruth_shared.attribute import MultipleResponse
from scipy.stats import norm


def view(*names, weight=1, pairs=False):
    return ViewClass(attributes=(names,), weight=weight, pairs=pairs)


def options(count, at_most, **more):
    question = MultipleResponse("b", at_most=at_most)
    return [
        Attribute(f"b.o{j}", ("no", "yes"), ("yes",), question=question, **more)
        for j in range(count)
    ]


#: A set with missing answers, groups of people of which one question is collapsed, a public
#: question, and views of all kinds.
SCHEMA = Schema(
    [
        *options(3, 2, optional=True),
        Attribute("sex", ("m", "f")),
        Attribute("mood", ("1", "2", "3"), collapsed={"low": ["1", "2"], "high": ["3"]}),
        Attribute("town", ("x", "y"), sensitive=False),
    ]
)
VIEWS = [
    view("b", weight=2),
    view("b", pairs=True),
    view("sex", "b"),
    view("mood", "sex", "b", weight=3),
    view("b", "sex", pairs=True, weight=2),
    view("mood"),
    view("sex", "mood"),
]
SURVEY = Survey("s", "S", SCHEMA, SplitQuestionnaire("19/2", VIEWS, ["town"]))


def possible_records(schema):
    found = []
    for codes in itertools.product(*map(range, schema.shape)):
        try:
            found.append(schema.check(codes))
        except RecordError:
            continue
    return found


def distribution(survey, record):
    """Return the probability of each report of a record, by all outcomes of all draws."""
    perturbation, found = survey.perturbation, {}
    known = [record[j] for j in perturbation.unperturbed_columns]
    for each in perturbation.views:
        codes, response = each.codes(record, survey.schema.attributes), each.response
        share = Fraction(each.weight, perturbation.cumulative_weights[-1] * response.outcomes)
        for drawn in range(response.outcomes):
            [symbol] = response.draw(codes, lambda _, drawn=drawn: drawn)
            report = (*known, each.first + symbol)
            found[report] = found.get(report, 0) + share
    return found


@pytest.fixture(scope="module")
def people():
    """Records with their numbers of people, and the expected counts of their reports."""
    records = possible_records(SCHEMA)
    numbers = np.random.default_rng(3).integers(1, 40, len(records))
    expected = {}
    for record, number in zip(records, numbers.tolist(), strict=True):
        for report, chance in distribution(SURVEY, record).items():
            expected[report] = expected.get(report, 0) + number * chance
    scale = lcm(*(each.denominator for each in expected.values()))
    counts = Counts.from_cells(SURVEY, list(expected), [int(n * scale) for n in expected.values()])
    whole = np.zeros(SCHEMA.shape)
    whole[tuple(np.array(records).T)] = numbers / numbers.sum()
    return whole, counts


def table_of(whole, schema, names):
    """Return the true table of some attributes, perhaps with groups of answers."""
    positions = SCHEMA.positions(names)
    others = tuple(j for j in range(whole.ndim) if j not in positions)
    table = whole.sum(axis=others).transpose(np.argsort(np.argsort(positions)))
    for axis, name in enumerate(names):
        codes = SCHEMA.attributes[SCHEMA.position(name)].groups.codes
        if schema.shape[schema.position(name)] < len(codes):
            sums = np.eye(max(codes) + 1)[:, list(codes)]
            table = np.moveaxis(np.tensordot(sums, table, (1, axis)), 0, axis)
    return table


TABLES = [
    ["b.o0"],
    ["b.o2", "b.o0"],
    ["sex", "b.o1"],
    ["b.o1", "town"],
    ["b.o1", "mood", "sex"],
    ["b.o1", "b.o0", "sex", "town"],
    ["mood", "sex"],
    ["sex"],
]


@pytest.mark.parametrize("names", TABLES, ids="-".join)
def test_estimates_of_expected_reports_are_the_truth(people, names):
    whole, counts = people
    survey = survey_in_groups(SURVEY) if len(names) > 1 else SURVEY
    table = reconstruction(survey).table(counts, names)
    assert table.axes == tuple(names)
    np.testing.assert_allclose(table.value, table_of(whole, survey.schema, names), atol=1e-12)


def test_tables_are_consistent_with_their_margins(people):
    # Whatever the reports.
    rng = np.random.default_rng(8)
    size = SURVEY.report_space.size
    shape = SURVEY.report_space.shape
    counts = Counts.from_cells(SURVEY, np.argwhere(np.ones(shape)), rng.integers(0, 30, size))
    source = reconstruction(survey_in_groups(SURVEY))
    large = source.table(counts, ["b.o1", "b.o0", "sex", "town"]).value
    for axes, names in (
        ((0,), ["b.o1"]),
        ((2,), ["sex"]),
        ((0, 1), ["b.o1", "b.o0"]),
        ((0, 2), ["b.o1", "sex"]),
        ((1, 2, 3), ["b.o0", "sex", "town"]),
        ((2, 3), ["sex", "town"]),
    ):
        others = tuple(axis for axis in range(4) if axis not in axes)
        found = source.table(counts, names).value
        np.testing.assert_allclose(large.sum(axis=others), found, atol=1e-12, err_msg=str(names))


@pytest.mark.parametrize("names", TABLES[:6], ids="-".join)
def test_covariances_are_those_of_the_multinomial_distribution_of_symbols(people, names):
    whole, counts = people
    survey = survey_in_groups(SURVEY) if len(names) > 1 else SURVEY
    source, perturbation = reconstruction(survey), survey.perturbation
    # One report of each view and public answer of each symbol is moved to its first symbol.
    numbers = np.full(counts.shape, 7)
    counted = Counts.from_cells(survey, np.argwhere(numbers), numbers.ravel())
    base = source.table(counted, names)
    chances = np.zeros(counts.shape)
    chances[tuple(counts.cells.T)] = counts.counts / counts.reports
    reports, covariance = counted.reports, np.zeros((base.value.size, base.value.size))
    for each in perturbation.views:
        symbols = range(each.first, each.first + each.symbols)
        within = chances[:, symbols] / chances[:, symbols].sum()
        own = numbers[:, symbols].sum()
        weights = np.zeros((*within.shape, base.value.size))
        for known, symbol in np.ndindex(within.shape):
            moved = numbers.copy()
            moved[known, each.first + symbol] += 1
            moved[0, each.first] -= 1
            other = Counts.from_cells(survey, np.argwhere(moved >= 0), moved.ravel())
            weights[known, symbol] = (source.table(other, names).value - base.value).ravel()
        flat, share = weights.reshape(-1, base.value.size), within.ravel()
        centred = flat - share @ flat
        covariance += own * (centred.T * share) @ centred
    true = table_of(whole, survey.schema, names)
    found = base.covariance(shares=true) * (reports - 1) / reports
    np.testing.assert_allclose(found, covariance, atol=1e-9 * np.abs(covariance).max())
    # The variance at other shares of one cell is a function of the same moments.
    unit = base.unit_variance()
    for cell in np.ndindex(base.value.shape):
        along = base.variances_along(cell) * reports / (reports - 1)
        at = [float(unit.at(np.full(base.value.shape, s))[cell]) for s in (0.0, 0.5, 1.0)]
        np.testing.assert_allclose(at, along * (reports - 1) / reports, atol=1e-9)


def test_contributions_of_reports_have_the_covariance_of_several_tables(people):
    whole, counts = people
    source = reconstruction(survey_in_groups(SURVEY))
    names = ("town", "b.o1", "sex")
    # Shares by the option, and by the option with both groups: the former are sums of the latter.
    by_option = np.eye(3)
    by_all = np.eye(12).reshape(2, 3, 2, 12)
    forms = {
        names: np.concatenate([np.zeros((2, 3, 2, 3)), by_all], axis=-1),
        ("b.o1",): np.concatenate([by_option, np.zeros((3, 12))], axis=-1),
    }
    moments = 0.0
    for numbers, each in source.contributions(counts, forms):
        moments = moments + (numbers[:, None] * each).T @ each
    maps = np.vstack([by_all.sum(axis=(0, 2)), np.eye(12)])
    true = table_of(whole, source.schema, names)
    expected = maps @ source.table(counts, names).covariance(shares=true) @ maps.T
    reports = counts.reports
    found = moments / (reports * (reports - 1))
    np.testing.assert_allclose(found, expected, atol=1e-9 * expected.max())


def test_identified_tables_have_two_options_of_a_set_at_most():
    source = reconstruction(survey_in_groups(SURVEY))
    for names, identified in (
        (["b.o0", "b.o1"], True),
        (["b.o0", "b.o1", "sex"], True),
        (["b.o0", "b.o1", "mood"], False),
        (["b.o0", "b.o1", "b.o2"], False),
        (["b.o2", "mood", "sex", "town"], True),
    ):
        assert source.identified(names) == identified, names
    with pytest.raises(ParameterError, match=r"no report is about 'b\.o0', 'b\.o1' and 'b\.o2'"):
        source.check(["b.o0", "b.o1", "b.o2"])


def test_views_without_reports_are_named():
    first = SURVEY.perturbation.views[-1].first
    counts = Counts.from_cells(SURVEY, [[0, first]], [10])
    with pytest.raises(EstimateError, match=r"no report is about 'b\.o0' yet"):
        Estimator(SURVEY, counts).table(["b.o0"])


def test_probabilities_of_reports_are_means_over_all_possible_answers():
    schema = Schema([*options(4, 3, optional=True), Attribute("sex", ("m", "f"))])
    views = [view("b"), view("b", "sex"), view("b", "sex", pairs=True), view("sex")]
    survey = Survey("s", "S", schema, SplitQuestionnaire("5", views))
    records = possible_records(schema)
    chances = [distribution(survey, record) for record in records]
    for names in ([], ["b.o1"], ["sex"], ["b.o2", "b.o0"], ["b.o0", "sex", "b.o3"]):
        positions = schema.positions(names) if names else ()
        cells = [tuple(record[j] for j in positions) for record in records]
        shape = tuple(schema.shape[j] for j in positions)
        if not names:
            continue
        for cell in sorted(set(cells)):
            alike = [chance for chance, own in zip(chances, cells, strict=True) if own == cell]
            # Other questions are uniform and independent.
            expected = np.zeros(survey.report_space.size)
            for chance in alike:
                for (report,), share in chance.items():
                    expected[report] += float(share) / len(alike)
            table = np.zeros(shape)
            table[cell] = 1.0
            found = report_probabilities(survey.perturbation, table, names).ravel()
            np.testing.assert_allclose(found, expected, atol=1e-12)
            kinds = ReportKinds(survey.perturbation, names).probabilities(table)
            assert kinds.sum() == pytest.approx(1)


def test_a_model_has_no_more_options_than_can_be_chosen():
    schema = Schema(options(4, 2, optional=True))
    cells = feasible(schema)
    assert cells.sum() == 1 + 4 + 6 + 1
    assert {tuple(cell) for cell in np.argwhere(cells)} == set(possible_records(schema))


def test_a_model_gives_tables_of_three_options():
    rng = np.random.default_rng(12)
    schema = Schema(options(5, 4))
    survey = Survey(
        "s", "S", schema, SplitQuestionnaire("50", [view("b"), view("b", pairs=True, weight=3)])
    )
    chosen = rng.random((40_000, 1)) < 0.4
    records = (rng.random((40_000, 5)) < np.where(chosen, 0.55, 0.15)).astype(int)
    records = records[records.sum(axis=1) <= 4]
    counts = Counts.from_reports(survey, survey.perturbation.reports(records, rng))
    names = ["b.o0", "b.o1", "b.o2"]
    table = shares(fit_model(survey, counts, attributes=names), names)
    true = np.zeros((2, 2, 2))
    np.add.at(true, tuple(records[:, :3].T), 1 / len(records))
    errors = np.sqrt(table.variance())
    # Each would fail in 3 of 1 000 worlds.
    assert (np.abs(table.value - true) < 3 * errors).all()
    assert errors.max() < 0.02


#: Shares of 30 options, of which at most five are chosen.
SHARES = np.concatenate([[0.35, 0.3, 0.25, 0.2], [0.12] * 8, [0.06] * 10, [0.03] * 8])
THIRTY = Schema(options(30, 5))
PAIRS = list(itertools.combinations(range(30), 2))


def choosing(rng, count):
    """Return the choices of some people, associated by one normal factor."""
    factor = rng.normal(size=(count, 1)) * 0.8
    limits = norm.ppf(SHARES) * np.sqrt(1.64)
    chosen = (rng.normal(size=(count, 30)) + factor < limits).astype(int)
    for row in np.flatnonzero(chosen.sum(axis=1) > 5):
        chosen[row, rng.permutation(np.flatnonzero(chosen[row]))[5:]] = 0
    return chosen


def simulated(weights, people, repetitions, seed):
    """Return root mean squared errors of options and pairs in points, and coverages."""
    views = [view("b", weight=weights[0]), view("b", weight=weights[1], pairs=True)]
    survey = Survey("s", "S", THIRTY, SplitQuestionnaire("19", views))
    rng, names = np.random.default_rng(seed), THIRTY.names
    population = choosing(rng, 400_000)
    true = population.mean(axis=0), population.T @ population / len(population)
    errors, inside = ([], []), ([], [], [])
    for _ in range(repetitions):
        chosen = population[rng.integers(0, len(population), people)]
        counts = Counts.from_reports(survey, survey.perturbation.reports(chosen, rng))
        estimator = Estimator(survey, counts)
        for j in range(30):
            table = estimator.table([names[j]])
            lower, upper = (ends[1] for ends in intervals_at(table, 1.959964))
            errors[0].append(table.value[1] - true[0][j])
            inside[2 if SHARES[j] < 0.05 else 0].append(lower <= true[0][j] <= upper)
        for first, second in PAIRS[::7]:
            table = estimator.table([names[first], names[second]])
            lower, upper = (ends[1, 1] for ends in intervals_at(table, 1.959964))
            errors[1].append(table.value[1, 1] - true[1][first, second])
            inside[1].append(lower <= true[1][first, second] <= upper)
    rmse = [100 * float(np.sqrt(np.mean(np.square(each)))) for each in errors]
    return *rmse, *(float(np.mean(each)) for each in inside)


def test_half_the_reports_about_options_and_half_about_pairs_are_precise():
    shares_of, pairs, *_ = simulated((1, 1), 10_000, 2, 1)
    # An attribute for each option has 1.8 and 3.8 points.
    assert shares_of < 1.5
    assert pairs < 2.3


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("weights", "people", "most"),
    [
        ((1, 1), 2_000, (3.1, 4.8)),
        ((1, 1), 10_000, (1.4, 2.2)),
        ((1, 99), 2_000, (None, 3.5)),
        ((1, 99), 10_000, (None, 1.5)),
    ],
    ids=str,
)
def test_errors_and_coverage_in_many_surveys(weights, people, most):
    *errors, often, pairs, rare = simulated(weights, people, 40, 2)
    print(f"{weights} N = {people}: points {errors}, coverage {often:.3f} {pairs:.3f} {rare:.3f}")
    for error, limit in zip(errors, most, strict=True):
        assert limit is None or error <= limit
    assert all(0.93 <= coverage <= 0.97 for coverage in (often, pairs, rare))


@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_dummies_give_the_number_of_chosen_options(at_most):
    schema = Schema([*options(3, at_most, optional=True), Attribute("sex", ("m", "f"))])
    views = [view("b"), view("b", "sex", weight=2), view("sex")]
    survey = Survey("s", "S", schema, SplitQuestionnaire("7", views))
    records = possible_records(schema)
    numbers = np.random.default_rng(at_most).integers(1, 9, len(records))
    expected = {}
    for record, number in zip(records, numbers.tolist(), strict=True):
        for report, chance in distribution(survey, record).items():
            expected[report] = expected.get(report, 0) + number * chance
    scale = lcm(*(each.denominator for each in expected.values()))
    counts = Counts.from_cells(survey, list(expected), [int(n * scale) for n in expected.values()])
    table = Estimator(survey, counts).numbers("b")
    true = np.zeros(at_most + 2)
    for record, number in zip(records, numbers, strict=True):
        true[-1 if record[0] == 2 else record[:3].count(1)] += number / numbers.sum()
    np.testing.assert_allclose(table.value, true, atol=1e-12)
    # The share of no answer is the same as in the table of each option.
    alone = Estimator(survey, counts).table(["b.o0"])
    assert table.variance()[-1] == pytest.approx(alone.variance()[-1], rel=1e-9)
    assert Estimator(survey, counts, {"sex": "m"}).numbers("b") is None
    assert Estimator(survey, counts).numbers("sex") is None


def test_even_answers_of_some_options_are_those_of_all_possible_records():
    schema = Schema([*options(5, 2, optional=True), Attribute("sex", ("m", "f"))])
    whole = np.zeros(schema.shape)
    whole[tuple(np.array(possible_records(schema)).T)] = 1.0
    np.testing.assert_array_equal(records_of_cells(schema), whole)
    for positions in ([0], [1, 3], [0, 2, 4], [3, 5]):
        part = Schema([schema.attributes[j] for j in positions])
        others = tuple(j for j in range(6) if j not in positions)
        # Other questions than the set are not counted.
        expected = whole.sum(axis=others) / (1 if 5 in positions else 2)
        np.testing.assert_array_equal(records_of_cells(part, schema), expected)
