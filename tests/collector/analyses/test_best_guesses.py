"""Likelihood estimates in results: with a typical error, and without intervals."""

import re

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation import Estimator
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from sources import source_of

SCHEMA = Schema([Attribute(name, ("no", "yes"), ("yes",)) for name in "abcd"])
SURVEY = Survey("s", "S", SCHEMA, RandomizedResponse(dict.fromkeys("abcd", "7/10")))
#: The first two answers are associated, the others independent.
TRUTH = np.multiply.outer([[0.55, 0.15], [0.10, 0.20]], np.multiply.outer([0.6, 0.4], [0.3, 0.7]))
ASKED = {
    "table": {"attributes": ["a", "b"]},
    "overview": {},
    "itemsets": {"min_support": 0.1},
}


def counted(people, truth=TRUTH, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.choice(truth.size, people, p=truth.ravel() / truth.sum())
    codes = np.stack(np.unravel_index(cells, truth.shape), axis=1)
    return source_of(SURVEY, codes, rng)


def asked(name, source, **more):
    query = ANALYSES[name].query(estimate="likelihood", **ASKED[name], **more)
    return answer(ANALYSES[name], source, query)


@pytest.mark.parametrize("name", ASKED)
def test_likelihood_estimates_have_no_interval_in_any_presentation(name):
    result = asked(name, counted(4_000))
    columns = [column for column, _ in result.columns]
    for row in zip(*result.column_lists(), strict=True):
        values = dict(zip(columns, row, strict=True))
        for column in ("standard_error", "lower", "upper", "perturbation_error", "sampling_error"):
            assert values.get(column) is None
        assert values.get("adjusted_p_value") is None
    analysis = ANALYSES[name]
    assert "interval" not in " ".join(analysis.present(result).grid.header)
    assert "95" not in " ".join(map(str, analysis.chart(result).notes))
    drawn = analysis.chart(result)
    assert {(row.drawn, drawn.inner(row)) for _, row in drawn.rows} == {(None, None)}
    parts = analysis.present(result)
    said = " ".join([*parts.warnings, *parts.notes])
    assert re.search("the typical error of|typical errors of", said)
    assert "without intervals" in said


def test_only_associated_pairs_are_reported_as_learned():
    source = counted(30_000, seed=1)
    query = ANALYSES["table"].query
    found = {
        pair: answer(ANALYSES["table"], source, query(attributes=[*pair], estimate="likelihood"))
        for pair in ("ab", "cd")
    }
    learned = {pair: result.caveats[0].values["learned"] for pair, result in found.items()}
    assert learned == {"ab": True, "cd": False}


@pytest.mark.parametrize("where", [None, {"d": "yes"}])
def test_the_typical_error_is_near_the_true_error_and_bounds_are_above_it(where):
    """Twelve surveys, two lengths: more than 3 of 24 bounds are too low once in 1 000 times."""
    truth = TRUTH if where is None else TRUTH[..., 1:] / TRUTH[..., 1:].sum()
    low, ratios = 0, []
    for seed in range(12):
        estimator = Estimator(SURVEY, counted(6_000, seed=seed).counts, where)
        for names, pairs in (("a", "abc"), ("ab", ("ab", "ac", "bc"))):
            off = []
            for pair in pairs:
                axes = ["abcd".index(name) for name in pair]
                expected = truth.sum(axis=tuple(j for j in range(4) if j not in axes))
                off.append((estimator.best_guess.table([*pair]) - expected).ravel())
            real = np.sqrt(np.mean(np.concatenate(off) ** 2))
            found = estimator.best_guess.typical_error([*names])
            assert found.length == len(names)
            if found.bound:
                low += found.error < real
            else:
                ratios.append(found.error / real)
    assert low <= 3
    # In a group of 70 % the error is not distinguishable from 0, so that there are only bounds.
    assert (0.8 < np.median(ratios) < 2) if where is None else not ratios
