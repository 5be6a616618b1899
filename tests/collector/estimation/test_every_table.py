"""Every table at once against each table by itself."""

from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation import Estimator
from halftruth_collector.estimation import every_table as module
from halftruth_collector.estimation.every_table import every_table
from halftruth_shared import (
    Attribute,
    ParameterError,
    RandomizedResponse,
    Schema,
    SchemaError,
    SplitQuestionnaire,
    Survey,
)
from sources import counts_of

SCHEMA = Schema(
    [
        Attribute(name, list("abcd")[:size])
        for name, size in zip("vwxyz", (2, 3, 2, 4, 2), strict=True)
    ]
)
RECORDS = np.random.default_rng(3).integers(0, SCHEMA.shape, size=(4_000, 5))
LENGTHS = {1: 1.0, 2: 1.0, 3: 1.0}
MECHANISMS = {
    "split-questionnaire": SplitQuestionnaire.designed(SCHEMA, "19", (), LENGTHS),
    "randomized-response": RandomizedResponse.for_amplification(SCHEMA, 19),
}


def counted(mechanism):
    survey = Survey("health", "Health", SCHEMA, mechanism)
    return survey, counts_of(survey, RECORDS, np.random.default_rng(4))


def by_cell(found):
    """(support, standard error) by the answers of each cell, by position of the attribute."""
    cells = {}
    for shares in found:
        for row, positions in enumerate(shares.attributes.tolist()):
            answers = shares.answers[row].tolist()
            assert [j < 0 for j in positions] == [code < 0 for code in answers]
            key = tuple((j, code) for j, code in zip(positions, answers, strict=True) if j >= 0)
            assert key not in cells
            cells[key] = (shares.support[row], shares.standard_error[row])
    return cells


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=list(MECHANISMS))
def test_every_cell_of_every_table_is_there_once(mechanism, monkeypatch):
    # Several pieces of several tables.
    monkeypatch.setattr(module, "_PIECE", 200)
    survey, counts = counted(mechanism)
    pieces = list(every_table(survey, counts, [3, 1], target="respondents"))
    assert len(pieces) > 2
    cells = by_cell(pieces)
    estimator, expected = Estimator(survey, counts), 0
    for length in (1, 3):
        for positions in combinations(range(5), length):
            table = estimator.table([SCHEMA.names[j] for j in positions])
            errors = table.standard_error("respondents")
            expected += table.support.size
            for codes in np.ndindex(*table.support.shape):
                found = cells[tuple(zip(positions, codes, strict=True))]
                assert found == (table.support[codes], errors[codes])
    assert len(cells) == expected


def test_they_can_be_of_a_group_and_of_some_attributes():
    survey, counts = counted(MECHANISMS["split-questionnaire"])
    found = by_cell(every_table(survey, counts, [1], attributes=["z", "w"], where={"v": "a"}))
    group = Estimator(survey, counts, {"v": "a"})
    positions = group.schema.positions(["w", "z"])
    assert {key[0][0] for key in found} == set(positions)
    for j, name in zip(positions, ("w", "z"), strict=True):
        for code, support in enumerate(group.table([name]).support):
            assert found[(j, code),][0] == support


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        ({"lengths": []}, ParameterError, "lengths: expected lengths from 1 to 3"),
        ({"lengths": [2, 4]}, ParameterError, "lengths: expected lengths from 1 to 3"),
        ({"lengths": [0]}, ParameterError, "lengths: expected lengths from 1 to 3"),
        ({"lengths": [2], "attributes": ["v"]}, ParameterError, "lengths: expected lengths from"),
        ({"lengths": [1], "attributes": ["u"]}, SchemaError, "attributes: "),
        ({"lengths": [1], "target": "all"}, ParameterError, "target: "),
        ({"lengths": [1], "where": {"v": "e"}}, ParameterError, "where: "),
    ],
)
def test_what_cannot_be_asked_is_named(asked, error, said):
    survey, counts = counted(MECHANISMS["split-questionnaire"])
    with pytest.raises(error) as caught:
        list(every_table(survey, counts, **asked))
    assert str(caught.value).startswith(said)
