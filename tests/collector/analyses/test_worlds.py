"""Every analysis in small worlds whose truth is known, without association and with it.

``tests/bench/honesty.py`` runs the same with hundreds of surveys of more worlds. Here surveys are
few, fewer by day than at night, and seeds are fixed; a rate fails where it is above 7 % by three
and a half standard errors.
"""

from functools import cache

import pytest
from halftruth_collector.analyses import ANALYSES, identified
from halftruth_shared import GammaDiagonal, SplitQuestionnaire
from worlds import World, questions, simulate

#: Analyses without interval, test or decision: counts as they came, risks that are maxima, and
#: records for programs that make these of them. Waves are held to the truth in tests of their own.
WITHOUT_NUMBERS = {"counts", "microdata", "risk", "waves"}

#: Simulated surveys of each world, by day and at night.
DAY = 4
SURVEYS = (DAY, pytest.param(48, marks=pytest.mark.nightly))


def split(schema):
    return SplitQuestionnaire.designed(schema, 19, (), {1: 1.0, 2: 1.0})


def whole(schema):
    return GammaDiagonal(19)


WORLDS = [
    # Six reports for each symbol of a view: what is normal elsewhere is Poisson here.
    World("null, split, few reports per symbol", (6, 6, 6), split, 900),
    World("null, yes/no, gamma-diagonal", (2, 2, 2, 2), whole, 5_000),
    World("known, split", (4, 4, 4), split, 5_000, strength=0.8),
    World(
        "known, no answer, gamma-diagonal",
        (3, 3, 3),
        whole,
        5_000,
        skewed=True,
        strength=0.8,
        missing=True,
    ),
]


@cache
def simulated(world, surveys):
    return [*simulate(world, "population", range(surveys)).rows()]


@pytest.mark.parametrize("surveys", SURVEYS)
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_no_analysis_is_wrong_more_often_than_it_says(world, surveys):
    wrong = [
        f"{analysis}: {field} {kind} {100 * rate:.0f} % ± {100 * error:.0f}"
        for analysis, field, kind, _, rate, error in simulated(world, surveys)
        if kind in ("missed", "decision", "rejected")
        # One survey too many of few is no evidence.
        if rate > 0.07 + 3.5 * max(error, 0.01)
    ]
    assert not wrong


def test_every_analysis_has_an_interval_a_test_or_a_decision_in_some_world():
    found = {
        analysis.split()[0]
        for world in WORLDS
        for analysis, _, kind, *_ in simulated(world, DAY)
        if kind in ("missed", "rejected", "decision")
    }
    assert found | WITHOUT_NUMBERS >= set(ANALYSES)


def test_every_analysis_that_a_survey_can_answer_is_asked():
    for world in WORLDS:
        asked = {label.split()[0] for label, _ in questions(world, "population")}
        answered = {analysis.name for analysis in identified(world.survey)}
        assert asked >= answered
