"""Estimates against published numbers."""

import csv
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.channel_tables import ChannelTable
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from mined import itemsets_of
from reference import reference_file
from sources import estimator_of
from witnesses import witness

COIL_REPORTS = 5822
PRINTED_OBSERVED = [0.368, 0.097, 0.218, 0.316]
PRINTED_SUPPORT = [0.427, 0.031, 0.181, 0.362]
PRINTED_COVARIANCE = np.array(
    [
        [7.113, -1.668, -3.134, -2.311],
        [-1.668, 2.902, 0.244, -1.478],
        [-3.134, 0.244, 5.667, -2.777],
        [-2.311, -1.478, -2.777, 6.566],
    ]
)
#: The only integers near the printed shares that give every printed digit of the covariance.
COIL_COUNTS = [2143, 568, 1269, 1842]
#: FRAPP Table 3, at a support of 2 %.
CENSUS_ITEMSETS = [19, 102, 203, 165, 64, 10]


@pytest.fixture(scope="module")
def tables():
    """Two insurance items kept with p = 0.9: tables of the printed shares and of whole counts."""
    schema = Schema([Attribute("G", ["0", "1"]), Attribute("H", ["0", "1"])])
    coil = Survey("coil", "COIL", schema, RandomizedResponse({"G": "0.9", "H": "0.9"}))
    channel = coil.perturbation.channel(["G", "H"])
    observed = np.reshape(PRINTED_OBSERVED, (2, 2))
    counts = Counts.from_cells(coil, [[0, 0], [0, 1], [1, 0], [1, 1]], COIL_COUNTS)
    rounded = ChannelTable(("G", "H"), channel, observed, COIL_REPORTS)
    return rounded, Estimator(coil, counts).table(["G", "H"])


def test_the_rounded_shares_give_the_printed_numbers_to_one_percent(tables):
    table, _ = tables
    np.testing.assert_allclose(table.value.ravel(), PRINTED_SUPPORT, atol=1.1e-3)
    np.testing.assert_allclose(table.covariance() * 1e5, PRINTED_COVARIANCE, rtol=0.01)
    variance = table.variance().ravel() * 1e5
    np.testing.assert_allclose(variance, np.diag(PRINTED_COVARIANCE), rtol=0.01)
    lower, upper = table_intervals(table)
    assert (lower[1, 1], upper[1, 1]) == pytest.approx((0.346, 0.378), rel=0.01)


def test_whole_counts_give_every_printed_digit(tables):
    _, table = tables
    assert np.sum(COIL_COUNTS) == COIL_REPORTS
    upper = np.triu_indices(4)
    witness("Guo", "Result 1").assert_own(1e5 * table.covariance()[upper])


def test_the_interval_of_a_joint_support_has_the_printed_digits(tables):
    _, table = tables
    row = witness("Guo", "Result 1 (interval)")
    lower, upper = table_intervals(table)
    row.assert_own(table.value, lower[1, 1], upper[1, 1])
    np.testing.assert_allclose(row.own_values, row.printed_values, atol=1.1e-3)


def test_the_printed_estimate_is_compatible_with_the_true_shares(tables):
    columns = np.loadtxt(reference_file("data/ticdata2000.txt"), dtype=int, usecols=(58, 64))
    shares = np.zeros((2, 2))
    np.add.at(shares, tuple((columns > 0).astype(int).T), 1 / COIL_REPORTS)
    assert len(columns) == COIL_REPORTS
    witness("Guo", "Chapter 3 (true shares of G and H)").assert_own(shares)
    # Chi-square of the estimate around the true table with three degrees of freedom, which exceeds
    # 16.3 once in 1 000 times. The respondents are fixed, so that only randomization matters.
    deviation = (tables[1].value - shares).ravel()[1:]
    covariance = tables[1].alone.covariance()[1:, 1:]
    assert deviation @ np.linalg.solve(covariance, deviation) < 16.3


