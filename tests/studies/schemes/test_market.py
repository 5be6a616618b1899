"""Schemes of market baskets: their estimates are unbiased, with the errors that they state."""

import sys
from pathlib import Path

import numpy as np
import pytest
from halftruth_studies.mining.quest import Quest

sys.path.insert(0, str(Path(__file__).parents[3] / "docs" / "studies"))

import baskets as study

ITEMS, PEOPLE, SURVEYS = 8, 8_000, 12


@pytest.fixture(scope="module")
def market():
    """Small baskets and their true supports."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(study, "MARKET", Quest(PEOPLE, ITEMS, 12, 2, 2))
        patched.setattr(study, "AT_MOST", 3)
        rng = np.random.default_rng(1)
        yield study.limited(study.MARKET.simulate(rng), rng)


def test_no_basket_has_more_items_than_allowed_and_others_are_kept(market):
    assert market.sum(axis=1).max() == study.AT_MOST
    drawn = Quest(PEOPLE, ITEMS, 12, 2, 2).simulate(np.random.default_rng(1))
    small = drawn.sum(axis=1) <= study.AT_MOST
    assert (market[small] == drawn[small]).all()
    assert (market <= drawn).all()
    assert (study.filled(market).sum(axis=1) == study.AT_MOST).all()


@pytest.mark.parametrize("number", range(5))
def test_estimates_are_unbiased_and_err_as_stated(market, number):
    scheme = [*study.schemes().values()][number]
    held = market.astype(float).T @ market / PEOPLE
    truth = np.diag(held), held[np.triu_indices(ITEMS, 1)]
    rng = np.random.default_rng(number)
    surveys = [scheme(market, rng) for _ in range(SURVEYS)]
    for kind, true in enumerate(truth):
        values = np.array([survey[kind].value for survey in surveys])
        errors = np.array([survey[kind].error for survey in surveys])
        # Rare pairs have too few reports for an error in some surveys.
        known = np.isfinite(errors).all(axis=0)
        assert known.mean() > 0.5
        values, errors, true = values[:, known], errors[:, known], true[known]
        # Always the same people, so without the error of drawing them.
        stated = np.sqrt((errors**2).mean(axis=0) - true * (1 - true) / PEOPLE)
        assert (np.abs(values.mean(axis=0) - true) < 4 * stated / SURVEYS**0.5).all()
        ratio = np.sqrt(((values - true) ** 2).mean() / (stated**2).mean())
        assert 0.85 < ratio < 1.1


def test_only_frequent_itemsets_count_as_found():
    supports = np.array([0.2, 0.03]), np.array([0.06, 0.01])
    found = tuple(study.Supports(each, np.full(2, 0.004)) for each in supports)
    assert study._listed(found, supports) == ["2", "1", "1", "1", "1", "0", "0"]
    wrong = np.array([0.015, 0.03]), np.array([0.04, 0.01])
    assert study._listed(found, wrong) == ["1", "0", "0", "1", "0", "0", "4"]
