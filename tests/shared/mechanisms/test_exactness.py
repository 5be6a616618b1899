"""All random outcomes of all samplers, compared with the matrices as fractions."""

import inspect
import json
import random
import secrets
from fractions import Fraction
from functools import partial

import numpy as np
from halftruth_shared import SchemaError, Survey
from witnesses import witness

from tests.support.feasible import collapsed_surveys


class OneByOne:
    """Generator for one record, whose integers are those of a ``randbelow``."""

    def __init__(self, randbelow):
        self.randbelow = randbelow

    def integers(self, low, high, *, size, dtype):
        return np.array([low + self.randbelow(high - low) for _ in range(size)], dtype=dtype)


def single(perturbation, record, randbelow):
    return perturbation.report(record, randbelow)


def vectorized(perturbation, record, randbelow):
    [report] = perturbation.reports(np.array([record]), OneByOne(randbelow)).tolist()
    return tuple(report)


def walked_matrix(case, walk, first_draw=None, sampler=single):
    """Return the matrix of a sampler with reports as rows; optionally with a fixed first draw."""

    def distribution(record):
        def sample(randbelow):
            draws = 0

            def source(outcomes):
                nonlocal draws
                draws += 1
                return first_draw if draws == 1 and first_draw is not None else randbelow(outcomes)

            return sampler(case.perturbation, record, source)

        return walk(sample)

    columns = [distribution(record) for record in case.cells]
    for column in columns:
        assert sum(column.values()) == 1
        for report in column:
            assert type(report) is tuple
            assert all(type(value) is int for value in report)
        assert set(column) <= set(case.reports)
    return [[column.get(report, Fraction(0)) for column in columns] for report in case.reports]


def test_walked_weighs_every_branch_of_the_tree_of_draws(walk):
    def sample(randbelow):
        first = randbelow(3)
        return (first, randbelow(2) if first == 1 else randbelow(1) + randbelow(4))

    third = Fraction(1, 3)
    expected = {(1, k): third / 2 for k in range(2)}
    expected |= {(first, k): third / 4 for first in (0, 2) for k in range(4)}
    assert walk(sample) == expected


def test_the_outcomes_of_perturb_have_the_matrix(case, walk):
    witness("FRAPP", "Equation 36")
    assert walked_matrix(case, walk) == case.matrix


def test_the_outcomes_for_many_records_have_the_matrix(cases, walk):
    # Larger cases would take long; their reports are tested by chi-square.
    small = [case for case in cases if len(case.cells) <= 6]
    assert len(small) > 30
    assert {case.kind for case in small} == {"det", "ran", "response", "distortion", "split"}
    assert any(case.collapsed for case in small)
    for case in small:
        assert walked_matrix(case, walk, sampler=vectorized) == case.matrix, case


def test_each_client_has_the_matrix_of_its_r(ran_case, walk):
    witness("FRAPP", "Equations 25–31")
    for first_draw, expected in enumerate(ran_case.client_matrices):
        assert walked_matrix(ran_case, walk, first_draw) == expected


def test_the_first_draw_of_a_client_selects_its_matrix_uniformly(ran_case):
    first = []

    def source(outcomes):
        first.append(outcomes)
        return 0

    ran_case.perturbation.report(ran_case.cells[0], source)
    assert first[0] == len(ran_case.client_matrices)


def test_random_groups_of_answers_have_the_likelihoods_of_their_definition(walk):
    # Rows of the weights are scaled, so that ratios within a row are compared.
    compared = 0
    for case in collapsed_surveys(random.Random(30), 8):
        try:
            survey = Survey.from_json(json.dumps(case.survey))
        except SchemaError:
            # A public answer would reveal the one that it depends on.
            continue
        records = case.feasible()
        columns = dict(zip(case.reports, case.weights().tolist(), strict=True))
        first, *others = random.Random(compared).sample(range(len(records)), min(4, len(records)))
        for sampler in (single, vectorized):
            own, *rest = (
                walk(partial(sampler, survey.perturbation, records[i])) for i in (first, *others)
            )
            for i, found in zip(others, rest, strict=True):
                for report, weights in columns.items():
                    assert own.get(report, 0) * weights[i] == found.get(report, 0) * weights[first]
                    compared += 1
    assert compared > 500


def test_single_records_use_the_operating_systems_randomness(case):
    source = inspect.signature(case.perturbation.report).parameters["randbelow"].default
    assert source == secrets.randbelow
