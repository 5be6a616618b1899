"""Intervals of rare cells of tables by a model: their coverage, and their widths against errors."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.demo.census import SCHEMA, census_codes
from halftruth_collector.estimation.derived import merged
from halftruth_collector.estimation.domain import Domain
from halftruth_collector.estimation.intervals import share_interval, table_intervals
from halftruth_collector.estimation.merging import Merging
from halftruth_collector.estimation.model import fit_model, shares
from halftruth_shared import Attribute, Schema, SplitQuestionnaire, Survey
from sources import counts_of

from ..definitions import Z

SHAPE = (4, 4, 3, 5, 3)
RARE = 0.005


def schema():
    return Schema(
        [Attribute(f"q{j}", [str(code) for code in range(size)]) for j, size in enumerate(SHAPE)]
    )


def world():
    """Shares of which 214 of the 240 cells of four questions are below 0.5 %."""
    rng, log = np.random.default_rng(7), np.zeros(SHAPE)
    for j, size in enumerate(SHAPE):
        main = np.linspace(0, -3.5 if size > 3 else -2, size)
        log = log + np.expand_dims(main, tuple(k for k in range(5) if k != j))
        for i in range(j):
            pair = 0.5 * rng.normal(size=(SHAPE[i], size))
            log = log + np.expand_dims(pair, tuple(k for k in range(5) if k not in (i, j)))
    return np.exp(log) / np.exp(log).sum()


def fitted(schema, truth, reports, seed):
    """Return the model of all pairs, fitted to reports about pairs."""
    rng = np.random.default_rng(seed)
    survey = Survey("r", "R", schema, SplitQuestionnaire.designed(schema, 19, (), {2: 1.0}))
    cells = rng.choice(truth.size, reports, p=truth.ravel())
    records = np.stack(np.unravel_index(cells, truth.shape), axis=1)
    return fit_model(survey, counts_of(survey, records, rng))


@pytest.fixture(scope="module")
def model():
    return fitted(schema(), world(), 1_000, 0)


def at_most_its_margins(table):
    """Return the upper ends, by definition: its own, or the smallest of margins of one and two."""
    error = np.sqrt(table.variance())
    expected = share_interval(table.value, error, Z, logit=True)[1]
    covariance, axes = table.covariance(), range(table.value.ndim)
    places = np.indices(table.value.shape).reshape(table.value.ndim, -1).T
    for kept in (kept for length in (1, 2) for kept in combinations(axes, length)):
        for place in places:
            inside = (places[:, kept] == place[list(kept)]).all(axis=1)
            share = np.array(table.value.ravel()[inside].sum())
            spread = np.array(np.sqrt(inside @ covariance @ inside))
            upper = share_interval(share, spread, Z, logit=True)[1]
            expected[tuple(place)] = min(expected[tuple(place)], upper)
    return expected


@pytest.mark.parametrize("kind", ["everybody", "domain", "merged"])
def test_a_cell_is_at_most_the_upper_ends_of_its_margins(model, kind):
    table = shares(model, ["q0", "q2", "q4"])
    if kind == "domain":
        table = Domain(model.schema, {"q1": ["1", "2"]}).table(
            partial(shares, model), ["q0", "q2", "q4"]
        )
    elif kind == "merged":
        table = merged(table, Merging(model.schema, {"q0": [["2", "3"]]}).parts)
    lower, upper = table_intervals(table)
    np.testing.assert_allclose(upper, at_most_its_margins(table), rtol=1e-6)
    # Margins decide in some cells, and every interval contains its estimate.
    own = share_interval(table.value, np.sqrt(table.variance()), Z, logit=True)[1]
    assert 0 < (upper < own - 1e-9).sum() < own.size
    assert ((lower <= table.value) & (table.value <= upper)).all()


def test_the_upper_end_of_a_rare_share_is_by_the_fourth_root():
    """And that of its opposite is the same; a logit interval would reach to 89 %."""
    share, error = np.array([5e-6]), np.array([3.5e-5])
    lower, upper = share_interval(share, error, Z, logit=True)
    expected = (share**0.25 + Z * error / (4 * share**0.75)) ** 4
    np.testing.assert_allclose(upper, expected)
    assert upper < 2e-3
    assert lower == 0
    low, high = share_interval(1 - share, error, Z, logit=True)
    np.testing.assert_allclose([1 - high, 1 - low], [lower, upper], rtol=1e-6)


def test_intervals_of_shares_with_small_errors_are_hulls_of_normal_and_logit_intervals():
    share, error = np.array([0.3]), np.array([0.001])
    width = Z * error / (share * (1 - share))
    low, high = 1 / (1 + (1 - share) / share * np.exp(np.array([width, -width])))
    expected = np.minimum(low, share - Z * error), np.maximum(high, share + Z * error)
    np.testing.assert_allclose(share_interval(share, error, Z, logit=True), expected)


def rare(schema, truth, names, reports, surveys):
    """Return coverage of cells below 0.5 %, and half-widths over 1.96 root mean square errors."""
    axes = schema.positions(names)
    true = truth.sum(axis=tuple(j for j in range(truth.ndim) if j not in axes))
    errors, halves, hits = [], [], []
    for seed in range(surveys):
        table = shares(fitted(schema, truth, reports, seed), names)
        lower, upper = table_intervals(table)
        errors.append(table.value - true)
        halves.append((upper - lower) / 2)
        hits.append((lower <= true) & (true <= upper))
    few = true < RARE
    width = np.mean(np.array(halves)[:, few])
    error = np.sqrt(np.mean(np.square(errors)[:, few]))
    return np.mean(np.array(hits)[:, few]), width / (Z * error), np.mean(hits)


def test_intervals_of_rare_cells_are_at_most_four_times_as_wide_as_their_errors():
    """By the logit alone, half-widths are more than 40 times 1.96 root mean square errors."""
    covered, ratio, every = rare(schema(), world(), ["q0", "q1", "q3", "q4"], 1_000, 6)
    assert covered >= 0.93
    assert every >= 0.93
    assert ratio <= 4


@pytest.mark.nightly
@pytest.mark.parametrize("reports", [1_000, 5_000, 40_000])
def test_intervals_of_rare_cells_of_census_are_at_most_four_times_as_wide_as_their_errors(reports):
    codes = census_codes()
    truth = np.zeros(SCHEMA.shape)
    np.add.at(truth, tuple(codes.T), 1 / len(codes))
    names = ["age", "hours-per-week", "race", "sex"]
    covered, ratio, every = rare(SCHEMA, truth, names, reports, 10)
    assert covered >= 0.93
    assert every >= 0.93
    assert ratio <= 4
