"""A mechanism that was added: its sampler and its parameters are served like those of any other."""

from fractions import Fraction

import numpy as np
import pytest
from halftruth_shared import ParameterError, Survey, SurveyError
from halftruth_shared.mechanisms import kinds
from symbols import Symbol, registered

TOML = """
id = "symbols"
title = "Symbols"
[[attributes]]
name = "a"
categories = ["no", "yes"]
[[attributes]]
name = "b"
categories = ["never", "weekly", "daily"]
[mechanism]
kind = "test-symbol"
gamma = "19/2"
"""


def exact_matrix(cells, gamma, size):
    """P(symbol | cell): two symbols of one's own are γ times as likely as each other one."""
    own = Fraction(gamma)
    total = 2 * own + size - 2
    return [[(own if y // 2 == u else 1) / total for u in range(cells)] for y in range(size)]


@pytest.mark.parametrize("size", [12, 13, 300])
@pytest.mark.parametrize("gamma", ["19", "19/2", "1.01"])
def test_every_outcome_of_a_symbol_gives_its_matrix(schema_of, walk, gamma, size):
    schema, mechanism = schema_of((2, 3)), Symbol(gamma, size)
    expected = exact_matrix(6, gamma, size)
    for cell, record in enumerate(np.ndindex(2, 3)):

        def sample(randbelow, record=record):
            return mechanism.perturb(schema, record, randbelow)

        found = walk(sample)
        assert [found.get((y,), Fraction(0)) for y in range(size)] == [
            row[cell] for row in expected
        ]


def test_many_symbols_follow_the_matrix(schema_of):
    schema, mechanism = schema_of((2, 3)), Symbol("19/2", 13)
    records = np.repeat(np.indices((2, 3)).reshape(2, -1).T, 50_000, axis=0)
    reports = mechanism.perturb_many(schema, records, np.random.default_rng(5))
    assert reports.shape == (300_000, 1)
    seen = np.array([np.bincount(part[:, 0], minlength=13) for part in np.split(reports, 6)]).T
    expected = 50_000 * np.array(exact_matrix(6, "19/2", 13), dtype=float)
    # 72 degrees of freedom: a correct sampler exceeds 125 with a chance of 1e-4.
    assert ((seen - expected) ** 2 / expected).sum() < 125


def test_a_kind_nobody_registered_is_refused_and_the_others_are_named():
    with pytest.raises(
        SurveyError, match=r"expected one of: gamma-diagonal, .*split-questionnaire$"
    ):
        Survey.from_toml(TOML)
    with registered():
        assert Symbol in kinds()
        survey = Survey.from_toml(TOML)
    assert Symbol not in kinds()
    assert survey.mechanism == Symbol("19/2", 13)


def test_a_registered_kind_is_written_digested_and_read_again():
    with registered():
        survey = Survey.from_toml(TOML)
        again = Survey.from_json(survey.canonical_json)
        assert (
            b'"mechanism":{"gamma":"19/2","kind":"test-symbol","size":13}' in again.canonical_json
        )
        assert (again.digest, again.mechanism) == (survey.digest, survey.mechanism)
        with pytest.raises(SurveyError, match=r"unknown field `alpha`.*mechanism"):
            Survey.from_toml(TOML + 'alpha = "1/2"')
        with pytest.raises(ParameterError, match="size: expected 12 or more"):
            Survey.from_toml(TOML + "size = 11")


def test_a_symbol_is_packed_as_one_column(schema_of):
    schema = schema_of((2, 3))
    for size, packed in ((13, b"\x0c"), (300, b"\x00\x0c"), (70_000, b"\x00\x00\x00\x0c")):
        space = Symbol(19, size).report_space(schema)
        assert space.pack(space.check([12])) == packed
        assert space.unpack(packed) == (12,)
