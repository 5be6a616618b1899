"""Intervals of measures hold the truth, of independent answers too, as often as they say.

The truth is computed densely from the table that surveys are drawn from. 200 surveys know a rate of
5 % to 1.5 %, so that 10 % is more than three of these away.
"""

import math

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)

from .definitions import FROM_ZERO, category_measures, pair_measures

#: Mechanism, shape, log odds between the ends of both scales, respondents.
WORLDS = {
    "split, six reports per symbol": ("split", (6, 6), 0.0, 1_000),
    "split, associated": ("split", (4, 4), 0.8, 3_000),
    "randomized response, 0.7": ("kept", (6, 6), 0.0, 5_000),
    "gamma-diagonal, associated": ("whole", (4, 4), 2.0, 2_000),
    "unperturbed": ("open", (6, 6), 0.0, 1_000),
    "two by two, weak": ("kept", (2, 2), 0.2, 1_000),
    "two by two, strong": ("whole", (2, 2), 0.9, 2_000),
}
SURVEYS = 200


def survey_of(kind, shape):
    schema = Schema(
        [
            Attribute(name, [f"c{code}" for code in range(size)], sensitive=kind != "open")
            for name, size in zip("ab", shape, strict=True)
        ]
    )
    mechanism = {
        "split": lambda: SplitQuestionnaire.designed(schema, "19", (), {1: 1.0, 2: 1.0}),
        "kept": lambda: RandomizedResponse({"a": "0.7", "b": "0.7"}),
        "whole": lambda: GammaDiagonal("19"),
        "open": lambda: RandomizedResponse({"a": 1, "b": 1}),
    }[kind]()
    return Survey("s", "S", schema, mechanism)


def shares_of(shape, strength):
    scales = [np.linspace(-1, 1, size) for size in shape]
    table = np.exp(strength * np.outer(*scales) - 0.3 * np.add.outer(*scales))
    if strength == 0:
        table = np.outer(table.sum(axis=1), table.sum(axis=0))
    return table / table.sum()


@pytest.mark.nightly
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_of_measures_hold_the_truth(world):
    kind, shape, strength, people = WORLDS[world]
    survey, shares = survey_of(kind, shape), shares_of(shape, strength)
    truth = (pair_measures if shape == (2, 2) else category_measures)(shares, people)
    rng = np.random.default_rng(20)
    missed = {name: [] for name in truth}
    for _ in range(SURVEYS):
        drawn = np.repeat(np.arange(shares.size), rng.multinomial(people, shares.ravel()))
        records = np.stack(np.unravel_index(drawn, shape), axis=1)
        reports = survey.mechanism.perturb_many(survey.schema, records, rng)
        estimator = Estimator(survey, Counts.from_reports(survey, reports))
        for measure in estimator.measures(["a", "b"]):
            if measure.interval is None:
                continue
            lower, upper = measure.interval
            upper = math.inf if upper is None else upper
            true = max(truth[measure.name], 0) if measure.name in FROM_ZERO else truth[measure.name]
            missed[measure.name].append(not lower - 1e-9 <= true <= upper + 1e-9)
            if measure.name in FROM_ZERO:
                assert measure.value >= 0
    for name, wrong in missed.items():
        if len(wrong) > SURVEYS / 2:
            assert np.mean(wrong) <= 0.1, (name, np.mean(wrong))
    assert len(missed["concentration"]) > SURVEYS / 2