@pytest.mark.parametrize("keep", ["0.6", "0.75", "0.9"])
@pytest.mark.parametrize("yes", [130, 400, 770])
def test_two_categories_give_warners_variance(keep, yes):
    schema = Schema([Attribute("q", ["no", "yes"])])
    survey = Survey("warner", "Warner", schema, RandomizedResponse({"q": keep}))
    reports = 1000
    counts = Counts.from_cells(survey, [[0], [1]], [reports - yes, yes])
    table = Estimator(survey, counts).table(["q"])
    p, share = float(keep), yes / reports
    estimate = (p - 1) / (2 * p - 1) + share / (2 * p - 1)
    variance = (1 / (16 * (p - 0.5) ** 2) - (estimate - 0.5) ** 2) / (reports - 1)
    assert table.value[1] == pytest.approx(estimate)
    assert table.variance()[1] == pytest.approx(variance)
    # The error due to randomization alone does not depend on the share.
    randomization = p * (1 - p) / (2 * p - 1) ** 2 / (reports - 1)
    assert table.alone.variance()[1] == pytest.approx(randomization)


@pytest.fixture(scope="module")
def census():
    """The 48 842 census records as codes."""
    return census_with("right")


def census_with(side):
    """Return the census records with hours per week in ranges closed below ("right") or above."""
    rows = []
    for name in ("data/adult.data", "data/adult.test"):
        with reference_file(name).open(encoding="ascii") as file:
            rows += [row for row in csv.reader(file, skipinitialspace=True) if len(row) == 15]
    columns = list(zip(*rows, strict=True))

    def binned(column, bounds, side="left"):
        return np.searchsorted(bounds, np.array(columns[column], dtype=float), side)

    records = np.stack(
        [
            binned(0, [35, 55, 75]),
            binned(2, [1e5, 2e5, 3e5, 4e5]),
            binned(12, [20, 40, 60, 80], side),
            np.unique(columns[8], return_inverse=True)[1],
            np.unique(columns[9], return_inverse=True)[1],
            np.array(columns[13]) != "United-States",
        ],
        axis=1,
    ).astype(np.int64)
    assert records.shape == (48842, 6)
    return records


def test_the_printed_ranges_of_hours_have_other_itemsets_than_are_printed(census):
    row = witness("FRAPP", "Table 1 (hours per week)")
    for records, expected in (
        (census, row.printed_values),
        (census_with("left"), row.own_values),
    ):
        table = np.zeros((4, 5, 5, 5, 2, 2))
        np.add.at(table, tuple(records.T), 1)
        found = np.zeros(6, dtype=int)
        for length in range(6):
            for others in combinations(range(6), length):
                found[5 - length] += np.count_nonzero(table.sum(axis=others) >= 0.02 * table.sum())
        assert found.tolist() == expected


def test_mining_the_unperturbed_census_finds_the_published_itemset_counts(census, public_survey):
    survey = public_survey((4, 5, 5, 5, 2, 2))
    found = itemsets_of(Estimator(survey, Counts.from_reports(survey, census)), 0.02, 6)
    assert np.bincount(found.lengths)[1:].tolist() == CENSUS_ITEMSETS
    for codes, support in zip(found.codes, found.estimates.value, strict=True):
        fixed = codes >= 0
        true = np.count_nonzero((census[:, fixed] == codes[fixed]).all(axis=1))
        assert support * len(census) == pytest.approx(true, abs=1e-6)


def test_bounds_from_the_perturbed_census_cover_the_published_itemsets(census, make_survey):
    # Itemsets of at most two attributes under the gamma-diagonal matrix: a 99.9 % interval misses
    # one in 1 000, so that more than 3 misses among 120 happen in less than one survey of 10 000,
    # even if complements miss together.
    survey = make_survey("gamma-diagonal", (4, 5, 5, 5, 2, 2))
    rng = np.random.default_rng(20)
    estimator = estimator_of(survey, census, rng)
    frequent = missed = 0
    for codes, share in true_itemsets(census, 0.02).items():
        frequent += 1
        names = [name for name, code in zip(survey.schema.names, codes, strict=True) if code >= 0]
        lower, upper = table_intervals(estimator.table(names).alone, 0.999)
        cell = tuple(code for code in codes if code >= 0)
        missed += not lower[cell] <= share <= upper[cell]
    assert frequent == sum(CENSUS_ITEMSETS[:2])
    assert missed <= 3


