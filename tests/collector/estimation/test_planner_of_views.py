"""Plans of split questionnaires: against simulated surveys, and against the information bound."""

import math

import msgspec
import numpy as np
import pytest
from halftruth_collector.demo.census import SCHEMA as CENSUS
from halftruth_collector.estimation.planning import planner
from halftruth_collector.estimation.planning.bound import information_bound
from halftruth_collector.estimation.planning.planner import plan
from halftruth_shared import GammaDiagonal, SplitQuestionnaire, Survey
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.mechanisms import MECHANISMS
from sources import estimator_of

from .definitions import Z, schema_of

TEN = schema_of((2,) * 10)
SURVEYS = 150


def split(schema, longest, gamma="19", public=()):
    mechanism = SplitQuestionnaire.for_amplification(schema, gamma, public, longest)
    return Survey("split", "Split", schema, mechanism)


def own_lengths(result):
    return {length.length: length for length in result.mechanisms[0].lengths}


@pytest.mark.nightly
@pytest.mark.parametrize("respondents", [500, 5_000])
def test_ten_questions_scatter_as_forecast(respondents):
    """A root mean square over 1 500 tables of one question has a sampling error of 1.8 %."""
    survey = split(TEN, 2)
    query = PlanQuery(respondents=respondents, lengths=[1, 2])
    foretold = own_lengths(plan(survey, query))
    rng = np.random.default_rng(respondents)
    squares = {1: [], 2: []}
    for _ in range(SURVEYS):
        people = rng.integers(0, 2, size=(respondents, 10))
        estimator = estimator_of(survey, people, rng)
        for pair in zip(TEN.names[::2], TEN.names[1::2], strict=True):
            table = estimator.table(pair).support
            squares[2].append(np.mean((table - 0.25) ** 2))
            squares[1] += [np.mean((table.sum(axis=axis) - 0.5) ** 2) for axis in (0, 1)]
    for length, found in squares.items():
        simulated = math.sqrt(np.mean(found))
        assert simulated == pytest.approx(foretold[length].standard_error, rel=0.06)


def test_ten_questions_need_as_many_respondents_as_is_told():
    asked = PlanQuery(respondents=500, lengths=[1, 2], half_width=0.03)
    result = plan(split(TEN, 2), asked)
    for found in [*own_lengths(result).values(), *result.bound]:
        # Errors fall with the root of the number of respondents.
        exact = 500 * (found.half_width / 0.03) ** 2
        assert found.respondents_needed == pytest.approx(exact, abs=1)
        assert found.half_width == pytest.approx(Z * found.standard_error)
    # Errors of 5 000 in percentage points, tried out before there was this program.
    errors = [math.sqrt(500 / 5_000) * 100 * b.standard_error for b in result.bound]
    assert errors == pytest.approx([1.67, 1.92], abs=0.006)
    errors = [
        math.sqrt(500 / 5_000) * 100 * length.standard_error
        for length in own_lengths(result).values()
    ]
    assert errors == pytest.approx([2.00, 2.36], abs=0.015)


@pytest.mark.parametrize(
    ("gamma", "target"), [("3/2", "population"), ("19", "respondents"), ("500", "population")]
)
def test_no_mechanism_is_better_than_the_bound(gamma, target):
    for schema in (TEN, CENSUS, schema_of((7,)), schema_of((3, 9, 2))):
        survey = Survey("x", "X", schema, GammaDiagonal(gamma))
        result = plan(survey, PlanQuery(respondents=1_000, target=target))
        lengths = [bound.length for bound in result.bound]
        assert lengths == [length.length for length in result.mechanisms[0].lengths]
        expected = information_bound(
            schema, survey.mechanism.gamma, 1_000, (), lengths, target
        ).values()
        assert [bound.standard_error for bound in result.bound] == pytest.approx(list(expected))
        for mechanism in result.mechanisms:
            # None where the bound is 0, as all respondents may be known.
            assert mechanism.times_bound is None or mechanism.times_bound >= 1 - 1e-6


def test_even_answers_are_forecast_over_all_cells_of_the_perturbed_attributes():
    # Only "yes" counts in itemsets, and one attribute is public.
    schema = schema_of((2, 3, 2), items={0: [1]}, public=(1,))
    survey = split(schema, 2, public=("b",))
    query = PlanQuery(respondents=1_000, lengths=[1, 2, 3])
    result = plan(survey, query)
    by_length = own_lengths(result)
    # No table of three attributes is without the public one, so that it is of all.
    [*_, triple] = plan(survey, msgspec.structs.replace(query, sets=1)).sets
    assert by_length[3].standard_error == pytest.approx(triple.standard_error)
    assert [bound.length for bound in result.bound] == [1, 2]
    bare = schema_of((2, 2))
    alone = own_lengths(plan(split(bare, 2), PlanQuery(respondents=1_000, lengths=[1, 2])))
    for length in (1, 2):
        assert by_length[length].standard_error == pytest.approx(alone[length].standard_error)


def test_a_rival_is_left_out_of_lengths_that_its_reports_do_not_tell_of(monkeypatch):
    class OnlyPairs(SplitQuestionnaire):
        kind = "only-pairs"

        @classmethod
        def for_amplification(cls, schema, gamma, public=(), max_length=None):
            return super().for_amplification(schema, gamma, public, min(max_length, 2))

    survey = Survey("x", "X", TEN, GammaDiagonal(3))
    monkeypatch.setattr(planner, "MECHANISMS", (*MECHANISMS, OnlyPairs))
    result = plan(survey, PlanQuery(respondents=1_000, lengths=[1, 2, 5]))
    alone = plan(survey, PlanQuery(respondents=1_000, lengths=[5]))
    by_kind = {found.kind: found for found in result.mechanisms}
    told = [length.length for length in by_kind["only-pairs"].lengths]
    assert 2 in told
    assert 5 not in told
    assert by_kind["only-pairs"].times_bound is None
    # It is not compared as a whole, however good it is at what it tells of.
    assert "only-pairs" not in result.reason
    assert "only-pairs" not in {found.kind for found in alone.mechanisms}
    assert result.recommended != "only-pairs"