def true_itemsets(records, threshold):
    """Return true shares of the frequent itemsets of one or two attributes, by counting."""
    shares = {}
    width = records.shape[1]
    for first in range(width):
        for second in range(first, width):
            pairs, counts = np.unique(records[:, [first, second]], axis=0, return_counts=True)
            for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
                if count >= threshold * len(records):
                    codes = [-1] * width
                    codes[first], codes[second] = pair
                    shares[tuple(codes)] = count / len(records)
    return shares


# Learning from reports (Guo Results 13 and 14)


def gini(table):
    """Probability that two people of a group differ in the last attribute."""
    return 1 - ((table / table.sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1)


def gains(table):
    """Decrease of the Gini index of the last attribute by splitting on each other one."""
    classes = table.ndim - 1
    found = []
    for asked in range(classes):
        groups = table.sum(axis=tuple(axis for axis in range(classes) if axis != asked))
        found.append(gini(groups.sum(axis=0)) - groups.sum(axis=1) @ gini(groups))
    return found


def test_gini_gains_are_ordered_by_the_reconstructed_table_not_by_the_reports():
    witness("Guo", "Result 13")
    answers = np.array([1, 1, 1, 18, 13, 1, 4, 1]).reshape(2, 2, 2)
    names = ("a", "b", "c")
    schema = Schema([Attribute(n, ["0", "1"], sensitive=n == "a") for n in names])
    survey = Survey("s", "S", schema, RandomizedResponse({"a": "0.8", "b": 1, "c": 1}))
    seen = np.tensordot([[0.8, 0.2], [0.2, 0.8]], answers, axes=(1, 0))
    counts = Counts.from_cells(
        survey, np.argwhere(answers), np.rint(1_000 * seen.ravel()).astype(int)
    )
    assert gains(Estimator(survey, counts).table(names).value) == pytest.approx(
        [0.3188, 0.2133], abs=6e-5
    )
    assert gains(seen / seen.sum()) == pytest.approx([0.1146, 0.2133], abs=6e-5)


def accuracy_of_naive_bayes(pairs, answers):
    """Share of people whose last answer naive Bayes predicts from tables with each other one."""
    classes = pairs[0].sum(axis=0)
    posterior = classes
    for pair in pairs:
        posterior = posterior[..., None, :] * np.maximum(pair / classes, 0)
    guesses = posterior.argmax(axis=-1)
    return np.take_along_axis(answers, guesses[..., None], axis=-1).sum() / answers.sum()


def test_naive_bayes_of_reconstructed_pairs_predicts_and_of_the_reports_does_not():
    witness("Guo", "Result 14")
    answers = np.array([7, 18, 8, 45, 0, 29, 0, 0, 204, 0, 0, 0, 0, 482, 206, 0])
    answers = answers.reshape(2, 2, 2, 2)
    keep = dict(zip("abcd", ("0.7", "0.7", "0.7", "0.9"), strict=True))
    survey = Survey(
        "s", "S", Schema([Attribute(n, ["0", "1"]) for n in keep]), RandomizedResponse(keep)
    )
    seen = answers.astype(float)
    for axis, p in enumerate(map(float, keep.values())):
        seen = np.moveaxis(np.tensordot([[p, 1 - p], [1 - p, p]], seen, axes=(1, axis)), 0, axis)
    cells = np.argwhere(np.ones(answers.shape))
    estimator = Estimator(
        survey, Counts.from_cells(survey, cells, np.rint(1_000 * seen.ravel()).astype(int))
    )
    reconstructed = [estimator.table([name, "d"]).value for name in "abc"]
    of_reports = [seen.sum(axis=tuple({0, 1, 2} - {axis})) / seen.sum() for axis in range(3)]
    assert accuracy_of_naive_bayes(reconstructed, answers) == pytest.approx(0.948, abs=0.005)
    assert accuracy_of_naive_bayes(of_reports, answers) == pytest.approx(0.538, abs=0.005)
